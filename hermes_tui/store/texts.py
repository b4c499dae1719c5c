"""Texts stored once, by content: system prompts, tool sets and bodies of requests."""

from __future__ import annotations

import hashlib
import time

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from hermes_tui.context.messages import scrub
from hermes_tui.store.tables import texts


def sha256_of(text: str) -> str:
    """The sha256 of TEXT in UTF-8, in hex: its id."""
    return hashlib.sha256(scrub(text).encode()).hexdigest()


def keep(connection: Connection, text: str) -> str:
    """Store TEXT unless it is there; returns its id."""
    identifier = sha256_of(text)
    row = {"id": identifier, "content": text, "created": time.time()}
    connection.execute(insert(texts).values(row).on_conflict_do_nothing())
    return identifier


def read(connection: Connection, identifier: str) -> str:
    """The text of that id.

    Raises:
        KeyError: there is none.
    """
    found = connection.execute(select(texts.c.content).where(texts.c.id == identifier)).scalar()
    if found is None:
        raise KeyError(identifier)
    return str(found)
