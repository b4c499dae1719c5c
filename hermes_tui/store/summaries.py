"""Summaries: one row a version. The full set of messages that one tells is the closure over its predecessors."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, func, insert, select

from hermes_tui.context.fidelity import Fidelity
from hermes_tui.context.summaries import Summary
from hermes_tui.store import codec
from hermes_tui.store.tables import summaries

COLUMNS = {"id", "version", "prose", "ledger", "previous", "added", "model", "covered"}
"""Fields of a summary that have a column of their own; ``covered`` is worked out. Every other one goes to ``details``."""


def keep(connection: Connection, chain: str, summary: Summary, *, tokens: int | None, fidelity: Fidelity | None) -> None:
    """Store SUMMARY, unless this version is stored already."""
    if connection.execute(select(func.count()).where(summaries.c.id == summary.id)).scalar_one():
        return
    others = {f.name: getattr(summary, f.name) for f in dataclasses.fields(summary) if f.init and f.name not in COLUMNS}
    connection.execute(
        insert(summaries).values(
            id=summary.id,
            chain=chain,
            version=summary.version,
            prose=codec.dumps(summary.prose),
            ledger=codec.dumps(summary.ledger),
            previous=summary.previous,
            added=codec.dumps(summary.added),
            model=summary.model,
            tokens=tokens,
            fidelity=codec.dumps(fidelity) if fidelity else None,
            details=codec.dumps(others),
            created=time.time(),
        )
    )


def read(connection: Connection, identifiers: Iterable[str]) -> dict[str, Summary]:
    """The summaries of those ids, by id, each with everything it covers."""
    rows: dict[str, Any] = {}
    wanted = set(identifiers)
    while wanted:  # as many rounds as there are versions
        found = connection.execute(select(summaries).where(summaries.c.id.in_(sorted(wanted)))).all()
        rows |= {row.id: row for row in found}
        wanted = {row.previous for row in found if row.previous and row.previous not in rows}
    covered: dict[str, frozenset[str]] = {}

    def closure(identifier: str) -> frozenset[str]:
        line = [identifier]
        while (before := rows[line[-1]].previous) and before in rows and before not in covered:
            line.append(before)
        for each in reversed(line):
            before = rows[each].previous
            covered[each] = covered.get(before, frozenset()) | frozenset(codec.loads(rows[each].added))
        return covered[identifier]

    return {identifier: _summary(row, closure(identifier)) for identifier, row in rows.items()}


def _summary(row: Any, covered: frozenset[str]) -> Summary:
    fields = {
        "id": row.id,
        "version": row.version,
        "prose": codec.loads(row.prose),
        "ledger": codec.loads(row.ledger),
        "previous": row.previous,
        "added": codec.loads(row.added),
        "model": row.model,
        "covered": sorted(covered),
        **codec.loads(row.details),
    }
    return codec.decode(Summary, fields)
