"""A chain kept in memory as the store keeps it: the view, every row that its entries ever had, and every edit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hermes_tui.context.editing import Edit, Mark, marked
from hermes_tui.context.messages import Message
from hermes_tui.context.undoing import Row, redoable, taken_back, undoable
from hermes_tui.context.view import Change, ContextView, Entry


@dataclass(frozen=True)
class MadeEdit:
    """What is known of an edit."""

    generation: int
    kind: str
    undone: tuple[int, ...] = ()


class History:
    """The history of one chain that began as VIEW."""

    def __init__(self, view: ContextView) -> None:
        self.view = view
        self.rows = [Row(entry) for entry in view.entries]
        self.edits: list[MadeEdit] = []

    def say(self, messages: Iterable[Message]) -> None:
        """MESSAGES are said."""
        for message in messages:
            self.view = self.view.append(message)
            self.rows.append(Row(self.view.entries[-1]))

    def apply(self, change: Change, kind: str, undone: tuple[int, ...] = ()) -> None:
        """An edit of KIND is made."""
        self.view = self.view.apply(change)
        now = self.view.generation
        closed = set(change.closed)
        self.rows = [Row(r.entry, now) if r.died is None and r.entry.position in closed else r for r in self.rows]
        self.rows += [Row(e) for e in self.view.entries if e.born == now and e.written != now]
        self.edits.append(MadeEdit(now, kind, undone))
        assert sorted((r.entry for r in self.rows if r.died is None), key=lambda e: e.position) == list(self.view.entries)

    def undo(self, target: int | None = None) -> Edit:
        """Undo the edit of TARGET, or the newest in effect."""
        return self._take_back(undoable(self.edits) if target is None else target, "undo")

    def redo(self, target: int | None = None) -> Edit:
        """Redo the undo of TARGET, or the newest."""
        return self._take_back(redoable(self.edits) if target is None else target, "redo")

    def _take_back(self, target: int, kind: str) -> Edit:
        edit = taken_back(self.view, self.rows, self.edits, target, kind)
        self.apply(edit.change, kind, edit.undone)
        return edit

    def mark(self, message: str, mark: Mark) -> Edit:
        """Pin or drop, or take that back."""
        edit = marked(self.view, message, mark)
        self.apply(edit.change, edit.kind)
        return edit


def standing(entries: Iterable[Entry]) -> list[tuple[object, ...]]:
    """What ENTRIES say, whenever their rows were born: position, message, summary, treatment, what is sent."""
    return [
        (e.position, e.message.id if e.message else None, e.summary.id if e.summary else None, e.treatment, e.content)
        for e in entries
    ]
