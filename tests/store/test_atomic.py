"""A compression that is cut off anywhere is there whole or was never begun, whatever was said before it."""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.view import ContextView
from hermes_tui.store.lineage import ENDED_BY_COMPRESSION
from hermes_tui.store.store import Store
from tests.store.conftest import Forked
from tests.store.stored import DICE, compress, compression, more, talked
from tests.store.talk import check_lineage, reply, say
from tests.strategies import fewer

pytestmark = pytest.mark.invariant


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("atomic")


def shape(view: ContextView) -> list[object]:
    """What is where, ids of summaries aside: another process wrote the same with other ids."""
    return [(e.position, e.treatment, e.born, e.written, e.sent, e.message and e.message.id) for e in view.entries]


numbers = itertools.count()


@fewer(40)
@given(DICE, st.integers(0, 2), st.integers(1, 32))
def test_a_compression_killed_at_any_statement_leaves_the_old_state_or_the_new_one(
    empty: Path, folder: Path, forked: Forked, dice: random.Random, rounds: int, statement: int
):
    """Invariant 27: an ended parent has exactly one child, which has all of the context, and the other way round."""
    path = Path(shutil.copy(empty, folder / f"{next(numbers)}.db"))
    store = Store.open(path)
    chain, old = talked(store, dice, turns=4)
    for _ in range(rounds):
        old = more(store, dice, compress(store, old))
    made = compression(old)
    said, links, edits = store.messages(chain), store.sessions(chain), len(store.edits(chain))
    store.close()
    if made.change is None:
        return
    new = old.apply(made.change)
    killed = forked("kill_at", path, "compress", chain, statement)
    store = Store.open(path)
    view, now = store.view(chain), store.sessions(chain)
    check_lineage(now)
    assert store.messages(chain) == said
    if view.generation == old.generation:
        assert killed
        assert (view, now, len(store.edits(chain))) == (old, links, edits)
    else:
        assert (view.generation, shape(view)) == (new.generation, shape(new))
        splits = made.plan.kind == "summarise"
        assert (len(now), len(store.edits(chain))) == (len(links) + splits, edits + 1)
        assert (view.summary and view.summary.covered) == (new.summary and new.summary.covered)
    assert [link.end_reason for link in now] == [ENDED_BY_COMPRESSION] * (len(now) - 1) + [None]
    assert view.session == store.tip(chain).id
    said_now = (say if view.last_message.role == "assistant" else reply)(store, chain, "it goes on")
    assert store.view(chain).entries[-1].message == said_now
    store.close()
    for each in folder.glob(path.name + "*"):
        each.unlink()
