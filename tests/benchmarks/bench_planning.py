"""How long planning a compression takes, from 10 K to 1 M tokens of context, after its messages are counted.

    uv run python -m tests.benchmarks.bench_planning [--best-of 5] [--real FILE]

Two conversations: a generated one, full of tools, and a real session from the shared data if it is there, repeated until it is
long enough. ``first`` is the plan of a process that has counted the messages and planned nothing yet; ``again`` is what every
later one takes, the screen's surveys among them. Milliseconds of processor time, the best of some runs, since the machine may
be busy; what counts is the last column, which stays level while planning is linear.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hermes_tui.context.budgets import Budgets, Sourced, budgets_for
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import Count, EngineState, Plan
from hermes_tui.context.messages import Block, Message, Role
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.view import ContextView, Entry

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Tokens of context."""
REAL = Path(os.environ.get("HERMES_TUI_REAL_DATA", str(Path(__file__).parents[3] / "shared" / "data")))
SESSION = "pi_coding_session.jsonl"

CODE = (
    "    def read_rows(self, path: Path, *, batch: int = 512) -> Iterator[Row]:",
    "        with self._lock, open(path, newline='') as source:",
    "            for number, fields in enumerate(csv.reader(source), 1):",
    "                yield Row(number, tuple(field.strip() for field in fields))",
    "tests/importer/test_rows.py::test_a_row_without_fields_is_left_out PASSED  [ 12%]",
    'src/importer/rows.py:118: error: Argument 1 to "Row" has incompatible type "str"; expected "int"',
    "-rw-r--r-- 1 user user 18,220 rows.py",
)
SAID = "The reader takes the lock only to put the row into the queue, so the writer never waits for a file. "


def generated(count: Count, tokens: int, seed: int = 7) -> tuple[Message, ...]:
    """A coding conversation of about TOKENS tokens: turns of a question, up to 24 steps of calls and results, and an answer."""
    dice, found, size = random.Random(seed), list[Message](), 0

    def say(role: Role, content: Sequence[Block], text: str) -> None:
        nonlocal size
        n = len(found)
        origin = "model" if role == "assistant" else "tool" if content[0]["type"] == "tool_result" else "user"
        found.append(Message(f"01J{n:023d}", n, role, tuple(content), origin, "model-a" if role == "assistant" else None))
        size += count(text) + 20

    def lines(least: int, most: int) -> str:
        return "\n".join(f"{dice.choice(CODE)}  # {dice.randint(0, 99_999)}" for _ in range(dice.randint(least, most)))

    while size < tokens:
        asked = f"Please look into case {len(found)}. " + SAID * dice.randint(1, 3)
        say("user", [{"type": "text", "text": asked}], asked)
        for step in range(dice.randint(4, 24)):
            calls, results, text = list[Block](), list[Block](), ""
            for k in range(dice.choice((1, 1, 1, 2, 3))):
                name = f"call_{len(found)}_{step}_{k}"
                tool, given = dice.choice(
                    (
                        ("read", {"path": f"src/importer/part{dice.randint(0, 60)}.py"}),
                        ("bash", {"command": f"grep -rn 'read_rows' src | head -{dice.randint(1, 90)}"}),
                        (
                            "edit",
                            {"path": f"src/importer/part{dice.randint(0, 60)}.py", "old": lines(2, 10), "new": lines(2, 14)},
                        ),
                    )
                )
                out = lines(1, 3) if tool == "edit" else lines(6, 60)
                calls.append({"type": "tool_use", "id": name, "name": tool, "input": given})
                results.append({"type": "tool_result", "tool_use_id": name, "content": [{"type": "text", "text": out}]})
                text += out + str(given)
            say("assistant", calls, "")
            say("user", results, text)
            if size > tokens:
                break
        say("assistant", [{"type": "text", "text": SAID * 2}], SAID * 2)
    return tuple(found)


def repeated(messages: Sequence[Message], count: Count, tokens: int) -> tuple[Message, ...]:
    """MESSAGES over and over, until they come to TOKENS tokens, cut after a group."""
    meter, found, size = ContextCompressor(count, str).meter, list[Message](), 0
    while size < tokens:
        for message in messages:
            n = len(found)
            found.append(replace(message, id=f"01J{n:023d}", sequence=n))
            size += meter.content(message.content)
            if size >= tokens and not any(b.get("type") == "tool_use" for b in message.content):
                break
    return tuple(found)


def real_session(path: Path) -> tuple[Message, ...]:
    """The messages of a recorded session."""
    from hermes_tui.transfer.recognition import read_transcript

    said = read_transcript(path).conversations[0].messages
    return tuple(Message(f"m{n}", n, m.role, m.content, m.origin, m.model) for n, m in enumerate(said))


def view_of(messages: Sequence[Message]) -> ContextView:
    """A view in which MESSAGES were said."""
    entries = tuple(Entry(2 * m.sequence, message=m) for m in messages)
    tools = tuple({"name": n, "description": "", "input_schema": {"type": "object"}} for n in ("read", "bash", "edit"))
    return ContextView("chain", "session", 0, "model-a", "Answer briefly.", tools, entries)


def engine_for(view: ContextView, count: Count) -> tuple[ContextCompressor, Budgets]:
    """An engine that has counted the messages of VIEW, and budgets under which VIEW stands at its threshold."""
    engine = ContextCompressor(count, lambda: "summary")
    size = engine.meter.estimate(view)
    for row in sent_rows(view):
        engine.meter.row(row)
    return engine, budgets_for(Sourced(max(4_096, 2 * size), "bench"), engine.meter.floor(view))


def best(times: int, work: Callable[[], object]) -> float:
    """Milliseconds of processor time that WORK takes at best."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return 1_000 * min(found)


def measured(view: ContextView, count: Count, times: int) -> tuple[float, float, Plan]:
    """(ms of a first plan, ms of a later one, the plan) for VIEW."""
    firsts = []
    for _ in range(times):
        engine, budgets = engine_for(view, count)
        start = time.process_time()
        plan = engine.plan(view, EngineState(), budgets)
        firsts.append(1_000 * (time.process_time() - start))
    return min(firsts), best(times, lambda: engine.plan(view, EngineState(), budgets)), plan


def rows(make: Callable[[int], tuple[Message, ...]], count: Count, times: int) -> Iterator[str]:
    """The lines of one table."""
    yield f"{'tokens':>10} {'messages':>9} {'plan':>10} {'first ms':>9} {'again ms':>9} {'again / 100K':>13}"
    for size in SIZES:
        view = view_of(make(size))
        first, again, plan = measured(view, count, times)
        tokens = plan.tokens_before
        kind = plan.kind or (plan.refusal.kind if plan.refusal else "nothing")
        per = again * 100_000 / tokens
        yield f"{tokens:>10,} {len(view.entries):>9,} {kind:>10} {first:>9.1f} {again:>9.1f} {per:>13.1f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--best-of", type=int, default=5, help="runs of each, the best counts")
    parser.add_argument("--real", type=Path, default=REAL / SESSION, help="a recorded session")
    given = parser.parse_args()
    from hermes_tui.llm.tokenizer import load_counter

    count = load_counter()
    print("A generated conversation, full of tools")
    for line in rows(lambda size: generated(count, size), count, given.best_of):
        print(line, flush=True)
    if given.real.exists():
        session = real_session(given.real)
        print(f"\n{given.real.name}, repeated")
        for line in rows(lambda size: repeated(session, count, size), count, given.best_of):
            print(line, flush=True)


if __name__ == "__main__":
    main()
