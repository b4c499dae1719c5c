"""Whatever was compressed, pinned or dropped can be taken back; chains that were forked or deleted leave others whole."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.editing import EditRefused, marked
from hermes_tui.context.undoing import in_effect, redoable, taken_back, undoable
from hermes_tui.context.view import ContextView
from hermes_tui.store.errors import SessionNotFound
from hermes_tui.store.records import Applied
from hermes_tui.store.store import Store
from tests.store.stored import DICE, compress, more, talked
from tests.store.talk import check_lineage
from tests.strategies import fewer

pytestmark = pytest.mark.invariant

STEPS = st.lists(
    st.sampled_from(["say", "compress", "compress", "pin", "drop", "unpin", "restore", "undo", "redo", "undo an older"]),
    min_size=2,
    max_size=8,
)


def edited(store: Store, view: ContextView, step: str, dice: random.Random) -> ContextView:
    """VIEW after STEP, in the store as well; as it is where the step is refused."""
    chain = view.chain
    try:
        if step in ("undo", "redo", "undo an older"):
            edits, kind = store.edits(chain), "redo" if step == "redo" else "undo"
            known = [e.generation for e in in_effect(edits) if e.generation]
            target = (
                redoable(edits) if step == "redo" else undoable(edits) if step == "undo" or not known else dice.choice(known)
            )
            edit = taken_back(view, store.history(chain), edits, target, kind)
        else:
            edit = marked(view, dice.choice([e.message.id for e in view.entries if e.message]), step)
    except EditRefused:
        return view
    done = store.edit(edit)
    assert isinstance(done, Applied)
    assert done.session.id == view.session, "no session ends by it"
    return view.apply(edit.change)


def stands(view: ContextView) -> list[object]:
    """What is sent, wherever its rows came from."""
    return [(e.position, e.treatment, e.sent, e.message or e.summary) for e in view.entries]


@fewer(20)
@given(DICE, STEPS)
def test_what_is_loaded_is_what_was_in_memory_also_after_undo_and_redo(shared_store: Store, dice: random.Random, steps):
    """Invariants 29 and 30: and what died stays dead, whatever is taken back."""
    store = shared_store
    chain, view = talked(store, dice, turns=4)
    said = list(store.messages(chain))
    for step in steps:
        dead = {(r.entry.position, r.entry.born): r.died for r in store.history(chain) if r.died is not None}
        if step == "say":
            view = more(store, dice, view, 1)
            said = list(store.messages(chain))
        elif step == "compress":
            view = compress(store, view, dice.choice((None, "")))
        else:
            view = edited(store, view, step, dice)
        assert store.view(chain) == view
        now = {(r.entry.position, r.entry.born): r.died for r in store.history(chain)}
        assert {key: now[key] for key in dead} == dead, "no row is revived"
        check_lineage(store.sessions(chain))
        assert list(store.messages(chain)) == said, "nobody's words are changed by an edit"


@fewer(20)
@given(DICE, st.integers(1, 3), st.booleans())
def test_undoing_every_compression_brings_back_exactly_what_was_said(shared_store: Store, dice: random.Random, rounds, between):
    """Invariant 30: later turns stay, redo leads back to where one was."""
    store = shared_store
    chain, view = talked(store, dice, turns=4)
    states = []
    for _ in range(rounds):
        before, view = view, compress(store, view, dice.choice((None, "")))
        if view is not before:
            states.append(before)
        if between:
            view = more(store, dice, view, 2)
    last = view
    for before in reversed(states):
        view = edited(store, view, "undo", dice)
        assert stands(view)[: len(before.entries)] == stands(before)
    assert all(e.sent is None and e.summary is None for e in view.entries)
    assert [e.message for e in view.entries] == list(store.messages(chain))
    for _ in states:
        view = edited(store, view, "redo", dice)
    assert stands(view) == stands(last)
    assert store.view(chain) == view


@fewer(20)
@given(DICE, st.integers(0, 2), st.booleans(), st.booleans())
def test_a_fork_goes_its_own_way_and_outlives_what_it_came_from(shared_store: Store, dice: random.Random, rounds, older, first):
    """Invariant 28: references only; a deletion takes the whole chain, and nothing that another one names."""
    store = shared_store
    chain, view = talked(store, dice, turns=4)
    moments = [view]
    for _ in range(rounds):
        view = more(store, dice, compress(store, view), 2)
        moments.append(view)
    at = dice.choice(moments) if older else view
    fork = store.fork(chain, generation=at.generation, last_message=at.last_message.id)
    forked = store.view(fork.chain)
    assert stands(forked) == stands(at)
    assert (fork.relation, fork.ordinal, fork.title) == ("fork", 1, store.tip(chain).title)
    own = edited(store, more(store, dice, forked, 1), "undo", dice)
    assert store.view(fork.chain) == own
    assert store.view(chain) == view, "the other one does not notice"
    gone, left, expected = (chain, fork.chain, own) if first else (fork.chain, chain, view)
    said, links = store.messages(left), store.sessions(left)
    ended = [link.id for link in store.sessions(gone)]
    assert store.delete_chain(ended[-1]) is True
    assert store.delete_chain(gone) is False
    assert (store.view(left), store.messages(left), store.sessions(left)) == (expected, said, links)
    for session in ended:
        with pytest.raises(SessionNotFound):
            store.tip(session)
    assert store.sessions(gone) == ()
    after = more(store, dice, store.view(left), 1)
    assert store.view(left) == after
