"""Edits by hand in a conversation at work: sizes stay honest, automatic compression rests, turns and others are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.chat import breaker
from hermes_tui.chat.conversation import Conversation
from hermes_tui.chat.events import (
    BlockGrew,
    Compressed,
    Edited,
    NothingEdited,
    NoticeRaised,
    TipAdopted,
    TurnEnded,
    TurnStarted,
)
from hermes_tui.context.budgets import Sourced, budgets_for
from hermes_tui.context.engine import EngineState
from hermes_tui.context.view import Treatment
from tests.chat.stage import FakeApi, Stage
from tests.rows import standing

Fake = Callable[..., FakeApi]
At = Callable[[FakeApi], Stage]
QUICK = ("--rate", "100000", "--words", "60", "--window", "12000")


def long(n: int) -> str:
    return " ".join(f"Step {n}.{k}: the importer stalls in src/part{n}_{k}.py while the queue is full." for k in range(60))


async def test_after_an_undo_automatic_compression_rests_until_the_context_has_grown(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    on.configure(summary__engine="deterministic")
    conversation = await on.start()
    await on.filled(0.97, long)
    before = conversation.view.entries
    await conversation.compress()
    small = conversation.size.tokens
    await conversation.send("and the second file?")
    await conversation.undo()
    (done,) = on.said(Edited)
    assert standing(conversation.view.entries[: len(before)]) == standing(before)
    assert len(conversation.view.entries) == len(before) + 2, "what was said since stays"
    assert on.store.view(conversation.chain) == conversation.view
    assert conversation.budgets
    large, threshold = conversation.size.tokens, conversation.budgets.threshold
    assert conversation.size.kind == "stale", "known from before the edit, not measured since"
    assert large > small
    assert (done.kind, done.tokens_after, done.counts) == ("undo", large, {"summarise": 1})
    assert "rest" in conversation.engine_status
    assert conversation.state.rest_until_size == large + round(0.2 * threshold)
    compressed = len(on.said(Compressed))
    sizes = [large]
    n = 50
    while len(on.said(Compressed)) == compressed:
        assert sizes[-1] < conversation.budgets.in_loop, "the in-loop trigger ends the rest at the latest"
        await conversation.send(long(n))
        sizes.append(
            on.said(Compressed)[-1].tokens_before if len(on.said(Compressed)) > compressed else conversation.size.tokens
        )
        n += 1
    assert sizes[-1] >= min(large + 0.2 * threshold, conversation.budgets.in_loop)
    assert all(size < large + 0.2 * threshold for size in sizes[:-1])
    assert conversation.state.rest_until_size == 0
    assert "rest" not in conversation.engine_status
    assert conversation.size == conversation.meter.size(conversation.view, conversation.state)


@given(st.integers(0, 6_000), st.integers(1, 9_000), st.integers(0, 9_000))
def test_the_rest_after_an_undo_ends_by_growth_or_at_the_in_loop_trigger(before: int, after: int, size: int) -> None:
    budgets = budgets_for(Sourced(12_000, "test"), 100)
    state = breaker.edited(EngineState(), before, after, budgets)
    due = size >= min(after + 0.2 * budgets.threshold, budgets.in_loop)
    if after > before:
        assert bool(breaker.rests(state, size, budgets)) == (not due) or abs(size - after - 0.2 * budgets.threshold) < 1
        assert bool(breaker.rearmed(state, size, budgets, 0.0).rest_until_size) == bool(breaker.rests(state, size, budgets))
    else:
        assert not breaker.rests(state, size, budgets)
    assert breaker.gained(state).rest_until_size == 0
    if after > before:
        assert breaker.edited(state, after, before, budgets).rest_until_size == 0, "its redo ends the rest"


async def test_what_another_process_undid_first_is_adopted_and_said(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    on.configure(summary__engine="deterministic", context__auto=False)
    conversation = await on.start()
    await on.filled(0.9, long)
    await conversation.compress()
    other = await Conversation.open(await on.parts(), conversation.chain)
    await asyncio.gather(conversation.undo(), other.undo())
    assert len(on.said(Edited)) == 1
    assert [e.refusal for e in on.said(NothingEdited)] == ["nothing"]
    assert on.said(TipAdopted)
    assert conversation.view == other.view == on.store.view(conversation.chain)
    await other.close()


async def test_pins_wait_for_the_turn_and_hold_and_a_fork_goes_its_own_way(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "2000", *QUICK[2:]))
    on.configure(summary__engine="deterministic", context__auto=False)
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("hello"))
    await on.until(lambda: on.said(TurnStarted))
    await conversation.mark(on.said(TurnStarted)[0].message.id, "pin")
    assert [type(e) for e in on.events if isinstance(e, TurnEnded | Edited)] == [TurnEnded, Edited]
    await turn
    await on.filled(0.9, long)
    pinned = conversation.view.entries[3].message
    assert pinned
    await conversation.mark(pinned.id, "pin")
    await conversation.mark(pinned.id, "pin")
    assert [e.sentence for e in on.said(NothingEdited)] == ["It is pinned already."]
    await conversation.compress()
    entry = next(e for e in conversation.view.entries if e.message and e.message.id == pinned.id)
    assert (entry.treatment, entry.content) == (Treatment.PINNED, pinned.content)
    size, view = conversation.size, conversation.view
    fork = await Conversation.open(await on.parts(), (await conversation.fork()).id)
    assert (fork.view.entries, fork.size) == (view.entries, size)
    await fork.undo()
    assert fork.view.summary is None
    assert conversation.view.summary is not None
    assert on.store.view(conversation.chain) == view
    await fork.close()


async def test_a_conversation_that_is_deleted_in_another_window_says_so(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "100", "--words", "400", "--window", "12000"))
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("hello"))
    await on.until(lambda: on.said(BlockGrew))
    assert on.store.delete_chain(conversation.chain)
    await turn
    assert on.said(TurnEnded)[-1].reason == "failed"
    assert "deleted" in on.said(TurnEnded)[-1].sentence
    await conversation.send("are you there?")
    assert "deleted" in on.said(NoticeRaised)[-1].text
    assert on.said(NoticeRaised)[-1].details["unsent"] == "are you there?"
    await conversation.undo()
    assert "deleted" in on.said(NoticeRaised)[-1].text
