"""Undo, redo, pins, drops, forks and deletion in a real file: whole or not at all, and never more written than what changed."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.editing import Edit, EditRefused, Mark, marked
from hermes_tui.context.engine import Anchor, EngineState
from hermes_tui.context.messages import text_block
from hermes_tui.context.undoing import redoable, taken_back, undoable
from hermes_tui.store.errors import MessageNotFound, PlanUnsound, SessionNotFound
from hermes_tui.store.records import Applied, Moved
from hermes_tui.store.store import Store
from tests.rows import standing
from tests.store.talk import CALL, SOME, applied, check_lineage, prune, reply, say, start, summarise, turns
from tests.store.test_contexts import in_memory, rows_written


def undoing(store: Store, chain: str, target: int | None = None) -> Edit:
    edits = store.edits(chain)
    return taken_back(store.view(chain), store.history(chain), edits, undoable(edits) if target is None else target, "undo")


def redoing(store: Store, chain: str) -> Edit:
    edits = store.edits(chain)
    return taken_back(store.view(chain), store.history(chain), edits, redoable(edits), "redo")


def edited(store: Store, edit: Edit) -> Applied:
    done = store.edit(edit)
    assert isinstance(done, Applied)
    return done


def mark(store: Store, chain: str, index: int, what: Mark) -> Edit:
    view = store.view(chain)
    message = view.entries[index].message
    assert message is not None
    return marked(view, message.id, what)


steps = st.lists(
    st.tuples(st.sampled_from(["say", "prune", "summarise", "pin", "drop", "undo", "redo"]), st.integers(0, 30)),
    min_size=3,
    max_size=12,
)


@SOME
@given(steps=steps)
def test_what_is_loaded_after_undo_and_redo_is_what_was_in_memory(shared_store: Store, steps: list) -> None:
    store = shared_store
    chain = start(store)
    turns(store, chain, 3)
    view = store.view(chain)
    past = []
    for kind, number in steps:
        standing_ = [n for n, e in enumerate(view.entries) if e.message]
        if kind == "say":
            view = view.append(say(store, chain, "more"))
            view = view.append(reply(store, chain, "yes"))
        elif kind in ("prune", "summarise"):
            if len(standing_) < 4:
                continue
            chosen = view.entries[standing_[number % (len(standing_) - 2)]].position
            made = prune(view, (chosen,)) if kind == "prune" else summarise(view, 1, max(2, len(view.entries) - 2))
            if not made.change.closed:
                continue
            view = in_memory(view.apply(made.change), applied(store, made).session.id)
        else:
            sessions = store.sessions(chain)
            try:
                if kind == "undo":
                    edit = undoing(store, chain)
                elif kind == "redo":
                    edit = redoing(store, chain)
                else:
                    edit = mark(store, chain, standing_[number % len(standing_)], kind)
            except EditRefused:
                continue
            before = rows_written(store)
            done = edited(store, edit)
            changed = len(edit.change.closed) + len(edit.change.opened)
            assert rows_written(store) - before <= changed + 3, "the session, the edit, and one to spare"
            view = view.apply(edit.change)
            assert [s.id for s in store.sessions(chain)] == [s.id for s in sessions], "sessions stay as they are"
            assert (done.edit.kind, done.edit.generation, done.edit.undone) == (edit.kind, view.generation, edit.undone)
        assert store.view(chain) == view
        past.append(view)
        check_lineage(store.sessions(chain))
    for then in past:
        last = then.last_message
        assert store.view(chain, generation=then.generation, last_message=last.id if last else None) == then


def test_an_undo_is_recorded_with_what_it_takes_back_and_can_be_undone_itself(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 5)
    before = store.view(chain)
    first = applied(store, summarise(before, 2, 6))
    later = say(store, chain, "and now?")
    state = EngineState(anchor=Anchor(900, 800, 0), rest_until_size=2_000)
    done = store.edit(undoing(store, chain), state=state)
    assert isinstance(done, Applied)
    assert (done.edit.kind, done.edit.target, done.edit.undone, done.edit.trigger) == ("undo", first.edit.id, (1,), "manual")
    assert done.edit.after_sequence == later.sequence
    assert done.parent is None
    assert done.session.ordinal == 2, "it is in the session that the compression had begun"
    assert store.load_state(chain) == state
    view = store.view(chain)
    assert standing(view.entries[:-1]) == standing(before.entries)
    assert view.entries[-1].message == later
    assert (view.generation, view.edit_marks[-1]) == (2, (2, 3))
    again = edited(store, redoing(store, chain))
    assert (again.edit.kind, again.edit.target, again.edit.undone) == ("redo", done.edit.id, (2,))
    assert standing(store.view(chain).entries[:-1]) == standing(store.view(chain, generation=1).entries[:-1])
    with pytest.raises(EditRefused):
        redoing(store, chain)


def test_an_edit_worked_out_for_what_is_no_more_writes_nothing(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)
    applied(store, prune(store.view(chain), (2,)))
    stale = undoing(store, chain)
    edited(store, mark(store, chain, 0, "pin"))
    before = rows_written(store)
    moved = store.edit(stale)
    assert moved == Moved(store.tip(chain))
    assert rows_written(store) == before
    assert len(store.edits(chain)) == 2


def test_an_edit_that_names_what_is_not_there_is_refused_whole(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 3)
    good = mark(store, chain, 1, "drop")
    for broken in (
        Edit(chain, chain, 0, "drop", type(good.change)((99,), ())),
        Edit(chain, chain, 0, "pin", type(good.change)((), good.change.opened)),
        Edit(chain, chain, 0, "undo", good.change, target=7),
        Edit(chain, chain, 0, "pin", type(good.change)()),
    ):
        with pytest.raises(PlanUnsound):
            store.edit(broken)
        assert store.view(chain).generation == 0
        assert store.edits(chain) == ()


def test_what_is_said_between_working_an_undo_out_and_applying_it_stays(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)
    applied(store, prune(store.view(chain), (2, 4)))
    undo = undoing(store, chain)
    late = say(store, chain, "meanwhile")
    edited(store, undo)
    view = store.view(chain)
    assert view.entries[-1].message == late
    assert [e.treatment.value for e in view.entries] == ["verbatim"] * 9


def test_of_several_that_undo_at_once_one_wins(path: Path) -> None:
    stores = [Store.open(path) for _ in range(3)]
    chain = start(stores[0])
    turns(stores[0], chain, 4)
    applied(stores[0], prune(stores[0].view(chain), (2, 4)))
    gate, done = Barrier(3), []

    def undo(store: Store) -> None:
        edit = undoing(store, chain)
        gate.wait()
        done.append(store.edit(edit))

    workers = [Thread(target=undo, args=(store,)) for store in stores]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(type(d).__name__ for d in done) == ["Applied", "Moved", "Moved"]
    assert [e.kind for e in stores[0].edits(chain)] == ["prune", "undo"]
    with pytest.raises(EditRefused):
        undoing(stores[1], chain)
    for store in stores:
        store.close()


# Forks


def test_a_fork_goes_on_from_its_point_and_leaves_the_chain_as_it_was(store: Store) -> None:
    chain = start(store, title="Refactor #12", cwd="/home/me", parameters={"thinking": "auto"})
    turns(store, chain, 5)
    applied(store, summarise(store.view(chain), 2, 6))
    say(store, chain, "and now?")
    reply(store, chain, "this")
    state = EngineState(anchor=Anchor(900, 800, 1), scales={"model-a": 1.2}, strikes=1)
    store.save_state(chain, state)
    was, links, said = store.view(chain), store.sessions(chain), store.messages(chain)
    before = rows_written(store)
    fork = store.fork(chain)
    assert rows_written(store) - before <= len(store.history(chain)) + 5, "references only"
    assert (fork.ordinal, fork.relation, fork.parent, fork.title) == (1, "fork", links[-1].id, "Refactor #12")
    assert (fork.first_generation, fork.last_generation, fork.cwd) == (1, 1, "/home/me")
    assert fork.parameters == {"thinking": "auto"}
    view = store.view(fork.chain)
    assert (view.entries, view.system, view.tools, view.edit_marks) == (was.entries, was.system, was.tools, was.edit_marks)
    assert store.load_state(fork.chain) == EngineState(anchor=state.anchor, scales=state.scales)
    check_lineage(store.sessions(fork.chain))
    one, other = say(store, fork.chain, "in the fork"), say(store, chain, "in the chain")
    assert one.sequence == other.sequence
    assert store.messages(fork.chain) == (*said, one)
    assert store.messages(chain) == (*said, other)
    assert (store.tip(chain), store.tip(fork.chain).id) == (links[-1], fork.id)
    applied(store, summarise(store.view(fork.chain), 1, 5))
    check_lineage(store.sessions(fork.chain))
    assert store.view(chain).entries[:-1] == was.entries


def test_an_undo_in_a_fork_reaches_back_before_the_fork(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 5)
    before = store.view(chain)
    edit = applied(store, summarise(before, 2, 6)).edit
    fork = store.fork(chain).chain
    say(store, fork, "and now?")
    assert [(e.generation, e.kind) for e in store.edits(fork)] == [(1, "summarise")]
    assert store.edits(fork)[0].id != edit.id
    assert store.edits(fork)[0].fidelity == edit.fidelity
    edited(store, undoing(store, fork))
    assert standing(store.view(fork).entries[:-1]) == standing(before.entries)
    assert standing(store.view(fork, generation=0).entries) == standing(before.entries)
    assert store.view(chain).generation == 1, "the chain it came from is as it was"
    edited(store, redoing(store, fork))
    assert store.view(fork).summary == store.view(chain).summary
    again = store.fork(fork).chain
    edited(store, undoing(store, again))
    assert standing(store.view(again).entries[:-1]) == standing(before.entries), "a fork of a fork too"


def test_a_fork_of_the_past_begins_there(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 3)
    middle = store.messages(chain)[3]
    applied(store, prune(store.view(chain), (2,)))
    late = say(store, chain, "late")
    applied(store, summarise(store.view(chain), 1, 5))
    fork = store.fork(chain, last_message=middle.id, title="another way")
    assert (fork.title, fork.first_generation, fork.parent) == ("another way", 0, chain)
    assert [e.message for e in store.view(fork.chain).entries] == list(store.messages(chain)[:4])
    assert store.edits(fork.chain) == ()
    assert say(store, fork.chain, "differently").sequence == 4
    pruned = store.fork(chain, generation=1)
    assert standing(store.view(pruned.chain).entries) == standing(store.view(chain, generation=1).entries)
    assert (pruned.parent, len(store.edits(pruned.chain))) == (chain, 1)
    for wrong in ({"last_message": middle.id, "generation": 1}, {"last_message": late.id, "generation": 0}):
        with pytest.raises(MessageNotFound):
            store.fork(chain, **wrong)
    with pytest.raises(SessionNotFound):
        store.fork(chain, generation=9)
    with pytest.raises(SessionNotFound):
        store.fork("nowhere")


# Deletion


def test_deleting_acts_on_the_whole_chain_and_leaves_nothing_of_it(store: Store) -> None:
    other = start(store, title="another")
    turns(store, other, 2)
    kept = store.view(other)
    empty = counts(store)
    chain = start(store)
    turns(store, chain, 4)
    say(store, chain, "pelican")
    store.append(chain, role="assistant", content=[CALL], origin="model")
    store.answer_open_calls(chain)
    applied(store, summarise(store.view(chain), 1, 5))
    applied(store, summarise(store.view(chain), 1, 4))
    edited(store, undoing(store, chain))
    request = store.begin_request(
        chain=chain, session=store.tip(chain).id, generation=3, last_message=store.messages(chain)[-1].id, purpose="summary",
        model="m", parameters={}, renderer=None, body={"messages": ["pelican"]},
    )  # fmt: skip
    store.save_draft(chain, request, [text_block("half")])
    store.save_state(chain, EngineState())
    first = store.sessions(chain)[0]
    assert store.delete_chain(store.tip(chain).id) is True, "any session of it names it"
    assert counts(store) == empty
    assert store.search("pelican") == ()
    with pytest.raises(SessionNotFound):
        store.view(chain)
    with pytest.raises(SessionNotFound):
        store.resolve(first.id)
    assert store.delete_chain(chain) is False, "once is enough"
    assert store.view(other) == kept


def counts(store: Store) -> dict[str, int]:
    """Rows of every table."""
    tables = ("sessions", "messages", "drafts", "summaries", "entries", "edits", "requests", "texts", "engine_states", "words")
    with store._database.read() as connection:
        return {t: connection.exec_driver_sql(f"SELECT count(*) FROM {t}").scalar_one() for t in tables}


def test_a_fork_outlives_the_chain_it_came_from_with_everything_it_names(store: Store) -> None:
    nothing = counts(store)
    chain = start(store)
    turns(store, chain, 5)
    before = store.view(chain)
    applied(store, summarise(before, 2, 6))
    say(store, chain, "pelican")
    fork = store.fork(chain).chain
    only = say(store, chain, "heron")
    applied(store, summarise(store.view(chain), 1, 5))
    was, said = store.view(fork), store.messages(fork)
    assert store.delete_chain(chain) is True
    assert (store.view(fork), store.messages(fork)) == (was, said)
    assert [(h.message, h.chain, h.title) for h in store.search("pelican")] == [(said[-1].id, fork, "A talk")]
    assert store.search("heron") == ()
    with pytest.raises(MessageNotFound):
        store.message(only.id)
    edited(store, undoing(store, fork))
    assert standing(store.view(fork).entries[:-1]) == standing(before.entries), "undo reaches back all the same"
    assert [c.id for c in store.chains()] == [fork]
    store.delete_chain(fork)
    assert counts(store) == nothing, "what was kept for the fork goes with it"


def test_deleting_a_fork_leaves_its_parent_whole(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)
    applied(store, summarise(store.view(chain), 2, 6))
    was = counts(store), store.view(chain), store.edits(chain), store.history(chain)
    fork = store.fork(chain).chain
    say(store, fork, "more")
    applied(store, summarise(store.view(fork), 1, 4))
    store.delete_chain(fork)
    assert (counts(store), store.view(chain), store.edits(chain), store.history(chain)) == was


def test_what_was_deleted_is_not_left_in_the_file(path: Path) -> None:
    store = Store.open(path)
    other, chain = start(store), start(store, title="a cormorant")
    turns(store, other, 2)
    turns(store, chain, 2)
    say(store, chain, "the cormorant " * 2_000)
    store.delete_chain(chain)
    store.close()
    assert b"cormorant" not in b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))
