"""Requests: one row per HTTP attempt, written before it is sent, so that any of them can be rendered again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, insert, select, update

from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import scrub_json
from hermes_tui.store import codec, texts
from hermes_tui.store.errors import RequestNotFound, SessionNotFound
from hermes_tui.store.ids import new_id, time_of
from hermes_tui.store.processes import is_alive, this_process
from hermes_tui.store.records import Purpose, RequestRecord
from hermes_tui.store.tables import requests, sessions


def sha256_of(body: Mapping[str, Any]) -> str:
    """The sha256 of BODY as compact JSON in UTF-8, keys in their order: the bytes that are posted."""
    return texts.sha256_of(codec.dumps(scrub_json(body)))


def begin(
    connection: Connection,
    *,
    chain: str,
    session: str,
    generation: int,
    last_message: str | None,
    purpose: Purpose,
    model: str,
    parameters: Mapping[str, Any],
    renderer: int | None,
    body: Mapping[str, Any],
    estimate: int | None,
) -> str:
    """Write down that BODY is about to be sent, under a new id. A turn's body is not kept: it can be rendered again."""
    identifier = new_id()
    system = tools = None
    if purpose == "turn":
        row = connection.execute(select(sessions.c.system, sessions.c.tools).where(sessions.c.id == session)).first()
        if row is None:
            raise SessionNotFound(f"There is no session {session}.")
        system, tools = row
    connection.execute(
        insert(requests).values(
            id=identifier,
            chain=chain,
            session=session,
            generation=generation,
            last_message=last_message,
            purpose=purpose,
            model=model,
            parameters=codec.dumps(parameters),
            renderer=renderer,
            system=system,
            tools=tools,
            sha256=sha256_of(body),
            body=None if purpose == "turn" else texts.keep(connection, codec.dumps(scrub_json(body))),
            owner=this_process(),
            status="sent",
            estimate=estimate,
            created=time_of(identifier),
        )
    )
    return identifier


def finish(
    connection: Connection,
    identifier: str,
    *,
    usage: Usage | None,
    cost: float | None,
    status: str,
    error: str | None,
    estimate: int | None,
) -> None:
    """Write down how the request of that id ended."""
    values: dict[str, Any] = {
        "usage": None if usage is None else codec.dumps(usage),
        "cost": cost,
        "status": status,
        "error": error,
        "finished": time.time(),
    }
    if estimate is not None:
        values["estimate"] = estimate
    connection.execute(update(requests).where(requests.c.id == identifier).values(values))


def of_chain(connection: Connection, chain: str) -> tuple[RequestRecord, ...]:
    """All requests of CHAIN in the order they were sent."""
    query = select(requests).where(requests.c.chain == chain).order_by(requests.c.number)
    return tuple(_record(row) for row in connection.execute(query))


def body(connection: Connection, identifier: str) -> dict[str, Any]:
    """The body of a summary or title request, as it was sent.

    Raises:
        RequestNotFound: there is no such request, or it was a turn, whose body is rendered again from the view it names.
    """
    kept = connection.execute(select(requests.c.body).where(requests.c.id == identifier)).scalar()
    if kept is None:
        raise RequestNotFound(f"There is no request {identifier} whose body was stored.")
    found: dict[str, Any] = codec.loads(texts.read(connection, kept))
    return found


def abandoned(connection: Connection) -> tuple[str, ...]:
    """Ids of the requests whose process died before it could write down how they ended."""
    query = select(requests.c.id, requests.c.owner, requests.c.created).where(requests.c.status == "sent")
    rows = connection.execute(query).all()
    return tuple(identifier for identifier, owner, created in rows if not is_alive(owner, time.time() - created))


def interrupt(connection: Connection, identifiers: Iterable[str]) -> None:
    """Mark the requests of those ids as interrupted."""
    for identifier in identifiers:
        connection.execute(update(requests).where(requests.c.id == identifier).values(status="interrupted"))


def _record(row: Any) -> RequestRecord:
    return RequestRecord(
        id=row.id,
        number=row.number,
        chain=row.chain,
        session=row.session,
        generation=row.generation,
        last_message=row.last_message,
        purpose=row.purpose,
        model=row.model,
        parameters=codec.loads(row.parameters),
        renderer=row.renderer,
        system=row.system,
        tools=row.tools,
        sha256=row.sha256,
        usage=None if row.usage is None else codec.decode(Usage, codec.loads(row.usage)),
        cost=row.cost,
        status=row.status,
        error=row.error,
        estimate=row.estimate,
        created=row.created,
        finished=row.finished,
        owner=row.owner,
    )
