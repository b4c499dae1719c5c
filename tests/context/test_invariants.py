"""What must always hold of a compression, whatever the conversation and however the summariser misbehaves."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.budgets import ImpossibleBudget, Sourced, budgets_for
from hermes_tui.context.check import violations
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import Compression, EngineState, SummaryPrompt, Usage
from hermes_tui.context.messages import calls_of, results_of
from hermes_tui.context.regions import Regions
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.view import ContextView, Treatment
from tests.strategies import BEHAVIOURS, conversations, count, dumped, summariser, texts, view_of

WINDOWS = st.sampled_from([2_048, 2_400, 4_000, 8_192])


def engine() -> ContextCompressor:
    ids = itertools.count()
    return ContextCompressor(count, lambda: f"summary{next(ids)}")


def budgets_of(view: ContextView, window: int, state: EngineState | None = None):
    meter = engine().meter
    floor = round(meter.scale(view, state or EngineState()) * meter.floor(view))
    return budgets_for(Sourced(window, "test"), floor)


def compressed(view: ContextView, window: int, behaviour: str = "none", focus: str | None = None, calls=None) -> Compression:
    heart = engine()
    plan = heart.plan(view, EngineState(), budgets_of(view, window), focus)
    return asyncio.run(heart.compress(plan, summariser(behaviour, calls)))


@st.composite
def histories(draw: st.DrawFn) -> tuple[ContextView, int]:
    """A view that has been compressed up to three times while the conversation went on."""
    window = draw(WINDOWS)
    view = view_of(draw(conversations()), draw(st.sampled_from(["", "Answer briefly."])))
    for _ in range(draw(st.integers(0, 2))):
        done = compressed(view, window, draw(st.sampled_from([*BEHAVIOURS, "none"])))
        if done.change is not None:
            view = view.apply(done.change)
        start = view.last_message.sequence + 1
        more = draw(conversations(turns=3, start=start))
        for message in more:
            view = view.append(message)
    return view, window


GROWN = histories()
ANY = st.sampled_from([*BEHAVIOURS, "none"])


@given(GROWN, ANY)
def test_whatever_is_applied_passes_every_check(grown, behaviour):
    """Invariants 1-7, 17, 19: pairs, alternation, first user, last request, atomic turns, one summary, order, coverage."""
    view, window = grown
    done = compressed(view, window, behaviour)
    if done.change is not None:
        assert violations(view, done.change) == ()


@given(GROWN, ANY)
def test_the_request_that_would_go_out_is_valid(grown, behaviour):
    """Invariants 1-3 on the rows as sent, after all notes, read without the product's own checker."""
    view, window = grown
    done = compressed(view, window, behaviour)
    rows = sent_rows(view.apply(done.change) if done.change else view)
    assert [r.role for r in rows] == [("user", "assistant")[n % 2] for n in range(len(rows))]
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        assert row.content
        assert all(b["text"].strip() for b in row.content if b["type"] == "text")
        calls = [b["id"] for b in row.content if b["type"] == "tool_use"]
        given_ = [] if following is None else [b["tool_use_id"] for b in following.content if b["type"] == "tool_result"]
        assert sorted(calls) == sorted(given_)


@given(GROWN, ANY)
def test_the_newest_user_message_stands_last_and_word_for_word(grown, behaviour):
    """Invariant 4."""
    view, window = grown
    newest = [e.message for e in view.entries if e.message and e.message.is_real_user][-1]
    done = compressed(view, window, behaviour)
    after = view.apply(done.change) if done.change else view
    rows = sent_rows(after)
    at = next(n for n, r in enumerate(rows) if r.entry and r.entry.message and r.entry.message.id == newest.id)
    assert list(rows[at].content) == [b for b in newest.content if b["type"] != "text" or b["text"].strip()]
    later = [r for r in rows[at + 1 :] if r.role == "user" and r.entry is not None]
    assert all(r.entry.message and results_of(r.entry.message) for r in later)


@given(GROWN)
def test_no_cut_falls_inside_a_group_and_tails_begin_where_they_may(grown):
    """Invariant 5."""
    view, window = grown
    plan = engine().plan(view, EngineState(), budgets_of(view, window), "")
    if plan.kind != "summarise":
        return
    regions: Regions = plan.regions
    by_position = {e.position: e.message for e in view.entries if e.message}
    for positions in (regions.head, regions.middle, regions.tail):
        for p in positions:
            message = by_position[p]
            if calls_of(message):
                assert p + 2 in positions
            if results_of(message):
                assert p - 2 in positions
    first = by_position[regions.tail[0]]
    if not first.is_real_user:
        assert calls_of(first)
        before = by_position.get(2 * first.sequence - 2)
        assert before is None or results_of(before)


@given(GROWN, ANY)
def test_the_tail_stays_word_for_word(grown, behaviour):
    """Invariant 8: byte-equal, thinking aside, unless the pruning report names it."""
    view, window = grown
    done = compressed(view, window, behaviour)
    if done.change is None:
        return
    reported = {p.entry.position for p in done.plan.prunes}
    after = {e.position: e for e in view.apply(done.change).entries}
    for p in done.plan.regions.tail:
        if p not in reported:
            before = next(e for e in view.entries if e.position == p)
            assert after[p].content == before.content
            assert after[p].treatment == before.treatment


@given(GROWN, ANY)
def test_a_compression_gains_a_tenth_or_nothing_happens(grown, behaviour):
    """Invariant 9, sizes measured alike on both sides."""
    view, window = grown
    meter = engine().meter
    done = compressed(view, window, behaviour)
    if done.change is None:
        assert done.refusal is not None
        assert done.refusal.reason
        assert done.tokens_after == done.tokens_before
    else:
        after = meter.size(view.apply(done.change), EngineState()).tokens
        assert done.tokens_after == after
        assert after <= 0.9 * meter.size(view, EngineState()).tokens


@given(GROWN, ANY)
def test_what_fits_the_threshold_comes_under_it(grown, behaviour):
    """Invariant 10."""
    view, window = grown
    heart, budgets = engine(), budgets_of(view, window)
    size = heart.meter.size(view, EngineState()).tokens
    if size <= budgets.threshold:
        return
    done = compressed(view, window, behaviour)
    anchor = max((e.position for e in view.entries if e.message and e.message.is_real_user), default=0)
    last = view.entries[-1].position
    newest = {anchor, last, last - 2} if results_of(view.entries[-1].message) else {anchor, last}
    rows = {r.entry.position: heart.meter.row(r) for r in sent_rows(view) if r.entry}
    must = budgets.floor + budgets.summary_cap + sum(rows.get(p, 0) for p in newest)
    if must + 60 <= budgets.threshold:
        assert done.change is not None, done.refusal
        assert done.tokens_after <= budgets.threshold
    elif done.change is None:
        assert done.refusal.kind in ("incompressible", "no_gain", "nothing_eligible", "summary_refused")


@given(GROWN)
def test_the_tail_keeps_its_bound(grown):
    """Invariant 11: at most 1.5 x budget, or exactly the newest user message and the newest group."""
    view, window = grown
    heart, budgets = engine(), budgets_of(view, window)
    plan = heart.plan(view, EngineState(), budgets, "")
    if plan.kind != "summarise":
        return
    tokens = {r.entry.position: heart.meter.row(r) for r in sent_rows(view) if r.entry}
    pruned = {p.entry.position: p.tokens_after for p in plan.prunes}
    tail = sum(pruned.get(p, tokens.get(p, 0)) for p in plan.regions.tail)
    if tail > budgets.tail_bound:
        rest = [p for p in plan.regions.tail if p != plan.regions.anchor]
        assert len(rest) <= 2


@given(GROWN, ANY)
def test_nothing_that_was_given_is_changed_and_the_same_comes_out_again(grown, behaviour):
    """Invariant 12."""
    view, window = grown
    messages = tuple(e.message for e in view.entries if e.message)
    before = dumped(messages)
    one, two = compressed(view, window, behaviour), compressed(view, window, behaviour)
    assert one == two
    assert dumped(messages) == before


@given(GROWN)
def test_compressing_again_with_nothing_new_does_nothing(grown):
    """Invariant 13: no summary call, no change, once a pass has nothing left to gain."""
    view, window = grown
    for _ in range(3):
        calls: list[SummaryPrompt] = []
        done = compressed(view, window, "good", calls=calls)
        if done.change is None:
            return
        view = view.apply(done.change)
        if done.plan.kind == "summarise":
            break
    calls = []
    again = compressed(view, window, "good", calls=calls)
    assert again.change is None
    assert calls == []


@given(GROWN, ANY)
def test_a_pass_makes_at_most_eight_calls(grown, behaviour):
    """Invariant 15."""
    view, window = grown
    calls: list[SummaryPrompt] = []
    compressed(view, window, behaviour, calls=calls)
    assert len(calls) <= 8


@given(GROWN, ANY)
def test_everything_that_was_said_is_in_exactly_one_place(grown, behaviour):
    """Invariant 17: head, closure of the summary, pinned, dropped, tail."""
    view, window = grown
    done = compressed(view, window, behaviour)
    if done.change is None:
        return
    after = view.apply(done.change)
    alive = [e.message.id for e in after.entries if e.message]
    told = sorted(after.summary.covered) if after.summary else []
    everything = {e.message.id for e in view.entries if e.message} | (view.summary.covered if view.summary else set())
    assert sorted([*alive, *told]) == sorted(everything)


@given(GROWN)
def test_pruning_twice_is_pruning_once(grown):
    """Invariant 19: and placeholders name the right call, arguments keep their keys."""
    view, window = grown
    done = compressed(view, window)
    if done.change is None or done.plan.kind != "prune":
        return
    after = view.apply(done.change)
    again = engine().plan(after, EngineState(), budgets_of(after, window))
    assert not {p.entry.position for p in again.prunes} & {p.entry.position for p in done.plan.prunes}
    for prune in done.plan.prunes:
        entry = prune.entry
        assert entry.treatment in (Treatment.PRUNED, Treatment.CLIPPED)
        for was, now in zip(entry.message.content, entry.sent, strict=False):
            if was["type"] == "tool_use":
                assert now["input"].keys() == was["input"].keys()


@given(conversations(), texts(), WINDOWS)
def test_wording_never_changes_what_a_message_is(messages, text, window):
    """Invariant 21: two conversations that differ in one short user text are cut alike."""
    at = next(n for n, m in enumerate(messages) if m.is_real_user)
    base = text[:40].ljust(40, "x")

    def with_text(said: str) -> ContextView:
        from dataclasses import replace

        changed = replace(messages[at], content=({"type": "text", "text": said},))
        return view_of((*messages[:at], changed, *messages[at + 1 :]))

    plain, look_alike = with_text("x" * 40), with_text(base)
    one = engine().plan(plain, EngineState(), budgets_of(plain, window), "")
    two = engine().plan(look_alike, EngineState(), budgets_of(look_alike, window), "")
    assert one.regions.head == two.regions.head
    assert one.regions.tail == two.regions.tail
    assert one.kind == two.kind


@given(st.integers(2_048, 2_000_000), st.integers(0, 2_000_000), st.floats(0.0, 1.5), st.integers(1, 200_000))
def test_the_threshold_lies_between_nothing_and_what_is_usable(window, floor, percent, max_tokens):
    """Invariant 26."""
    from hermes_tui.context.budgets import Share

    try:
        budgets = budgets_for(
            Sourced(window, "test"), floor, max_tokens=Sourced(max_tokens, "test"), threshold_percent=Share(percent, "test")
        )
    except ImpossibleBudget as refused:
        named = f"{floor:,}" in str(refused)
    else:
        named = None
    if named is not None:
        assert named
        return
    assert 0 < budgets.threshold < budgets.usable
    assert budgets.floor <= budgets.prune_target <= budgets.warm_mark <= budgets.threshold <= budgets.in_loop
    assert budgets.reserved.value <= window // 4


def test_windows_too_small_are_refused_in_words_with_the_numbers():
    """Invariant 26: below 2,048 there is no shape that fits."""
    with pytest.raises(ImpossibleBudget, match=r"2,047.*2,048"):
        budgets_for(Sourced(2_047, "config"), 0)


def test_the_budgets_of_the_embedded_model_are_the_documented_ones():
    """The worked example of the design: window 8,192, 2,048 reserved, a floor of 64."""
    b = budgets_for(Sourced(8_192, "models API"), 64, max_tokens=Sourced(2_048, "embedded"))
    assert (b.threshold, b.room, b.head_cap, b.tail_budget, b.tail_bound) == (3_072, 3_008, 301, 602, 902)
    assert (b.summary_cap, b.warm_mark, b.in_loop) == (602, 2_621, 5_222)


@given(conversations(), st.integers(100, 100_000), st.integers(100, 100_000))
def test_the_size_only_grows_while_one_talks_and_measured_beats_estimated(messages, first, second):
    """Invariants 25 and 34: monotone under append; a reading anchors; a later one moves the scale towards the truth."""
    heart, state, view = engine(), EngineState(), view_of(messages[:1])
    sizes = []
    for message in messages[1:]:
        sizes.append(heart.meter.size(view, state).tokens)
        view = view.append(message)
    assert sizes == sorted(sizes)
    state = heart.update_from_response(state, view, Usage(input=first))
    assert heart.meter.size(view, state).tokens == first
    assert heart.meter.size(view, state).kind == "measured"
    state = heart.update_from_response(state, view, Usage(input=1, cache_read=second - 1))
    assert heart.meter.size(view, state).tokens == second


@given(GROWN)
def test_a_preview_is_the_real_run(grown):
    """Invariant 35: planning twice is the same plan, and what is carried out is that plan."""
    view, window = grown
    heart, budgets = engine(), budgets_of(view, window)
    shown = heart.plan(view, EngineState(), budgets, "")
    done = asyncio.run(heart.compress(heart.plan(view, EngineState(), budgets, ""), None))
    assert done.plan == shown


@given(GROWN, st.integers(0, 200_000))
def test_the_regions_add_up_to_the_gauge(grown, measured):
    """Invariant 34: system, head, summary, middle, pinned and tail are the size of the next request, to the token."""
    view, window = grown
    heart = engine()
    state = heart.update_from_response(EngineState(), view, Usage(input=measured))
    plan = heart.plan(view, state, budgets_of(view, window, state))
    assert sum(tokens for _, tokens in plan.regions.tokens) == heart.meter.size(view, state).tokens
