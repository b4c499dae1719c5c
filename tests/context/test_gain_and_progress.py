"""A compression gains or does nothing, comes under its threshold where it can, and always comes to an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.engine import Compression, SummaryPrompt
from hermes_tui.context.messages import results_of
from hermes_tui.context.view import Treatment
from tests.context.histories import (
    ANY,
    BLANK,
    GROWN,
    Grown,
    after,
    budgets_of,
    compressed,
    engine,
    newest_request,
    planned,
    rows_of,
    told,
)
from tests.strategies import conversation, dumped, fewer, finished, said, summariser

pytestmark = pytest.mark.invariant


@given(GROWN, ANY)
def test_a_compression_gains_a_tenth_or_nothing_happens_and_it_says_why(grown, behaviour):
    """Invariant 9: measured alike on both sides."""
    meter, done = engine().meter, compressed(grown, behaviour)
    before = meter.size(grown.view, BLANK).tokens
    if done.change is None:
        assert done.refusal is not None
        assert done.refusal.reason.endswith(".")
        assert (done.tokens_before, done.tokens_after, done.summary) == (before, before, None)
    else:
        size = meter.size(after(grown, done.change), BLANK).tokens
        assert done.tokens_after == size <= 0.9 * before


NOTES = 60
"""Tokens that the notes beside the summary may take."""


def floor_of_the_floor(grown: Grown) -> int:
    """What no compression can take away: floor, pins, a whole summary, the newest user message and the newest group."""
    view, budgets = grown.view, budgets_of(*grown)
    sent = [e for e in view.entries if e.message and e.treatment is not Treatment.DROPPED]
    last = sent[-1].position
    stays = {newest_request(view).position, last} | ({sent[-2].position} if results_of(sent[-1].message) else set())
    pins = {e.position for e in sent if e.treatment is Treatment.PINNED}
    for e in sent:  # a pin holds its whole group
        if e.position in pins:
            stays |= {e.position, e.position + 2} if any(b["type"] == "tool_use" for b in e.message.content) else {e.position}
    meter, rows = engine().meter, rows_of(view)
    return budgets.floor + budgets.summary_cap + sum(meter.row(rows[p]) for p in stays if p in rows)


@given(GROWN)
def test_what_can_come_under_the_threshold_does_and_what_cannot_names_the_part_that_does_not_fit(grown):
    """Invariant 10: the head yields first."""
    budgets = budgets_of(*grown)
    size = engine().meter.size(grown.view, BLANK).tokens
    if size <= budgets.threshold:
        return
    least = floor_of_the_floor(grown)
    plan, change = told(grown, "")
    if least + NOTES <= min(budgets.threshold, 0.9 * size):
        assert change is not None, plan.refusal
        assert plan.tokens_after <= budgets.threshold
        assert engine().meter.estimate(after(grown, change)) <= budgets.threshold
    elif change is None and least > budgets.threshold:
        assert plan.refusal.kind == "incompressible", plan.refusal
        assert any(name in plan.refusal.reason for name in ("system", "pinned", "newest", "head", "summary", "middle"))
        assert f"{budgets.threshold:,}" in plan.refusal.reason


@fewer(4)
@given(GROWN, ANY)
def test_nothing_that_was_given_is_changed_and_the_same_comes_out_again(grown, behaviour):
    """Invariant 12: same context and same summariser, same result."""
    messages = tuple(e.message for e in grown.view.entries if e.message)
    before, kept = dumped(messages), grown.view.entries
    one, two = compressed(grown, behaviour), compressed(grown, behaviour)
    assert one == two
    assert dumped(messages) == before
    assert grown.view.entries is kept


@given(GROWN)
def test_compressing_again_with_nothing_new_asks_no_summary_and_changes_nothing(grown):
    """Invariant 13: by hand once a summary was written; and after any compression that came under the threshold, by itself."""
    plan, change = told(grown)
    view = after(grown, change)
    if change is not None and engine().meter.estimate(view) <= budgets_of(*grown).threshold:
        assert engine().should_compress(view, BLANK, budgets_of(view, grown.window), 0.0).action != "compress"
    plan, change = told(grown, "")
    if plan.kind != "summarise" or not plan.sources:
        return
    again = planned(Grown(after(grown, change), grown.window), "")
    assert again.kind != "summarise" or not again.sources, again.sources


@given(GROWN, ANY, st.sampled_from([900, 2_000, 8_000]))
def test_a_pass_makes_at_most_eight_calls_and_each_fits_the_summarisers_window(grown, behaviour, window):
    """Invariant 15: however it answers."""
    calls: list[SummaryPrompt] = []
    heart = engine()
    plan = heart.plan(grown.view, BLANK, budgets_of(*grown), "")
    done = finished(heart.compress(plan, summariser(behaviour, calls, window)))
    assert len(calls) <= 8
    assert all(call.tokens + call.max_tokens <= window for call in calls)
    if done.change is None:
        assert done.refusal


@fewer(4)
@given(GROWN, ANY, st.integers(0, 2**32 - 1))
def test_one_engine_for_several_conversations_keeps_them_apart(grown, behaviour, seed):
    """Invariant 24: it remembers nothing of one when it is asked about another."""
    import random

    other = Grown(said(grown.view, conversation(random.Random(seed), 2, grown.view.last_message.sequence + 1)), 2_400)
    shared, alone = engine(), compressed(grown, behaviour)

    def one(of: Grown) -> Compression:
        plan = shared.plan(of.view, BLANK, budgets_of(*of), None)
        return finished(shared.compress(plan, summariser(behaviour)))

    one(other)
    shared._new_id = engine()._new_id
    assert one(grown) == alone


@given(GROWN, ANY)
def test_a_preview_is_the_real_run(grown, behaviour):
    """Invariant 35: planning again is the same plan, and what is carried out is that plan."""
    heart, budgets = engine(), budgets_of(*grown)
    shown = heart.plan(grown.view, BLANK, budgets, "")
    done = finished(heart.compress(heart.plan(grown.view, BLANK, budgets, ""), summariser(behaviour)))
    assert done.plan == shown
    if done.change is not None and shown.kind == "prune":
        assert done.tokens_after == shown.tokens_after
    if done.change is not None and shown.kind == "summarise":
        assert done.tokens_after <= shown.tokens_after, "a summary takes at most the room that the preview gave it"
