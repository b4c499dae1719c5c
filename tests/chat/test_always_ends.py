"""However the model and the summariser behave, a turn ends, automatic compression rests in time, and the numbers add up."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.chat import breaker
from hermes_tui.chat.events import Compressed, NothingCompressed, RequestStarted, TurnEnded, UsageReported
from hermes_tui.context.budgets import Budgets, Sourced, budgets_for
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import Compression, EngineState, Plan, Summariser
from hermes_tui.context.gain import no_gain
from hermes_tui.store import codec
from hermes_tui.store.ids import new_id
from hermes_tui.store.store import Store
from tests.chat.answering import OTHER, Answering, Room
from tests.store.stored import DICE
from tests.strategies import BEHAVIOURS, count, fewer

pytestmark = pytest.mark.invariant
BEHAVE = st.lists(st.sampled_from(BEHAVIOURS), min_size=1, max_size=3).map(tuple)


@fewer(100)
@given(DICE, BEHAVE, st.sampled_from([2_048, 3_000, 6_000]), st.booleans())
def test_a_turn_ends_within_three_passes_a_trigger_and_never_asks_for_more_than_the_window(
    database: Store, dice: random.Random, behaviours, window, foreground
):
    """Invariant 15: with any summariser; at most eight calls a pass."""

    async def talked() -> None:
        room = Room(database, dice, window=window, behaviours=behaviours, foreground=foreground)
        conversation = await room.begun(3)
        for _ in range(3):
            room.events.clear()
            async with asyncio.timeout(60):
                await room.talk(conversation)
                if not foreground:
                    await conversation.prepare()
            assert room.said(TurnEnded)
            for trigger, passes in passes_of(room.events):
                assert len(passes) <= 3, trigger
            for event in room.said(RequestStarted):
                assert event.tokens <= window
        for r in database.requests(conversation.chain):
            if r.purpose == "summary":
                assert r.estimate is None or r.estimate <= 8_000
        assert database.view(conversation.chain) == conversation.view
        await room.close()

    asyncio.run(talked())


def passes_of(events: list[Any]) -> list[tuple[str, list[Any]]]:
    """The ends of passes, by trigger, between two requests each."""
    found: list[tuple[str, list[Any]]] = []
    for is_request, some in itertools.groupby(events, key=lambda e: isinstance(e, RequestStarted | TurnEnded)):
        if not is_request:
            ends = [e for e in some if isinstance(e, Compressed | NothingCompressed)]
            found += [
                (t, list(own)) for t, own in itertools.groupby(sorted(ends, key=lambda e: e.trigger), key=lambda e: e.trigger)
            ]
    return found


class Counting(ContextCompressor):
    """The built-in engine, which counts the summaries it wrote and what each asked."""

    name = "compressor"

    def __init__(self) -> None:
        super().__init__(count, new_id)
        self.passes: list[int] = []

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        self.passes.append(0)
        if summariser is not None:
            ask = summariser.ask

            async def counted(prompt: Any) -> str:
                self.passes[-1] += 1
                return await ask(prompt)

            summariser = replace(summariser, ask=counted)
        return await super().compress(plan, summariser)


@fewer(100)
@given(DICE, BEHAVE, st.integers(1, 40))
def test_a_summary_is_asked_for_at_most_eight_times(database: Store, dice: random.Random, behaviours, turns):
    """Invariant 15: however long the middle is and however often an answer is refused; retries of a lost connection aside."""

    async def compressed() -> None:
        engine = Counting()
        room = Room(database, dice, behaviours=behaviours)
        conversation = await room.begun(turns, engine=engine)
        async with asyncio.timeout(60):
            await conversation.compress()
        assert all(asked <= 8 for asked in engine.passes)
        await room.close()

    asyncio.run(compressed())


BUDGETS: Budgets = budgets_for(Sourced(20_000, "test"), 100)
ends = st.sampled_from(
    ["no_gain", "summary_refused", "incompressible", "nothing_eligible", "gain", "manual nothing", "manual gain"]
)
steps = st.lists(
    st.tuples(ends, st.sampled_from([0, 60, 600, 1_799, 1_800, 7_200]), st.integers(-3_000, 3_000), st.booleans()), max_size=14
)


@given(steps)
def test_two_passes_without_gain_stop_automatic_runs_until_it_grows_or_half_an_hour_passes(steps):
    """Invariant 16: across restarts; what the user asks for and "nothing eligible" never count."""
    state, now, size = EngineState(), 1_800_000_000.0, 10_000
    strikes, stopped_at = 0, None
    for end, seconds, growth, restart in steps:
        now, size = now + seconds, max(1, size + growth)
        if restart:
            state = codec.decode(EngineState, codec.loads(codec.dumps(state)))
        if stopped_at and (now - stopped_at[0] >= 1_800 or size >= stopped_at[1] + 0.2 * BUDGETS.threshold):
            strikes, stopped_at = 0, None
        state = breaker.rearmed(state, size, BUDGETS, now)
        assert bool(breaker.rests(state, size, BUDGETS)) is bool(stopped_at)
        if stopped_at and not end.startswith("manual"):
            continue  # it is not run
        if end in ("gain", "manual gain"):
            state, strikes, stopped_at = breaker.gained(state), 0, None
        elif end in ("no_gain", "summary_refused", "incompressible"):
            state, strikes = breaker.struck(state, size, now), strikes + 1
            stopped_at = (now, size) if strikes >= 2 else None
    assert (state.strikes, state.stopped_at) == (strikes, stopped_at)


class Gaining(ContextCompressor):
    """An engine whose automatic passes end as it was told, one after the other.

    Attributes:
        asked: the size of the context at each pass.
    """

    name = "compressor"

    def __init__(self, gains: list[bool]) -> None:
        super().__init__(count, new_id)
        self.gains, self.asked = gains, []  # type: tuple[list[bool], list[int]]

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        self.asked.append(plan.tokens_before)
        if plan.focus is None and len(self.asked) <= len(self.gains) and not self.gains[len(self.asked) - 1]:
            return self._refused(plan, no_gain(plan.tokens_before, plan.tokens_before))
        return await super().compress(plan, summariser)


@fewer(100)
@given(DICE, st.lists(st.booleans(), min_size=4, max_size=8))
def test_the_breaker_of_a_conversation_holds_across_splits_and_restarts(database: Store, dice: random.Random, gains):
    """Invariant 16: a stopped conversation asks its engine for nothing, whoever opens it, until half an hour has passed."""

    async def talked() -> None:
        engine = Gaining(gains)
        room = Room(database, dice, window=3_000)
        conversation = await room.begun(5, engine=engine)
        for _ in range(4):
            was, asked = conversation.state.stopped_at, len(engine.asked)
            room.events.clear()
            await conversation.send("go on")
            budgets, passed = conversation.budgets, engine.asked[asked:]
            overflowed = any(e.trigger == "overflow" for e in [*room.said(Compressed), *room.said(NothingCompressed)])
            if was is not None and budgets and passed and not overflowed:
                assert passed[0] >= was[1] + 0.2 * budgets.threshold, "it has grown since"
            await conversation.close()
            conversation = await room.open(conversation.chain, engine=engine)
            assert database.load_state(conversation.chain) == conversation.state
        if conversation.state.stopped_at is not None:
            room.clock.now += 1_801
            asked = len(engine.asked)
            await conversation.compress()
            await conversation.send("go on")
            assert conversation.state.stopped_at is None or len(engine.asked) > asked
        await room.close()

    asyncio.run(talked())


acts = st.lists(st.sampled_from(["send", "compress", "prepare", "switch", "reopen", "undo", "redo"]), min_size=2, max_size=6)


@fewer(100)
@given(DICE, acts)
def test_the_gauge_is_one_number_and_totals_only_grow(database: Store, dice: random.Random, acts):
    """Invariant 34: its kind is told, its regions add up to it, and cost and tokens never go down, also over a restart."""

    async def used() -> None:
        room = Room(database, dice, foreground=False)
        conversation = await room.begun(4)
        totals = [conversation.totals]
        for act in acts:
            match act:
                case "send":
                    await conversation.send("and then?")
                case "compress":
                    await conversation.compress()
                case "prepare":
                    await conversation.prepare()
                case "switch":
                    await conversation.switch_model(OTHER if conversation.view.model != OTHER else "model-a")
                case "undo":
                    await conversation.undo()
                case "redo":
                    await conversation.redo()
                case _:
                    await conversation.close()
                    conversation = await room.open(conversation.chain)
            totals.append(conversation.totals)
            state = conversation.state
            assert conversation.size == conversation.meter.size(conversation.view, state)
            if state.anchor is not None and state.anchor.generation != conversation.view.generation:
                assert conversation.size.kind == "stale"
            assert (conversation.size.mark == "") == (conversation.size.kind == "measured")
            regions = await conversation.survey()
            if regions is not None and conversation.budgets:
                assert sum(tokens for _, tokens in regions.tokens) == conversation.size.tokens
        for earlier, later in itertools.pairwise(totals):
            assert all(
                getattr(later, f) >= getattr(earlier, f) for f in ("input", "output", "cache_read", "cache_write", "cost")
            )
        used_up = sum(e.usage.prompt for e in room.said(UsageReported))
        assert conversation.totals.input == used_up
        await room.close()

    asyncio.run(used())


@fewer(100)
@given(DICE, st.integers(2_048, 40_000))
def test_after_a_change_of_model_the_budgets_are_those_of_a_conversation_opened_with_it(database: Store, dice, window):
    """Invariant 26: every one of them, wherever it comes from."""

    async def switched() -> None:
        room = Room(database, dice, window=window)
        conversation = await room.begun(3)
        await conversation.send("hello")
        await conversation.switch_model(OTHER)
        again = await room.open(conversation.chain)
        assert again.view.model == OTHER
        assert again.budgets == conversation.budgets
        assert again.size == conversation.size
        assert again.state.anchor is None
        await room.close()

    asyncio.run(switched())


@fewer(100)
@given(DICE, st.sampled_from([2_048, 3_000]))
def test_a_turn_that_was_compressed_is_compressed_again_only_once_it_has_grown(database: Store, dice: random.Random, window):
    """Invariant 15: by a fifth of the room; and every step begins a session of its own, whose iterations are renewed twice."""

    async def long_turn() -> None:
        room = Room(database, dice, window=window)
        room.model = Answering(dice, calls=0.9)
        conversation = await room.begun(3)
        await room.talk(conversation)
        budgets = conversation.budgets
        assert budgets is not None
        boundaries = [
            [e for e in some if isinstance(e, Compressed) and e.trigger != "overflow"]
            for is_request, some in itertools.groupby(room.events, key=lambda e: isinstance(e, RequestStarted))
            if not is_request
        ]
        within = [done for done in boundaries if done]
        for earlier, later in itertools.pairwise(within):
            assert later[0].tokens_before >= earlier[-1].tokens_after + 0.2 * budgets.room - 1
        assert len(room.model.sent) <= 90 * 3
        await room.close()

    asyncio.run(long_turn())


@fewer(100)
@given(DICE, BEHAVE)
def test_a_compression_by_hand_starts_no_turn(database: Store, dice: random.Random, behaviours):
    """Invariant 15: what was told again asks for nothing, and nobody answers it."""

    async def compressed() -> None:
        room = Room(database, dice, behaviours=behaviours)
        conversation = await room.begun(5)
        said = await conversation.messages()
        await conversation.compress()
        assert room.model.sent == []
        assert await conversation.messages() == said
        await room.close()

    asyncio.run(compressed())
