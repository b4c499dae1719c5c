"""A call always gets its result: right, wrong, late or cancelled; and a transcript answers without doing anything."""

import asyncio
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.tools.files import FILE_TOOLS
from hermes_tui.tools.recorded import RecordedTools
from hermes_tui.tools.tools import MAX_RESULT, Stopped, Tool, ToolFailed, ToolRunner, Tools, Work, schemas


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


def text(result: Mapping[str, Any]) -> str:
    return str(result["content"][0]["text"])


def tool(function: Any, name: str = "act") -> Tool:
    return Tool(name, "Acts.", {"type": "object", "properties": {"what": {"type": "string"}}}, "what", function)


async def test_results_answer_their_call(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    tools: ToolRunner = Tools(FILE_TOOLS, tmp_path)
    result = await tools.run(call("read_file", path="a.txt"))
    assert result == {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "alpha"}]}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (call("rm_rf", path="."), "There is no tool 'rm_rf'; there are: list_files, read_file, search_files."),
        (call("read_file"), "The argument 'path' is missing."),
        (call("read_file", path=3), "The argument 'path' must be a string."),
        (call("read_file", path="x", offset="one"), "The argument 'offset' must be an integer."),
        (call("read_file", path="x", offset=0), "The argument 'offset' must be at least 1."),
        (call("read_file", path="x", offset=True), "The argument 'offset' must be an integer."),
        (call("list_files", recursive="yes"), "The argument 'recursive' must be a boolean."),
        (call("read_file", path="x", force=True), "There is no argument 'force'; there are: path, offset, limit."),
        ({**call("read_file"), "input": "x"}, "The arguments of read_file must be a JSON object."),
        (call("read_file", path="../x"), "../x lies outside the working directory; only what is inside can be read."),
    ],
)
async def test_a_wrong_call_is_a_result_that_says_what_was_wrong(tmp_path: Path, asked: dict[str, Any], words: str) -> None:
    result = await Tools(FILE_TOOLS, tmp_path).run(asked)
    assert result["is_error"] is True
    assert text(result) == words


async def test_numbers_sent_as_text_are_read_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    result = await Tools(FILE_TOOLS, tmp_path).run(call("read_file", path="a.txt", offset="2", limit=1.0))
    assert text(result).startswith("2\n")


async def test_whatever_a_tool_does_the_result_can_be_sent(tmp_path: Path) -> None:
    def odd(arguments: Mapping[str, Any], work: Work) -> str:
        return {"empty": " \n", "huge": "y" * 200_000, "surrogate": "a\ud800"}.get(arguments["what"]) or 1 / 0

    tools = Tools([tool(odd)], tmp_path)
    assert text(await tools.run(call("act", what="empty"))) == "(no output)"
    huge = text(await tools.run(call("act", what="huge")))
    assert len(huge) < MAX_RESULT + 100
    assert "200,000 characters in all" in huge
    text(await tools.run(call("act", what="surrogate"))).encode()
    failed = await tools.run(call("act", what="crash"))
    assert failed["is_error"] is True
    assert text(failed) == "act failed: ZeroDivisionError: division by zero"


async def test_a_call_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    seen = threading.Event()

    def slow(arguments: Mapping[str, Any], work: Work) -> str:
        try:
            while True:
                work.check()
        except Stopped:
            seen.set()
            raise

    result = await Tools([tool(slow)], tmp_path, time_limit=0.1).run(call("act"))
    assert result["is_error"] is True
    assert text(result) == "act took longer than 0.1 seconds and was stopped."
    assert await asyncio.to_thread(seen.wait, 5)


async def test_cancelling_stops_the_work(tmp_path: Path) -> None:
    begun, seen = threading.Event(), threading.Event()

    def endless(arguments: Mapping[str, Any], work: Work) -> str:
        begun.set()
        try:
            while True:
                work.check()
        except Stopped:
            seen.set()
            raise

    task = asyncio.ensure_future(Tools([tool(endless)], tmp_path).run(call("act")))
    assert await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(seen.wait, 5)


async def test_calls_may_run_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=5)

    def meet(arguments: Mapping[str, Any], work: Work) -> str:
        together.wait()
        return "met"

    tools = Tools([tool(meet)], tmp_path)
    assert [text(r) for r in await asyncio.gather(*(tools.run(call("act")) for _ in range(3)))] == ["met"] * 3
    tools.close()


def test_the_tools_stand_in_a_request_with_the_same_bytes_in_any_order() -> None:
    assert json.dumps(schemas(FILE_TOOLS)) == json.dumps(schemas(tuple(reversed(FILE_TOOLS))))
    assert [s["name"] for s in schemas(FILE_TOOLS)] == ["list_files", "read_file", "search_files"]
    for each in FILE_TOOLS:
        assert each.declaration.main_argument in each.input_schema["properties"]
        assert each.read_only
    declared = {name: each.main_argument for name, each in Tools(FILE_TOOLS, Path()).declarations.items()}
    assert declared == {"list_files": "path", "read_file": "path", "search_files": "pattern"}


def test_a_tool_says_what_it_cannot_do(tmp_path: Path) -> None:
    def refuse(arguments: Mapping[str, Any], work: Work) -> str:
        raise ToolFailed("No.")

    with pytest.raises(ToolFailed):
        tool(refuse).run({}, tmp_path)


async def test_a_transcript_answers_by_position_because_ids_are_reused() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_9", "content": "first"},
        {"type": "tool_result", "tool_use_id": "toolu_9", "content": "second", "is_error": True},
        None,
    ]
    tools: ToolRunner = RecordedTools(results, [{"name": "rm_rf"}])
    assert tools.schemas == ({"name": "rm_rf"},)
    assert await tools.run(call("rm_rf", path="/")) == {"type": "tool_result", "tool_use_id": "toolu_1", "content": "first"}
    assert (await tools.run(call("rm_rf")))["content"] == "second"
    for _ in range(2):
        lost = await tools.run(call("rm_rf"))
        assert lost["is_error"] is True
        assert text(lost) == "interrupted; outcome unknown"
