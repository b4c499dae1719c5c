"""What can go wrong with the store, as sentences that a person can act on. Importing this costs nothing."""

from __future__ import annotations


class StoreError(Exception):
    """Something about the database; ``sentence`` is what the user reads: what happened, what is kept, what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class DatabaseDamaged(StoreError):
    """The file is not a database, or not a whole one. Nothing was written to it."""


class DatabaseForeign(StoreError):
    """The file is a database of another program. Nothing was written to it."""


class DatabaseNewer(StoreError):
    """A newer version wrote the database. Nothing was written to it."""


class DirectoryUnwritable(StoreError):
    """The database, or the directory it lies in, cannot be written."""


class DatabaseBusy(StoreError):
    """Another process held the database for longer than we wait. Nothing was written, and nothing proceeds unlocked."""


class DatabaseGone(StoreError):
    """The file was removed or replaced while it was open. What would be written now would be lost with it."""


class DatabaseFailed(StoreError):
    """The disk is full or failing. The transaction was rolled back."""


class SessionNotFound(StoreError):
    """No session or chain has that id or ending."""


class SessionAmbiguous(StoreError):
    """Several sessions have that ending."""


class MessageNotFound(StoreError):
    """No message has that id."""


class RequestNotFound(StoreError):
    """No request has that id, or its body is not stored because it can be rendered again."""


class Unpaired(StoreError):
    """The message would part calls from their results: another process answered them, or they are not answered yet."""


class PlanUnsound(StoreError):
    """A compression names entries that are not alive. Nothing was written."""
