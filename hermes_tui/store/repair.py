"""What is put right when a database is opened: an ended session without its child, and what dead processes left behind."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from hermes_tui.store import drafts, requests
from hermes_tui.store.database import Database
from hermes_tui.store.lineage import ENDED_BY_COMPRESSION
from hermes_tui.store.tables import sessions


def repair(database: Database) -> tuple[str, ...]:
    """Put DATABASE right; returns the chains that got the message of an abandoned draft. Writes only where there is need."""
    with database.read() as connection:
        needed = _childless(connection) or drafts.abandoned(connection) or requests.abandoned(connection)
    if not needed:
        return ()
    with database.write() as connection:
        for session in _childless(connection):
            connection.execute(update(sessions).where(sessions.c.id == session).values(end_reason=None, ended=None))
        recovered = drafts.recover(connection, drafts.abandoned(connection))
        requests.interrupt(connection, requests.abandoned(connection))
    return recovered


def _childless(connection: Connection) -> tuple[str, ...]:
    """Sessions that a compression ended but that nothing continues: every write to their chain would be refused for ever.

    Our own transactions end and continue in one; a copy of a database, or another program, may hold one half.
    """
    child = sessions.alias("child")
    continued = select(child.c.id).where(child.c.chain == sessions.c.chain, child.c.ordinal > sessions.c.ordinal)
    query = select(sessions.c.id).where(sessions.c.end_reason == ENDED_BY_COMPRESSION, ~continued.exists())
    return tuple(connection.execute(query).scalars())
