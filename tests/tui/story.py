"""A fixed conversation for tests and pictures: an importer that stalls is looked into, step by step, with tools that answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hermes_tui.context.acts import Declaration
from hermes_tui.llm.recorded import RecordedReply

Block = dict[str, Any]
TOOLS = tuple(
    {"name": name, "description": text, "input_schema": {"type": "object", "properties": {main: {"type": "string"}}}}
    for name, text, main in (
        ("list_files", "List a folder.", "path"),
        ("read_file", "Read a file.", "path"),
        ("search_files", "Search in files.", "pattern"),
    )
)
MAIN_ARGUMENTS = {"list_files": "path", "read_file": "path", "search_files": "pattern"}
DECLARATIONS = {name: Declaration(main_argument=argument) for name, argument in MAIN_ARGUMENTS.items()}

READER = '''"""Reads rows from a file and hands them to the writer."""

import csv
import threading
from pathlib import Path
from queue import Queue

MAX_ROWS = 64


class Reader:
    """Reads one file after another."""

    def __init__(self, queue: Queue, lock: threading.Lock) -> None:
        self.queue = queue
        self.lock = lock
        self.rows = 0

    def read(self, path: Path) -> None:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                with self.lock:
                    self.queue.put(self.clean(row))
                    self.rows += 1

    def clean(self, row: dict[str, str]) -> dict[str, str]:
        return {key.strip().lower(): value.strip() for key, value in row.items() if key}
'''
WRITER = '''"""Writes rows into the database in batches."""

import sqlite3
import threading
from queue import Queue

BATCH = 64


class Writer(threading.Thread):
    """Takes rows from the queue until it is told to stop."""

    def __init__(self, queue: Queue, lock: threading.Lock, database: str) -> None:
        super().__init__(name="writer", daemon=True)
        self.queue, self.lock, self.database = queue, lock, database

    def run(self) -> None:
        connection = sqlite3.connect(self.database)
        batch = []
        while True:
            with self.lock:
                batch.append(self.queue.get())
            if len(batch) >= BATCH:
                self.flush(connection, batch)

    def flush(self, connection: sqlite3.Connection, batch: list[dict[str, str]]) -> None:
        connection.executemany("INSERT INTO rows (name, city, born) VALUES (:name, :city, :born)", batch)
        connection.commit()
        batch.clear()
'''
LISTING = "\n".join(
    f"{name:<28} {size:>8,} bytes"
    for name, size in (
        ("src/importer/__init__.py", 118), ("src/importer/reader.py", 2_418), ("src/importer/writer.py", 3_007),
        ("src/importer/schema.py", 1_204), ("src/importer/cli.py", 2_990), ("tests/test_reader.py", 4_112),
        ("tests/test_writer.py", 3_876), ("tests/data/first.csv", 1_048_576), ("tests/data/second.csv", 1_048_576),
    )
)  # fmt: skip
FOUND = "\n".join(
    [f"src/importer/reader.py:{n}: with self.lock:" for n in (22, 41, 77)]
    + [f"src/importer/writer.py:{n}: with self.lock:" for n in (24, 58)]
    + [f"tests/test_writer.py:{n}: lock = threading.Lock()" for n in (12, 30, 61, 88)]
)
RUN = (
    "============================= test session starts ==============================\ncollected 14 items\n\n"
    + "\n".join(f"tests/test_reader.py::test_{n:02} PASSED" for n in range(1, 9))
    + "\ntests/test_writer.py::test_second_file FAILED\n\nE   queue.Full after 5.0 s, 64 rows waiting\n\n"
    + "=================== 1 failed, 13 passed in 6.41s ===================\nexit code 1"
)


@dataclass(frozen=True)
class Step:
    """One turn: what is asked, the replies it gets, and the results of the calls in them."""

    asked: str
    replies: tuple[tuple[Block, ...], ...]
    results: tuple[str, ...] = ()


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def thinking(words: str) -> Block:
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmVk"}


def call(number: int, name: str, argument: str) -> Block:
    return {"type": "tool_use", "id": f"call_{number:02}", "name": name, "input": {MAIN_ARGUMENTS[name]: argument}}


STORY = (
    Step(
        "The importer stalls on the second file. Never touch the schema, and answer in short sentences.",
        ((text("Understood: the schema stays as it is. I will look at reader and writer first, then at the tests."),),),
    ),
    Step(
        "What is there?",
        (
            (call(1, "list_files", "src"),),
            (text("Reader, writer, schema and a command line; two test files of a megabyte each."),),
        ),
        (LISTING,),
    ),
    Step(
        "Read the reader.",
        (
            (thinking("The reader may hold a lock."), call(2, "read_file", "src/importer/reader.py")),
            (text("`Reader.read` takes the lock for **every row** and puts into a queue of 64 while it holds it."),),
        ),
        (READER * 2,),
    ),
    Step(
        "And the writer?",
        (
            (call(3, "read_file", "src/importer/writer.py"),),
            (text("The writer takes the *same* lock before it gets a row. Decision: one of the two must let go first."),),
        ),
        (WRITER * 2,),
    ),
    Step(
        "Where else is the lock used?",
        ((call(4, "search_files", "with self.lock"),), (text("Five places: three in the reader, two in the writer."),)),
        (FOUND,),
    ),
    Step(
        "Show me what the tests say.",
        (
            (call(5, "read_file", "tests/output.log"),),
            (text("One fails: `test_second_file`, with `queue.Full` after 5.0 s and 64 rows waiting. Exit code 1."),),
        ),
        (RUN * 2,),
    ),
    Step(
        "Read the reader once more, please, with line numbers in mind.",
        (
            (call(6, "read_file", "src/importer/reader.py"),),
            (text("Line 22 is the one: `queue.put` blocks inside `with self.lock`."),),
        ),
        (READER * 3,),
    ),
    Step(
        "Why does the import stall on the second file?",
        (
            (
                thinking("The queue is full after the first file; the reader holds the lock, the writer waits for it."),
                call(7, "read_file", "src/importer/writer.py"),
            ),
            (
                text(
                    "The reader holds the lock while it waits for the writer:\n\n```python\nwith self.lock:\n"
                    "    self.queue.put(row)    # blocks when it is full\n```\n\n"
                    "The first file leaves 64 rows in the queue, so the second one stalls at once. Two ways out:\n\n"
                    "1. put the row *before* taking the lock\n2. drop the lock: `Queue` has its own"
                ),
            ),
        ),
        (WRITER,),
    ),
    Step(
        "Take the second way. And the tests?",
        (
            (
                text(
                    "Done in thought: without the lock, `put` waits for the writer alone, and the writer never waits for the "
                    "reader. The tests need one change:\n\n| test | change |\n|---|---|\n| `test_second_file` | 5 s → 0.5 s |\n"
                    "| `test_reader` | none |\n\nThe schema is untouched."
                ),
            ),
        ),
    ),
)
"""The conversation."""

SUMMARY = (
    "## Goal\nFind out why the importer stalls on the second file, and mend it.\n"
    "## Constraints and preferences\nNever touch the schema. Answer in short sentences.\n"
    "## Decisions\nOne of reader and writer must let the lock go first.\n"
    "## Done\nread src/importer/reader.py and writer.py; searched for the lock: five places; one test fails, "
    "test_second_file: queue.Full after 5.0 s, 64 rows waiting, exit code 1.\n"
    "## State\nReader.read puts into a queue of 64 while it holds the lock that the writer needs.\n"
    "## Next\nSay why the second file stalls; propose a change to line 22.\n"
)
"""What a summarising model that does as it is told answers."""


def replies() -> list[RecordedReply]:
    """Every reply of the story."""
    return [RecordedReply(tuple(content)) for step in STORY for content in step.replies]


def results() -> list[Block]:
    """Every tool result of the story, in the order of the calls."""
    return [{"type": "tool_result", "tool_use_id": "", "content": [text(r)]} for step in STORY for r in step.results]
