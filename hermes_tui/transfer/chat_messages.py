"""Messages with a role and content, as the APIs of Anthropic and OpenAI take them: one reader for both.

OpenAI's differ in that calls stand beside the content (``tool_calls``), results are messages of their own (role ``tool``) and
so is the system prompt (role ``system`` or ``developer``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes_tui.context.messages import Block
from hermes_tui.transfer.blocks import blocks_of, call, result, usage_of, word_of
from hermes_tui.transfer.transcripts import Found, Said

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_USAGE: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def is_message(record: Any) -> bool:
    """Whether RECORD has the form of such a message."""
    return (
        isinstance(record, Mapping)
        and isinstance(record.get("role"), str)
        and record["role"] in _ROLES
        and any(key in record for key in ("content", "tool_calls", "function_call"))
    )


def read_messages(records: Sequence[Mapping[str, Any]]) -> Found:
    """The messages of RECORDS, which are such messages all of them."""
    return Found([read_message(record) for record in records])


def read_message(record: Mapping[str, Any]) -> Said:
    """One message, its calls and results as blocks."""
    role, content = record["role"], record.get("content")
    if role in ("system", "developer"):
        return Said("system", blocks_of(content))
    if role in ("tool", "function"):
        return Said("tool", [result(_answers(record), content)])
    if role == "user":
        return Said("user", blocks_of(content))
    return Said(
        "assistant",
        [*blocks_of(content), *_calls(record)],
        word_of(record.get("model")),
        usage_of(record.get("usage"), names=_USAGE),
        word_of(record.get("stop_reason")),
    )


def _answers(record: Mapping[str, Any]) -> Any:
    """The id of the call that a message of results answers; the oldest form names only the function."""
    several = record.get("tool_call_ids")
    if isinstance(several, list) and several:
        return several[0]
    return record.get("tool_call_id", record.get("name"))


def _calls(record: Mapping[str, Any]) -> list[Block]:
    calls: list[Block] = []
    listed = record.get("tool_calls")
    for item in listed if isinstance(listed, list) else ():
        function = item.get("function") if isinstance(item, Mapping) else None
        if isinstance(function, Mapping):
            calls.append(call(item.get("id"), function.get("name"), function.get("arguments")))
    function = record.get("function_call")
    if isinstance(function, Mapping):
        calls.append(call(function.get("name"), function.get("name"), function.get("arguments")))
    return calls
