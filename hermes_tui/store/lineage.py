"""Chains and their sessions: a forest by construction. A chain's id is its first session's; its tip has the highest ordinal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, func, insert, select, update

from hermes_tui.context.messages import ID_SHOWN, scrub
from hermes_tui.store import codec, texts
from hermes_tui.store.errors import SessionAmbiguous, SessionNotFound
from hermes_tui.store.ids import new_id
from hermes_tui.store.records import ChainRecord, Relation, SessionRecord
from hermes_tui.store.tables import edits, entries, sessions

ENDED_BY_COMPRESSION = "compression"


def create_chain(
    connection: Connection,
    *,
    title: str,
    model: str,
    system: str,
    tools: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any],
    relation: Relation,
    parent: str | None,
    cwd: str | None,
) -> SessionRecord:
    """A new chain with its first session; system and tools stay the same for all of it."""
    identifier, now = new_id(), time.time()
    connection.execute(
        insert(sessions).values(
            id=identifier,
            chain=identifier,
            ordinal=1,
            parent_session_id=parent,
            relation=relation,
            first_generation=0,
            last_generation=0,
            title=title,
            model=model,
            parameters=codec.dumps(parameters),
            cwd=cwd,
            system=texts.keep(connection, system),
            tools=texts.keep(connection, codec.dumps(tools)),
            created=now,
            updated=now,
        )
    )
    return tip_of(connection, identifier)


def split(connection: Connection, parent: SessionRecord, generation: int, parameters: Mapping[str, Any] | None) -> None:
    """End PARENT at a compression and start its child with everything that the parent had; the child begins at GENERATION."""
    now = time.time()
    connection.execute(
        update(sessions)
        .where(sessions.c.id == parent.id)
        .values(end_reason=ENDED_BY_COMPRESSION, last_generation=generation - 1, ended=now)
    )
    carried = {
        "chain": sessions.c.chain,
        "title": sessions.c.title,
        "model": sessions.c.model,
        "parameters": sessions.c.parameters,
        "cwd": sessions.c.cwd,
        "system": sessions.c.system,
        "tools": sessions.c.tools,
    }
    row = dict(connection.execute(select(*carried.values()).where(sessions.c.id == parent.id)).one()._mapping)
    if parameters is not None:
        row["parameters"] = codec.dumps(parameters)
    row |= {
        "id": new_id(),
        "ordinal": parent.ordinal + 1,
        "parent_session_id": parent.id,
        "relation": "compression",
        "first_generation": generation,
        "last_generation": generation,
        "created": now,
        "updated": now,
    }
    connection.execute(insert(sessions).values(row))


def said(connection: Connection, session: str) -> None:
    """Note that something was said in SESSION just now."""
    connection.execute(_SAID, {"session": session, "now": time.time()})


def edited(connection: Connection, session: str, generation: int) -> None:
    """Note that an edit made GENERATION in SESSION just now."""
    values = {"last_generation": generation, "updated": time.time()}
    connection.execute(update(sessions).where(sessions.c.id == session).values(values))


def _records() -> Select[Any]:
    """Sessions with the sizes around the compression that ended each."""
    ended_by = and_(
        edits.c.chain == sessions.c.chain,
        edits.c.generation == sessions.c.last_generation + 1,
        sessions.c.end_reason == ENDED_BY_COMPRESSION,
    )
    return select(sessions, edits.c.tokens_before, edits.c.tokens_after, edits.c.counts).select_from(
        sessions.outerjoin(edits, ended_by)
    )


_TIP = _records().where(sessions.c.chain == bindparam("wanted")).order_by(sessions.c.ordinal.desc()).limit(1)
_SAID = update(sessions).where(sessions.c.id == bindparam("session")).values(updated=bindparam("now"))
"""Statements of every turn: made once, since making one costs more than running it."""


def _record(row: Any) -> SessionRecord:
    counts = codec.loads(row.counts) if row.counts else {}
    return SessionRecord(
        id=row.id,
        chain=row.chain,
        ordinal=row.ordinal,
        parent=row.parent_session_id,
        relation=row.relation,
        first_generation=row.first_generation,
        last_generation=row.last_generation,
        end_reason=row.end_reason,
        title=row.title,
        model=row.model,
        parameters=codec.loads(row.parameters),
        cwd=row.cwd,
        created=row.created,
        ended=row.ended,
        tokens_before=row.tokens_before,
        tokens_after=row.tokens_after,
        summarised=counts.get("summarised"),
    )


def tip_of(connection: Connection, chain: str) -> SessionRecord:
    """The newest session of CHAIN.

    Raises:
        SessionNotFound: there is no such chain.
    """
    row = connection.execute(_TIP, {"wanted": chain}).first()
    if row is None:
        raise SessionNotFound(
            f"There is no conversation {chain[-ID_SHOWN:]}: it was deleted, or never was. /new begins another one."
        )
    return _record(row)


def sessions_of(connection: Connection, chain: str) -> tuple[SessionRecord, ...]:
    """All sessions of CHAIN by ordinal; empty where there is no such chain."""
    rows = connection.execute(_records().where(sessions.c.chain == chain).order_by(sessions.c.ordinal))
    return tuple(_record(row) for row in rows)


def session(connection: Connection, identifier: str) -> SessionRecord:
    """The session of that whole id.

    Raises:
        SessionNotFound: there is none.
    """
    row = connection.execute(_records().where(sessions.c.id == identifier)).first()
    if row is None:
        raise SessionNotFound(f"There is no session {identifier}.")
    return _record(row)


def chain_of(connection: Connection, identifier: str) -> str:
    """The chain of the session of that whole id; an id of none is answered as it is."""
    found = connection.execute(select(sessions.c.chain).where(sessions.c.id == identifier)).scalar()
    return identifier if found is None else str(found)


def session_at(connection: Connection, chain: str, generation: int) -> SessionRecord:
    """The session whose span holds GENERATION; for one before a fork, the fork's first.

    Raises:
        SessionNotFound: there is no such chain, or it never had that generation.
    """
    spans = and_(sessions.c.first_generation <= generation, sessions.c.last_generation >= generation)
    row = connection.execute(_records().where(sessions.c.chain == chain, spans)).first()
    if row is not None:
        return _record(row)
    first = next(iter(sessions_of(connection, chain)), None)
    if first is not None and first.relation == "fork" and 0 <= generation < first.first_generation:
        return first  # what was before the fork is told in the fork's own first session, since its parent may be deleted
    raise SessionNotFound(f"Conversation {chain[-ID_SHOWN:]} has no generation {generation}.")


def chains(connection: Connection) -> tuple[ChainRecord, ...]:
    """All chains, the one that changed last first."""
    named = (
        select(entries.c.chain, func.count(entries.c.message.distinct()))
        .where(entries.c.message.is_not(None))
        .group_by(entries.c.chain)
    )
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(named)}
    rows = connection.execute(_records().order_by(sessions.c.chain, sessions.c.ordinal)).all()
    found = []
    for chain, of_chain in groupby(rows, key=lambda row: str(row.chain)):
        links = list(of_chain)
        records = tuple(_record(row) for row in links)
        updated = max(row.updated for row in links)
        found.append(ChainRecord(chain, records[-1].title, records, counts.get(chain, 0), updated))
    return tuple(sorted(found, key=lambda c: (c.updated_at, c.id), reverse=True))


def resolve(connection: Connection, ending: str) -> SessionRecord:
    """The session whose id ends with ENDING, upper or lower case, at least six characters of it.

    Raises:
        SessionNotFound: none does, or fewer characters were given.
        SessionAmbiguous: several do.
    """
    wanted = scrub(ending).strip()
    if len(wanted) < ID_SHOWN:
        raise SessionNotFound(f'"{wanted}" is too short for a session: give at least the last {ID_SHOWN} characters of its id.')
    if not wanted.isascii() or not wanted.isalnum():  # nothing else is in an id, and wildcards must not work
        raise SessionNotFound(f'There is no session "{wanted}". `hermes-tui sessions` lists them.')
    ids = connection.execute(select(sessions.c.id).where(sessions.c.id.like(f"%{wanted.upper()}"))).scalars().all()
    if not ids:
        raise SessionNotFound(f'There is no session "{wanted}". `hermes-tui sessions` lists them.')
    if len(ids) > 1:
        raise SessionAmbiguous(f'{len(ids)} sessions end with "{wanted}": give more of the id, for example {ids[0]}.')
    return session(connection, ids[0])


def set_title(connection: Connection, chain: str, title: str) -> None:
    """Give the whole CHAIN a title."""
    connection.execute(update(sessions).where(sessions.c.chain == chain).values(title=title))


def set_model(connection: Connection, chain: str, model: str, parameters: Mapping[str, Any] | None) -> SessionRecord:
    """Let the tip of CHAIN, and what follows it, go on with MODEL; PARAMETERS replace the old ones where given."""
    tip = tip_of(connection, chain)
    values: dict[str, Any] = {"model": model}
    if parameters is not None:
        values["parameters"] = codec.dumps(parameters)
    connection.execute(update(sessions).where(sessions.c.id == tip.id).values(values))
    return tip_of(connection, chain)
