"""What is done first, what may be left, and that planning a long context costs no more for each token than a short one."""

from __future__ import annotations

import random
import re
import sys
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.budgets import Budgets, Sourced, budgets_for
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import EngineState, Plan
from hermes_tui.context.messages import Message, result_text, results_of
from hermes_tui.context.planning import Planner
from hermes_tui.context.pointers import resolved
from hermes_tui.context.sizing import Row, Sizing, row_of
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from tests.benchmarks.bench_planning import engine_for, generated, view_of
from tests.context.histories import GROWN, Grown, budgets_of, engine, told
from tests.strategies import SEEDS, conversation, count
from tests.strategies import view_of as view_with_tools

STATE = EngineState()


class Talk:
    """A conversation put together step by step."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def _say(self, role: Any, origin: Any, *content: dict[str, Any]) -> None:
        n = len(self.messages)
        self.messages.append(Message(f"01JMESSAGE{n:016d}", n, role, content, origin, "model-a" if origin == "model" else None))

    def ask(self, text: str = "Please go on with the importer.") -> Talk:
        self._say("user", "user", {"type": "text", "text": text})
        return self

    def answer(self, text: str = "The parser is split and the tests are green.") -> Talk:
        self._say("assistant", "model", {"type": "text", "text": text})
        return self

    def work(self, groups: int, size: int = 2_000, **same: str) -> Talk:
        """Calls with results of SIZE characters each: of the file at ``path``, or of another one each time."""
        for _ in range(groups):
            n = len(self.messages)
            given = same or {"path": f"src/file{n}.py"}
            call = {"type": "tool_use", "id": f"t{n}", "name": "read_file", "input": given}
            self._say("assistant", "model", call)
            self._say(
                "user", "tool", {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n} " + "x y " * (size // 4)}
            )
        return self

    @property
    def view(self) -> ContextView:
        return view_of(self.messages)


def plan_of(view: ContextView, budgets: Budgets) -> Plan:
    return engine().plan(view, STATE, budgets)


def budgets(window: int, view: ContextView) -> Budgets:
    return budgets_for(Sourced(window, "test"), engine().meter.floor(view), protect_last_n=4)


def pruned(plan: Plan) -> set[int]:
    return {p.entry.position for p in plan.prunes}


class TestOrder:
    """Before the turn first, without a model first, and each step only while the ones before do not suffice."""

    def test_pruning_alone_where_that_suffices(self) -> None:
        view = Talk().ask().work(14).answer().ask().view
        plan = plan_of(view, budgets(16_000, view))
        assert plan.kind == "prune"
        assert plan.tokens_after <= budgets(16_000, view).prune_target
        assert not pruned(plan) & set(plan.regions.tail)

    def test_a_summary_of_the_whole_middle_where_it_does_not(self) -> None:
        talk = Talk()
        for _ in range(60):
            talk.ask("Explain the lock order once more. " * 12).answer("The reader takes it for the queue alone. " * 12)
        view = talk.ask().view
        plan = plan_of(view, budgets(16_000, view))
        assert plan.kind == "summarise"
        assert plan.prunes == ()
        assert {e.position for e in plan.summarised} == set(plan.regions.middle)

    def test_what_nothing_is_lost_with_goes_alone_where_that_suffices(self) -> None:
        view = Talk().ask().work(3, size=2_400).work(12, size=2_400, path="src/same.py").answer().ask().view
        plan = plan_of(view, budgets(24_000, view))
        assert plan.kind == "prune"
        assert {p.reason for p in plan.prunes} == {"read again later"}
        unique = [e.position for e in view.entries if e.message and results_of(e.message)][:3]
        assert not pruned(plan) & set(unique)

    def test_a_prune_that_reclaims_too_little_is_not_made_alone(self) -> None:
        view = Talk().ask().work(2, size=900).answer().ask().view
        plan = plan_of(view, budgets(16_000, view))
        assert plan.kind != "prune"

    def test_in_an_open_loop_what_stands_before_the_turn_is_pruned_first(self) -> None:
        view = Talk().ask().work(14).answer().ask().work(3, size=400).view
        plan = plan_of(view, budgets(16_000, view))
        turn = next(e.position for e in reversed(view.entries) if e.message and e.message.is_real_user)
        assert plan.kind == "prune"
        assert max(pruned(plan)) < turn

    def test_then_it_is_summarised_and_the_run_is_pruned_in_the_same_plan(self) -> None:
        talk = Talk()
        for _ in range(20):
            talk.ask("Explain the lock order once more. " * 12).answer("The reader takes it for the queue alone. " * 12)
        view = talk.ask().work(6, size=1_600).view
        numbers = budgets(16_000, view)
        plan = plan_of(view, numbers)
        turn = next(e.position for e in reversed(view.entries) if e.message and e.message.is_real_user)
        assert plan.kind == "summarise"
        assert plan.tokens_after <= numbers.threshold
        before = {e.position for e in view.entries if e.position < turn} - set(plan.regions.head)
        assert {e.position for e in plan.summarised} == before
        assert pruned(plan)
        assert min(pruned(plan)) > turn
        assert not plan.for_anchor

    def test_a_run_with_nothing_before_it_is_pruned_alone_where_that_suffices(self) -> None:
        view = Talk().ask().work(16).view
        plan = plan_of(view, budgets(16_000, view))
        assert plan.kind == "prune"

    def test_and_its_old_groups_are_summarised_where_it_does_not(self) -> None:
        talk = Talk().ask()
        for _ in range(60):
            talk.work(1, size=180)
            talk.messages[-2] = replace(
                talk.messages[-2], content=({"type": "text", "text": "I look further. " * 30}, *talk.messages[-2].content)
            )
        view = talk.view
        plan = plan_of(view, budgets(16_000, view))
        assert plan.kind == "summarise"
        assert plan.for_anchor
        assert 0 in plan.regions.tail


@given(GROWN, SEEDS)
def test_a_size_by_sums_is_the_size_that_rendering_gives(grown: Grown, seed: int) -> None:
    """Whatever is closed and put in, notes and lost thinking included."""
    view, dice, meter = grown.view, random.Random(seed), Meter(count)
    sizing = Sizing(view, meter)
    assert sizing.estimate == meter.estimate(view)
    movable = [e for e in view.entries if e.message is not None and e.treatment is not Treatment.DROPPED]
    closed = [e for e in movable if dice.random() < dice.choice((0.1, 0.9))]
    sent = ({"type": "text", "text": "[pruned]"},)
    opened = [replace(e, treatment=Treatment.PRUNED, sent=sent) for e in closed if dice.random() < 0.5]
    if not closed:
        return
    change = Change(tuple(e.position for e in closed), tuple(opened))
    rows = [row_of(e, meter) for e in opened]
    assert sizing.after(change.closed, rows) == meter.estimate(view.apply(change))
    if view.summary is None:
        place = max(-1, closed[0].position - 1)
        told_entry = Entry(place, closed[0].message, treatment=Treatment.PRUNED, sent=sent)
        if place % 2 and closed[0].message and closed[0].message.role == "user":
            with_summary = Change(change.closed, (*opened, told_entry))
            summary = Row(place, "user", meter.content(sent), meter.content(sent))
            assert sizing.after(change.closed, [*rows, summary]) == meter.estimate(view.apply(with_summary))


SAME = tuple(f"listing {n}\n" + "the same line of a listing\n" * 20 for n in range(3))


def with_duplicates(messages: tuple[Message, ...], dice: random.Random) -> tuple[Message, ...]:
    """MESSAGES with some of their results the same."""

    def again(block: Any) -> Any:
        return {**block, "content": dice.choice(SAME)} if block["type"] == "tool_result" and dice.random() < 0.5 else block

    return tuple(replace(m, content=tuple(again(b) for b in m.content)) if m.origin == "tool" else m for m in messages)


@given(SEEDS, st.sampled_from((2_048, 4_000, 8_192, 16_000)))
def test_a_pointer_to_a_duplicate_always_leads_to_it(seed: int, window: int) -> None:
    """Invariant 20: through prunes, summaries, drops and growth each pointer names a copy that stands in full, further down."""
    dice = random.Random(seed)
    view = view_with_tools(with_duplicates(conversation(dice, dice.randint(2, 8)), dice))
    for _ in range(5):
        change = edit_of(view, window, dice)
        if change is not None:
            view = view.apply(change)
        check_pointers(view)
        start = view.last_message.sequence + 1 if view.last_message else 0
        for message in with_duplicates(conversation(dice, dice.randint(1, 3), start), dice):
            view = view.append(message)


def edit_of(view: ContextView, window: int, dice: random.Random) -> Change | None:
    """A compression, a prune in the cold, or a drop, as the conversation would apply it."""
    kind = dice.choice(("compression", "cold", "cold", "drop"))
    if kind == "compression":
        return told(Grown(view, window))[1]
    if kind == "cold":
        plan = Planner(view, STATE, budgets_of(view, window), Meter(count)).cold()
        return None if plan is None else Change(tuple(pruned(plan)), tuple(p.entry for p in plan.prunes))
    alive = [e for e in view.entries if e.message and e.message.origin == "tool" and e.treatment is not Treatment.DROPPED]
    if not alive:
        return None
    gone = dice.choice(alive)
    calls = next(e for e in view.entries if e.position == gone.position - 2)
    drop = tuple(replace(e, treatment=Treatment.DROPPED) for e in (calls, gone))
    return resolved(view, Change(tuple(e.position for e in drop), drop))


def check_pointers(view: ContextView) -> None:
    """That each placeholder which says where the same stands says the truth."""
    by_end = {e.message.id: e for e in view.entries if e.message}
    for entry in view.entries:
        if entry.treatment is not Treatment.PRUNED or entry.message is None or entry.message.origin != "tool":
            continue
        for original, now in zip(entry.message.content, entry.content, strict=True):
            named = re.search(r"in full further down \((\w+)\)", result_text(now))
            if named and now != original:
                copy = next(e for identifier, e in by_end.items() if identifier.endswith(named[1]))
                assert copy.position > entry.position
                assert copy.treatment is not Treatment.DROPPED
                assert result_text(original) in [result_text(b) for b in copy.content]


@given(GROWN)
def test_what_was_pruned_is_not_pruned_again(grown: Grown) -> None:
    """Invariant 19: pruning twice is pruning once, and arguments keep their keys."""
    plan, change = told(grown)
    if change is None or plan.kind != "prune" or any(p.entry.treatment is Treatment.CLIPPED for p in plan.prunes):
        return
    after = Grown(grown.view.apply(change), grown.window)
    again = told(after)[0]
    assert again.kind != "prune" or not pruned(again) & pruned(plan)
    for prune in plan.prunes:
        assert prune.entry.sent
        for was, now in zip(prune.entry.message.content, prune.entry.sent, strict=False):
            if was["type"] == "tool_use":
                assert now["input"].keys() == was["input"].keys()


@given(GROWN, st.booleans())
def test_a_prune_in_the_cold_gains_and_changes_nothing_but_old_messages(grown: Grown, before_turn: bool) -> None:
    view = grown.view
    last = view.last_message
    state = replace(STATE, last_request=1.0)
    numbers = budgets_of(view, grown.window)
    decision = engine().should_compress(view, state, numbers, 1_000.0)
    if decision.plan is None:
        return
    assert last is not None
    assert last.is_real_user
    assert decision.plan.kind == "prune"
    assert decision.plan.tokens_after <= 0.9 * decision.plan.tokens_before < numbers.threshold
    assert not pruned(decision.plan) & set(decision.plan.regions.tail)
    assert engine().should_compress(view, state, numbers, 200.0).plan is None
    assert engine().should_compress(view, STATE, numbers, 1_000.0).plan is None


class TestGrowth:
    """Planning takes time in proportion to the context: counted in calls, and in time with much to spare."""

    SHORT, LONG = 40_000, 320_000

    @pytest.fixture(scope="class")
    def views(self) -> tuple[ContextView, ContextView]:
        return view_of(generated(count, self.SHORT)), view_of(generated(count, self.LONG))

    @pytest.mark.parametrize("kind", ["prune", "summarise"])
    def test_eight_times_the_context_is_at_most_about_eight_times_the_work(
        self, views: tuple[ContextView, ContextView], kind: str
    ) -> None:
        work, took, tokens = [], [], []
        for view in views:
            heart, numbers = engine_for(view, count)
            if kind == "summarise":
                numbers = replace(numbers, prune_target=0)
            plan, calls = counted(heart, view, numbers)
            assert plan.kind == kind
            work.append(calls)
            took.append(min(timed(heart, view, numbers) for _ in range(3)))
            tokens.append(plan.tokens_before)
        longer = tokens[1] / tokens[0]
        assert work[1] / work[0] < 1.3 * longer
        assert took[1] / took[0] < 3 * longer


def counted(heart: ContextCompressor, view: ContextView, numbers: Budgets) -> tuple[Plan, int]:
    """A first plan, and the calls of functions that it took."""
    calls = 0

    def count_calls(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        plan = heart.plan(view, STATE, numbers)
    finally:
        sys.setprofile(before)
    return plan, calls


def timed(heart: ContextCompressor, view: ContextView, numbers: Budgets) -> float:
    """Seconds of processor time of a later plan."""
    start = time.thread_time()
    heart.plan(view, STATE, numbers)
    return time.thread_time() - start
