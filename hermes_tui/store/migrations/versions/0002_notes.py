"""Notes about the user."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "notes",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("source", sa.String()),
        sa.Column("chain", sa.String()),
        sa.Column("cwd", sa.String()),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
        sa.Column("deleted", sa.Float()),
        sa.CheckConstraint("kind in ('fact', 'rule')", name="known_kind"),
        sa.CheckConstraint("author in ('code', 'model', 'user')", name="known_author"),
    )
    op.execute("PRAGMA user_version = 2")


def downgrade() -> None:
    op.drop_table("notes")
    op.execute("PRAGMA user_version = 1")
