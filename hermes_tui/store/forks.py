"""Forks: a new chain that goes on from a point of another one. Nothing is copied but references."""

from __future__ import annotations

import time
from dataclasses import replace

from sqlalchemy import Connection, and_, func, insert, literal, or_, select
from sqlalchemy.sql.expression import case

from hermes_tui.context.engine import EngineState
from hermes_tui.context.messages import ID_SHOWN
from hermes_tui.store import contexts, edits, lineage, states
from hermes_tui.store.errors import MessageNotFound
from hermes_tui.store.ids import new_id
from hermes_tui.store.records import SessionRecord
from hermes_tui.store.tables import entries, sessions


def fork(
    connection: Connection, chain: str, *, generation: int | None, last_message: str | None, title: str | None
) -> SessionRecord:
    """A new chain with the entries of CHAIN up to its point: as it was at GENERATION when LAST_MESSAGE was the newest.

    The rows that had died by then are carried too, with when they were born and died, and so are the edits up to then: an undo
    reaches back before the fork. Generations go on counting from the point.

    Args:
        connection: a write transaction.
        chain: the chain that is forked.
        generation: None for the one that LAST_MESSAGE was said in, or the current one.
        last_message: None for the newest of that generation.
        title: None for that of CHAIN.

    Raises:
        SessionNotFound: there is no such chain, or it never had that generation.
        MessageNotFound: the chain has no such message, or it was not the newest at any time of that generation.
    """
    tip = lineage.tip_of(connection, chain)
    at, position = _point(connection, chain, tip, generation, last_message)
    parent = tip if at == tip.last_generation else lineage.session_at(connection, chain, at)
    identifier, now = new_id(), time.time()
    carried = (sessions.c.title, sessions.c.model, sessions.c.parameters, sessions.c.cwd, sessions.c.system, sessions.c.tools)
    row = dict(connection.execute(select(*carried).where(sessions.c.id == parent.id)).one()._mapping)
    if title is not None:
        row["title"] = title
    row |= {
        "id": identifier,
        "chain": identifier,
        "ordinal": 1,
        "parent_session_id": parent.id,
        "relation": "fork",
        "first_generation": at,
        "last_generation": at,
        "created": now,
        "updated": now,
    }
    connection.execute(insert(sessions).values(row))
    _carry_entries(connection, chain, identifier, at, position)
    edits.carry(connection, chain, identifier, at)
    _carry_state(connection, chain, identifier, current=at == tip.last_generation and last_message is None)
    return lineage.tip_of(connection, identifier)


def _point(
    connection: Connection, chain: str, tip: SessionRecord, generation: int | None, last_message: str | None
) -> tuple[int, int | None]:
    """Generation and last position of the fork."""
    if last_message is None:
        return tip.last_generation if generation is None else generation, None
    position = contexts.position_of(connection, chain, last_message)
    said = select(entries.c.position, func.min(entries.c.born).label("born")).where(
        entries.c.chain == chain, entries.c.message.is_not(None)
    )
    first = said.group_by(entries.c.position).subquery()
    born = int(connection.execute(select(first.c.born).where(first.c.position == position)).scalar_one())
    at = born if generation is None else generation
    later = connection.execute(select(func.min(first.c.born)).where(first.c.position > position)).scalar()
    if at < born or (later is not None and later < at):
        raise MessageNotFound(f"Message {last_message[-ID_SHOWN:]} was not the newest one in generation {at}.")
    return at, position


def _carry_entries(connection: Connection, chain: str, into: str, at: int, position: int | None) -> None:
    """The rows of CHAIN born up to generation AT, as they were then, as rows of INTO."""
    wanted = and_(entries.c.chain == chain, entries.c.born <= at)
    if position is not None:
        wanted = and_(wanted, or_(entries.c.position <= position, entries.c.summary.is_not(None)))
    died = case((entries.c.died <= at, entries.c.died), else_=None)
    own = ("position", "message", "summary", "treatment", "sent", "born")
    rows = select(literal(into), *(entries.c[name] for name in own), died).where(wanted).order_by(entries.c.id)
    connection.execute(insert(entries).from_select(["chain", *own, "died"], rows))


def _carry_state(connection: Connection, chain: str, into: str, *, current: bool) -> None:
    """What the engine learned of the models; and where the fork begins at the CURRENT state of the chain, what was measured."""
    known = states.load(connection, chain)
    learned = EngineState(scales=known.scales, window_learned=known.window_learned, model_rests_until=known.model_rests_until)
    states.save(
        connection, into, replace(learned, anchor=known.anchor, rest_until_size=known.rest_until_size) if current else learned
    )
