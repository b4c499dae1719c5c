"""One number for the size of the next request; thresholds that lie where they can be reached."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hermes_tui.context.budgets import MIN_WINDOW, ImpossibleBudget, Share, Sourced, budgets_for
from hermes_tui.context.engine import EngineState, Usage
from tests.context.histories import BLANK, GROWN, after, budgets_of, engine, told
from tests.strategies import SEEDS, conversation, said

pytestmark = pytest.mark.invariant


@given(GROWN, SEEDS)
def test_the_size_only_grows_while_one_talks(grown, seed):
    """Invariants 25 and 34: by every message, measured or not."""
    heart, view = engine(), grown.view
    state = heart.update_from_response(BLANK, view, Usage(input=heart.meter.estimate(view) + 300))
    more = conversation(random.Random(seed), 2, view.last_message.sequence + 1)
    sizes = []
    for message in more:
        view = view.append(message)
        sizes.append(heart.meter.size(view, state).tokens)
    assert sizes == sorted(sizes)


@given(GROWN, st.integers(1, 2_000_000), st.integers(0, 2_000_000))
def test_a_size_says_whether_it_is_measured_estimated_or_stale(grown, read, cached):
    """Invariant 34: measured until something is said, estimated from then on, stale once the context was edited."""
    heart, view = engine(), grown.view
    assert heart.meter.size(view, BLANK).kind == "estimated"
    usage = Usage(input=read, output=77, cache_read=cached // 2, cache_write=cached - cached // 2)
    state = heart.update_from_response(BLANK, view, usage)
    size = heart.meter.size(view, state)
    assert (size.tokens, size.kind, size.mark) == (read + cached, "measured", ""), "all of the prompt, nothing of the reply"
    later = said(view, conversation(random.Random(1), 1, view.last_message.sequence + 1))
    assert heart.meter.size(later, state).mark == "~"
    change = told(grown, "")[1]
    if change is not None:
        assert heart.meter.size(after(grown, change), state).kind == "stale"


@given(GROWN, st.floats(0.5, 2.5), st.integers(0, 20_000))
def test_system_and_tools_take_what_they_are_counted_and_what_the_server_adds_to_them(grown, truth, overhead):
    """Whatever the model's true scale: they do not grow or shrink by the errors of what was said."""
    heart = engine()
    begun = said(replace(grown.view, entries=()), conversation(random.Random(1), 1)[:1])
    state = BLANK
    for view in (begun, grown.view):
        state = heart.update_from_response(state, view, Usage(input=round(overhead + truth * heart.meter.estimate(view))))
    regions = heart.plan(grown.view, state, budgets_of(grown.view, 1_000_000, state)).regions
    size, sizes = heart.meter.size(grown.view, state).tokens, dict(regions.tokens)
    assert sum(sizes.values()) == size
    assert sizes["system"] + sum(dict(regions.entries).values()) == size
    counted = heart.meter.scaled_floor(grown.view, state)
    most = overhead + abs(truth - 1) * heart.meter.estimate(begun)
    assert counted - 1 <= sizes["system"] <= counted + most + 1 or sizes["system"] == size


@given(GROWN, st.floats(0.6, 2.0), st.integers(0, 3_000), SEEDS)
def test_the_estimate_comes_closer_with_every_reading(grown, truth, overhead, seed):
    """Invariant 25: whatever the model's true scale and what its server puts around the conversation."""
    heart, view, state = engine(), grown.view, BLANK
    dice = random.Random(seed)

    def real() -> int:
        return round(overhead + truth * heart.meter.estimate(view))

    errors = []
    for _ in range(5):
        state = heart.update_from_response(state, view, Usage(input=real()))
        errors.append(abs(state.scales.get(view.model, 1.0) - truth))
        view = said(view, conversation(dice, 1, view.last_message.sequence + 1))
        said_since = abs(heart.meter.size(view, state).tokens - real())
        grown_by = truth * heart.meter.estimate(view) - (state.anchor.tokens - overhead)
        assert said_since <= errors[-1] / truth * grown_by + 2, "only what was said since is estimated"
    assert all(later <= earlier + 0.02 for earlier, later in pairwise(errors))
    assert errors[-1] <= 0.9 * errors[0] + 0.02


NUMBERS = st.integers(0, 2_000_000)


@given(st.integers(MIN_WINDOW, 2_000_000), NUMBERS, st.floats(0.0, 1.5), NUMBERS, NUMBERS, st.floats(0.0, 1.0))
def test_the_threshold_lies_between_nothing_and_what_is_usable(window, floor, percent, most, cap, ratio):
    """Invariant 26: for every window from 2,048 and every setting; what cannot work is refused with its numbers."""
    given_ = {
        "max_tokens": Sourced(max(1, most), "test"),
        "threshold_percent": Share(percent, "test"),
        "absolute_cap": Sourced(cap, "test") if cap % 3 else None,
        "price_step": Sourced(100_000, "prices") if cap % 2 else None,
        "summary_target_ratio": ratio,
    }
    if floor >= window - min(max(1, most), window // 4):
        with pytest.raises(ImpossibleBudget, match=f"{floor:,}") as refused:
            budgets_for(Sourced(window, "test"), floor, **given_)
        assert f"{window:,}" in str(refused.value)
        return
    budgets = budgets_for(Sourced(window, "test"), floor, **given_)
    assert 0 < budgets.threshold < budgets.usable
    assert budgets.floor < budgets.usable
    assert budgets.floor <= budgets.prune_target <= budgets.warm_mark <= budgets.threshold <= budgets.in_loop <= budgets.usable
    assert budgets.reserved.value <= window // 4
    assert budgets.threshold_rule


@given(st.integers(0, MIN_WINDOW - 1))
def test_a_window_too_small_is_refused_in_words_with_the_numbers(window):
    """Invariant 26: below 2,048 there is no shape that fits."""
    with pytest.raises(ImpossibleBudget, match=f"{window:,}.*{MIN_WINDOW:,}"):
        budgets_for(Sourced(window, "config"), 0)


@given(GROWN, st.floats(0.5, 2.5), st.floats(0.5, 2.5), st.integers(1, 100_000))
def test_after_a_change_of_model_every_number_is_that_of_a_new_start(grown, one, other, measured):
    """Invariant 26: nothing measured with another model stays."""
    assume(grown.view.model == "model-a")
    heart = engine()
    state = EngineState(scales={"model-a": one, "model-b": other})
    state = heart.update_from_response(state, grown.view, Usage(input=measured))
    moved = heart.update_model(state, "model-b")
    view = replace(grown.view, model="model-b")
    fresh = EngineState(scales=state.scales)
    assert heart.meter.size(view, moved) == heart.meter.size(view, fresh)
    try:
        expected = budgets_of(view, grown.window, fresh)
    except ImpossibleBudget:
        return
    assert budgets_of(view, grown.window, moved) == expected
    assert engine().plan(view, moved, expected) == engine().plan(view, fresh, expected)


def test_the_budgets_of_the_embedded_model_are_the_documented_ones():
    """Invariant 26: the worked example of the documentation: window 8,192, 2,048 reserved, a floor of 64."""
    b = budgets_for(Sourced(8_192, "models API"), 64, max_tokens=Sourced(2_048, "embedded"))
    assert (b.threshold, b.room, b.head_cap, b.tail_budget, b.tail_bound) == (3_072, 3_008, 301, 602, 902)
    assert (b.summary_cap, b.warm_mark, b.in_loop) == (1_805, 2_621, 5_222)
