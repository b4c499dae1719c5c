"""Edits: the record of every compression, undo, redo, pin and drop, and of every attempt that changed nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, insert, select

from hermes_tui.context.fidelity import Fidelity, LostFact
from hermes_tui.store import codec
from hermes_tui.store.ids import new_id, time_of
from hermes_tui.store.records import EditRecord
from hermes_tui.store.tables import edits

APPLIED: Final = "applied"
"""The outcome of an edit that changed the context; an attempt has the kind of its refusal instead."""


def add(
    connection: Connection,
    *,
    chain: str,
    session: str,
    generation: int | None,
    kind: str | None,
    trigger: str,
    first_position: int | None,
    after_sequence: int | None,
    tokens_before: int,
    tokens_after: int,
    counts: Mapping[str, int],
    duration_ms: float,
    cost: float | None,
    outcome: str,
    reason: str,
    fidelity: Fidelity | None = None,
    summary: str | None = None,
    rung: str = "",
    failures: tuple[str, ...] = (),
    focus: str | None = None,
    target: str | None = None,
    undone: tuple[int, ...] = (),
) -> EditRecord:
    """Write an edit, and answer with it as it is stored."""
    identifier = new_id()
    connection.execute(
        insert(edits).values(
            id=identifier,
            chain=chain,
            session=session,
            generation=generation,
            kind=kind,
            target=target,
            trigger=trigger,
            first_position=first_position,
            after_sequence=after_sequence,
            tokens_before=tokens_before,
            tokens_after=tokens_after,
            counts=codec.dumps(counts),
            duration_ms=duration_ms,
            cost=cost,
            outcome=outcome,
            reason=reason,
            fidelity=codec.dumps(fidelity.classes) if fidelity else None,
            lost=codec.dumps(fidelity.lost if fidelity else ()),
            summary=summary,
            details=codec.dumps({"rung": rung, "failures": failures, "focus": focus} | ({"undone": undone} if undone else {})),
            created=time_of(identifier),
        )
    )
    return _record(connection.execute(select(edits).where(edits.c.id == identifier)).one())


def of_chain(connection: Connection, chain: str) -> tuple[EditRecord, ...]:
    """All edits of CHAIN in the order they were made, refused attempts among them."""
    rows = connection.execute(select(edits).where(edits.c.chain == chain).order_by(edits.c.number))
    return tuple(_record(row) for row in rows)


def at(connection: Connection, chain: str, generation: int) -> str | None:
    """The id of the edit that made GENERATION of CHAIN."""
    query = select(edits.c.id).where(edits.c.chain == chain, edits.c.generation == generation)
    return connection.execute(query).scalar()


def carry(connection: Connection, chain: str, into: str, until: int) -> None:
    """Write the edits of CHAIN up to generation UNTIL down once more, as those of INTO, a fork of it.

    A fork can be undone to before its beginning, and shows the dividers of what it came from, also when CHAIN is deleted. The
    copies belong to the fork's own first session; attempts that changed nothing stay behind.
    """
    rows = connection.execute(
        select(edits).where(edits.c.chain == chain, edits.c.generation <= until).order_by(edits.c.generation)
    ).all()
    own = {row.id: new_id() for row in rows}
    copies = []
    for row in rows:
        copy = dict(row._mapping)
        del copy["number"]
        copies.append(copy | {"id": own[row.id], "chain": into, "session": into, "target": own.get(row.target)})
    if copies:
        connection.execute(insert(edits), copies)


def _record(row: Any) -> EditRecord:
    details = codec.loads(row.details)
    lost = tuple(codec.decode(LostFact, fact) for fact in codec.loads(row.lost))
    classes = None if row.fidelity is None else tuple((k, kept, total) for k, kept, total in codec.loads(row.fidelity))
    return EditRecord(
        id=row.id,
        chain=row.chain,
        session=row.session,
        generation=row.generation,
        kind=row.kind,
        target=row.target,
        trigger=row.trigger,
        first_position=row.first_position,
        after_sequence=row.after_sequence,
        tokens_before=row.tokens_before,
        tokens_after=row.tokens_after,
        counts=codec.loads(row.counts),
        duration_ms=row.duration_ms,
        cost=row.cost,
        outcome=row.outcome,
        reason=row.reason,
        created=row.created,
        fidelity=None if classes is None else Fidelity(classes, lost),
        summary=row.summary,
        rung=details.get("rung", ""),
        failures=tuple(details.get("failures", ())),
        focus=details.get("focus"),
        undone=tuple(details.get("undone", ())),
    )
