"""Several processes on one database: nothing is lost, one compression wins, the others follow the tip; a lock is waited for."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Thread

import pytest

from hermes_tui.store.errors import DatabaseBusy
from hermes_tui.store.store import Store
from tests.store.conftest import Forked
from tests.store.forked import PROCESSES, ROUNDS
from tests.store.talk import applied, check_lineage, prune, say, start, turns


def test_one_compression_wins_and_the_others_are_told_the_tip(path: Path, forked: Forked) -> None:
    store = Store.open(path)
    chain = start(store)
    turns(store, chain, 6)
    store.close()
    said = forked("split", path)
    store = Store.open(path)
    first, tip = store.sessions(chain)
    check_lineage((first, tip))
    assert sorted(won for won, *_ in said) == [False] * (PROCESSES - 1) + [True]
    assert {tuple(rest) for _, *rest in said} == {(tip.id, 2)}
    assert len(store.edits(chain)) == 1
    store.close()


def test_one_undo_wins_and_the_others_find_it_done(path: Path, forked: Forked) -> None:
    store = Store.open(path)
    chain = start(store)
    turns(store, chain, 6)
    applied(store, prune(store.view(chain), (2, 4)))
    store.close()
    said = forked("undo", path)
    store = Store.open(path)
    assert sorted(won for won, _ in said) == [False] * (PROCESSES - 1) + [True]
    assert {why for won, why in said if not won} <= {"moved", "nothing"}
    assert [e.kind for e in store.edits(chain)] == ["prune", "undo"]
    assert all(e.sent is None for e in store.view(chain).entries)
    store.close()


def test_everything_said_while_others_compress_is_kept(path: Path, forked: Forked) -> None:
    store = Store.open(path)
    chain = start(store)
    turns(store, chain, 6)
    store.close()
    said = forked("talk", path)
    store = Store.open(path)
    texts = [m.content[0]["text"] for m in store.messages(chain)]
    for number, (_, _, own) in enumerate(said):
        assert [t for t in texts if t.startswith(f"{number}/")] == own == [f"{number}/{n}" for n in range(ROUNDS)]
    assert [m.sequence for m in store.messages(chain)] == list(range(12 + PROCESSES * ROUNDS))
    edits = store.edits(chain)
    assert sum(won for won, *_ in said) == len(edits)
    assert [e.generation for e in edits] == list(range(1, len(edits) + 1))
    assert sum(lost for _, lost, _ in said) > 0, "they did get into each other's way"
    check_lineage(store.sessions(chain))
    view = store.view(chain)
    covered = view.summary.covered if view.summary else frozenset()
    assert covered | {e.message.id for e in view.entries if e.message} == {m.id for m in store.messages(chain)}
    store.close()


def test_a_lock_that_never_ends_is_said_in_a_sentence_and_nothing_is_written(path: Path) -> None:
    store = Store.open(path, patience=0.05)
    chain = start(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseBusy, match=r"nothing was written\. Close other"):
        say(store, chain, "hello")
    assert store.messages(chain) == (), "reading goes on meanwhile"
    other.execute("ROLLBACK")
    assert say(store, chain, "hello").sequence == 0
    other.close()
    store.close()


def test_a_lock_that_ends_is_waited_for(path: Path) -> None:
    store = Store.open(path, patience=30)
    chain = start(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    said: list[int] = []
    waiting = Thread(target=lambda: said.append(say(store, chain, "hello").sequence))
    waiting.start()
    waiting.join(0.2)
    assert (waiting.is_alive(), said) == (True, [])
    other.execute("ROLLBACK")
    waiting.join(30)
    assert said == [0]
    other.close()
    store.close()


def test_threads_may_share_a_store(store: Store) -> None:
    chain = start(store)
    workers = [Thread(target=lambda n=n: [say(store, chain, f"{n}/{i}") for i in range(15)]) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [m.sequence for m in store.messages(chain)] == list(range(60))
