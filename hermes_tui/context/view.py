"""The context view: an ordered list of references, at one generation.

The one value that is drawn by the inspector and rendered into the request. To compress is to change references: a `Change`
closes entries and opens others in the next generation; the messages themselves are never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hermes_tui.context.messages import Block, Message, calls_of
from hermes_tui.context.summaries import Summary


class Treatment(StrEnum):
    """What is done with what an entry names."""

    VERBATIM = "verbatim"
    PRUNED = "pruned"
    PINNED = "pinned"
    CLIPPED = "clipped"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Entry:
    """A reference in a context: to a message, or to a summary (exactly one of the two).

    Attributes:
        position: 2 x sequence for a message, 2 x last head sequence + 1 for the summary; a replacement keeps its position.
        treatment: what is done with it.
        sent: the content blocks as sent; None means the message's own.
        born: the generation this row came in.
        written: the generation in which its message was said (what thinking blocks are bound to).
    """

    position: int
    message: Message | None = None
    summary: Summary | None = None
    treatment: Treatment = Treatment.VERBATIM
    sent: tuple[Block, ...] | None = None
    born: int = 0
    written: int = 0

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks this entry puts into a request, thinking rule and notes aside."""
        if self.sent is not None:
            return self.sent
        if self.message is not None:
            return self.message.content
        return self.summary.content if self.summary else ()


@dataclass(frozen=True, slots=True)
class Change:
    """An edit's effect: the positions whose entries it closes, and the entries it opens (their ``born`` is set on applying)."""

    closed: tuple[int, ...] = ()
    opened: tuple[Entry, ...] = ()

    @property
    def first_position(self) -> int:
        """The first position that this change touches."""
        return min((*self.closed, *(e.position for e in self.opened)))


@dataclass(frozen=True, slots=True)
class ContextView:
    """A chain's context at one generation.

    Attributes:
        chain: the chain's id.
        session: the tip session's id.
        generation: counts edits, never appended messages.
        model: the model that the next request goes to.
        system: the system prompt, byte-stable for the whole chain ("" for none).
        tools: the tool schemas as sent, byte-stable likewise.
        entries: all alive entries by position, dropped ones included.
        edit_marks: (generation, first position it changed) of every edit so far: what the thinking rule needs to know.
    """

    chain: str
    session: str
    generation: int
    model: str
    system: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    entries: tuple[Entry, ...] = ()
    edit_marks: tuple[tuple[int, int], ...] = ()

    @property
    def last_message(self) -> Message | None:
        """The newest message that an entry names."""
        return next((e.message for e in reversed(self.entries) if e.message), None)

    @property
    def summary(self) -> Summary | None:
        """The current summary: at most one."""
        return next((e.summary for e in self.entries if e.summary), None)

    @property
    def has_open_call(self) -> bool:
        """True while the newest message holds calls without results: nothing may be compressed then."""
        last = self.last_message
        return bool(last and calls_of(last))

    def append(self, message: Message) -> ContextView:
        """This view with MESSAGE said: a new entry, the same generation."""
        entry = Entry(2 * message.sequence, message=message, born=self.generation, written=self.generation)
        return replace(self, entries=(*self.entries, entry))

    def apply(self, change: Change) -> ContextView:
        """This view one generation on, with CHANGE made."""
        generation = self.generation + 1
        gone = set(change.closed)
        kept = [e for e in self.entries if e.position not in gone]
        opened = [replace(e, born=generation) for e in change.opened]
        return replace(
            self,
            generation=generation,
            entries=tuple(sorted((*kept, *opened), key=lambda e: e.position)),
            edit_marks=(*self.edit_marks, (generation, change.first_position)),
        )

    def thinking_holds(self, entry: Entry, model: str) -> bool:
        """Whether ENTRY's thinking blocks may be sent to MODEL: it wrote them, and nothing before them changed since."""
        if entry.message is None or entry.message.model != model:
            return False
        return not any(g > entry.written and first < entry.position for g, first in self.edit_marks)
