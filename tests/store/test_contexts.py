"""A context in the database is the one in memory, now and at any past moment; a compression changes it whole or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event

from hermes_tui.context.engine import EngineState, Refusal
from hermes_tui.context.messages import text_block
from hermes_tui.context.view import Change, ContextView, Entry
from hermes_tui.store.errors import MessageNotFound, PlanUnsound, SessionNotFound
from hermes_tui.store.records import Moved
from hermes_tui.store.store import Store
from tests.store.talk import SOME, TOOLS, applied, apply, check_lineage, prune, reply, say, start, summarise, turns


def in_memory(view: ContextView, session: str) -> ContextView:
    """VIEW in the session that it is in by now."""
    return replace(view, session=session)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 4)),
        st.tuples(st.just("prune"), st.sets(st.integers(0, 30), min_size=1, max_size=6)),
        st.tuples(st.just("summarise"), st.tuples(st.integers(0, 6), st.integers(1, 12))),
    ),
    min_size=1,
    max_size=10,
)


@SOME
@given(steps=steps)
def test_what_is_loaded_is_what_was_in_memory_at_every_moment(shared_store: Store, steps: list) -> None:
    store = shared_store
    chain = start(store)
    view = store.view(chain)
    past = []
    for kind, what in steps:
        if kind == "say":
            for n in range(what):
                view = view.append(say(store, chain, f"question {n}"))
                view = view.append(reply(store, chain, f"answer {n}"))
        elif kind == "prune":
            chosen = tuple(sorted(e.position for i, e in enumerate(view.entries) if i in what and e.message))
            if not chosen:
                continue
            made = prune(view, chosen)
            view = in_memory(view.apply(made.change), applied(store, made).session.id)
        else:
            first, count = what
            if not any(e.message for e in view.entries[first : first + count]):
                continue
            made = summarise(view, first, first + count)
            view = in_memory(view.apply(made.change), applied(store, made).session.id)
        assert store.view(chain) == view
        past.append(view)
        check_lineage(store.sessions(chain))
    for then in past:
        last = then.last_message
        if last is not None:  # an engine always leaves the message to answer, by which a moment is named
            assert store.view(chain, generation=then.generation, last_message=last.id) == then
    assert [m.sequence for m in store.messages(chain)] == list(range(len(store.messages(chain))))
    covered = view.summary.covered if view.summary else frozenset()
    standing = {e.message.id for e in view.entries if e.message}
    assert covered | standing == {m.id for m in store.messages(chain)}, "nothing vanishes"
    assert not covered & standing, "nothing stands twice"


@SOME
@given(size=st.integers(4, 20), cut=st.integers(1, 30))
def test_storage_grows_by_what_changed(shared_store: Store, size: int, cut: int) -> None:
    store = shared_store
    chain = start(store)
    turns(store, chain, size)
    view = store.view(chain)
    made = summarise(view, 2, 2 + min(cut, 2 * size - 3))
    before = rows_written(store)
    applied(store, made)
    changed = len(made.change.closed) + len(made.change.opened)
    assert rows_written(store) - before <= changed + 6, "parent, child, summary, edit, state and one to spare"


def rows_written(store: Store) -> int:
    """Rows that the store's own connection has written in its life."""
    with store._database.write() as connection:
        return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())


def test_a_split_ends_the_parent_and_starts_a_child_with_all_it_had(store: Store) -> None:
    title = "Refactor the importer, once more #12" + "." * 64
    chain = start(store, title=title, cwd="/home/me/work", parameters={"thinking": "auto"})
    turns(store, chain, 4)
    store.set_model(chain, "model-b", {"thinking": "off", "max_tokens": 100})
    done = applied(store, summarise(store.view(chain), 2, 6))
    assert done.parent is not None
    assert (done.parent.end_reason, done.parent.first_generation, done.parent.last_generation) == ("compression", 0, 0)
    assert (done.parent.tokens_before, done.parent.tokens_after, done.parent.summarised) == (5000, 1200, 4)
    child = done.session
    assert (child.ordinal, child.parent, child.relation, child.first_generation) == (2, done.parent.id, "compression", 1)
    assert (child.title, child.cwd, child.model) == (title, "/home/me/work", "model-b")
    assert child.parameters == {"thinking": "off", "max_tokens": 100}
    view = store.view(chain)
    assert (view.session, view.model, view.system, view.tools) == (child.id, "model-b", "Be brief.", TOOLS)
    assert store.sessions(chain) == (done.parent, child)


def test_a_prune_stays_in_its_session(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 3)
    done = applied(store, prune(store.view(chain), (2, 4)))
    assert done.parent is None
    assert [s.id for s in store.sessions(chain)] == [chain]
    assert (done.session.first_generation, done.session.last_generation) == (0, 1)
    pruned = [e for e in store.view(chain).entries if e.sent]
    assert [(e.position, e.born, e.written, e.treatment) for e in pruned] == [(2, 1, 0, "pruned"), (4, 1, 0, "pruned")]
    assert pruned[0].content == (text_block("[pruned 2]"),)
    assert store.message(pruned[0].message.id).content == (text_block("answer 0"),), "the message itself is as it was"


def test_messages_said_since_the_plan_stay(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)
    view = store.view(chain)
    made = summarise(view, 2, 6)
    meanwhile = say(store, chain, "one more thing")
    done = applied(store, made)
    after = store.view(chain)
    assert after == in_memory(view.append(meanwhile).apply(made.change), done.session.id)
    assert (after.entries[-1].message, after.entries[-1].born) == (meanwhile, 0)
    assert done.edit.after_sequence == meanwhile.sequence, "the divider stands below what was said when it was applied"


def test_a_plan_for_a_context_that_moved_on_changes_nothing(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)
    stale = summarise(store.view(chain), 2, 6)
    winner = applied(store, prune(store.view(chain), (2,)))
    before = store.view(chain), store.sessions(chain), store.edits(chain)
    assert apply(store, stale) == Moved(winner.session)
    assert (store.view(chain), store.sessions(chain), store.edits(chain)) == before


@pytest.mark.parametrize("fault", ["closes what is not there", "opens on what is alive", "does nothing"])
def test_an_unsound_change_is_refused_whole(store: Store, fault: str) -> None:
    chain = start(store)
    turns(store, chain, 4)
    view = store.view(chain)
    made = summarise(view, 2, 6)
    change = {
        "closes what is not there": replace(made.change, closed=(*made.change.closed, 99)),
        "opens on what is alive": Change((2,), (Entry(4, message=view.entries[1].message),)),
        "does nothing": None,
    }[fault]
    before = store.view(chain), store.sessions(chain), store.edits(chain), store.load_state(chain)
    with pytest.raises(PlanUnsound, match="Nothing was changed"):
        store.apply(replace(made, change=change), trigger="manual", split=True, state=EngineState(strikes=1))
    assert (store.view(chain), store.sessions(chain), store.edits(chain), store.load_state(chain)) == before


def test_titles_never_change_by_compression_and_ordinals_are_consecutive(store: Store) -> None:
    for title in ("plain", "already #12", "x" * 100, ""):
        chain = start(store, title=title)
        for _ in range(4):
            turns(store, chain, 3)
            view = store.view(chain)
            applied(store, summarise(view, 1, len(view.entries) - 2))
        links = store.sessions(chain)
        check_lineage(links)
        assert {link.title for link in links} == {title}
        assert len(links) == 5


def test_the_summary_covers_all_that_its_predecessors_told(store: Store) -> None:
    chain = start(store)
    for _ in range(3):
        turns(store, chain, 3)
        view = store.view(chain)
        applied(store, summarise(view, 1, len(view.entries) - 2))
    summary = store.view(chain).summary
    assert summary is not None
    assert (summary.version, summary.previous is not None) == (3, True)
    assert summary.covered == {m.id for m in store.messages(chain)[1:-2]}
    assert [e.summary for e in store.view(chain).entries if e.summary] == [summary], "one summary, no older one"


def test_the_edit_keeps_what_it_did_and_what_it_lost(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)
    made = summarise(store.view(chain), 2, 6)
    done = applied(store, made)
    store.record_noop(chain, Refusal("no_gain", "5,000 tokens would have become 4,900."), "response", tokens=5000)
    edit, noop = store.edits(chain)
    assert edit == done.edit
    assert (edit.generation, edit.kind, edit.trigger, edit.outcome) == (1, "summarise", "manual", "applied")
    assert (edit.tokens_before, edit.tokens_after, edit.duration_ms, edit.cost) == (5000, 1200, 12.5, 0.25)
    assert (edit.counts["summarised"], edit.counts["pruned"], edit.focus) == (4, 0, "ports")
    assert (edit.fidelity, edit.rung, edit.failures) == (made.fidelity, "model", ("the model was busy",))
    assert made.summary is not None
    assert (edit.summary, edit.first_position, edit.session) == (made.summary.id, 3, chain)
    assert (noop.generation, noop.outcome, noop.tokens_after) == (None, "no_gain", 5000)
    assert store.view(chain).generation == 1


def test_the_engine_state_is_stored_with_the_compression(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)
    made = summarise(store.view(chain), 2, 6)
    store.apply(made, trigger="response", split=True, state=EngineState(strikes=1, scales={"m": 1.25}))
    assert store.load_state(chain) == EngineState(strikes=1, scales={"m": 1.25})


def test_a_long_chain_opens_with_as_many_queries_as_a_short_one(store: Store) -> None:
    asked = []
    event.listen(store._database._read_engine, "before_cursor_execute", lambda *_: asked.append(1), named=False)
    counts = []
    for length in (2, 40):
        chain = start(store)
        turns(store, chain, length)
        applied(store, summarise(store.view(chain), 1, 3))
        asked.clear()
        store.view(chain)
        store.messages(chain, limit=100)
        store.tip(chain)
        store.load_state(chain)
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_a_moment_that_never_was_is_said_in_a_sentence(store: Store) -> None:
    chain, other = start(store), start(store)
    foreign = say(store, other, "elsewhere")
    with pytest.raises(SessionNotFound, match="no generation 3"):
        store.view(chain, generation=3)
    with pytest.raises(MessageNotFound):
        store.view(chain, last_message=foreign.id)
    with pytest.raises(SessionNotFound):
        store.view("01NOPE")
