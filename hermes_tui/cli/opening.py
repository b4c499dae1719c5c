"""The store for a command that only reads it or runs beside the app."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hermes_tui.paths import Paths

if TYPE_CHECKING:
    from hermes_tui.store.store import Store


@contextmanager
def open_store(paths: Paths) -> Iterator[Store | None]:
    """The store at PATHS, closed at the end; None where there is none yet: a command that only reads makes no files.

    Raises:
        StoreError: where it cannot be opened, or could not be made.
    """
    from hermes_tui.store.opening import unwritable
    from hermes_tui.store.store import Store

    if not paths.database.exists():
        nearest = next(folder for folder in (paths.data, *paths.data.parents) if folder.exists())
        if not nearest.is_dir():
            raise unwritable(paths.database, f"{str(nearest)!r} is not a folder")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise unwritable(paths.database, f"the folder {str(nearest)!r} is write-protected")
        yield None
        return
    store = Store.open(paths.database)
    try:
        yield store
    finally:
        store.close()
