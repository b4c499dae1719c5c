"""Undo and redo of a context: any edit can be taken back, also after the conversation went on, and an undo too."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_tui.context.check import violations
from hermes_tui.context.editing import EditRefused
from hermes_tui.context.engine import EngineState
from hermes_tui.context.ledger import Ledger
from hermes_tui.context.summaries import Summary
from hermes_tui.context.undoing import Row, in_effect
from hermes_tui.context.view import Change, Entry, Treatment
from tests.context import histories
from tests.context.histories import budgets_of, engine
from tests.rows import History, standing
from tests.strategies import SEEDS, conversation, conversations, view_of

WINDOWS = st.sampled_from(histories.WINDOWS)
NUMBERS = itertools.count()


def compress(chain: History, window: int, focus: str | None = None) -> bool:
    """Compress CHAIN where the engine would, with a summary that costs nothing to write; False where nothing is to be done."""
    view = chain.view
    plan = engine().plan(view, EngineState(), budgets_of(view, window), focus)
    opened = [p.entry for p in plan.prunes]
    if plan.kind == "summarise":
        added, before = tuple(m.id for m in plan.sources), view.summary
        summary = Summary(
            id=f"summary{next(NUMBERS)}",
            version=before.version + 1 if before else 1,
            prose=(("Goal", "ship it"),),
            ledger=Ledger(),
            previous=before.id if before else None,
            added=added,
            covered=frozenset(added) | (before.covered if before else frozenset()),
        )
        opened.append(Entry(plan.summary_position, summary=summary))
    closed = (*(e.position for e in plan.summarised), *(p.entry.position for p in plan.prunes))
    if plan.kind is None:
        return False
    change = Change(closed, tuple(opened))
    assert violations(view, change) == ()
    chain.apply(change, plan.kind)
    return True


def a_chain(seed: int, turns: int) -> History:
    dice = random.Random(seed)
    return History(view_of(conversation(dice, turns), dice.choice(["", "Answer briefly."])))


def go_on(chain: History, seed: int, turns: int) -> None:
    last = chain.view.last_message
    if not turns:
        return
    chain.say(conversation(random.Random(seed), turns, last.sequence + 1 if last else 0))


@pytest.mark.invariant
@given(SEEDS, st.integers(3, 9), WINDOWS, st.sampled_from([None, ""]), st.integers(0, 3), st.integers(1, 3))
@example(1434075, 3, 4000, None, 2, 3)  # an undo that goes back further leaves undone what an earlier one had undone
def test_undo_of_a_compression_restores_the_context_exactly_and_keeps_later_turns(seed, turns, window, focus, later, times):
    """Invariant 30: also after the conversation went on, and redo leads back."""
    chain = a_chain(seed, turns)
    states = []
    for n in range(times):
        before = chain.view.entries
        if not compress(chain, window, focus):
            break
        states.append((chain.view.generation, before))
        go_on(chain, seed + n, later)
    last = chain.view.entries
    for generation, before in reversed(states):
        said = [e for e in chain.view.entries if e.message and e.position > before[-1].position]
        edit = chain.undo()
        assert edit.target == generation
        assert standing(chain.view.entries[: len(before)]) == standing(before)
        assert {e.message.id for e in said} <= {e.message.id for e in chain.view.entries if e.message}
    with pytest.raises(EditRefused):
        chain.undo()
    assert all(e.sent is None and e.summary is None for e in chain.view.entries), "all is as it was said"
    for _ in states:
        chain.redo()
    assert standing(chain.view.entries) == standing(last), "redone, it is as it was before the undos"
    with pytest.raises(EditRefused):
        chain.redo()


def dead(rows: list[Row]) -> set[tuple[int, int, int]]:
    return {(r.entry.position, r.entry.born, r.died) for r in rows if r.died is not None}


STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "compress", "pin", "drop", "unpin", "restore", "undo", "redo", "older"]), SEEDS),
    min_size=3,
    max_size=14,
)


@pytest.mark.invariant
@given(SEEDS, WINDOWS, STEPS)
def test_whatever_is_edited_undone_and_redone_the_context_stays_valid_and_every_edit_can_be_taken_back(seed, window, steps):
    """Invariants 1-7, 17 and 30."""
    chain = a_chain(seed, 5)
    for kind, number in steps:
        dice = random.Random(number)
        view, rows, edits = chain.view, list(chain.rows), list(chain.edits)
        try:
            if kind == "say":
                go_on(chain, number, dice.randint(1, 2))
            elif kind == "compress":
                compress(chain, window, dice.choice([None, ""]))
            elif kind == "undo":
                chain.undo()
            elif kind == "redo":
                chain.redo()
            elif kind == "older":
                chain.undo(dice.choice([e.generation for e in in_effect(edits)] or [7]))
            else:
                chain.mark(dice.choice([e.message.id for e in view.entries if e.message]), kind)
        except EditRefused:
            assert (chain.view, chain.rows, chain.edits) == (view, rows, edits), "a refusal changes nothing"
            continue
        if chain.view.generation == view.generation:
            continue
        closed = tuple(r.entry.position for r in chain.rows if r.died == chain.view.generation)
        opened = tuple(e for e in chain.view.entries if e.born == chain.view.generation)
        assert violations(view, Change(closed, opened), by_hand=kind != "compress") == ()
        gone = standing(e for e in view.entries if e.position in closed)
        assert not [e for e in standing(opened) if e in gone], "only differences are written"
        assert dead(rows) <= dead(chain.rows), "no dead row is revived"
        if kind in ("undo", "redo", "older"):
            before = standing(view.entries)
            generation = chain.view.generation
            probe = History(chain.view)
            probe.rows, probe.edits = list(chain.rows), list(chain.edits)
            probe.redo(generation)
            assert standing(probe.view.entries) == before, "the undo of an undo is where it began"


@given(SEEDS, st.integers(4, 8), WINDOWS)
def test_an_older_edit_is_undone_with_those_that_build_on_it_and_no_others(seed, turns, window):
    chain = a_chain(seed, turns)
    if not compress(chain, window, ""):
        return
    go_on(chain, seed, 2)
    newest = [e.message for e in chain.view.entries if e.message and e.message.origin == "user"][-1]
    later = chain.view.generation + 1
    chain.mark(newest.id, "pin")
    edit = chain.undo(1)
    assert edit.undone == (1,), "a pin on what was said since does not build on it"
    assert [e.treatment for e in chain.view.entries if e.message and e.message.id == newest.id] == [Treatment.PINNED]
    chain.redo()
    if compress(chain, window, ""):
        again = chain.view.generation
        edit = chain.undo(1)
        assert {1, again} <= set(edit.undone), "the second summary tells what the first one told"
        kinds = {e.generation: e.kind for e in chain.edits}
        assert later not in edit.undone or kinds[later] == "pin"


@given(conversations(turns=8), WINDOWS, SEEDS)
def test_what_is_pinned_stays_word_for_word_through_three_compressions(messages, window, seed):
    chain = History(view_of(messages))
    chosen = random.Random(seed).choice(messages)
    chain.mark(chosen.id, "pin")
    pinned = {e.message.id: e.message for e in chain.view.entries if e.treatment is Treatment.PINNED}
    assert chosen.id in pinned
    assert len(pinned) == (2 if chosen.origin == "tool" or any(b["type"] == "tool_use" for b in chosen.content) else 1)
    for n in range(3):
        compress(chain, window, "")
        go_on(chain, seed + n, 3)
    stands = {e.message.id: e for e in chain.view.entries if e.message}
    for identifier, message in pinned.items():
        assert stands[identifier].treatment is Treatment.PINNED
        assert stands[identifier].content == message.content


@given(conversations(turns=6), SEEDS)
def test_pins_and_drops_take_whole_groups_and_once_is_enough(messages, seed):
    chain = History(view_of(messages))
    chosen = random.Random(seed).choice(messages)
    newest = [m.id for m in messages if m.is_real_user][-1]
    if chosen.id == newest:
        with pytest.raises(EditRefused, match="cannot be dropped"):
            chain.mark(chosen.id, "drop")
        return
    for mark, back, treatment in (("pin", "unpin", Treatment.PINNED), ("drop", "restore", Treatment.DROPPED)):
        before = chain.view.entries
        edit = chain.mark(chosen.id, mark)
        assert {e.treatment for e in edit.change.opened} == {treatment}
        assert violations(chain.view, Change((chain.view.entries[0].position,), ())) != ()
        with pytest.raises(EditRefused, match="already"):
            chain.mark(chosen.id, mark)
        chain.mark(chosen.id, back)
        assert standing(chain.view.entries) == standing(before)
        with pytest.raises(EditRefused, match="It is not"):
            chain.mark(chosen.id, back)


def test_nothing_to_undo_or_redo_is_said_in_words():
    chain = a_chain(1, 2)
    with pytest.raises(EditRefused, match="nothing to undo"):
        chain.undo()
    with pytest.raises(EditRefused, match="nothing to redo"):
        chain.redo()
    chain.mark(chain.view.entries[0].message.id, "pin")
    chain.undo()
    with pytest.raises(EditRefused, match="undone already"):
        chain.undo(1)
    chain.mark(chain.view.entries[0].message.id, "pin")
    with pytest.raises(EditRefused, match="edited since the undo"):
        chain.redo()
    chain.undo()
    chain.redo()


def test_only_what_was_in_effect_counts_as_taken_back():
    chain = a_chain(1, 3)
    first, second = chain.view.entries[0].message.id, chain.view.entries[-1].message.id
    chain.mark(first, "pin")
    chain.mark(second, "pin")
    assert chain.undo().counts == {"pin": 1}
    edit = chain.undo()
    assert (edit.counts, edit.undone) == ({"pin": 1, "undo": 1}, (1, 2, 3)), "the second pin was undone before"
    assert chain.redo().counts == {"undo": 1}
