"""The transcript in pages, the newest first: each a stretch of messages that parts no call from its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hermes_tui.context.messages import Message, plain_text
from hermes_tui.tui.projection import Measure, blocks_of
from hermes_tui.tui.transcript import Block as Shown

if TYPE_CHECKING:
    from hermes_tui.store.records import EditRecord
    from hermes_tui.store.store import Store

PAGE: Final = 120
"""Messages in a page: a few screens, read in some milliseconds."""


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """A stretch of a chain as blocks.

    Attributes:
        blocks: what the transcript shows.
        first: sequence of its first message, None for an empty one.
        earlier: whether there are older messages.
    """

    blocks: tuple[Shown, ...] = ()
    first: int | None = None
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """What the screen wants to know of a whole chain: how many turns, and what the person said, oldest first."""

    turns: int = 0
    prompts: tuple[str, ...] = ()


def load_page(
    store: Store, chain: str, *, before: int | None = None, edits: tuple[EditRecord, ...] = (), measure: Measure | None = None
) -> TranscriptPage:
    """The newest page of CHAIN with sequences under BEFORE. Reads the database: call it off the loop."""
    messages = list(store.messages(chain, before=before, limit=PAGE))
    while messages and messages[0].origin == "tool":  # its calls stand in the message before
        older = store.messages(chain, before=messages[0].sequence, limit=1)
        if not older:
            break
        messages = [*older, *messages]
    if not messages:
        return TranscriptPage()
    first = messages[0].sequence
    earlier = bool(store.messages(chain, before=first, limit=1))
    mine = tuple(e for e in edits if e.after_sequence is not None and first <= e.after_sequence <= messages[-1].sequence)
    return TranscriptPage(tuple(blocks_of(messages, mine, measure=measure)), first, earlier)


def chain_facts(store: Store, chain: str) -> ChainFacts:
    """The facts of CHAIN. Reads the database: call it off the loop."""
    said: tuple[Message, ...] = tuple(m for m in store.messages(chain, origin="user"))
    prompts = tuple(text for m in said if (text := plain_text(m.content)))
    return ChainFacts(len(said), prompts)
