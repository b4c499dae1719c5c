"""Several writers on one conversation: one compression wins, nothing that was said is lost, the others follow the tip."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.store.records import Applied, Moved
from hermes_tui.store.store import Store
from tests.store.stored import DICE, compression, talked
from tests.store.talk import apply, check_lineage, say
from tests.strategies import fewer

pytestmark = pytest.mark.invariant
WRITERS = 3


@pytest.fixture(scope="module")
def writers(shared_path: Path) -> Iterator[tuple[Store, ...]]:
    """Connections of their own, as several processes have them."""
    opened = tuple(Store.open(shared_path) for _ in range(WRITERS))
    yield opened
    for store in opened:
        store.close()


turns = st.lists(st.tuples(st.integers(0, WRITERS - 1), st.sampled_from(["look", "say", "compress"])), min_size=2, max_size=16)


@fewer(20)
@given(DICE, turns)
def test_whoever_compresses_a_context_that_has_moved_writes_nothing_and_learns_the_tip(
    writers: tuple[Store, ...], dice: random.Random, turns: list[tuple[int, str]]
):
    """Invariant 33: whatever the order in which they look, say and compress."""
    chain, _ = talked(writers[0], dice, turns=4)
    if writers[0].view(chain).last_message.role == "user":
        writers[0].append(chain, role="assistant", content=[{"type": "text", "text": "yes"}], origin="model", model="model-a")
    seen = [store.view(chain) for store in writers]
    said, edits = [m.id for m in writers[0].messages(chain)], 0
    for who, act in turns:
        store = writers[who]
        if act == "look":
            seen[who] = store.view(chain)
        elif act == "say":
            said.append(say(store, chain, f"{who}: one more").id)
        else:
            made = compression(seen[who], "")
            if made.change is None:
                continue
            before = store.view(chain)
            done = apply(store, made)
            if before.generation == seen[who].generation:
                assert isinstance(done, Applied)
                edits += 1
            else:
                assert done == Moved(store.tip(chain))
                assert store.view(chain) == before
    views = [store.view(chain) for store in writers]
    assert views[0] == views[1] == views[2]
    assert [m.id for m in writers[1].messages(chain)] == said
    told = views[0].summary.covered if views[0].summary else frozenset()
    assert sorted([*told, *(e.message.id for e in views[0].entries if e.message)]) == sorted(said)
    assert [e.generation for e in writers[2].edits(chain)] == list(range(1, edits + 1))
    check_lineage(writers[2].sessions(chain))
