"""Sixty turns against a strict server that binds thinking, overflows, fails and breaks off: nothing it is sent is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hermes_tui.chat.events import Compressed, CompressionStarted, NoticeRaised, RetryScheduled, TurnEnded
from hermes_tui.chat.requests import sent_bodies
from hermes_tui.context.groups import groups_of
from hermes_tui.store.requests import sha256_of
from tests.chat.stage import FakeApi, Stage, sent_and_logged

TURNS = 60
ORDERS = (
    "tell me about the importer and its queue",
    "!fault think",
    '!fault think+loop:3 tool:read_file {{"path": "part{n}.txt"}}',
    '!fault tool:read_file {{"path": "part{n}.txt"}}; tool:search_files {{"pattern": "needle"}}; tool:list_files {{}}',
    "!fault 529",
    "and what does the queue do at {n}? " + "a longer question, with some detail in it. " * 30,
    '!fault think+tool:read_file {{"path": "part{n}.txt", "limit": 40}}',
    "!fault say short and done",
)
BREAKS = {9: "!fault drop", 22: "!fault midstream-error", 33: "!fault 500", 41: "!fault drop"}
LONG_RUN = 14
"""The turn that overflows inside its tool loop."""


def order(turn: int) -> str:
    """What the user says in TURN."""
    if turn == LONG_RUN:
        return '!fault think+loop:9 tool:read_file {"path": "part1.txt"}'
    return BREAKS.get(turn) or f"{ORDERS[turn % len(ORDERS)].format(n=turn % 5)}\n(turn {turn})"


async def talk(on: Stage, turns: int = TURNS) -> None:
    """All the turns, the app's way or in the foreground."""
    for number in range(5):
        lines = (f"part {number} line {k}: the needle is {number * 7919 + k}\n" for k in range(180))
        (on.directory / f"part{number}.txt").write_text("".join(lines))
    for turn in range(turns):
        await on.conversation.send(order(turn))


def refused(on: Stage) -> list[str]:
    """Requests that the server refused, overflows aside."""
    failed = [r.error or "" for r in on.store.requests(on.conversation.chain) if r.status == "failed"]
    return [error for error in failed if "(400)" in error]


async def test_sixty_turns_in_the_foreground(fake: Callable[..., FakeApi], stage: Callable[[FakeApi], Stage]) -> None:
    api = fake("--bind-thinking", "--window", "20000", "--claim", "40000", "--rate", "100000", "--words", "150")
    on = stage(api)
    conversation = await on.start(tools=on.tools(), foreground=True)
    await talk(on)
    ended = [e.reason for e in on.said(TurnEnded)]
    assert len(ended) == TURNS
    assert [at for at, reason in enumerate(ended) if reason != "end_turn"] == [9, 22, 41]
    assert refused(on) == []
    overflows = [e for e in on.said(Compressed) if e.trigger == "overflow"]
    assert overflows
    assert conversation.budgets is not None
    assert conversation.budgets.window.value == 20_000
    assert conversation.budgets.window.source == "learned from an error"
    assert len(on.said(Compressed)) >= 4
    assert any(e.kind == "summarise" for e in on.said(Compressed))
    assert on.said(RetryScheduled)
    sent_and_logged(on.store, conversation.chain, api)
    await whole(on)


async def test_thirty_turns_with_summaries_prepared_beside_them(
    fake: Callable[..., FakeApi], stage: Callable[[FakeApi], Stage]
) -> None:
    api = fake("--bind-thinking", "--window", "20000", "--rate", "100000", "--words", "150")
    on = stage(api)
    on.prepare_when_due()
    conversation = await on.start(tools=on.tools())
    await talk(on, 30)
    await asyncio.gather(*on.beside)
    assert [at for at, e in enumerate(on.said(TurnEnded)) if e.reason != "end_turn"] == [9, 22]
    assert refused(on) == []
    assert [e for e in on.said(CompressionStarted) if e.background]
    assert len(on.said(Compressed)) >= 4
    sent_and_logged(on.store, conversation.chain, api)
    await whole(on)


async def whole(on: Stage) -> None:
    """The chain is valid: sessions linked, every message once, the context in memory the one in the store."""
    conversation, store = on.conversation, on.store
    sessions = store.sessions(conversation.chain)
    splits = [e for e in on.said(Compressed) if e.kind == "summarise"]
    assert len(sessions) == 1 + len(splits)
    assert [s.ordinal for s in sessions] == list(range(1, len(sessions) + 1))
    assert [s.parent for s in sessions[1:]] == [s.id for s in sessions[:-1]]
    assert [s.end_reason for s in sessions] == ["compression"] * len(splits) + [None]
    assert store.view(conversation.chain) == conversation.view
    said = store.messages(conversation.chain)
    groups_of(said)
    in_context = {e.message.id for e in conversation.view.entries if e.message}
    told = conversation.view.summary.covered if conversation.view.summary else frozenset()
    assert in_context | told == {m.id for m in said}
    assert not in_context & told
    assert not [n for n in on.said(NoticeRaised) if n.severity == "error"]
    for _, purpose, sha256, body in sent_bodies(store, conversation.chain):
        assert sha256_of(body) == sha256, purpose
