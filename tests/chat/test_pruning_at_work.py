"""Pruning in a conversation: at once where the prompt cache is cold anyway, and never so that a pointer leads nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hermes_tui.chat.conversation import Conversation
from hermes_tui.chat.events import Compressed, NothingCompressed, TurnEnded
from hermes_tui.context.engine import EngineState, Usage
from hermes_tui.context.messages import result_text
from hermes_tui.context.planning import COLD
from hermes_tui.context.rendering import CACHE_SECONDS
from hermes_tui.context.view import Treatment
from hermes_tui.llm.recorded import RecordedProvider, RecordedReply
from tests.chat.stage import FakeApi, Stage

Fake = Callable[..., FakeApi]
At = Callable[[FakeApi], Stage]
QUICK = ("--rate", "100000", "--words", "20", "--window", "32000")
SAME = "the same listing of the folder, line by line\n" * 12


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def worked(groups: int, output: Callable[[int], str]) -> list[tuple[Any, Any, Any]]:
    """A turn with GROUPS calls and an answer, as a conversation that is recorded."""
    said: list[tuple[Any, Any, Any]] = [("user", [{"type": "text", "text": "Look at all the files."}], "user")]
    for n in range(groups):
        call = {"type": "tool_use", "id": f"t{n}", "name": "read_file", "input": {"path": f"src/file{n}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output(n)}
        said += [("assistant", [call], "model"), ("user", [result], "tool")]
    return [*said, ("assistant", [{"type": "text", "text": "All is well."}], "model")]


async def filled(on: Stage, clock: Clock, **more: Any) -> Conversation:
    """A conversation below its warm mark, most of it old results, with one answered request at the clock's time."""
    conversation = await on.start(clock=clock, tools=on.tools(), **more)
    await conversation.record(worked(19, lambda n: f"line of file {n}, and what stands in it\n" * 30))
    await conversation.send("And now?")
    assert conversation.budgets
    assert conversation.size.tokens < conversation.budgets.warm_mark
    assert not on.said(Compressed)
    assert [e.reason for e in on.said(TurnEnded)] == ["end_turn"], on.said(TurnEnded)
    return conversation


async def test_before_a_turn_with_a_cold_cache_what_is_old_is_pruned_at_once(fake: Fake, stage: At) -> None:
    on, clock = stage(fake(*QUICK)), Clock()
    conversation = await filled(on, clock)
    clock.now += CACHE_SECONDS - 1
    await conversation.send("Still there?")
    assert not on.said(Compressed)
    clock.now += CACHE_SECONDS + 1
    await conversation.send("And after lunch?")
    [done] = on.said(Compressed)
    assert (done.kind, done.trigger, done.compression.plan.why) == ("prune", "preflight", COLD)
    assert done.tokens_after <= 0.9 * done.tokens_before
    assert on.store.edits(conversation.chain)[-1].reason == COLD
    assert conversation.session.ordinal == 1
    assert on.store.view(conversation.chain) == conversation.view
    clock.now += CACHE_SECONDS + 1
    await conversation.send("And in the evening?")
    assert len(on.said(Compressed)) == 1
    assert not on.said(NothingCompressed)
    assert {e.reason for e in on.said(TurnEnded)} == {"end_turn"}


async def test_the_time_of_the_last_request_outlives_the_program(fake: Fake, stage: At) -> None:
    on, clock = stage(fake(*QUICK)), Clock()
    first = await filled(on, clock)
    asked_at = clock.now
    await first.close()
    clock.now += CACHE_SECONDS + 1
    on.conversation = await Conversation.open(await on.parts(clock=clock, tools=on.tools()), first.chain)
    assert on.conversation.state.last_request == asked_at
    await on.conversation.send("Good morning.")
    assert [e.compression.plan.why for e in on.said(Compressed)] == [COLD]


async def test_a_recording_knows_no_cold_cache(fake: Fake, stage: At) -> None:
    on, clock = stage(fake(*QUICK)), Clock()
    await no_cold_cache(on, clock, await filled(on, clock, trusts_usage=0))


async def test_nor_does_a_server_that_was_never_seen_to_cache(fake: Fake, stage: At) -> None:
    on, clock = stage(fake(*QUICK)), Clock()
    reply = RecordedReply(({"type": "text", "text": "Yes."},), Usage(input=9_000, output=5))
    await no_cold_cache(on, clock, await filled(on, clock, provider=RecordedProvider([reply] * 2)))


async def no_cold_cache(on: Stage, clock: Clock, conversation: Conversation) -> None:
    """That waiting changes nothing."""
    assert conversation.state.last_request == EngineState().last_request
    clock.now += 10 * CACHE_SECONDS
    await conversation.send("And after lunch?")
    assert not on.said(Compressed)
    assert on.said(TurnEnded)[-1].reason == "end_turn"


async def test_nothing_is_pruned_by_itself_where_compressing_by_itself_is_off(fake: Fake, stage: At) -> None:
    on, clock = stage(fake(*QUICK)), Clock()
    on.configure(context__auto=False)
    conversation = await filled(on, clock)
    clock.now += CACHE_SECONDS + 1
    await conversation.send("And after lunch?")
    assert not on.said(Compressed)


async def test_dropping_the_copy_that_a_duplicate_points_to_words_the_duplicate_anew(fake: Fake, stage: At) -> None:
    on, clock = stage(fake(*QUICK)), Clock()
    conversation = await on.start(clock=clock, tools=on.tools())
    await conversation.record(worked(24, lambda n: SAME if n in (2, 23) else f"line of file {n}, and more\n" * 50))
    await conversation.send("And now?")
    clock.now += CACHE_SECONDS + 1
    await conversation.send("And after lunch?")
    copy = next(e.message for e in reversed(conversation.view.entries) if e.message and e.message.origin == "tool")
    pointing = [text for text in placeholders(conversation) if copy.id[-6:] in text]
    assert len(pointing) == 1
    assert "in full further down" in pointing[0]
    await conversation.mark(copy.id, "drop")
    assert not [text for text in placeholders(conversation) if "in full further down" in text]
    assert on.store.view(conversation.chain) == conversation.view
    await conversation.undo()
    assert [text for text in placeholders(conversation) if copy.id[-6:] in text] == pointing


def placeholders(conversation: Conversation) -> list[str]:
    """What stands for pruned results."""
    pruned = [e for e in conversation.view.entries if e.treatment is Treatment.PRUNED]
    return [result_text(block) for e in pruned for block in e.content if block.get("type") == "tool_result"]


def test_a_compression_is_told_with_its_reason() -> None:
    from hermes_tui.tui.projection import divider_text

    assert divider_text("prune", 40_000, 30_000, {"pruned": 12}, None, COLD) == f"compressed 40k → 30k · 12 pruned · {COLD}"
