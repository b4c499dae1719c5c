"""Stopped, refused or failed, a compression changes nothing; previewed, it writes nothing; two conversations never mix."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.chat.events import Compressed, NothingCompressed
from hermes_tui.context.check import violations
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import NONE_ACCEPTED, Compression, Plan, Summariser
from hermes_tui.store.ids import new_id
from hermes_tui.store.store import Store
from tests.chat.answering import Room, held, ticks
from tests.store.stored import DICE
from tests.strategies import BEHAVIOURS, count, fewer

pytestmark = pytest.mark.invariant
BEHAVE = st.lists(st.sampled_from(BEHAVIOURS), min_size=1, max_size=3).map(tuple)


class Refusing(ContextCompressor):
    """An engine all of whose rungs are refused."""

    name = "compressor"

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        return self._refused(plan, NONE_ACCEPTED, ("refused.",))


@fewer(100)
@given(DICE, st.integers(0, 60), st.sampled_from([("stalled",), ("slow", "stalled"), ("good",), ("raises",)]), st.booleans())
def test_a_compression_that_is_stopped_anywhere_leaves_everything_as_it_was(database: Store, dice, moment, behaviours, by_esc):
    """Invariant 14: entries, generation, sessions, titles and messages; the cancelled request aside."""

    async def stopped() -> None:
        room = Room(database, dice, behaviours=behaviours)
        conversation = await room.begun()
        before, view = held(database, conversation.chain), conversation.view
        running = asyncio.ensure_future(conversation.compress())
        await ticks(moment)
        if behaviours[-1] == "stalled" and moment > 30:
            await asyncio.wait({running, asyncio.ensure_future(room.summariser.begun.wait())}, return_when="FIRST_COMPLETED")
        if by_esc:
            conversation.cancel()
            if not running.done() and not conversation.preparing:
                running.cancel()
        else:
            running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            async with asyncio.timeout(30):
                await running
        if room.said(Compressed):
            assert database.view(conversation.chain) == conversation.view
        else:
            assert held(database, conversation.chain) == before
            assert conversation.view == view
            assert all(edit.generation is None for edit in database.edits(conversation.chain)), "an attempt is written down"
        room.summariser.behaves("good")
        async with asyncio.timeout(30):
            await conversation.send("and on it goes")
        assert database.view(conversation.chain) == conversation.view
        await room.close()

    asyncio.run(stopped())


@fewer(100)
@given(DICE, st.sampled_from(["preflight", "manual"]))
def test_a_compression_all_of_whose_rungs_are_refused_leaves_everything_as_it_was(database: Store, dice, trigger):
    """Invariant 14: it is recorded that it was tried, and why it did nothing."""

    async def refused() -> None:
        room = Room(database, dice)
        conversation = await room.begun(6, engine=Refusing(count, new_id))
        before = held(database, conversation.chain)
        if trigger == "manual":
            await conversation.compress()
            assert held(database, conversation.chain) == before
        else:
            await conversation.send("go on")
            view, sessions, title, _ = held(database, conversation.chain)
            assert (view.generation, sessions, title) == (before[0].generation, before[1], before[2])
            assert view.entries[: len(before[0].entries)] == before[0].entries
        assert not room.said(Compressed)
        tried = database.edits(conversation.chain)
        assert all(e.generation is None and e.outcome and e.reason for e in tried)
        assert bool(tried) == bool(room.said(NothingCompressed))
        await room.close()

    asyncio.run(refused())


@fewer(100)
@given(DICE, BEHAVE)
def test_a_summariser_that_fails_is_written_down_and_the_next_rung_takes_over(database: Store, dice, behaviours):
    """Invariant 14: whatever it answers, the context is compressed or nothing changed, and every call is accounted for."""

    async def compressed() -> None:
        room = Room(database, dice, behaviours=behaviours)
        conversation = await room.begun(6)
        before = held(database, conversation.chain)
        await conversation.compress()
        done = room.said(Compressed)
        edits, calls = database.edits(conversation.chain), database.requests(conversation.chain)
        assert len(calls) == room.summariser.asked
        assert all(r.purpose == "summary" and r.status in ("done", "failed") for r in calls)
        if done:
            assert edits[-1].rung == done[0].compression.rung
            assert edits[-1].failures == done[0].compression.failures
            if behaviours[0] not in ("good", "slow", "forged") and calls:
                assert done[0].compression.failures, "it says what went wrong above"
        else:
            assert held(database, conversation.chain) == before
        await room.close()

    asyncio.run(compressed())


@fewer(100)
@given(DICE, BEHAVE, st.sampled_from(["", "ports"]))
def test_opening_a_preview_writes_nothing_asks_nothing_and_shows_what_is_done_then(database: Store, dice, behaviours, focus):
    """Invariant 35: and a draft of its summary makes calls, and writes down what they used, and nothing else."""

    async def previewed() -> None:
        room = Room(database, dice, behaviours=behaviours)
        conversation = await room.begun(6)
        chain = conversation.chain
        before, written = held(database, chain), total_changes(database)
        shown = conversation.preview(focus)
        assert conversation.preview(focus) == shown
        assert total_changes(database) == written
        assert (room.summariser.asked, room.model.sent) == (0, [])
        drafted = await conversation.draft(focus)
        assert drafted.compression.plan == shown
        assert held(database, chain) == before
        assert database.edits(chain) == ()
        assert replace(database.load_state(chain), model_rests_until=0.0) == replace(conversation.state, model_rests_until=0.0)
        assert len(database.requests(chain)) == room.summariser.asked
        await conversation.compress(focus)
        done = room.said(Compressed)
        if done:
            plan = done[0].compression.plan
            assert (plan.summarised, plan.prunes, plan.regions) == (shown.summarised, shown.prunes, shown.regions)
            assert not violations(shown.view, done[0].compression.change)
        elif shown.kind is None:
            assert room.said(NothingCompressed)[0].refusal == shown.refusal
        await room.close()

    asyncio.run(previewed())


def total_changes(store: Store) -> int:
    """Rows that the store has written in its life."""
    with store._database.read() as connection:
        connection.exec_driver_sql("SELECT 1")
    raw = store._database._write_engine.raw_connection()
    try:
        return int(raw.cursor().execute("SELECT total_changes()").fetchone()[0])
    finally:
        raw.close()


acts = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(["send", "compress", "prepare", "reopen"])), min_size=2, max_size=5
)


@fewer(100)
@given(DICE, BEHAVE, acts)
def test_two_conversations_at_once_never_mix(database: Store, dice: random.Random, behaviours, acts):
    """Invariant 24: neither summaries nor counters nor rests, on one engine and one database."""

    async def interleaved() -> None:
        room = Room(database, dice, behaviours=behaviours, foreground=False)
        engine = ContextCompressor(count, new_id)
        both = [await room.begun(4, engine=engine), await room.begun(4, engine=engine)]
        for who, act in acts:
            other = both[1 - who].chain
            untouched = (held(database, other), database.load_state(other), database.edits(other), database.requests(other))
            if act == "send":
                await both[who].send("one more thing")
            elif act == "compress":
                await both[who].compress()
            elif act == "prepare":
                await both[who].prepare()
            else:
                await both[who].close()
                both[who] = await room.open(both[who].chain, engine=engine)
            assert untouched == (
                held(database, other),
                database.load_state(other),
                database.edits(other),
                database.requests(other),
            )
        for conversation in both:
            own = {m.id for m in database.messages(conversation.chain)}
            summary = conversation.view.summary
            assert summary is None or summary.covered <= own
            assert database.load_state(conversation.chain) == conversation.state
        await room.close()

    asyncio.run(interleaved())
