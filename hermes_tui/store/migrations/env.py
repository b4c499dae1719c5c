"""How Alembic runs here: on the connection, and inside the transaction, that the database module hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from hermes_tui.store.tables import METADATA


def run() -> None:
    """Run the revisions on the connection that was handed over: all of them or none, since SQLite's DDL is transactional."""
    connection = context.config.attributes["connection"]
    assert isinstance(connection, Connection)
    context.configure(connection=connection, target_metadata=METADATA, transactional_ddl=True)
    context.run_migrations()


run()
