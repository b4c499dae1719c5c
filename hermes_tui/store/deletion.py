"""Deletion: a whole chain goes, and everything that only it named. What an entry of another chain names stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, select, union
from sqlalchemy.sql.elements import ColumnElement

from hermes_tui.store import codec, search
from hermes_tui.store.contexts import chunks
from hermes_tui.store.tables import drafts, edits, engine_states, entries, messages, requests, sessions, summaries, texts


def delete_chain(connection: Connection, chain: str) -> bool:
    """Delete CHAIN, all its sessions; False where it is not there (any more).

    A message or summary that an entry of another chain names is kept, and so are the summaries that a kept one continues: a
    fork stays whole. What an earlier deletion had kept for CHAIN alone goes with it.
    """
    if connection.execute(select(sessions.c.id).where(sessions.c.chain == chain).limit(1)).first() is None:
        return False
    connection.exec_driver_sql("PRAGMA secure_delete = ON")  # what is deleted is wiped in the file, not only unlinked
    named = _ids(connection, entries.c.message, entries.c.chain == chain, entries.c.message.is_not(None))
    said = _ids(connection, messages.c.id, messages.c.chain == chain)
    told = _ids(connection, entries.c.summary, entries.c.chain == chain, entries.c.summary.is_not(None))
    written = _ids(connection, summaries.c.id, summaries.c.chain == chain)
    used = _texts_of(connection, chain)
    connection.execute(delete(drafts).where(drafts.c.chain == chain))
    connection.execute(delete(requests).where(requests.c.chain == chain))
    connection.execute(delete(edits).where(edits.c.chain == chain))
    connection.execute(delete(engine_states).where(engine_states.c.chain == chain))
    connection.execute(delete(entries).where(entries.c.chain == chain))
    connection.execute(delete(sessions).where(sessions.c.chain == chain))
    _forget_summaries(connection, told | written)
    _forget_messages(connection, named | said)
    _forget_texts(connection, used)
    search.wipe(connection)
    return True


def _ids(connection: Connection, column: ColumnElement[str], *conditions: ColumnElement[bool]) -> set[str]:
    return set(connection.execute(select(column).where(*conditions).distinct()).scalars())


def _named(connection: Connection, column: ColumnElement[str], among: Iterable[str]) -> set[str]:
    """Those AMONG the ids that COLUMN holds somewhere."""
    found: set[str] = set()
    for some in chunks(sorted(among)):
        found |= _ids(connection, column, column.in_(some))
    return found


def _forget_messages(connection: Connection, candidates: set[str]) -> None:
    """Delete the CANDIDATES that no entry names, and their words from the indexes."""
    gone = sorted(candidates - _named(connection, entries.c.message, candidates))
    for some in chunks(gone):
        for number, content in connection.execute(
            select(messages.c.number, messages.c.content).where(messages.c.id.in_(some))
        ).all():
            search.forget(connection, number, codec.loads(content))
        connection.execute(delete(messages).where(messages.c.id.in_(some)))


def _forget_summaries(connection: Connection, candidates: set[str]) -> None:
    """Delete the CANDIDATES, and what they continue, that neither an entry names nor a summary that stays continues."""
    doomed = set(candidates)
    fresh = doomed
    while fresh:  # the versions before them, which may have stayed for this chain alone
        before = _before(connection, fresh)
        fresh = before - doomed
        doomed |= fresh
    kept = _named(connection, entries.c.summary, doomed) | _named(connection, edits.c.summary, doomed)
    outside = connection.execute(select(summaries.c.id, summaries.c.previous).where(summaries.c.previous.is_not(None))).all()
    kept |= {previous for identifier, previous in outside if previous in doomed and identifier not in doomed}
    fresh = kept
    while fresh:
        fresh = _before(connection, fresh) - kept
        kept |= fresh
    newest_first = sorted(doomed - kept, reverse=True)  # ids rise with time: what continues goes before what it continues
    for identifier in newest_first:
        connection.execute(delete(summaries).where(summaries.c.id == identifier))


def _before(connection: Connection, identifiers: set[str]) -> set[str]:
    found: set[str] = set()
    for some in chunks(sorted(identifiers)):
        found |= _ids(connection, summaries.c.previous, summaries.c.id.in_(some), summaries.c.previous.is_not(None))
    return found


def _texts_of(connection: Connection, chain: str) -> set[str]:
    """The system prompts, tool sets and bodies that CHAIN uses."""
    of_sessions = [select(column).where(sessions.c.chain == chain) for column in (sessions.c.system, sessions.c.tools)]
    own = (requests.c.system, requests.c.tools, requests.c.body)
    of_requests = [select(column).where(requests.c.chain == chain, column.is_not(None)) for column in own]
    return set(connection.execute(union(*of_sessions, *of_requests)).scalars())


def _forget_texts(connection: Connection, candidates: set[str]) -> None:
    """Delete the CANDIDATES that nothing uses any more: bodies hold what was said."""
    columns: Sequence[ColumnElement[str]] = (
        sessions.c.system,
        sessions.c.tools,
        requests.c.system,
        requests.c.tools,
        requests.c.body,
    )
    used: set[str] = set()
    for column in columns:
        used |= _named(connection, column, candidates - used)
    for some in chunks(sorted(candidates - used)):
        connection.execute(delete(texts).where(texts.c.id.in_(some)))
