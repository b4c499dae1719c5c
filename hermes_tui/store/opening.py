"""Before anything is written: is this file ours to open, whole, and of a version we know?

Everything here reads only. A file that fails stays as it is, byte for byte; nothing is created beside it.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from hermes_tui.store.errors import (
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFailed,
    DatabaseForeign,
    DatabaseNewer,
    DirectoryUnwritable,
    SessionNotFound,
    StoreError,
)

APPLICATION_ID: Final = 1213486409
"""The application id in the file's header: "HTUI" in ASCII."""
SCHEMA_VERSION: Final = 2
"""The header's user version: how many migrations made the schema. Each migration raises both by one."""
TABLES: Final = {
    1: {"sessions", "messages", "entries", "edits", "summaries", "requests", "texts", "drafts", "engine_states"},
    2: {"notes"},
}
"""The tables that each version brought: a file that lacks one of its own is not whole."""
SMALLEST_PAGE: Final = 512
"""Bytes of the smallest page that SQLite has: no database is smaller."""
CHECKED_BYTES: Final = 256 * 1024 * 1024
"""Up to this size every page of the file is checked when it is opened (1 ms a megabyte, measured); over it, the schema's."""


def version_of(path: Path, patience: float) -> int:
    """The schema version of the database at PATH, 0 where it has no tables or does not exist yet.

    PATIENCE is how many seconds to wait for another process.

    Raises:
        DatabaseDamaged, DatabaseForeign, DatabaseNewer, DirectoryUnwritable: and nothing is written.
    """
    if not path.exists():
        return 0
    if path.is_dir():
        raise DirectoryUnwritable(f"{path} is a directory, not a database. Choose another place with --data-dir.")
    size = path.stat().st_size
    if size == 0:
        return 0
    if size < SMALLEST_PAGE:  # SQLite would take it for an empty database, and write over it
        raise damaged(path, "it is no database")
    before = _outside(path)
    try:
        version = _inspect(path, patience, immutable=not _log_of(path).exists())
    except DatabaseDamaged:
        if _outside(path) == before:
            raise
        # Another process wrote while we read without a lock: read as its peer.
        version = _inspect(path, patience, immutable=False)
    if version > SCHEMA_VERSION:
        raise DatabaseNewer(
            f"The database {path} was written by a newer version of Hermes TUI (schema {version}, this one knows "
            f"{SCHEMA_VERSION}). It was left as it is: update Hermes TUI, or choose another place with --data-dir."
        )
    return version


def make_private_file(path: Path) -> None:
    """Make sure that the file at PATH exists and can be written; a new one, and so its siblings, only its owner can read.

    Raises:
        DirectoryUnwritable: the directory cannot be made or written, or the file cannot.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists():
            # No open and close here: closing any descriptor of the file would drop the locks of a connection in this process.
            if not os.access(path, os.R_OK | os.W_OK):
                raise PermissionError(13, "the file is write-protected")
            if not os.access(path.parent, os.W_OK | os.X_OK):
                raise PermissionError(13, "the directory is write-protected")
        else:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from error


def unwritable(path: Path, why: str) -> DirectoryUnwritable:
    """The error for a place that cannot be written, with the reason WHY in the system's words."""
    return DirectoryUnwritable(
        f"Hermes TUI cannot write its database {path}: {why[:1].lower()}{why[1:]}. "
        "Nothing was changed. Make the place writable, or choose another with --data-dir."
    )


def damaged(path: Path, why: str) -> DatabaseDamaged:
    """The error for a damaged file, with the reason WHY in SQLite's words."""
    return DatabaseDamaged(
        f"The database {path} is damaged ({why}). It was left as it is: restore a copy of it, "
        "or move it away and Hermes TUI starts a new one."
    )


def designed(error: object, path: Path) -> StoreError:
    """The designed error for what SQLite said of the database at PATH."""
    said = str(error)
    low = said.lower()
    if "locked" in low or "busy" in low:
        return DatabaseBusy(
            f"Another process has held the database {path} for too long, so nothing was written. "
            "Close other Hermes TUI windows or wait for them, then try again."
        )
    if "malformed" in low or "not a database" in low or "corrupt" in low:
        return damaged(path, said)
    if "readonly" in low or "unable to open" in low:
        return unwritable(path, said)
    if "foreign key" in low:  # our own writes name only what is there, unless it was deleted meanwhile
        return SessionNotFound(
            "This conversation was deleted in another window, so nothing more can be kept in it. Copy what you need from the "
            "screen; /new begins another one."
        )
    if "full" in low:
        return DatabaseFailed(f"The disk of the database {path} is full: nothing was written. Free some space and try again.")
    return DatabaseFailed(f"The database {path} failed: {said}. What was stored before is kept.")


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _outside(path: Path) -> tuple[int, int, bool]:
    """What shows from outside that somebody writes to the file."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, _log_of(path).exists()


def _inspect(path: Path, patience: float, *, immutable: bool) -> int:
    """The version of the whole and own database at PATH; immutable reading takes no lock and makes no file beside it."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro" + ("&immutable=1" if immutable else "")
    try:
        connection = sqlite3.connect(address, uri=True, timeout=patience)
    except sqlite3.Error as error:
        raise designed(error, path) from error
    try:
        return _inspect_open(connection, path)
    except sqlite3.Error as error:
        raise designed(error, path) from error
    finally:
        connection.close()


def _inspect_open(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not names and application in (0, APPLICATION_ID):
        return 0
    if application != APPLICATION_ID:
        raise DatabaseForeign(
            f"{path} is a database of another program. It was left as it is: choose another place with --data-dir."
        )
    if int(version) > SCHEMA_VERSION:
        return int(version)
    # In a whole file the page count of the header is the file's own: a cut-off copy shows here, whatever its pages say.
    (pages,), (size,) = connection.execute("PRAGMA page_count").fetchone(), connection.execute("PRAGMA page_size").fetchone()
    if not _log_of(path).exists() and path.stat().st_size < pages * size:
        raise damaged(path, "the file is cut off")
    if pages * size <= CHECKED_BYTES:
        verdicts = [str(verdict) for (verdict,) in connection.execute("PRAGMA quick_check(100)")]
        # Some versions of SQLite (3.44) cannot look into a full-text index of a file that is opened for reading.
        faults = [v for v in verdicts if v != "ok" and "inverted index" not in v]
        if faults:
            raise damaged(path, faults[0].splitlines()[-1].strip("* "))
    missing = set[str]().union(*(TABLES[n] for n in TABLES if n <= int(version))) - names
    if missing:
        raise damaged(path, f"the table {min(missing)} is missing")
    return int(version)


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file lies at PATH just now (device and inode), None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
