"""Whatever is said and compressed, in the database it is as it was in memory, as said, and takes no more than what changed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.messages import scrub, scrub_json
from hermes_tui.store.store import Store
from tests.store.stored import DICE, ROUNDS, compress, compression, more, store_all, talked
from tests.store.talk import apply, check_lineage, start
from tests.strategies import conversation, fewer

pytestmark = pytest.mark.invariant


@fewer(20)
@given(DICE, ROUNDS)
def test_what_is_loaded_is_what_was_in_memory_after_every_compression(shared_store: Store, dice: random.Random, rounds: int):
    """Invariant 29: entries, treatments, summary, marks for thinking, and any past moment."""
    store = shared_store
    chain, view = talked(store, dice)
    past = [view]
    for _ in range(rounds):
        view = compress(store, view, dice.choice((None, "")))
        assert store.view(chain) == view
        view = more(store, dice, view)
        assert store.view(chain) == view
        past.append(view)
    for then in past:
        last = then.last_message
        assert store.view(chain, generation=then.generation, last_message=last.id if last else None) == then


@fewer(40)
@given(DICE)
def test_a_restart_changes_nothing(shared_path: Path, dice: random.Random):
    """Invariant 29: what was there is there again when the database is opened the next time."""
    store = Store.open(shared_path)
    chain, view = talked(store, dice)
    view = compress(store, view)
    before = (store.sessions(chain), store.edits(chain), store.load_state(chain), store.messages(chain))
    store.close()
    again = Store.open(shared_path)
    assert again.view(chain) == view
    assert (again.sessions(chain), again.edits(chain), again.load_state(chain), again.messages(chain)) == before
    again.close()


@fewer(20)
@given(DICE, ROUNDS)
def test_every_message_reads_back_byte_equal_whatever_was_done_with_it(shared_store: Store, dice: random.Random, rounds: int):
    """Invariant 18: pruned, summarised or clipped; lone surrogates are replaced before the first write and never again."""
    store, state = shared_store, dice.getstate()
    chain = start(store)
    raw = conversation(dice, 3)
    said = list(store_all(store, chain, raw))
    dice.setstate(state)
    assert [m.content for m in said] == [tuple(scrub_json(m.content)) for m in conversation(dice, 3)]
    view = store.view(chain)
    for _ in range(rounds):
        view = more(store, dice, compress(store, view, dice.choice((None, ""))))
    for message in said:
        assert store.message(message.id) == message
    assert store.messages(chain)[: len(said)] == tuple(said)
    everything = {m.id for m in store.messages(chain)}
    assert {e.message.id for e in view.entries if e.message} | (view.summary.covered if view.summary else set()) == everything


@fewer(20)
@given(DICE)
def test_a_compression_writes_as_many_rows_as_it_changes_and_a_few_more(shared_store: Store, dice: random.Random):
    """Invariant 31: head and tail are not copied, messages never."""
    store = shared_store
    chain, view = talked(store, dice, turns=5)
    view = more(store, dice, compress(store, view))
    made = compression(view, dice.choice((None, "")))
    if made.change is None:
        return
    before = rows_written(store)
    apply(store, made)
    changed = len(made.change.closed) + len(made.change.opened)
    assert rows_written(store) - before <= changed + 6, "parent, child, summary, edit, state and one to spare"
    assert len(store.messages(chain)) == len({m.id for m in store.messages(chain)})


def rows_written(store: Store) -> int:
    """Rows that the store's own connection has written in its life."""
    with store._database.write() as connection:
        return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())


TITLES = st.text(max_size=100) | st.sampled_from(["#12", "Refactor #12", "x" * 100, "session 2 of 3", "↻ 7", "a (2)"])


@fewer(20)
@given(DICE, TITLES, st.integers(1, 3))
def test_a_title_is_never_changed_by_compressions_and_sessions_count_on(shared_store: Store, dice, title, rounds):
    """Invariant 32: whatever the title ends in."""
    store = shared_store
    chain, view = talked(store, dice, title=title)
    for _ in range(rounds):
        view = more(store, dice, compress(store, view), turns=3)
    links = store.sessions(chain)
    check_lineage(links)
    assert {link.title for link in links} == {scrub(title)}
    assert [link.ordinal for link in links] == list(range(1, len(links) + 1))


@fewer(20)
@given(DICE, st.integers(1, 3), ROUNDS)
def test_chains_are_a_forest_and_every_member_leads_to_the_tip_of_its_own(shared_store: Store, dice, chains, rounds):
    """Invariant 28: one compression child to a parent, no cycles, the tip the same from everywhere."""
    store = shared_store
    views = [talked(store, dice, turns=4) for _ in range(chains)]
    for _ in range(rounds):
        views = [(chain, more(store, dice, compress(store, view), turns=3)) for chain, view in views]
    for chain, view in views:
        links = store.sessions(chain)
        check_lineage(links)
        assert links[-1].id == view.session
        parents = [link.parent for link in links if link.relation == "compression"]
        assert len(parents) == len(set(parents))
        assert all(store.tip(link.id) == links[-1] for link in links)
        seen, at = set(), links[-1]
        while at.parent is not None:
            assert at.id not in seen
            seen.add(at.id)
            at = store.resolve(at.parent)
        assert at.id == chain
