"""The archive of a store: what was ever said in a conversation, searched and reopened for an engine that offers that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from hermes_tui.context.archive import Archived, terms_in
from hermes_tui.context.messages import Message, calls_of

if TYPE_CHECKING:
    from hermes_tui.store.store import Store

LOOKED_AT: Final = 40
"""Messages that one search looks at: those that still stand in the context are among them."""
MOST_TERMS: Final = 12
"""Terms that are looked for one by one where no message holds them all."""
FEW: Final = 3
"""Messages with all terms that are enough; with fewer, those with some of them follow."""

_IDEOGRAPHS: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff]+"
)
"""Runs of scripts that are written without spaces: a question in them is one term, though it is made of many words."""


class StoreArchive:
    """What STORE holds, one conversation at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def search(self, chain: str, query: str) -> Sequence[Archived]:
        """The messages of CHAIN with all terms of QUERY, the best first, then those with the most, and the rarest, of them."""
        whole = [hit.message for hit in self._store.search(query, chain=chain, limit=LOOKED_AT)]
        if len(whole) < FEW:
            weights: dict[str, float] = {}
            for term in terms_of(query):
                hits = self._store.search(f'"{term}"', chain=chain, limit=LOOKED_AT)
                for hit in hits:
                    weights[hit.message] = weights.get(hit.message, 0.0) + 1.0 / len(hits)
            whole += sorted(set(weights) - set(whole), key=lambda message: (-weights[message], message))
        return [self._archived(chain, self._store.message(identifier)) for identifier in whole[:LOOKED_AT]]

    def ending(self, chain: str, ending: str) -> Sequence[Archived]:
        """The messages of CHAIN whose ids end with ENDING, two at most."""
        return [self._archived(chain, message) for message in self._store.messages_ending(chain, ending, limit=2)]

    def _archived(self, chain: str, message: Message) -> Archived:
        from hermes_tui.store.ids import time_of

        calling: Iterable[Message] = (message,)
        if message.origin == "tool":
            calling = self._store.messages(chain, before=message.sequence, limit=1)
        names = [str(call.get("name", "")) for one in calling for call in calls_of(one)]
        return Archived(message, time_of(message.id), tuple(dict.fromkeys(names)))


def terms_of(query: str) -> list[str]:
    """The terms of QUERY that are looked for one by one: words of three characters or more, and pairs of ideographs."""
    found: list[str] = []
    for term in terms_in(query):
        term = term.strip("\"'.,;:!?()[]{}，。？！、；：“”「」")
        for run in _IDEOGRAPHS.findall(term):
            found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        if not _IDEOGRAPHS.search(term) and len(term) > 2:
            found.append(term)
    return list(dict.fromkeys(found))[:MOST_TERMS]
