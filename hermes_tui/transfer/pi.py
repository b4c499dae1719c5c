"""pi's session files: a line per entry, messages under ``message``; newer ones link their entries by ``parentId``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes_tui.context.messages import scrub, text_block
from hermes_tui.transfer.blocks import blocks_of, result, usage_of, word_of
from hermes_tui.transfer.branches import Node, newest_branch
from hermes_tui.transfer.transcripts import Found, Said

_USAGE: Final = ("input", "output", "cacheRead", "cacheWrite")


def is_pi(records: Sequence[Any]) -> bool:
    """Whether RECORDS hold a message entry as pi writes them."""
    return any(_is_message(record) for record in records)


def read_pi(records: Sequence[Any]) -> Found:
    """The conversation on the newest branch of RECORDS."""
    entries = [record for record in records if isinstance(record, Mapping)]
    spoken = [n for n, entry in enumerate(entries) if _is_message(entry)]
    path = newest_branch([Node(word_of(entry.get("id")), word_of(entry.get("parentId"))) for entry in entries], spoken[-1])
    said = [message for n in spoken if n in path and (message := _read(entries[n]["message"])) is not None]
    names = [entry["name"] for entry in entries if entry.get("type") == "session_info" and isinstance(entry.get("name"), str)]
    return Found(said, title=names[-1] if names else "")


def _is_message(entry: Any) -> bool:
    return (
        isinstance(entry, Mapping)
        and entry.get("type") == "message"
        and isinstance(entry.get("message"), Mapping)
        and isinstance(entry["message"].get("role"), str)
    )


def _read(message: Mapping[str, Any]) -> Said | None:
    """One message; None for what pi itself wrote (summaries of branches and compactions)."""
    role = message["role"]
    if role == "user":
        return Said("user", blocks_of(message.get("content")))
    if role == "toolResult":
        answer = result(message.get("toolCallId"), message.get("content"), is_error=message.get("isError") is True)
        return Said("tool", [answer])
    if role == "bashExecution":
        return Said("user", [text_block(scrub(f"$ {message.get('command', '')}\n{message.get('output', '')}".rstrip()))])
    if role != "assistant":
        return None
    return Said(
        "assistant",
        blocks_of(message.get("content")),
        word_of(message.get("model")),
        usage_of(message.get("usage"), names=_USAGE),
        word_of(message.get("stopReason")),
    )
