"""The built-in provider ``notes``: facts about the user and their standing rules, kept in the database.

It reads what the user says: after each turn, and again before messages are compressed away. New conversations are told what is
in force when they begin; those that exist are never rewritten. What it holds is seen and changed on the screen ``/memory``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from hermes_tui.context.messages import Message
from hermes_tui.context.notes import Author, FoundNote, Note
from hermes_tui.memory.extraction import notes_in
from hermes_tui.memory.provider import MemoryProvider


class Shelf(Protocol):
    """Where notes are kept (see ``hermes_tui.store.notes``)."""

    def all(self) -> Sequence[Note]:
        """All notes in force, what matters most first."""

    def learn(self, found: Iterable[FoundNote], author: Author = "code") -> Sequence[Note]:
        """Keep what was found and is not known yet; returns what is new or changed."""


class NotesProvider(MemoryProvider):
    """Keeps notes about the user on SHELF."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return "notes"

    def prefetch(self, directory: str | None) -> str:
        """The notes that hold in DIRECTORY, a line each: rules, then facts, the newest of each first."""
        held = [note for note in self._shelf.all() if note.holds_in(directory)]
        return "\n".join(f"- {note.kind}: {note.text}" for note in held)

    def on_turn(self, session: str, messages: Sequence[Message]) -> str | None:
        """Keep what the user said of themselves in the turn, and say so."""
        learned = self._shelf.learn(_found(messages))
        if not learned:
            return None
        told = "; ".join(f"“{note.text}”" for note in learned)
        return f"Noted for new conversations: {told}. /memory shows and changes it."

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        """Keep what the user said of themselves in MESSAGES, and name it for the summary."""
        found = _found(messages)
        self._shelf.learn(found)
        return "\n".join(f"- {note.kind}: {note.text}" for note in found)

    def learn(self, found: Iterable[FoundNote]) -> None:
        """Keep what a model FOUND in the user's words."""
        self._shelf.learn(found, "model")


def _found(messages: Sequence[Message]) -> list[FoundNote]:
    """The notes in MESSAGES, the last one of each matter."""
    return list({note.key: note for message in messages for note in notes_in(message)}.values())
