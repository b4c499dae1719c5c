"""Messages: written once, in a chain's order, and read back as the transcript of all its sessions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from hermes_tui.context.messages import INTERRUPTED, Block, Message, Origin, Role, calls_of, results_of, scrub_json
from hermes_tui.context.view import Treatment
from hermes_tui.store import codec, lineage, search
from hermes_tui.store.errors import MessageNotFound, Unpaired
from hermes_tui.store.ids import new_id, time_of
from hermes_tui.store.records import SessionRecord
from hermes_tui.store.tables import entries, messages, requests

COLUMNS = (
    messages.c.id,
    messages.c.sequence,
    messages.c.role,
    messages.c.content,
    messages.c.origin,
    messages.c.model,
)

# Statements of every turn: made once, since making one costs more than running it.
_NEWEST = (
    select(*COLUMNS, entries.c.position)
    .select_from(entries.join(messages, messages.c.id == entries.c.message))
    .where(entries.c.chain == bindparam("wanted"), entries.c.message.is_not(None))
    .order_by(entries.c.position.desc())
    .limit(1)
)
_SAY = insert(messages)
_REFER = insert(entries)


def append(
    connection: Connection,
    chain: str,
    *,
    role: Role,
    content: Iterable[Block],
    origin: Origin,
    model: str | None = None,
    request: str | None = None,
    tokens: int | None = None,
) -> tuple[Message, SessionRecord]:
    """Say a message in CHAIN: to its tip, whatever that is now, in its current generation.

    Raises:
        SessionNotFound: there is no such chain.
        Unpaired: it is not the results of the open calls before it, or it holds results where no calls are open.
    """
    tip = lineage.tip_of(connection, chain)
    clean = tuple(scrub_json(block) for block in content)
    last = connection.execute(_NEWEST, {"wanted": chain}).first()
    # Counted in positions, since a fork goes on after messages that another chain wrote.
    sequence = 0 if last is None else int(last.position) // 2 + 1
    message = Message(new_id(), sequence, role, clean, origin, model)
    _check_pairing(message_of(last) if last is not None else None, message)
    said = {
        "id": message.id,
        "chain": chain,
        "session": tip.id,
        "sequence": sequence,
        "role": role,
        "content": codec.dumps(clean),
        "origin": origin,
        "model": model,
        "request": request,
        "tokens": tokens,
        "created": time_of(message.id),
    }
    row = connection.execute(_SAY, said)
    entry = {"chain": chain, "position": 2 * sequence, "message": message.id, "born": tip.last_generation}
    connection.execute(_REFER, entry | {"treatment": Treatment.VERBATIM.value})
    assert row.inserted_primary_key is not None
    search.add(connection, int(row.inserted_primary_key[0]), message)
    lineage.said(connection, tip.id)
    return message, tip


def _check_pairing(before: Message | None, message: Message) -> None:
    """Results follow at once the calls they answer, and nothing else does: one stray message would stop the chain for good."""
    wanted = sorted(str(call.get("id")) for call in calls_of(before)) if before else []
    given = sorted(str(result.get("tool_use_id")) for result in results_of(message))
    if wanted == given:
        return
    if wanted and not given:
        raise Unpaired("Tools are still running in this conversation: wait for their results, or stop them first.")
    raise Unpaired("These tool results answer no open calls: another process has gone on with this conversation.")


def message_of(row: Any) -> Message:
    """The message of a row that begins with COLUMNS."""
    return Message(row[0], row[1], row[2], tuple(codec.loads(row[3])), row[4], row[5])


def newest(connection: Connection, chain: str) -> Message | None:
    """The last message said in CHAIN."""
    row = connection.execute(_NEWEST, {"wanted": chain}).first()
    return None if row is None else message_of(row)


def message(connection: Connection, identifier: str) -> Message:
    """The message of that id, byte-equal to what was written.

    Raises:
        MessageNotFound: there is none.
    """
    row = connection.execute(select(*COLUMNS).where(messages.c.id == identifier)).first()
    if row is None:
        raise MessageNotFound(f"There is no message {identifier}.")
    return message_of(row)


def ending(connection: Connection, chain: str, wanted: str, limit: int) -> tuple[Message, ...]:
    """Those messages that CHAIN ever named whose ids end with WANTED, in any case; LIMIT at most."""
    if not wanted.isascii() or not wanted.isalnum():  # nothing else is in an id, and wildcards must not work
        return ()
    named = select(entries.c.message).where(entries.c.chain == chain, entries.c.message.like(f"%{wanted.upper()}"))
    query = select(*COLUMNS).where(messages.c.id.in_(named)).order_by(messages.c.number).limit(limit)
    return tuple(message_of(row) for row in connection.execute(query))


def transcript(
    connection: Connection,
    chain: str,
    *,
    before: int | None = None,
    limit: int | None = None,
    origin: Origin | None = None,
) -> tuple[Message, ...]:
    """Every message that CHAIN ever named, in order; the LIMIT newest of those from ORIGIN with a sequence under BEFORE."""
    named = select(entries.c.message, entries.c.position).where(entries.c.chain == chain, entries.c.message.is_not(None))
    if before is not None:
        named = named.where(entries.c.position < 2 * before)
    if origin is not None:
        named = named.join(messages, messages.c.id == entries.c.message).where(messages.c.origin == origin)
    # A message keeps its position in every row that names it, so one row of each position is one of each message.
    page = named.group_by(entries.c.position).order_by(entries.c.position.desc())
    if limit is not None:
        page = page.limit(limit)
    wanted = page.subquery()
    query = select(*COLUMNS).join(wanted, wanted.c.message == messages.c.id).order_by(wanted.c.position)
    return tuple(message_of(row) for row in connection.execute(query))


def of_request(connection: Connection, request: str) -> Message | None:
    """The reply that REQUEST gave, if it is stored."""
    query = select(*COLUMNS).where(messages.c.request == request, messages.c.origin == "model")
    row = connection.execute(query).first()
    return message_of(row) if row is not None else None


def last_reply_owner(connection: Connection, chain: str) -> tuple[str, float] | None:
    """(owner, created) of the request whose reply the newest message of CHAIN is; None for any other message."""
    last = newest(connection, chain)
    if last is None:
        return None
    query = (
        select(requests.c.owner, requests.c.created)
        .select_from(messages.join(requests, requests.c.id == messages.c.request))
        .where(messages.c.id == last.id)
    )
    row = connection.execute(query).first()
    return None if row is None else (row.owner, row.created)


def answer_open_calls(connection: Connection, chain: str) -> Message | None:
    """Give every call of the newest message a result that says it was interrupted; None where no call is open."""
    last = newest(connection, chain)
    open_calls = calls_of(last) if last else ()
    if not open_calls:
        return None
    results = [
        {"type": "tool_result", "tool_use_id": call.get("id"), "content": INTERRUPTED, "is_error": True} for call in open_calls
    ]
    return append(connection, chain, role="user", content=results, origin="tool")[0]
