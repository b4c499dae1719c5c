"""What was pruned stays pruned, says what it was, and points to nothing that is not there."""

from __future__ import annotations

import contextlib
import json
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.editing import EditRefused, marked
from hermes_tui.context.messages import Message, calls_of, result_text, results_of
from hermes_tui.context.placeholders import PRUNED_OVER
from hermes_tui.context.pruning import pointer
from hermes_tui.context.view import ContextView, Treatment
from tests.context.histories import BLANK, Grown, after, budgets_of, engine, planned, told
from tests.strategies import SEEDS, conversation, said, view_of

pytestmark = pytest.mark.invariant
POINTER = re.compile(re.escape(pointer("COPYID").reason).replace("COPYID", r"(\w+)"))
POOL = tuple(f"{n} rows of the table\n" * (60 + 40 * n) for n in range(3))


def repeating(dice: random.Random, turns: int, start: int = 0) -> tuple[Message, ...]:
    """A conversation whose tools answer again and again with the same long texts, about the same few files."""

    def again(message: Message) -> Message:
        blocks = [
            {**b, "content": dice.choice(POOL)} if b["type"] == "tool_result" and dice.random() < 0.7 else b
            for b in message.content
        ]
        return replace(message, content=tuple(blocks))

    return tuple(again(m) if results_of(m) else m for m in conversation(dice, turns, start))


def pruned_now_and_then(seed: int, turns: int, rounds: int) -> Grown:
    """A context with duplicates, pruned and summarised while it went on, in a window that pruning alone often suffices for."""
    dice = random.Random(seed)
    view = view_of(repeating(dice, turns))
    for _ in range(rounds):
        grown = Grown(view, _window(view, dice))
        view = said(after(grown, told(grown)[1]), repeating(dice, dice.randint(1, 3), view.last_message.sequence + 1))
    return Grown(view, _window(view, dice))


def _window(view: ContextView, dice: random.Random) -> int:
    return max(2_048, int(engine().meter.estimate(view) / dice.uniform(0.3, 0.5)))


PRUNED = st.builds(pruned_now_and_then, SEEDS, st.integers(2, 12), st.integers(0, 3))


@given(PRUNED)
def test_pruning_what_is_pruned_changes_nothing_more(grown):
    """Invariant 19: the same placeholders, byte for byte, and no placeholder of a placeholder."""
    plan, change = told(grown)
    view = after(grown, change)
    again = planned(Grown(view, grown.window))
    before = {p.entry.position: p.entry.sent for p in plan.prunes}
    for prune in again.prunes:
        was = before.get(prune.entry.position)
        assert was is None or _untouched(was, prune.entry)


def _untouched(was, entry) -> bool:
    """Whether ENTRY's placeholders are those that it had: a pointer may be resolved, and what stood in full may go as well."""
    return len(was) == len(entry.sent) and all(
        a in (b, original) or POINTER.search(result_text(a))
        for a, b, original in zip(was, entry.sent, entry.message.content, strict=True)
    )


@given(PRUNED)
def test_a_placeholder_names_the_call_whose_result_it_was_and_arguments_keep_their_keys(grown):
    """Invariant 19: ids, names and keys stay, arguments stay JSON."""
    plan = planned(grown)
    messages = {e.position: e.message for e in grown.view.entries if e.message}
    for prune in plan.prunes:
        entry, original = prune.entry, prune.entry.message
        assert prune.tokens_after <= prune.tokens_before or grown.view.entries[_at(grown, entry)].sent, (
            "but for a pointer resolved"
        )
        calls = {c["id"]: c for c in calls_of(messages[entry.position - 2])} if results_of(original) else {}
        now = [b for b in entry.sent if b["type"] in ("tool_use", "tool_result")]
        was = [b for b in original.content if b["type"] in ("tool_use", "tool_result")]
        for old, new in zip(was, now, strict=True):
            if old["type"] == "tool_use":
                assert (new["id"], new["name"], list(new["input"])) == (old["id"], old["name"], list(old["input"]))
                json.dumps(new["input"])
            else:
                assert (new["tool_use_id"], new.get("is_error")) == (old["tool_use_id"], old.get("is_error"))
                if new != old and entry.treatment is Treatment.PRUNED and isinstance(new["content"], str):
                    call = calls[new["tool_use_id"]]
                    assert new["content"].startswith(f"[pruned: {call['name']} {call['input']['path']}")
                    assert f"{len(result_text(old)):,} characters" in new["content"] or not result_text(old)
                    assert len(new["content"]) <= PRUNED_OVER


def _at(grown: Grown, entry) -> int:
    return next(i for i, e in enumerate(grown.view.entries) if e.position == entry.position)


@given(PRUNED, st.integers(0, 200))
def test_a_result_that_is_said_to_stand_elsewhere_does_stand_there_in_full(grown, dropped):
    """Invariant 20: in a message that is sent, word for word; once that goes, nothing points to it any more."""
    every_pointer_resolves(grown.view)
    for focus in (None, ""):
        plan, change = told(grown, focus)
        every_pointer_resolves(after(grown, change and engine().resolved(grown.view, change)))
        assert change is None or engine().resolved(grown.view, change) == change, plan.kind
    messages = [e.message.id for e in grown.view.entries if e.message]
    for mark in ("drop", "pin"):
        with contextlib.suppress(EditRefused):
            view, change = grown.view, marked(grown.view, messages[dropped % len(messages)], mark).change
            every_pointer_resolves(view.apply(engine().resolved(view, change)))


def every_pointer_resolves(view: ContextView) -> None:
    """Each placeholder that names a copy names one that is sent in full, further down."""
    sent = {e.message.id[-6:]: e for e in view.entries if e.message and e.treatment is not Treatment.DROPPED}
    for entry in view.entries:
        if entry.message is None or entry.sent is None or entry.treatment is Treatment.DROPPED:
            continue
        for at, (original, now) in enumerate(zip(entry.message.content, entry.sent, strict=False)):
            found = POINTER.search(result_text(now)) if now["type"] == "tool_result" and now != original else None
            if found is None:
                continue
            copy = sent.get(found[1])
            assert copy is not None, "it points to nothing"
            assert copy.position >= entry.position
            further_down = copy.content[at + 1 if copy is entry else 0 :]
            assert result_text(original) in [result_text(block) for block in further_down]


@given(PRUNED)
def test_a_prune_alone_is_worth_a_break_of_the_prompt_cache_and_comes_far_enough_down(grown):
    """Invariants 9 and 19: in a batch, to the prune target; what is not old stays."""
    plan, budgets = planned(grown), budgets_of(*grown)
    if plan.kind != "prune" or any(p.entry.treatment is Treatment.CLIPPED for p in plan.prunes):
        return
    view = after(grown, told(grown)[1])
    size = engine().meter.size(view, BLANK).tokens
    assert size <= 0.9 * plan.tokens_before
    assert size <= budgets.prune_target
    assert plan.tokens_before - size >= budgets.prune_batch
    assert not {p.entry.position for p in plan.prunes} & set(plan.regions.tail)
