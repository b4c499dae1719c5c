"""The database file: opening and migrating it, and the two kinds of transaction, `read` and `write`.

There are two connections: one that writes, one transaction at a time and ``BEGIN IMMEDIATE``, and one that only reads, so that
reading never waits for another process's write (WAL).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from hermes_tui.context.messages import scrub
from hermes_tui.store import opening
from hermes_tui.store.errors import DatabaseGone, StoreError

PATIENCE: Final = 10.0
"""Seconds to wait for another process's transaction; ours take milliseconds, so longer means that something hangs."""
MIGRATIONS: Final = Path(__file__).parent / "migrations"


class Database:
    """An open database. Raises `StoreError` with a designed sentence wherever SQLite fails."""

    def __init__(self, path: Path, *, patience: float = PATIENCE) -> None:
        self.path = path
        self._writing, self._reading = RLock(), RLock()
        self._closed = False
        version = opening.version_of(path, patience)
        opening.make_private_file(path)
        self._file = opening.identity_of(path)
        self._write_engine = _engine(path, "BEGIN IMMEDIATE", patience)
        self._read_engine = _engine(path, "BEGIN", patience)
        try:
            with self._errors():
                _set_journal(self._write_engine, patience)
                if version < opening.SCHEMA_VERSION:
                    self._migrate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close both connections; the last one of all processes folds the log into the file."""
        with self._writing, self._reading:
            self._closed = True
            self._read_engine.dispose()
            self._write_engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        with self._reading, self._errors(), self._read_engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction that is alone in writing; rolled back whole if the block raises.

        A durable one is on the disk when it ends, with everything before it. Others may be lost to a power cut, but not to a
        crash of the process, and never out of order.
        """
        with self._writing, self._errors():
            if opening.identity_of(self.path) != self._file:
                raise DatabaseGone(
                    f"The database {self.path} was removed or replaced while it was open; nothing more can be kept in it. "
                    "Copy what you need from the screen and start again."
                )
            if durable:
                self._set_synchronous("FULL")  # cannot be set inside a transaction
            try:
                with self._write_engine.begin() as connection:
                    yield connection
            finally:
                if durable:
                    self._set_synchronous("NORMAL")

    def _set_synchronous(self, level: str) -> None:
        connection = self._write_engine.raw_connection()
        try:
            connection.cursor().execute(f"PRAGMA synchronous = {level}")
        finally:
            connection.close()

    def _migrate(self) -> None:
        """Bring the schema up to date in one transaction; a second process waits and then finds it done."""
        with self._write_engine.begin() as connection:
            if int(connection.exec_driver_sql("PRAGMA user_version").scalar_one()) >= opening.SCHEMA_VERSION:
                return
            from alembic import command  # half a second of import: only when the schema is behind
            from alembic.config import Config

            config = Config()
            config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
            config.set_main_option("path_separator", "os")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        if self._closed:  # an engine would open the file again
            raise StoreError(f"The database {self.path} was closed.")
        try:
            yield
        except DBAPIError as error:
            raise opening.designed(error.orig, self.path) from error
        except sqlite3.Error as error:
            raise opening.designed(error, self.path) from error


def _engine(path: Path, begin: str, patience: float) -> Engine:
    """An engine on one connection whose transactions start with BEGIN."""

    def connect() -> sqlite3.Connection:
        # Never creates the file: it would be readable by everybody. The driver's own transactions are off.
        address = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        if begin == "BEGIN":
            connection.execute("PRAGMA query_only = ON")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def _scrub(
        connection: Connection, cursor: object, statement: str, parameters: Any, context: object, executemany: bool
    ) -> tuple[str, Any]:
        """Every text at every bind: one lone surrogate would stop all writing."""
        if executemany:
            return statement, [_scrubbed(row) for row in parameters]
        return statement, _scrubbed(parameters)

    return engine


def _scrubbed(parameters: Any) -> Any:
    if isinstance(parameters, dict):
        return {k: scrub(v) if isinstance(v, str) else v for k, v in parameters.items()}
    return tuple(scrub(v) if isinstance(v, str) else v for v in parameters)


def _set_journal(engine: Engine, patience: float) -> None:
    """Switch to the write-ahead log. SQLite does not wait by itself where another process is switching at this moment."""
    deadline = time.monotonic() + patience
    while True:
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        finally:
            connection.close()
