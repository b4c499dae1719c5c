"""Conversations killed with SIGKILL at a chosen moment, one child process each; run as a program, it prints what is left.

    python -m tests.chat.killed DIRECTORY ADDRESS

Every scenario is a fork made before any thread or loop runs; the parent then opens each database as the next start would.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_tui.chat.events import BlockGrew, Event, SummaryGrew, ToolStarted, TurnEnded
from hermes_tui.context.groups import groups_of
from hermes_tui.context.messages import plain_text, result_text, results_of
from hermes_tui.llm.messages_api import MessagesApi
from hermes_tui.llm.models import price_step_of
from hermes_tui.llm.recorded import RecordedProvider, RecordedReply
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.store.store import Store
from tests.chat.stage import SUMMARY, Stage

LONG = "The importer stalls on file {n} because the reader holds the lock while the queue is full. " * 40
SPLITS = (0.0, 0.001, 0.003, 0.01)
"""Seconds into the transaction of a split at which its process is killed."""


def die() -> None:
    """What `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


class Shown:
    """What was shown of a reply, with the times, in a file: it outlives its process."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a")

    def __call__(self, event: Event) -> None:
        if isinstance(event, BlockGrew):
            self._file.write(json.dumps([time.time(), event.text]) + "\n")
            self._file.flush()


async def streaming(on: Stage) -> None:
    """Killed more than two seconds into a reply."""
    await on.start()
    await on.conversation.send("!fault say first")
    began: list[float] = []
    on.listeners.append(Shown(on.directory / "shown.jsonl"))

    def watch(event: Event) -> None:
        if isinstance(event, BlockGrew):
            began.append(time.monotonic())
            if began[-1] - began[0] > 2.3:
                die()

    on.listeners.append(watch)
    await on.conversation.send("second, at length")


async def in_a_tool(on: Stage) -> None:
    """Killed while a tool runs."""
    (on.directory / "notes.txt").write_text("the port is 8443\n")
    await on.start(tools=on.tools())
    on.listeners.append(lambda event: die() if isinstance(event, ToolStarted) else None)
    await on.conversation.send('!fault think+tool:read_file {"path": "notes.txt"}')


async def filled(on: Stage, **more: Any) -> None:
    """A conversation at nine tenths of its threshold."""
    conversation = await on.start(**more)
    await on.filled(0.9, lambda n: "!fault say noted\n" + LONG.format(n=len(conversation.view.entries)))


async def summarising(on: Stage) -> None:
    """Killed while a summary is written beside the turns."""

    async def slow(characters: int) -> None:
        await asyncio.sleep(0.005)

    await filled(on, summary_provider=RecordedProvider([RecordedReply(({"type": "text", "text": SUMMARY},))], slow))
    on.listeners.append(lambda event: die() if isinstance(event, SummaryGrew) else None)
    await on.conversation.prepare()


def splitting(after: float) -> Callable[[Stage], Any]:
    """Killed AFTER seconds into the split."""

    async def scenario(on: Stage) -> None:
        await filled(on, summary_provider=RecordedProvider([RecordedReply(({"type": "text", "text": SUMMARY},))]))
        real = on.store.apply

        def apply(*arguments: Any, **named: Any) -> Any:
            threading.Timer(after, die).start()
            real(*arguments, **named)
            time.sleep(1)

        on.store.apply = apply
        await on.conversation.compress()

    return scenario


def scenarios() -> dict[str, Callable[[Stage], Any]]:
    """All of them by name."""
    splits = {f"split {at}": splitting(after) for at, after in enumerate(SPLITS)}
    return {"stream": streaming, "tool": in_a_tool, "summary": summarising, **splits}


async def after(on: Stage) -> dict[str, Any]:
    """What the next start finds, and that the conversation goes on."""
    store = on.store
    (chain,) = store.chains()
    from hermes_tui.chat.conversation import Conversation

    said = store.messages(chain.id)
    found: dict[str, Any] = {
        "texts": [plain_text(m.content) for m in said],
        "origins": [m.origin for m in said],
        "sessions": [[s.ordinal, s.parent == (chain.sessions[s.ordinal - 2].id if s.ordinal > 1 else None), s.end_reason]
                     for s in chain.sessions],
        "statuses": [[r.purpose, r.status] for r in store.requests(chain.id)],
    }  # fmt: skip
    conversation = on.conversation = await Conversation.open(await on.parts(tools=on.tools()), chain.id)
    await conversation.send("!fault say I am here")
    said = store.messages(chain.id)
    groups_of(said)
    found["results"] = [result_text(b) for m in said for b in results_of(m)]
    found["ended"] = [e.reason for e in on.said(TurnEnded)]
    in_context = {e.message.id for e in conversation.view.entries if e.message}
    told = conversation.view.summary.covered if conversation.view.summary else frozenset()
    found["covered"] = in_context | told == {m.id for m in said} and not in_context & told
    found["generation"] = conversation.view.generation
    await on.close()
    return found


def main(directory: Path, address: str) -> None:
    """Run every scenario to its death, then look."""
    load_everything(directory, address)
    children: dict[str, int] = {}
    for name, scenario in scenarios().items():
        place = directory / name.replace(" ", "_")
        place.mkdir()
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(_live(place, address, scenario))
            finally:
                os._exit(0)
        children[name] = pid
    killed = {}
    for name, pid in children.items():
        status = os.waitpid(pid, 0)[1]
        killed[name] = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    for name in scenarios():
        place = directory / name.replace(" ", "_")
        found = asyncio.run(_look(place, address))
        print(json.dumps({"name": name, "killed": killed[name], **found}))


def load_everything(directory: Path, address: str) -> None:
    """Import in the parent what every child would import again."""
    load_counter()
    Store.open(directory / "empty.db").close()
    asyncio.run(MessagesApi(address, None).warm())
    price_step_of("claude-fake-1")


async def _live(place: Path, address: str, scenario: Callable[[Stage], Any]) -> None:
    await scenario(Stage(place, address))


async def _look(place: Path, address: str) -> dict[str, Any]:
    on = Stage(place, address)
    assert isinstance(on.store, Store)
    return await after(on)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
