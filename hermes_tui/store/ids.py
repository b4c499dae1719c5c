"""Ids: ULIDs, monotonic within a process, shown by their last six characters."""

from __future__ import annotations

from threading import Lock

from ulid import ULID

from hermes_tui.context.messages import ID_SHOWN

_lock = Lock()
_last = 0


def new_id() -> str:
    """A new ULID, greater than every one this process made before, also where the clock went back."""
    global _last
    with _lock:
        _last = max(int(ULID()), _last + 1)
        return str(ULID.from_int(_last))


def time_of(identifier: str) -> float:
    """When the thing that IDENTIFIER names was made, in seconds since the epoch."""
    return ULID.from_str(identifier).timestamp


def shown(identifier: str) -> str:
    """The short form of IDENTIFIER for people."""
    return identifier[-ID_SHOWN:]
