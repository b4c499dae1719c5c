"""Where a context is cut, what stays word for word, and that nothing vanishes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.groups import groups_of
from hermes_tui.context.messages import Message, calls_of, results_of
from hermes_tui.context.view import Treatment
from tests.context.histories import (
    BLANK,
    GROWN,
    Grown,
    after,
    budgets_of,
    carried,
    engine,
    planned,
    rows_of,
    told,
)

pytestmark = pytest.mark.invariant


@given(GROWN)
def test_no_cut_parts_a_call_from_its_results_or_begins_a_tail_with_a_reply(grown):
    """Invariant 5: a tail begins with what a person said, or with a call that is not the first of its run."""
    plan = planned(grown, "")
    if plan.kind != "summarise":
        return
    by_position = {e.position: e.message for e in grown.view.entries if e.message}
    regions = plan.regions
    for positions in (regions.head, regions.middle, regions.pinned, regions.tail):
        groups_of([by_position[p] for p in positions])  # raises where a group is cut
    first = by_position[regions.tail[0]]
    if not first.is_real_user:
        assert calls_of(first)
        sent = [e for e in grown.view.entries if e.message and e.treatment is not Treatment.DROPPED]
        before = [e.message for e in sent if e.position < regions.tail[0]]
        assert not before or before[-1].sequence < first.sequence - 1 or results_of(before[-1])
    for one, other in pairwise(p for p in regions.tail if p != regions.anchor):
        between = [p for p in by_position if one < p < other and p not in regions.pinned and p != regions.anchor]
        assert all(_dropped(grown.view, p) for p in between), "a tail has no holes but for the message to answer"


def _dropped(view, position) -> bool:
    return any(e.position == position and e.treatment is Treatment.DROPPED for e in view.entries)


@given(GROWN)
def test_the_newest_messages_stay_word_for_word(grown):
    """Invariant 8: byte-equal, thinking aside, unless the report of what was pruned names them."""
    done = carried(grown)
    if done.change is None:
        return
    reported = {p.entry.position for p in done.plan.prunes}
    before, rows = {e.position: e for e in grown.view.entries}, rows_of(after(grown, done.change))
    for p in set(done.plan.regions.tail) - reported:
        kept = [b for b in before[p].content if b["type"] != "thinking" and (b["type"] != "text" or b["text"].strip())]
        now = rows.get(p)
        assert [b for b in now.content if b["type"] != "thinking"] == kept if now else not kept
    for prune in done.plan.prunes:
        assert prune.reason, "and says why"


@given(GROWN)
def test_the_tail_keeps_its_bound(grown):
    """Invariant 11: at most 1.5 x its budget, or exactly the newest user message and the newest group."""
    budgets, plan = budgets_of(*grown), planned(grown, "")
    if plan.kind != "summarise":
        return
    meter = engine().meter
    tokens = {p: meter.row(row) for p, row in rows_of(grown.view).items()}
    pruned = {p.entry.position: p.tokens_after for p in plan.prunes}
    tail = sum(pruned.get(p, tokens.get(p, 0)) for p in plan.regions.tail)
    if tail > budgets.tail_bound:
        messages = {e.position: e.message for e in grown.view.entries if e.message}
        rest = [messages[p] for p in plan.regions.tail if p != plan.regions.anchor]
        assert len(groups_of(rest)) <= 1


@given(GROWN)
def test_everything_that_was_ever_said_is_in_exactly_one_place(grown):
    """Invariant 17: head, all that the summary tells, pinned, dropped, tail; nothing vanishes and nothing stands twice."""
    done = carried(grown)
    view = after(grown, done.change)
    alive = [e.message.id for e in view.entries if e.message]
    covered = sorted(view.summary.covered) if view.summary else []
    everything = {f"m{n:04d}" for n in range(grown.view.last_message.sequence + 1)}
    assert sorted([*alive, *covered]) == sorted(everything)
    if done.change is None or done.plan.kind != "summarise":
        return
    regions = done.plan.regions
    dropped = [e.position for e in grown.view.entries if e.treatment is Treatment.DROPPED]
    places = [*regions.head, *regions.pinned, *regions.tail, *dropped]
    assert sorted(places) == [e.position for e in view.entries if e.message]


@given(GROWN, st.sampled_from(["", "ports"]))
def test_a_pin_stays_word_for_word_and_a_drop_stays_unsent_through_any_compression(grown, focus):
    """Invariants 8 and 17: what a person decided about a message is not undone by a compression."""
    view = after(grown, told(grown, focus)[1])
    for was in grown.view.entries:
        if was.treatment in (Treatment.PINNED, Treatment.DROPPED):
            assert was in view.entries
    rows = rows_of(view)
    assert not [e for e in view.entries if e.treatment is Treatment.DROPPED and e.position in rows]


@given(GROWN)
def test_the_regions_add_up_to_the_size_of_the_next_request(grown):
    """Invariants 17 and 34: to the token, whatever stands where."""
    plan = planned(grown)
    size = engine().meter.size(grown.view, BLANK).tokens
    assert sum(tokens for _, tokens in plan.regions.tokens) == size
    assert sum(tokens for _, tokens in plan.regions.entries) <= size


@given(GROWN)
def test_what_is_summarised_is_what_was_said_not_what_stood_for_it(grown):
    """Invariants 17 and 18: the originals of placeholders, each of them named as a source of the summary."""
    done = carried(grown, "")
    if done.summary is None:
        return
    gone = {e.position: e.message for e in done.plan.summarised if e.message}
    assert [m.id for m in done.plan.sources] == [m.id for m in gone.values()]
    assert all(source is gone[2 * source.sequence] for source in done.plan.sources)
    assert done.summary.added == tuple(m.id for m in done.plan.sources)


@given(GROWN, st.sampled_from([None, "", "ports"]))
def test_nothing_is_compressed_while_a_call_is_unanswered(grown, focus):
    """Invariant 1: not by hand either; a result that comes later still finds its call."""
    n = grown.view.last_message.sequence + 1
    call = {"type": "tool_use", "id": "open", "name": "read_file", "input": {"path": "a.py"}}
    waiting = grown.view
    if waiting.last_message.role == "assistant":
        waiting = waiting.append(Message(f"m{n:04d}", n, "user", ({"type": "text", "text": "look"},), "user"))
        n += 1
    waiting = waiting.append(Message(f"m{n:04d}", n, "assistant", (call,), "model", "model-a"))
    plan = planned(Grown(waiting, grown.window), focus)
    assert (plan.kind, plan.prunes, plan.refusal.kind) == (None, (), "open_call")
    decision = engine().should_compress(waiting, BLANK, budgets_of(waiting, grown.window), 0.0)
    assert decision.action == "rest"
