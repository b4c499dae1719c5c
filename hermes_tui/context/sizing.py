"""Sizing: what the next request would take after a change, as a sum over what each entry adds, without rendering it again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from hermes_tui.context.messages import THINKING, Role, text_block
from hermes_tui.context.rendering import NOTES, RENDERER, sent_rows
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import ContextView, Entry, Treatment


@dataclass(frozen=True, slots=True)
class Row:
    """What one entry adds to a request.

    Attributes:
        position: the entry's.
        role: the role it is sent with.
        tokens: unscaled tokens of what is sent of it.
        bare: the same without its thinking, which goes with any edit before it.
        sent, sent_bare: whether anything is sent of it at all, with and without thinking.
    """

    position: int
    role: Role
    tokens: int
    bare: int
    sent: bool = True
    sent_bare: bool = True


class Sizing:
    """The rows of one view, counted once.

    Attributes:
        floor: unscaled tokens of system and tools.
        estimate: unscaled tokens of the next request as things stand.
        tokens: position -> unscaled tokens of what is sent of the entry there.
    """

    def __init__(self, view: ContextView, meter: Meter) -> None:
        self.floor = meter.floor(view)
        self.estimate = self.floor
        self.tokens: dict[int, int] = {}
        self._notes: dict[Role, int] = {role: meter.content((text_block(note),)) for role, note in NOTES[RENDERER].items()}
        found: dict[int, Row] = {}
        for row in sent_rows(view):
            tokens = meter.row(row)
            self.estimate += tokens
            if row.entry is not None:
                thinking = [b for b in row.content if b.get("type") in THINKING]
                bare = tokens - sum(meter.block(b) for b in thinking)
                position = row.entry.position
                self.tokens[position] = tokens
                found[position] = Row(position, row.role, tokens, bare, sent_bare=len(thinking) < len(row.content))
        # What sends nothing now may not begin to by an edit elsewhere, so it adds nothing to any size.
        self._rows = [found[e.position] for e in view.entries if e.position in found]

    def after(self, closed: Collection[int], opened: Iterable[Row]) -> int:
        """Unscaled tokens of the next request with the entries at the CLOSED positions gone and the OPENED rows put in."""
        new = list(opened)
        if not closed and not new:
            return self.estimate
        first = min((*closed, *(row.position for row in new)))
        gone = set(closed)
        rows = [row for row in self._rows if row.position not in gone]
        if new:
            rows = sorted([*rows, *new], key=lambda row: row.position)
        total, last = self.floor, ""
        for row in rows:
            bare = row.position > first
            if not (row.sent_bare if bare else row.sent):
                continue
            if row.role == last or (not last and row.role == "assistant"):
                total += self._notes["user" if row.role == "assistant" else "assistant"]
            total += row.bare if bare else row.tokens
            last = row.role
        return total


def row_of(entry: Entry, meter: Meter) -> Row:
    """The row of an entry that holds no thinking: a pruned or clipped one."""
    tokens = meter.entry(entry)
    sent = entry.treatment is not Treatment.DROPPED and bool(entry.content)
    return Row(entry.position, entry.message.role if entry.message else "user", tokens, tokens, sent, sent)
