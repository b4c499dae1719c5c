"""Contexts: the entries of a chain at any generation; `apply` a compression and `edit` by hand are the ways to change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, and_, func, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from hermes_tui.context.editing import Edit
from hermes_tui.context.engine import Compression, EngineState, Plan
from hermes_tui.context.messages import scrub_json
from hermes_tui.context.undoing import Row
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from hermes_tui.store import codec, edits, lineage, states, summaries, texts, transcript
from hermes_tui.store.errors import MessageNotFound, PlanUnsound
from hermes_tui.store.records import Applied, Moved
from hermes_tui.store.tables import edits as edit_rows
from hermes_tui.store.tables import entries, messages, sessions

T = TypeVar("T")
CHUNK: Final = 500
"""Values in one statement; SQLite takes 32,766 parameters, 999 before version 3.32."""


def view(
    connection: Connection,
    chain: str,
    *,
    generation: int | None = None,
    last_message: str | None = None,
    model: str | None = None,
) -> ContextView:
    """The context of CHAIN as it is, or as it was at GENERATION when LAST_MESSAGE was the newest.

    MODEL is the one that the request goes to; without it, the session's.

    Raises:
        SessionNotFound: there is no such chain, or it never had that generation.
        MessageNotFound: there is no such last message.
    """
    tip = lineage.tip_of(connection, chain)
    at = tip.last_generation if generation is None else generation
    session = tip if at == tip.last_generation else lineage.session_at(connection, chain, at)
    system, tools = connection.execute(select(sessions.c.system, sessions.c.tools).where(sessions.c.id == session.id)).one()
    marks = connection.execute(
        select(edit_rows.c.generation, edit_rows.c.first_position)
        .where(edit_rows.c.chain == chain, edit_rows.c.generation <= at)
        .order_by(edit_rows.c.generation)
    )
    return ContextView(
        chain=chain,
        session=session.id,
        generation=at,
        model=model or session.model,
        system=texts.read(connection, system),
        tools=tuple(codec.loads(texts.read(connection, tools))),
        entries=_entries(connection, chain, at, last_message),
        edit_marks=tuple((row[0], row[1]) for row in marks),
    )


def _entries(connection: Connection, chain: str, generation: int, last_message: str | None) -> tuple[Entry, ...]:
    alive = and_(
        entries.c.chain == chain,
        entries.c.born <= generation,
        or_(entries.c.died.is_(None), entries.c.died > generation),
    )
    if last_message is not None:
        # What was said later is left out; the summary stands wherever it stood when its generation began.
        said = entries.c.position <= position_of(connection, chain, last_message)
        alive = and_(alive, or_(said, entries.c.summary.is_not(None)))
    return tuple(row.entry for row in _rows(connection, chain, alive))


def history(connection: Connection, chain: str) -> tuple[Row, ...]:
    """Every row that the entries of CHAIN ever had, alive and dead, by position and birth: what an undo is worked out from.

    Raises:
        SessionNotFound: there is no such chain.
    """
    lineage.tip_of(connection, chain)
    return _rows(connection, chain, entries.c.chain == chain)


def _rows(connection: Connection, chain: str, wanted: ColumnElement[bool]) -> tuple[Row, ...]:
    own = (entries.c.position, entries.c.treatment, entries.c.sent, entries.c.born, entries.c.summary, entries.c.died)
    query = (
        select(*transcript.COLUMNS, *own)
        .select_from(entries.outerjoin(messages, messages.c.id == entries.c.message))
        .where(wanted)
        .order_by(entries.c.position, entries.c.born)
    )
    rows = connection.execute(query).all()
    told = summaries.read(connection, [row[10] for row in rows if row[10] is not None])
    written = _written(connection, chain)
    found = []
    for row in rows:
        position, treatment, sent, born, summary, died = row[6:12]
        message = transcript.message_of(row) if summary is None else None
        entry = Entry(
            position=position,
            message=message,
            summary=None if summary is None else told[summary],
            treatment=Treatment(treatment),
            sent=None if sent is None else tuple(codec.loads(sent)),
            born=born,
            written=min(born, written.get(message.id, born)) if message else 0,
        )
        found.append(Row(entry, died))
    return tuple(found)


def _written(connection: Connection, chain: str) -> dict[str, int]:
    """The generation in which each message that was ever replaced was said: that of its first row."""
    first = (
        select(entries.c.message, func.min(entries.c.born))
        .where(entries.c.chain == chain, entries.c.died.is_not(None), entries.c.message.is_not(None))
        .group_by(entries.c.message)
    )
    return {row[0]: row[1] for row in connection.execute(first)}


def position_of(connection: Connection, chain: str, message: str) -> int:
    """Where MESSAGE stands in CHAIN.

    Raises:
        MessageNotFound: no entry of the chain ever named it.
    """
    found = connection.execute(
        select(entries.c.position).where(entries.c.chain == chain, entries.c.message == message).limit(1)
    ).scalar()
    if found is None:
        raise MessageNotFound(f"There is no message {message} in this conversation.")
    return int(found)


def apply(
    connection: Connection,
    compression: Compression,
    *,
    trigger: str,
    duration_ms: float,
    cost: float | None,
    split: bool,
    parameters: Mapping[str, Any] | None,
    state: EngineState | None,
    summary_tokens: int | None,
) -> Applied | Moved:
    """Carry a compression into the database: rows closed and opened, summary, edit, engine state, and with SPLIT a new session.

    Raises:
        PlanUnsound: an entry that it closes is not alive, or one that it opens stands on one that is.
        SessionNotFound: there is no such chain.
    """
    plan, change = compression.plan, compression.change
    if change is None:
        raise PlanUnsound("Nothing was changed: this compression did nothing.")
    tip = lineage.tip_of(connection, plan.chain)
    made_for = plan.view.session if plan.view is not None else tip.id
    if tip.last_generation != plan.generation or tip.id != made_for:
        return Moved(tip)
    generation = plan.generation + 1
    newest = transcript.newest(connection, plan.chain)
    if split:
        lineage.split(connection, tip, generation, parameters)
    else:
        lineage.edited(connection, tip.id, generation)
    _keep_summaries(connection, compression, change, summary_tokens)
    _close(connection, plan.chain, change, generation)
    _open(connection, plan.chain, change, generation)
    edit = edits.add(
        connection,
        chain=plan.chain,
        session=tip.id,
        generation=generation,
        kind=plan.kind,
        trigger=trigger,
        first_position=change.first_position,
        after_sequence=newest.sequence if newest else None,
        tokens_before=compression.tokens_before,
        tokens_after=compression.tokens_after,
        counts=counts_of(plan),
        duration_ms=duration_ms,
        cost=cost,
        outcome=edits.APPLIED,
        reason=plan.why,
        fidelity=compression.fidelity,
        summary=compression.summary.id if compression.summary else None,
        rung=compression.rung,
        failures=compression.failures,
        focus=plan.focus,
    )
    if state is not None:
        states.save(connection, plan.chain, state)
    ended = lineage.session(connection, tip.id) if split else None
    return Applied(lineage.tip_of(connection, plan.chain), ended, edit)


def edit(connection: Connection, made: Edit, *, state: EngineState | None) -> Applied | Moved:
    """Carry an undo, redo, pin or drop into the database: rows closed and opened, the edit, the engine state. No session ends.

    Raises:
        PlanUnsound: an entry that it closes is not alive, one that it opens stands on one that is, or its target is not there.
        SessionNotFound: there is no such chain.
    """
    if not made.change.closed and not made.change.opened:
        raise PlanUnsound("Nothing was changed: this edit does nothing.")
    tip = lineage.tip_of(connection, made.chain)
    if tip.last_generation != made.generation or tip.id != made.session:
        return Moved(tip)
    generation = made.generation + 1
    target = None if made.target is None else edits.at(connection, made.chain, made.target)
    if made.target is not None and target is None:
        raise PlanUnsound("Nothing was changed: what was to be undone is no edit of this conversation.")
    newest = transcript.newest(connection, made.chain)
    lineage.edited(connection, tip.id, generation)
    _close(connection, made.chain, made.change, generation)
    _open(connection, made.chain, made.change, generation)
    record = edits.add(
        connection,
        chain=made.chain,
        session=tip.id,
        generation=generation,
        kind=made.kind,
        trigger="manual",
        first_position=made.change.first_position,
        after_sequence=newest.sequence if newest else None,
        tokens_before=made.tokens_before,
        tokens_after=made.tokens_after,
        counts=made.counts,
        duration_ms=0.0,
        cost=None,
        outcome=edits.APPLIED,
        reason="",
        target=target,
        undone=made.undone,
    )
    if state is not None:
        states.save(connection, made.chain, state)
    return Applied(lineage.tip_of(connection, made.chain), None, record)


def counts_of(plan: Plan) -> dict[str, int]:
    """How many messages PLAN prunes, summarises, and leaves in each region."""
    return {
        "pruned": len(plan.prunes),
        "summarised": len(plan.sources),
        "head": len(plan.regions.head),
        "middle": len(plan.regions.middle),
        "pinned": len(plan.regions.pinned),
        "tail": len(plan.regions.tail),
    }


def _keep_summaries(connection: Connection, compression: Compression, change: Change, tokens: int | None) -> None:
    named = {e.summary.id: e.summary for e in change.opened if e.summary is not None}
    if compression.summary is not None:
        named[compression.summary.id] = compression.summary
    for summary in named.values():
        summaries.keep(connection, compression.plan.chain, summary, tokens=tokens, fidelity=compression.fidelity)


def _close(connection: Connection, chain: str, change: Change, generation: int) -> None:
    closed = sorted(set(change.closed))
    for positions in chunks(closed):
        done = connection.execute(
            update(entries)
            .where(entries.c.chain == chain, entries.c.position.in_(positions), entries.c.died.is_(None))
            .values(died=generation)
        )
        if done.rowcount != len(positions):
            raise PlanUnsound("Nothing was changed: the edit closes entries that are not in the context.")


def _open(connection: Connection, chain: str, change: Change, generation: int) -> None:
    taken = _alive(connection, chain, [e.position for e in change.opened])
    if taken:
        raise PlanUnsound("Nothing was changed: the edit puts two entries in one place.")
    rows = [
        {
            "chain": chain,
            "position": entry.position,
            "message": entry.message.id if entry.message else None,
            "summary": entry.summary.id if entry.summary else None,
            "treatment": entry.treatment.value,
            "sent": None if entry.sent is None else codec.dumps(scrub_json(entry.sent)),
            "born": generation,
        }
        for entry in change.opened
    ]
    if rows:
        connection.execute(insert(entries), rows)


def _alive(connection: Connection, chain: str, positions: Sequence[int]) -> int:
    alive = 0
    for some in chunks(positions):
        query = select(func.count()).where(entries.c.chain == chain, entries.c.position.in_(some), entries.c.died.is_(None))
        alive += int(connection.execute(query).scalar_one())
    return alive


def chunks(values: Sequence[T]) -> list[Sequence[T]]:
    """VALUES in stretches that one statement takes."""
    return [values[at : at + CHUNK] for at in range(0, len(values), CHUNK)]
