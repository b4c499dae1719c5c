"""The first tables."""

from __future__ import annotations

import sqlite3

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "texts",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("chain", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("parent_session_id", sa.String()),
        sa.Column("relation", sa.String(), nullable=False),
        sa.Column("first_generation", sa.Integer(), nullable=False),
        sa.Column("last_generation", sa.Integer(), nullable=False),
        sa.Column("end_reason", sa.String()),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("cwd", sa.String()),
        sa.Column("system", sa.String(), sa.ForeignKey("texts.id"), nullable=False),
        sa.Column("tools", sa.String(), sa.ForeignKey("texts.id"), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
        sa.Column("ended", sa.Float()),
        sa.UniqueConstraint("chain", "ordinal", name="one_session_per_ordinal"),
        sa.CheckConstraint("relation in ('root', 'compression', 'fork', 'import')", name="known_relation"),
    )
    child = sa.text("relation = 'compression'")
    op.create_index(
        "one_compression_child", "sessions", ["parent_session_id"], unique=True, sqlite_where=child, postgresql_where=child
    )
    op.create_table(
        "messages",
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("id", sa.String(), nullable=False, unique=True),
        sa.Column("chain", sa.String(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("model", sa.String()),
        sa.Column("request", sa.String()),
        sa.Column("tokens", sa.Integer()),
        sa.Column("created", sa.Float(), nullable=False),
        sa.UniqueConstraint("chain", "sequence", name="one_message_per_sequence"),
    )
    op.create_index("ix_messages_request", "messages", ["request"])
    op.create_table(
        "summaries",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("chain", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("prose", sa.Text(), nullable=False),
        sa.Column("ledger", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(), sa.ForeignKey("summaries.id")),
        sa.Column("added", sa.Text(), nullable=False),
        sa.Column("model", sa.String()),
        sa.Column("tokens", sa.Integer()),
        sa.Column("fidelity", sa.Text()),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
    )
    op.create_index("ix_summaries_chain", "summaries", ["chain"])
    op.create_table(
        "entries",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("chain", sa.String(), sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("message", sa.String(), sa.ForeignKey("messages.id")),
        sa.Column("summary", sa.String(), sa.ForeignKey("summaries.id")),
        sa.Column("treatment", sa.String(), nullable=False),
        sa.Column("sent", sa.Text()),
        sa.Column("born", sa.Integer(), nullable=False),
        sa.Column("died", sa.Integer()),
        sa.CheckConstraint("(message IS NULL) <> (summary IS NULL)", name="message_or_summary"),
        sa.CheckConstraint("died IS NULL OR died > born", name="born_before_died"),
    )
    alive = sa.text("died IS NULL")
    op.create_index("entries_of_chain", "entries", ["chain", "position"])
    op.create_index(
        "one_alive_per_position", "entries", ["chain", "position"], unique=True, sqlite_where=alive, postgresql_where=alive
    )
    op.create_index("ix_entries_message", "entries", ["message"])
    op.create_index("ix_entries_summary", "entries", ["summary"])
    op.create_table(
        "edits",
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("id", sa.String(), nullable=False, unique=True),
        sa.Column("chain", sa.String(), sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("session", sa.String(), sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("generation", sa.Integer()),
        sa.Column("kind", sa.String()),
        sa.Column("target", sa.String(), sa.ForeignKey("edits.id")),
        sa.Column("trigger", sa.String(), nullable=False),
        sa.Column("first_position", sa.Integer()),
        sa.Column("after_sequence", sa.Integer()),
        sa.Column("tokens_before", sa.Integer(), nullable=False),
        sa.Column("tokens_after", sa.Integer(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column("cost", sa.Float()),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("fidelity", sa.Text()),
        sa.Column("lost", sa.Text(), nullable=False),
        sa.Column("summary", sa.String(), sa.ForeignKey("summaries.id")),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.UniqueConstraint("chain", "generation", name="one_edit_per_generation"),
    )
    op.create_index("ix_edits_chain", "edits", ["chain"])
    op.create_table(
        "requests",
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("id", sa.String(), nullable=False, unique=True),
        sa.Column("chain", sa.String(), sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("session", sa.String(), sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("last_message", sa.String(), sa.ForeignKey("messages.id")),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("renderer", sa.Integer()),
        sa.Column("system", sa.String(), sa.ForeignKey("texts.id")),
        sa.Column("tools", sa.String(), sa.ForeignKey("texts.id")),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("body", sa.String(), sa.ForeignKey("texts.id")),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("usage", sa.Text()),
        sa.Column("cost", sa.Float()),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("estimate", sa.Integer()),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("finished", sa.Float()),
    )
    op.create_index("ix_requests_chain", "requests", ["chain"])
    op.create_table(
        "drafts",
        sa.Column("request", sa.String(), sa.ForeignKey("requests.id"), primary_key=True),
        sa.Column("chain", sa.String(), sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("model", sa.String()),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
    )
    op.create_index("ix_drafts_chain", "drafts", ["chain"])
    op.create_table(
        "engine_states",
        sa.Column("chain", sa.String(), sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
    )
    # Contentless: the words point at messages.number, and the text itself is stored once, in the message.
    op.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61 remove_diacritics 2')")
    if sqlite3.sqlite_version_info >= (3, 34):
        op.execute("CREATE VIRTUAL TABLE runs USING fts5(text, content='', tokenize='trigram')")
    op.execute("PRAGMA application_id = 1213486409")
    op.execute("PRAGMA user_version = 1")


def downgrade() -> None:
    op.execute("DROP TABLE IF EXISTS runs")
    for name in (
        "words",
        "engine_states",
        "drafts",
        "requests",
        "edits",
        "entries",
        "summaries",
        "messages",
        "sessions",
        "texts",
    ):
        op.drop_table(name)
    op.execute("PRAGMA user_version = 0")
