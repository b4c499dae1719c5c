"""The store for a command that only reads it or runs beside the app."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hermes_tui.cli.failures import Refused
from hermes_tui.paths import Paths

if TYPE_CHECKING:
    from hermes_tui.store.store import Store


@contextmanager
def open_store(paths: Paths) -> Iterator[Store]:
    """The store at PATHS, closed at the end.

    Raises:
        Refused: where there is no database yet.
        StoreError: where it cannot be opened.
    """
    from hermes_tui.store.store import Store

    if not paths.database.exists():
        raise Refused(f"There is no database at {str(paths.database)!r} yet; --data-dir names another folder.")
    store = Store.open(paths.database)
    try:
        yield store
    finally:
        store.close()
