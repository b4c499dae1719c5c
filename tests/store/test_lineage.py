"""Chains are a forest: every session is found by a few characters of its id, and leads to the tip of its chain."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.store import ids
from hermes_tui.store.errors import SessionAmbiguous, SessionNotFound
from hermes_tui.store.ids import new_id, shown, time_of
from hermes_tui.store.store import Store
from tests.store.talk import SOME, applied, check_lineage, prune, reply, say, start, summarise, turns


@SOME
@given(grown=st.lists(st.lists(st.booleans(), max_size=3), min_size=1, max_size=4))
def test_every_member_of_a_chain_leads_to_its_tip(shared_store: Store, grown: list) -> None:
    store = shared_store
    own = []
    for splits in grown:
        chain = start(store)
        turns(store, chain, 3)
        for is_split in splits:
            view = store.view(chain)
            applied(store, summarise(view, 1, 3) if is_split else prune(view, (view.entries[-1].position,)))
            say(store, chain, "more")
            reply(store, chain, "yes")
        links = store.sessions(chain)
        check_lineage(links)
        assert len(links) == 1 + sum(splits)
        own.append(chain)
        for link in links:
            assert store.tip(link.id) == store.tip(link.id[-8:].lower()) == store.tip(chain) == links[-1]
            assert store.resolve(link.id) == link
    listed = {c.id: c for c in store.chains()}
    for chain in own:
        assert listed[chain].sessions == store.sessions(chain)
        assert listed[chain].tip == store.tip(chain)
        assert listed[chain].messages == len(store.messages(chain))


def test_the_conversation_that_changed_last_comes_first(store: Store) -> None:
    first, second, third = (start(store, title=t) for t in ("a", "b", "c"))
    assert [c.title for c in store.chains()] == ["c", "b", "a"]
    said = say(store, first, "hello")
    assert [c.id for c in store.chains()] == [first, third, second]
    chain = store.chains()[0]
    assert (chain.title, chain.messages) == ("a", 1)
    assert chain.updated_at >= time_of(said.id)


def test_a_session_is_found_by_any_ending_of_six_characters_or_more(store: Store) -> None:
    chain = start(store)
    for length in (6, 7, 13, 26):
        assert store.resolve(chain[-length:]).id == chain
        assert store.resolve(f"  {chain[-length:].lower()} ").id == chain
    assert shown(chain) == chain[-6:]


@pytest.mark.parametrize("ending", ["", "ABCDE", "ZZZZZZ", "%%%%%%", "______", "a" * 27, "\ud800" * 6, "'; drop table"])
def test_an_ending_that_names_no_session_is_refused_in_words(store: Store, ending: str) -> None:
    start(store)
    with pytest.raises(SessionNotFound) as caught:
        store.resolve(ending)
    assert caught.value.sentence.endswith(".")


def test_an_ending_that_names_two_asks_for_more_of_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    twins = iter(["01AAAAAAAAAAAAAAAAAA000001", "01BBBBBBBBBBBBBBBBBB000001"])
    monkeypatch.setattr("hermes_tui.store.lineage.new_id", lambda: next(twins))
    one, other = start(store), start(store)
    with pytest.raises(SessionAmbiguous, match="2 sessions end with"):
        store.resolve("000001")
    assert store.resolve("A000001").id == one
    assert store.resolve("b000001").id == other


def test_ids_rise_also_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [new_id() for _ in range(50)]

    class Earlier:
        def __int__(self) -> int:
            return 5

        from_int = ids.ULID.from_int

    monkeypatch.setattr(ids, "ULID", Earlier)
    made += [new_id() for _ in range(50)]
    assert made == sorted(set(made))
    assert len({m[-6:] for m in made}) == 100


def test_a_parent_that_nothing_continues_is_opened_again(path: Path) -> None:
    store = Store.open(path)
    chain = start(store)
    turns(store, chain, 3)
    before = store.view(chain)
    with store._database.write() as connection:
        connection.exec_driver_sql("UPDATE sessions SET end_reason = 'compression', ended = 1.0")
    store.close()
    again = Store.open(path)
    check_lineage(again.sessions(chain))
    assert again.view(chain) == before
    assert say(again, chain, "it goes on").sequence == 6
    again.close()


def test_a_parent_whose_child_is_there_stays_ended(path: Path) -> None:
    store = Store.open(path)
    chain = start(store)
    turns(store, chain, 3)
    applied(store, summarise(store.view(chain), 1, 3))
    links = store.sessions(chain)
    store.close()
    again = Store.open(path)
    assert again.sessions(chain) == links
    again.close()


def test_a_fork_and_an_import_say_where_they_come_from(store: Store) -> None:
    root = start(store)
    fork = store.create_chain(title="try asyncio", model="m", relation="fork", parent_session=root)
    assert (fork.relation, fork.parent, fork.ordinal) == ("fork", root, 1)
    assert store.tip(root).id == root, "one child is meant within a chain"
    assert store.create_chain(title="⇣", model="m", relation="import").relation == "import"


def test_a_change_of_model_holds_from_the_tip_on(store: Store) -> None:
    chain = start(store, parameters={"thinking": "auto"})
    turns(store, chain, 3)
    applied(store, summarise(store.view(chain), 1, 3))
    assert store.set_model(chain, "model-b") == store.tip(chain)
    store.set_title(chain, "named by hand")
    first, tip = store.sessions(chain)
    assert (first.model, tip.model, tip.parameters) == ("model-a", "model-b", {"thinking": "auto"})
    assert {first.title, tip.title} == {"named by hand"}
    assert store.view(chain).model == "model-b"
    assert store.view(chain, generation=0).model == "model-a"
    assert store.view(chain, generation=0, model="model-c").model == "model-c"
