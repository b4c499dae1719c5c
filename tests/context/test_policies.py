"""The policies that an engine is compared with: simpler than it, but every request of theirs is one that a server accepts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.check import violations
from hermes_tui.context.messages import Message, result_text, results_of
from hermes_tui.context.policies import POLICIES, HermesLike, Policy, TruncateOldest, Uncompressed
from hermes_tui.context.policies.hermes_like import PLACEHOLDER, PRUNED_OVER, SUMMARY_KEPT, pruned_before
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.view import ContextView, Treatment
from tests.context.histories import BLANK, GROWN, Grown, after, budgets_of, newest_request
from tests.strategies import SEEDS, conversation, count, finished, said, view_of


def policy(name: str) -> Policy:
    ids = itertools.count()
    return POLICIES[name](count, lambda: f"told{next(ids)}", None)


def compressed(name: str, grown: Grown) -> ContextView:
    """The context after NAME has compressed it, checked as it would be before it is applied."""
    made = policy(name)
    done = finished(made.compress(made.plan(grown.view, BLANK, budgets_of(*grown)), None))
    if done.change is not None:
        assert violations(grown.view, done.change) == ()
    return after(grown, done.change)


@given(GROWN, st.sampled_from(sorted(POLICIES)), SEEDS)
def test_every_request_of_every_policy_has_a_valid_shape_time_after_time(grown, name, seed):
    import random

    view = grown.view
    for turn in range(3):
        newest = newest_request(view).message
        view = compressed(name, Grown(view, grown.window))
        rows = sent_rows(view)
        assert [r.role for r in rows] == [("user", "assistant")[n % 2] for n in range(len(rows))]
        open_calls: list[str] = []
        for row in rows:
            assert sorted(b["tool_use_id"] for b in row.content if b["type"] == "tool_result") == sorted(open_calls)
            open_calls = [b["id"] for b in row.content if b["type"] == "tool_use"]
        assert any(row.entry and row.entry.message is newest for row in rows), "what is to be answered is always sent"
        more = conversation(random.Random(seed + turn), 2, view.entries[-1].message.sequence + 1)
        view = said(view, more)


@given(GROWN)
def test_nothing_is_ever_compressed_by_none(grown):
    none = policy(Uncompressed.name)
    budgets = budgets_of(*grown)
    assert none.should_compress(grown.view, BLANK, budgets, 0.0).action == "rest"
    assert none.plan(grown.view, BLANK, budgets).kind is None


@given(GROWN)
def test_truncation_leaves_the_newest_and_drops_the_oldest_only(grown):
    view = compressed(TruncateOldest.name, grown)
    newest = newest_request(grown.view)
    was = {e.position: e.treatment for e in grown.view.entries}
    dropped = [e for e in view.entries if e.treatment is Treatment.DROPPED and was[e.position] is not Treatment.DROPPED]
    if not dropped:
        return
    last = max(e.position for e in dropped)
    held = [e for e in view.entries if e.message and e.position < last and e.treatment is not Treatment.DROPPED]
    assert all(e.position == newest.position or e.treatment is Treatment.PINNED or _pinned_with(view, e.message) for e in held)
    assert all(e.sent is None or e.treatment is not Treatment.VERBATIM for e in view.entries)


def _pinned_with(view: ContextView, message: Message) -> bool:
    """Whether MESSAGE belongs to a call group of which the other half is pinned."""
    near = {2 * message.sequence - 2, 2 * message.sequence + 2}
    return any(e.position in near and e.treatment is Treatment.PINNED for e in view.entries)


def hermes(turns: int, seed: int = 3) -> Grown:
    import random

    return Grown(view_of(conversation(random.Random(seed), turns)), 4_000)


def test_hermes_like_prunes_old_results_to_its_fixed_line_and_tells_the_middle_in_two_pages_at_most():
    grown = hermes(30)
    view = compressed(HermesLike.name, grown)
    assert view.summary is not None
    assert sum(len(text) for _, text in view.summary.prose) <= SUMMARY_KEPT
    assert not view.summary.ledger.sections
    old = pruned_before(grown.view)
    for entry in view.entries:
        for result in results_of(entry.message) if entry.message else ():
            long = len(result_text(result)) > PRUNED_OVER
            sent = next(b for b in entry.content if b.get("tool_use_id") == result["tool_use_id"])
            if entry.message.sequence < old and long:
                assert sent["content"] == PLACEHOLDER
            else:
                assert sent == result


def test_hermes_like_keeps_the_first_two_messages_beside_the_system_prompt_and_its_own_threshold():
    import random

    view = view_of(conversation(random.Random(3), 40), "Be brief.")
    grown = Grown(view, 4_000)
    budgets = budgets_of(*grown)
    made = POLICIES[HermesLike.name](count, lambda: "told", None)
    assert made.threshold(budgets) == 2_000, "half of the whole window"
    after_it = compressed(HermesLike.name, grown)
    kept = [e.message.sequence for e in after_it.entries if e.message]
    assert 0 in kept
    assert 10 not in kept
    assert kept[-1] == view.entries[-1].message.sequence


@pytest.mark.parametrize("name", [TruncateOldest.name, HermesLike.name])
def test_policies_act_at_their_threshold_inside_a_turn_as_well(name):
    made = policy(name)
    view = view_of(hermes(30).view.entries and tuple(e.message for e in hermes(30).view.entries if e.message))
    budgets = budgets_of(view, 4_000)
    assert made.should_compress(view, BLANK, budgets, 0.0).action == "compress"
    assert made.should_compress(view, BLANK, budgets_of(view, 2_000_000), 0.0).action == "rest"
