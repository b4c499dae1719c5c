"""The tables. Messages and summaries are written once; a context is rows of ``entries`` that are born and die.

Times are seconds since the epoch. JSON is kept as text in the order it came in, so that what is read is byte-equal to what
was written. The full-text indexes are no SQLModel tables: see ``search``.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import CheckConstraint, Index, MetaData, Table, Text, UniqueConstraint, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel


class Stored(SQLModel, registry=registry(metadata=MetaData())):
    """What every table of the store is made from."""


class SessionRow(Stored, table=True):
    """One link of a chain: a span of generations. A chain's id is the id of its first session."""

    __tablename__ = "sessions"
    __table_args__ = (
        UniqueConstraint("chain", "ordinal", name="one_session_per_ordinal"),
        Index(
            "one_compression_child",
            "parent_session_id",
            unique=True,
            sqlite_where=text("relation = 'compression'"),
            postgresql_where=text("relation = 'compression'"),
        ),
        CheckConstraint("relation in ('root', 'compression', 'fork', 'import')", name="known_relation"),
    )

    id: str = Field(primary_key=True)
    chain: str
    ordinal: int
    parent_session_id: str | None = None
    """No foreign key: a fork outlives the chain it came from."""
    relation: str
    first_generation: int = 0
    last_generation: int = 0
    """The last generation of the span; while the session is the tip, the chain's current one."""
    end_reason: str | None = None
    title: str = ""
    model: str = ""
    parameters: str = Field(default="{}", sa_type=Text)
    cwd: str | None = None
    system: str = Field(foreign_key="texts.id")
    tools: str = Field(foreign_key="texts.id")
    created: float
    updated: float
    ended: float | None = None


class MessageRow(Stored, table=True):
    """One message, immutable. ``chain`` and ``session`` say where it was written; entries say where it is used.

    Neither is a foreign key, since a message that a fork names outlives its first chain.
    """

    __tablename__ = "messages"
    __table_args__ = (UniqueConstraint("chain", "sequence", name="one_message_per_sequence"),)

    number: int | None = Field(default=None, primary_key=True)
    """Names the message in the full-text indexes."""
    id: str = Field(unique=True)
    chain: str
    session: str
    sequence: int
    role: str
    content: str = Field(sa_type=Text)
    origin: str
    model: str | None = None
    request: str | None = Field(default=None, index=True)
    tokens: int | None = None
    """Not filled: what a message counts is a function of its content and of the vocabulary in use, remembered by content while
    the app runs; a number kept here would outlive the vocabulary that it was counted with."""
    created: float


class DraftRow(Stored, table=True):
    """A reply that is streaming: overwritten at least every second, turned into its message in the end."""

    __tablename__ = "drafts"

    request: str = Field(primary_key=True, foreign_key="requests.id")
    chain: str = Field(foreign_key="sessions.id", index=True)
    owner: str
    """The process that streams it (see ``processes``)."""
    content: str = Field(sa_type=Text)
    model: str | None = None
    created: float
    updated: float


class SummaryRow(Stored, table=True):
    """One version of a chain's summary, immutable. ``added`` are the messages told newly, the rest is behind ``previous``."""

    __tablename__ = "summaries"

    id: str = Field(primary_key=True)
    chain: str = Field(index=True)
    version: int
    prose: str = Field(sa_type=Text)
    ledger: str = Field(sa_type=Text)
    previous: str | None = Field(default=None, foreign_key="summaries.id")
    added: str = Field(sa_type=Text)
    model: str | None = None
    tokens: int | None = None
    """Size as it was sent when it was put in, scaled."""
    fidelity: str | None = Field(default=None, sa_type=Text)
    details: str = Field(default="{}", sa_type=Text)
    """Every other field of the summary."""
    created: float


class EntryRow(Stored, table=True):
    """A reference in a chain's context, alive in the generations from ``born`` up to, not including, ``died``."""

    __tablename__ = "entries"
    __table_args__ = (
        Index("entries_of_chain", "chain", "position"),
        Index(
            "one_alive_per_position",
            "chain",
            "position",
            unique=True,
            sqlite_where=text("died IS NULL"),
            postgresql_where=text("died IS NULL"),
        ),
        CheckConstraint("(message IS NULL) <> (summary IS NULL)", name="message_or_summary"),
        CheckConstraint("died IS NULL OR died > born", name="born_before_died"),
    )

    id: int | None = Field(default=None, primary_key=True)
    chain: str = Field(foreign_key="sessions.id")
    position: int
    message: str | None = Field(default=None, foreign_key="messages.id", index=True)
    summary: str | None = Field(default=None, foreign_key="summaries.id", index=True)
    treatment: str = "verbatim"
    sent: str | None = Field(default=None, sa_type=Text)
    born: int
    died: int | None = None


class EditRow(Stored, table=True):
    """One edit, or an attempt that changed nothing (then ``generation`` is null)."""

    __tablename__ = "edits"
    __table_args__ = (UniqueConstraint("chain", "generation", name="one_edit_per_generation"),)

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True)
    chain: str = Field(foreign_key="sessions.id", index=True)
    session: str = Field(foreign_key="sessions.id")
    generation: int | None = None
    kind: str | None = None
    target: str | None = Field(default=None, foreign_key="edits.id")
    trigger: str
    first_position: int | None = None
    after_sequence: int | None = None
    """Sequence of the newest message when the edit was made: the divider stands below it."""
    tokens_before: int = 0
    tokens_after: int = 0
    counts: str = Field(default="{}", sa_type=Text)
    duration_ms: float = 0.0
    cost: float | None = None
    outcome: str
    reason: str = Field(default="", sa_type=Text)
    fidelity: str | None = Field(default=None, sa_type=Text)
    lost: str = Field(default="[]", sa_type=Text)
    summary: str | None = Field(default=None, foreign_key="summaries.id")
    details: str = Field(default="{}", sa_type=Text)
    """The rung that wrote the summary, what failed before it, and the focus asked for."""
    created: float


class RequestRow(Stored, table=True):
    """One HTTP attempt, written before it is sent."""

    __tablename__ = "requests"

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True)
    chain: str = Field(foreign_key="sessions.id", index=True)
    session: str = Field(foreign_key="sessions.id")
    generation: int
    last_message: str | None = Field(default=None, foreign_key="messages.id")
    purpose: str
    model: str
    parameters: str = Field(default="{}", sa_type=Text)
    renderer: int | None = None
    system: str | None = Field(default=None, foreign_key="texts.id")
    tools: str | None = Field(default=None, foreign_key="texts.id")
    sha256: str
    body: str | None = Field(default=None, foreign_key="texts.id")
    owner: str
    usage: str | None = Field(default=None, sa_type=Text)
    cost: float | None = None
    status: str = "sent"
    error: str | None = Field(default=None, sa_type=Text)
    estimate: int | None = None
    created: float
    finished: float | None = None


class TextRow(Stored, table=True):
    """A system prompt, a tool set or a body, once, named by its sha256."""

    __tablename__ = "texts"

    id: str = Field(primary_key=True)
    content: str = Field(sa_type=Text)
    created: float


class EngineStateRow(Stored, table=True):
    """What the context engine remembers of one chain."""

    __tablename__ = "engine_states"

    chain: str = Field(primary_key=True, foreign_key="sessions.id")
    state: str = Field(sa_type=Text)
    updated: float


class NoteRow(Stored, table=True):
    """What is remembered of the user: a fact, or a rule set for good."""

    __tablename__ = "notes"
    __table_args__ = (
        CheckConstraint("kind in ('fact', 'rule')", name="known_kind"),
        CheckConstraint("author in ('code', 'model', 'user')", name="known_author"),
    )

    id: str = Field(primary_key=True)
    text: str = Field(sa_type=Text)
    """Redacted; "" in a deleted one whose text was wiped."""
    kind: str
    key: str = Field(sa_type=Text)
    """What it was about when it was learned: a later note of the same key takes its place."""
    author: str
    source: str | None = None
    """The message it came from. Neither this nor ``chain`` is a foreign key, since a note outlives its conversation."""
    chain: str | None = None
    cwd: str | None = None
    created: float
    updated: float
    deleted: float | None = None


METADATA: Final = Stored.metadata
"""All tables, for Alembic to compare with the migrations."""


def _table(name: str) -> Table:
    return METADATA.tables[name]


sessions: Final = _table("sessions")
messages: Final = _table("messages")
drafts: Final = _table("drafts")
summaries: Final = _table("summaries")
entries: Final = _table("entries")
edits: Final = _table("edits")
requests: Final = _table("requests")
texts: Final = _table("texts")
engine_states: Final = _table("engine_states")
notes: Final = _table("notes")
