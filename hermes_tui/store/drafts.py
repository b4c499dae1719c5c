"""Drafts: a reply while it streams. It becomes its message at the end, at a cancel, or at the next start after a crash."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert

from hermes_tui.context.messages import Block, Message, scrub_json
from hermes_tui.store import codec, lineage, transcript
from hermes_tui.store.errors import Unpaired
from hermes_tui.store.processes import is_alive, this_process
from hermes_tui.store.records import DraftRecord, SessionRecord
from hermes_tui.store.tables import drafts, requests


def whole(content: Iterable[Block], streaming: int | None = None) -> tuple[Block, ...]:
    """What of a reply that may have been cut off can be sent again: whole blocks, and text as far as it came.

    Blocks stream one after the other, so only the last can be partial: thinking without its signature (a server that signs none
    never ends on thinking), or a call without its arguments. STREAMING is the index of a block known to be partial (a call
    starts with empty arguments, which may be all it ever gets). Empty text is left out anywhere.
    """
    blocks = [b for at, b in enumerate(content) if (str(b.get("text", "")) if b.get("type") == "text" else at != streaming)]
    while blocks and not _is_whole(blocks[-1]):
        blocks.pop()
    if all(b.get("type") == "text" and not str(b["text"]).strip() for b in blocks):
        return ()
    return tuple(blocks)


def _is_whole(block: Block) -> bool:
    kind = block.get("type")
    if kind == "thinking":
        return bool(block.get("signature"))
    if kind == "redacted_thinking":
        return bool(block.get("data"))
    if kind == "tool_use":
        return bool(block.get("id")) and bool(block.get("name")) and isinstance(block.get("input"), Mapping)
    return True


def save(
    connection: Connection, chain: str, request: str, content: Iterable[Block], model: str | None, streaming: int | None
) -> None:
    """Keep CONTENT as the reply to REQUEST so far, in place of what was kept before: as it would become a message now."""
    now = time.time()
    row = {
        "request": request,
        "chain": chain,
        "owner": this_process(),
        "content": codec.dumps(scrub_json(whole(content, streaming))),
        "model": model,
        "created": now,
        "updated": now,
    }
    renewed = {name: row[name] for name in ("owner", "content", "updated")} | ({"model": model} if model else {})
    connection.execute(insert(drafts).values(row).on_conflict_do_update(index_elements=["request"], set_=renewed))


def finish(
    connection: Connection,
    chain: str,
    request: str,
    content: Iterable[Block],
    model: str | None,
    streaming: int | None = None,
) -> tuple[Message, SessionRecord] | None:
    """Turn the reply to REQUEST into its message, once; None where nothing of it is worth keeping."""
    drop(connection, request)
    stored = transcript.of_request(connection, request)
    if stored is not None:
        return stored, lineage.tip_of(connection, chain)
    kept = whole(content, streaming)
    if not _still_follows(connection, chain, request):
        kept = tuple(_unbound(block) for block in kept if block.get("type") != "redacted_thinking")
    if not kept:
        return None
    return transcript.append(connection, chain, role="assistant", content=kept, origin="model", model=model, request=request)


def _still_follows(connection: Connection, chain: str, request: str) -> bool:
    """Whether a reply to REQUEST comes to stand behind exactly what was sent: nobody edited or said anything meanwhile."""
    sent = connection.execute(
        select(requests.c.generation, requests.c.last_message).where(requests.c.id == request, requests.c.chain == chain)
    ).first()
    if sent is None:
        return True
    last = transcript.newest(connection, chain)
    now = (lineage.tip_of(connection, chain).last_generation, last.id if last else None)
    return (sent.generation, sent.last_message) == now


def _unbound(block: Block) -> Block:
    """BLOCK without the signature of a thinking block: kept to be read, never sent behind what it was not made for."""
    return {k: v for k, v in block.items() if k != "signature"} if block.get("type") == "thinking" else block


def drop(connection: Connection, request: str) -> None:
    """Forget the draft of REQUEST, if there is one."""
    connection.execute(delete(drafts).where(drafts.c.request == request))


def all_of(connection: Connection) -> tuple[DraftRecord, ...]:
    """Every draft there is."""
    return tuple(_record(row) for row in connection.execute(select(drafts).order_by(drafts.c.created)))


def abandoned(connection: Connection) -> tuple[DraftRecord, ...]:
    """The drafts whose process has died."""
    now = time.time()
    return tuple(draft for draft in all_of(connection) if not is_alive(draft.owner, now - draft.updated))


def recover(connection: Connection, found: Sequence[DraftRecord]) -> tuple[str, ...]:
    """Turn the drafts FOUND into messages; returns the chains that got one.

    Where the conversation went on in another process meanwhile and waits for a tool, the draft cannot stand and goes.
    """
    touched = []
    for draft in found:
        model = draft.model or connection.execute(select(requests.c.model).where(requests.c.id == draft.request)).scalar()
        try:
            stored = finish(connection, draft.chain, draft.request, draft.content, model)
        except Unpaired:
            stored = None
        if stored is not None and draft.chain not in touched:
            touched.append(draft.chain)
    return tuple(touched)


def _record(row: Any) -> DraftRecord:
    return DraftRecord(
        request=row.request,
        chain=row.chain,
        owner=row.owner,
        content=tuple(codec.loads(row.content)),
        model=row.model,
        created=row.created,
        updated=row.updated,
    )
