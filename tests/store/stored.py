"""Conversations in a real database, compressed as the product compresses them, beside the same contexts in memory."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from hermes_tui.context.engine import Compression
from hermes_tui.context.messages import Message
from hermes_tui.context.view import ContextView
from hermes_tui.store.ids import new_id
from hermes_tui.store.records import Applied
from hermes_tui.store.store import Store
from tests.context.histories import Grown, carried
from tests.store.talk import apply, start
from tests.strategies import SEEDS, conversation

WINDOW = 2_048
"""The least window there is: short conversations are long enough to be compressed."""
DICE = SEEDS.map(random.Random)
"""What a whole stored conversation is made from."""
ROUNDS = st.integers(0, 3)
"""Compressions with growth in between."""


def store_all(store: Store, chain: str, said: Iterable[Message]) -> tuple[Message, ...]:
    """Say what was SAID in CHAIN; the messages as they are stored."""
    return tuple(store.append(chain, role=m.role, content=m.content, origin=m.origin, model=m.model)[0] for m in said)


def talked(store: Store, dice: random.Random, title: str = "A talk", turns: int = 3) -> tuple[str, ContextView]:
    """A new conversation of a few turns: its chain, and its context as it should be in memory."""
    chain = start(store, title=title)
    return chain, more(store, dice, store.view(chain), turns)


def more(store: Store, dice: random.Random, view: ContextView, turns: int = 2) -> ContextView:
    """VIEW after a few more turns, said in the store as well."""
    last = view.last_message
    for message in store_all(store, view.chain, conversation(dice, turns, last.sequence + 1 if last else 0)):
        view = view.append(message)
    return view


def compression(view: ContextView, focus: str | None = "") -> Compression:
    """What compressing VIEW now comes to; its change is None where there is nothing to do."""
    return carried(Grown(view, WINDOW), focus, new_id())


def compress(store: Store, view: ContextView, focus: str | None = "") -> ContextView:
    """VIEW compressed, in the store as well; as it is where there is nothing to do."""
    made = compression(view, focus)
    if made.change is None:
        return view
    done = apply(store, made)
    assert isinstance(done, Applied)
    return replace(view.apply(made.change), session=done.session.id)
