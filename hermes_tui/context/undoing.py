"""Undo and redo: an earlier state of the context as a new generation, with everything that was said since.

Undo of the edit that made generation k: the entries alive at k - 1, then every message said since, as it stood before an edit
that is undone with k. Undone with it are the later edits that build on it: those that touched an entry of that earlier state,
or one that an edit undone with it had touched. Redo is the same for the edit that an undo was: the entries alive before the
undo, then what was said since. Nothing is revived: rows that died stay dead, and what comes back is a new row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from hermes_tui.context.editing import Edit, EditKind, EditRefused
from hermes_tui.context.view import Change, ContextView, Entry

TAKEN_BACK: Final = ("undo", "redo")
"""Kinds of edits that take other edits back."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a chain's entries, alive (``died`` is None) or dead: its entry stands from ``entry.born`` until ``died``."""

    entry: Entry
    died: int | None = None

    @property
    def was_said(self) -> bool:
        """True for the row that a message came with; every other row was opened by the edit of its generation."""
        return self.entry.message is not None and self.entry.born == self.entry.written

    def alive_at(self, generation: int) -> bool:
        """Whether the context of GENERATION, as it came to stand in the end, holds it."""
        return self.entry.born <= generation and (self.died is None or self.died > generation)


class Made(Protocol):
    """What has to be known of an edit that was made; records of the store are such."""

    @property
    def generation(self) -> int | None:
        """The generation it made, None for an attempt that changed nothing."""

    @property
    def kind(self) -> str | None:
        """prune, summarise, undo, redo, pin or drop."""

    @property
    def undone(self) -> tuple[int, ...]:
        """For an undo or redo, all generations whose edits it took back."""


def in_effect(edits: Iterable[Made]) -> tuple[Made, ...]:
    """The EDITS that nothing takes back, in the order they were made.

    What an undo took back is in effect again once the undo is taken back itself.
    """
    found: list[Made] = []
    gone: set[int] = set()
    for edit in sorted((e for e in edits if e.generation is not None), key=lambda e: e.generation or 0, reverse=True):
        if edit.generation in gone:
            continue
        found.append(edit)
        gone |= set(edit.undone)
    return tuple(reversed(found))


def undoable(edits: Iterable[Made]) -> int:
    """The generation that an undo is about: of the newest edit in effect that is itself neither undo nor redo.

    Raises:
        EditRefused: there is none.
    """
    for edit in reversed(in_effect(edits)):
        if edit.kind not in TAKEN_BACK and edit.generation is not None:
            return edit.generation
    raise EditRefused("nothing", "There is nothing to undo: nothing of this context was compressed, pinned or dropped.")


def redoable(edits: Iterable[Made]) -> int:
    """The generation that a redo is about: of the newest undo in effect, if nothing was edited since.

    Raises:
        EditRefused: there is none, or another edit came after it, which the redo would take back.
    """
    standing = in_effect(edits)
    for edit in reversed(standing):
        if edit.kind == "undo" and edit.generation is not None:
            return edit.generation
        if edit.kind not in TAKEN_BACK:
            break
    if any(edit.kind == "undo" for edit in standing):
        raise EditRefused(
            "nothing", "The context was edited since the undo. /undo takes that back; then there is something to redo."
        )
    raise EditRefused("nothing", "There is nothing to redo: nothing of this context was undone.")


def taken_back(view: ContextView, rows: Sequence[Row], edits: Sequence[Made], target: int, kind: EditKind) -> Edit:
    """The undo (or redo, by KIND) of the edit that made generation TARGET.

    Args:
        view: the context as it stands.
        rows: every row that the chain's entries ever had, in any order.
        edits: the chain's edits.
        target: the generation whose edit is taken back.
        kind: what it is called.

    Raises:
        EditRefused: there is no such edit, it is not in effect, nothing would differ, or a call is open.
    """
    if view.has_open_call:
        raise EditRefused("open_call", "A tool is still running; undo and redo when it has answered.")
    standing = in_effect(edits)
    if not any(e.generation == target for e in standing):
        known = any(e.generation == target for e in edits)
        raise EditRefused("nothing", "It is undone already." if known else f"There is no edit {target} in this conversation.")
    by_position: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda r: r.entry.born):
        by_position.setdefault(row.entry.position, []).append(row)
    boundary = max((r.entry.position for r in rows if r.was_said and r.entry.born < target), default=-2)
    undone = _builds_on(by_position, boundary, target)
    # What an undo among them had taken back stays so: the undo goes, and what it was about goes with it.
    later = [e for e in standing if e.kind in TAKEN_BACK and e.generation in undone and e.generation != target]
    undone |= {generation for edit in later for generation in edit.undone if generation > target}
    change = _difference(view, [e for p, line in by_position.items() if (e := _as_it_was(p, line, boundary, target, undone))])
    if not change.closed and not change.opened:
        raise EditRefused("nothing", "Nothing would be different.")
    kinds: dict[str, int] = {}
    for edit in standing:
        if edit.generation in undone and edit.kind is not None:
            kinds[edit.kind] = kinds.get(edit.kind, 0) + 1
    return Edit(view.chain, view.session, view.generation, kind, change, target, tuple(sorted(undone)), kinds)


def _builds_on(lines: Mapping[int, Sequence[Row]], boundary: int, target: int) -> frozenset[int]:
    """TARGET and the later edits that build on it. BOUNDARY is the last position of the state that is gone back to."""
    touched: dict[int, set[int]] = {}
    for position, line in lines.items():
        for row in line:
            if not row.was_said:
                touched.setdefault(row.entry.born, set()).add(position)
            if row.died is not None:
                touched.setdefault(row.died, set()).add(position)
    undone = {target}
    reached = set(touched.get(target, ()))
    for generation in sorted(g for g in touched if g > target):
        positions = touched[generation]
        if not positions.isdisjoint(reached) or any(p <= boundary for p in positions):
            undone.add(generation)
            reached |= positions
    return frozenset(undone)


def _as_it_was(position: int, line: Sequence[Row], boundary: int, target: int, undone: frozenset[int]) -> Entry | None:
    """What stands at POSITION, where all of LINE ever stood, once the edits UNDONE are taken back; None for nothing."""
    if position <= boundary:
        return next((row.entry for row in line if row.alive_at(target - 1)), None)
    for row in line:
        if not row.was_said and row.entry.born in undone:
            return None
        if row.died is None or row.died in undone:
            return row.entry
    return None


def _difference(view: ContextView, wanted: Iterable[Entry]) -> Change:
    """The change that makes VIEW hold WANTED; what stands there alike stays as it is."""
    alive = {e.position: e for e in view.entries}
    target = {e.position: e for e in wanted}
    closed = sorted(p for p, e in alive.items() if p not in target or not _alike(e, target[p]))
    opened = sorted(p for p, e in target.items() if p not in alive or not _alike(e, alive[p]))
    return Change(tuple(closed), tuple(target[p] for p in opened))


def _alike(one: Entry, other: Entry) -> bool:
    """Whether two entries of one position send the same thing with the same treatment."""
    return (
        (one.message.id if one.message else None) == (other.message.id if other.message else None)
        and (one.summary.id if one.summary else None) == (other.summary.id if other.summary else None)
        and one.treatment is other.treatment
        and (None if one.sent is None else list(one.sent)) == (None if other.sent is None else list(other.sent))
    )
