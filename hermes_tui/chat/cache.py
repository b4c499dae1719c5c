"""The prompt cache, as far as a provider's usage tells of it: read, written, and missed where it could have been read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hermes_tui.context.engine import EngineState, Usage
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import ContextView

if TYPE_CHECKING:
    from hermes_tui.store.records import RequestRecord


@dataclass(frozen=True, slots=True)
class CacheAccount:
    """What the requests of a chain did with the cache.

    Attributes:
        generation, position: how far the context of the last measured request went.
        prompt: tokens of its prompt, 0 before the first.
        last: what the last request used.
        edited: what the first request after the last edit used; None while there was none.
        known: a cache was ever seen at work, so that what is not read is a miss.
    """

    generation: int = 0
    position: int = 0
    prompt: int = 0
    last: Usage | None = None
    edited: Usage | None = None
    known: bool = False

    def missed(self, view: ContextView, state: EngineState, usage: Usage, meter: Meter) -> int:
        """Tokens of the request for VIEW that were in the request before it, and were not read from the cache.

        Within a generation the whole earlier prompt is a beginning of this one; after an edit, what is new is estimated.
        """
        if not self.prompt or not usage.prompt or not (self.known or usage.cache_read or usage.cache_write):
            return 0
        sent_before = min(self.prompt, usage.prompt)
        if view.generation != self.generation:
            new = sum(
                meter.row(row)
                for row in sent_rows(view)
                if row.entry is not None and (row.entry.born > self.generation or row.entry.position > self.position)
            )
            sent_before = min(sent_before, usage.prompt - round(meter.scale(view, state) * new))
        return max(0, sent_before - usage.cache_read)

    def plus(self, generation: int, position: int, usage: Usage) -> CacheAccount:
        """This account with one more request of the chain, whose context stood at GENERATION and went to POSITION."""
        first = bool(self.prompt) and generation > self.generation
        return replace(
            self,
            generation=generation,
            position=max(position, self.position),
            prompt=usage.prompt or self.prompt,
            last=usage,
            edited=usage if first else self.edited,
            known=self.known or bool(usage.cache_read or usage.cache_write),
        )


def account_of(records: Iterable[RequestRecord], view: ContextView) -> CacheAccount:
    """The account of a chain that is opened: its REQUESTS so far, and its context as it stands."""
    positions = {e.message.id: e.position for e in view.entries if e.message is not None}
    account = CacheAccount()
    for record in records:
        if record.purpose == "turn" and record.usage is not None:
            account = account.plus(record.generation, positions.get(record.last_message or "", 0), record.usage)
    return account
