"""A recording played through a conversation of our own: whole, in order, nothing executed, nothing sent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.chat.events import Compressed, Event, RequestStarted, TurnEnded
from hermes_tui.chat.replay import Replay, measured_as_sent, probe_cuts, turns_of
from hermes_tui.config import Settings, load_settings
from hermes_tui.context.engine import Usage
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.store.store import Store
from hermes_tui.transfer.recognition import read_transcript
from hermes_tui.transfer.transcripts import RecordedConversation, RecordedMessage

REAL = Path(os.environ.get("HERMES_TUI_REAL_DATA", str(Path(__file__).parents[3] / "shared" / "data")))
TOOLS = ({"name": "look", "description": "", "input_schema": {"type": "object"}},)


def user(text: str) -> RecordedMessage:
    return RecordedMessage("user", ({"type": "text", "text": text},), "user")


def reply(text: str, usage: Usage | None = None) -> RecordedMessage:
    return RecordedMessage("assistant", ({"type": "text", "text": text},), "model", "claude-sonnet-4-5", usage)


def call(identifier: str) -> RecordedMessage:
    block = {"type": "tool_use", "id": identifier, "name": "look", "input": {"at": identifier}}
    return RecordedMessage("assistant", (block,), "model", "claude-sonnet-4-5")


def result(identifier: str, text: str) -> RecordedMessage:
    return RecordedMessage("user", ({"type": "tool_result", "tool_use_id": identifier, "content": text},), "tool")


def settings(window: int) -> Settings:
    return load_settings(None, environment={}, overrides={"model.window": window, "model.max_tokens": 8192})


class Played:
    """A replay into a database of its own, and what it published."""

    def __init__(self, directory: Path, recorded: RecordedConversation, window: int = 60_000) -> None:
        self.store = Store.open(directory / "hermes.db")
        self.events: list[tuple[int, Event]] = []
        self.replay = Replay(
            recorded,
            store=self.store,
            settings=settings(window),
            count=load_counter(),
            publish=lambda event: self.events.append((self.replay.cut, event)),
        )

    def said(self, kind: type[Any]) -> list[tuple[int, Any]]:
        """The events of a kind with the messages played until then."""
        return [(cut, event) for cut, event in self.events if isinstance(event, kind)]

    def stored(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """What is stored: origin and blocks."""
        assert self.replay.conversation is not None
        return [(m.origin, [dict(b) for b in m.content]) for m in self.store.messages(self.replay.conversation.chain)]


def source(recorded: RecordedConversation) -> list[tuple[str, list[dict[str, Any]]]]:
    """What was recorded, alike."""
    return [(m.origin, [dict(b) for b in m.content]) for m in recorded.messages]


async def test_every_message_is_played_in_order_whatever_shape_the_turns_have(tmp_path: Path) -> None:
    recorded = RecordedConversation(
        "odd",
        "Be brief.",
        TOOLS,
        (
            reply("a greeting before anybody spoke"),
            user("one"),
            user("two, before one was answered"),
            call("a"),
            result("a", "seen"),
            reply("a first answer"),
            reply("and a second in the same turn"),
            user("three"),
            call("a"),
            result("a", "seen again, under an id that was used before"),
            user("never mind"),
            reply("fine"),
            user("four, and there the recording stops"),
        ),
    )
    played = Played(tmp_path, recorded)
    done = await played.replay.run()
    assert played.stored() == source(recorded)
    assert done.messages == len(recorded.messages)
    reasons = [event.reason for _, event in played.said(TurnEnded)]
    assert reasons == ["cancelled", "end_turn", "cancelled", "end_turn", "cancelled"]
    played.store.close()


async def test_recorded_usage_counts_until_the_first_edit_only(tmp_path: Path) -> None:
    long = "The importer stalls because the reader holds the lock. " * 60
    messages = [m for n in range(30) for m in (user(f"{n} {long}"), reply(long, Usage(input=5_000 + 2_000 * n)))]
    played = Played(tmp_path, RecordedConversation("usage", "", (), tuple(messages)))
    await played.replay.run()
    first = played.said(Compressed)[0][1]
    assert first.tokens_before >= 23_000, "what was measured then"
    asked = [event.tokens for cut, event in played.said(RequestStarted) if cut > played.said(Compressed)[0][0]]
    assert asked
    assert max(asked) < 27_000, "our own estimate since, far below what the recording goes on to report"
    assert played.replay.conversation is not None
    assert played.replay.conversation.state.anchor is None
    played.store.close()


def test_sizes_of_a_recording_that_was_compressed_itself_count_until_then_only() -> None:
    said = [reply("a", Usage(cache_read=50_000, output=9)), user("go on"), reply("b", Usage(input=9_000, output=7)), reply("c")]
    first, _, second, third = measured_as_sent(said)
    assert first.usage == Usage(cache_read=50_000, output=9)
    assert second.usage == Usage(output=7), "what was written is known, the size is that of a summary"
    assert third.usage is None
    (later,) = list(measured_as_sent([*said, reply("d", Usage(input=60_000))]))[4:]
    assert later.usage == Usage()


async def test_a_turn_that_would_not_fit_is_taken_over_and_the_next_ones_stay_in_step(tmp_path: Path) -> None:
    recorded = RecordedConversation(
        "huge",
        "",
        TOOLS,
        (
            user("hello"),
            reply("hello"),
            user("word " * 9_000),
            call("x"),
            result("x", "of the turn that did not fit"),
            reply("it was long"),
            user("short"),
            call("y"),
            result("y", "of the turn after it"),
            reply("and short it is"),
        ),
    )
    played = Played(tmp_path, recorded, 4_096)
    done = await played.replay.run()
    assert played.stored() == source(recorded)
    assert done.messages == 10
    assert [e.reason for _, e in played.said(TurnEnded)][1] == "failed"
    played.store.close()


def test_probes_come_at_group_boundaries() -> None:
    messages = (user("a"), call("1"), result("1", "x"), reply("b"), user("c"), call("2"), result("2", "y"), reply("d"))
    assert list(probe_cuts(messages, 2)) == [3, 4, 7, 8]
    assert [len(turn.replies) for turn in turns_of(messages)] == [2, 2]


async def test_a_probe_applies_nothing_and_each_context_is_made_afresh(tmp_path: Path) -> None:
    long = "The importer stalls because the reader holds the lock. " * 30
    messages = [m for n in range(20) for m in (user(f"{n} {long}"), reply(long))]
    recorded = RecordedConversation("probe", "", (), tuple(messages))
    played = Played(tmp_path, recorded, 16_000)
    found = [probed async for probed in played.replay.probe(10)]
    assert [probed.cut for probed in found] == [10, 20, 30, 40]
    assert played.replay.conversation is not None
    assert played.replay.conversation.view.generation == 0
    assert not played.said(Compressed)
    for probed in found:
        assert probed.compression.change is None or len(probed.body["messages"]) < probed.cut
        assert probed.body["messages"][0]["role"] == "user"
    played.store.close()


@pytest.mark.skipif(not (REAL / "pi_coding_session.jsonl").exists(), reason="the real data is not here")
async def test_a_real_coding_session_is_played_to_its_end(tmp_path: Path) -> None:
    recorded = read_transcript(REAL / "pi_coding_session.jsonl").conversations[0]
    cut = next(probe_cuts(recorded.messages, 240))
    half = RecordedConversation(recorded.title, recorded.system, recorded.tools, recorded.messages[:cut])
    played = Played(tmp_path, half, 24_000)
    done = await played.replay.run()
    assert played.stored() == source(half)
    assert done.compressions >= 3
    assert done.sessions >= 2
    assert not [e for _, e in played.said(TurnEnded) if e.reason == "failed"]
    conversation = played.replay.conversation
    assert conversation is not None
    assert played.store.view(conversation.chain) == conversation.view
    played.store.close()
