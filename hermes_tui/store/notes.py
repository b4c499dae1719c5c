"""Notes about the user: the rows behind ``/memory`` and behind what new conversations are told.

A deleted note stays as a row that holds back its own return: the message that it came from is read again when it is
compressed. It comes back where the user says it anew. Its text goes with `forget`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from hermes_tui.context.notes import Author, FoundNote, Note, NoteKind, key_of, one_note
from hermes_tui.store.database import Database
from hermes_tui.store.errors import StoreError
from hermes_tui.store.ids import new_id, time_of
from hermes_tui.store.tables import messages, notes, sessions

MOST: Final = 300
"""Notes in force: more than anybody reads through; what is found beyond them is not kept."""


class NoteNotFound(StoreError):
    """There is no note of that id."""


class Notes:
    """The notes of an open database. Each method is one short transaction and raises `StoreError` where it fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> tuple[Note, ...]:
        """All notes in force: rules first, then facts; the newest of each first."""
        with self._database.read() as connection:
            return tuple(note for note in _all(connection) if note.deleted is None)

    def learn(self, found: Iterable[FoundNote], author: Author = "code") -> tuple[Note, ...]:
        """Keep what was FOUND in messages and is not known yet; returns what is new or changed.

        A later statement takes the place of an earlier one of the same key. Nothing is learned from what no user wrote, or
        from a recording: what is played or imported is somebody else's conversation.
        """
        found = tuple(found)
        if not found:
            return ()
        learned: list[str] = []
        with self._database.write() as connection:
            for note in found:
                identifier = _learn(connection, note, author)
                if identifier is not None:
                    learned.append(identifier)
            return tuple(note for note in _all(connection) if note.id in learned)

    def add(self, text: str, kind: NoteKind = "fact") -> Note:
        """A note that the user wrote by hand, for every conversation.

        Raises:
            ValueError: TEXT says nothing.
        """
        text = _said(text)
        with self._database.write() as connection:
            identifier = _insert(connection, text, kind, key_of(text), "user")
            return _one(connection, identifier)

    def edit(self, identifier: str, text: str) -> Note:
        """Give a note another TEXT; it is the user's own from then on, and says still where it came from.

        Raises:
            NoteNotFound: there is none of that id.
            ValueError: TEXT says nothing.
        """
        return self._change(identifier, text=_said(text), author="user")

    def set_kind(self, identifier: str, kind: NoteKind) -> Note:
        """Make a note a fact or a rule.

        Raises:
            NoteNotFound: there is none of that id.
        """
        return self._change(identifier, kind=kind)

    def delete(self, identifier: str) -> Note:
        """Take a note out of force. `restore` brings it back until `forget`.

        Raises:
            NoteNotFound: there is none of that id.
        """
        return self._change(identifier, deleted=time.time())

    def restore(self, identifier: str) -> Note:
        """Put a deleted note in force again.

        Raises:
            NoteNotFound: there is none of that id.
        """
        return self._change(identifier, deleted=None)

    def forget(self) -> None:
        """Wipe the texts of all deleted notes."""
        with self._database.write() as connection:
            connection.execute(update(notes).where(notes.c.deleted.is_not(None), notes.c.text != "").values(text=""))

    def _change(self, identifier: str, **values: Any) -> Note:
        with self._database.write() as connection:
            connection.execute(update(notes).where(notes.c.id == identifier).values(updated=time.time(), **values))
            return _one(connection, identifier)


def _said(text: str) -> str:
    text = one_note(text)
    if not any(c.isalnum() for c in text):
        raise ValueError("A note has to say something.")
    return text


def _learn(connection: Connection, note: FoundNote, author: Author) -> str | None:
    """Keep NOTE where it is news; the id of its row, None where nothing changed."""
    first = sessions.alias()  # the chain's first session
    query = (
        select(messages.c.chain, first.c.cwd)
        .join(first, first.c.id == messages.c.chain)
        .where(messages.c.id == note.source, messages.c.origin == "user", first.c.relation != "import")
    )
    source, text = connection.execute(query).first(), one_note(note.text)
    if source is None or not text or (note.local and source.cwd is None):
        return None
    cwd = source.cwd if note.local else None
    rows = connection.execute(select(notes).where(notes.c.cwd == cwd if cwd else notes.c.cwd.is_(None))).all()
    known = next((row for row in rows if note.key in (row.key, key_of(row.text))), None)
    if known is None:
        if sum(row.deleted is None for row in connection.execute(select(notes.c.deleted))) >= MOST:
            return None
        return _insert(connection, text, note.kind, note.key, author, note.source, source.chain, cwd)
    repeated = key_of(known.text) == key_of(text) and known.deleted is None
    if repeated or not _said_since(note.source, known):
        return None
    values = {"text": text, "kind": note.kind, "author": author, "source": note.source, "chain": source.chain}
    connection.execute(
        update(notes).where(notes.c.id == known.id).values(**values, key=note.key, updated=time.time(), deleted=None)
    )
    return str(known.id)


def _said_since(source: str, known: Any) -> bool:
    """Whether the message SOURCE was said after the words that KNOWN holds, or after the user changed or deleted it."""
    if known.deleted is None and known.author != "user":
        return bool(source > known.source)
    # An id knows milliseconds only: what was said in the same one counts as said after.
    return bool(source != known.source and time_of(source) + 0.001 > (known.deleted or known.updated))


def _insert(
    connection: Connection,
    text: str,
    kind: NoteKind,
    key: str,
    author: Author,
    source: str | None = None,
    chain: str | None = None,
    cwd: str | None = None,
) -> str:
    identifier, now = new_id(), time.time()
    row = {"id": identifier, "text": text, "kind": kind, "key": key, "author": author, "source": source, "chain": chain}
    connection.execute(insert(notes).values(**row, cwd=cwd, created=now, updated=now))
    return identifier


def _one(connection: Connection, identifier: str) -> Note:
    found = next((note for note in _all(connection) if note.id == identifier), None)
    if found is None:
        raise NoteNotFound("This note is not there any more.")
    return found


def _all(connection: Connection) -> Sequence[Note]:
    """All notes, deleted ones too: rules, then facts, each the newest first."""
    query = (
        select(notes, sessions.c.title)
        .outerjoin(sessions, sessions.c.id == notes.c.chain)
        .order_by(notes.c.kind.desc(), notes.c.updated.desc(), notes.c.id.desc())
    )
    return [
        Note(
            id=row.id,
            text=row.text,
            kind=row.kind,
            author=row.author,
            source=row.source,
            chain=row.chain,
            title=row.title or "",
            cwd=row.cwd,
            created=row.created,
            updated=row.updated,
            deleted=row.deleted,
        )
        for row in connection.execute(query)
    ]
