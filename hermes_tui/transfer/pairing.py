"""What was said, made valid: every call answered right after it, every result answering a call, nothing empty.

Pairing goes by position: the results of a call group are those found before the next assistant message. A call without a
result there drops out, and so does a result without a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from hermes_tui.context.messages import THINKING, Block, Origin, plain_text, text_block
from hermes_tui.transfer.transcripts import RecordedMessage, Said

_USER_BLOCKS: Final = ("text", "image", "document")
_REPLY_BLOCKS: Final = ("text", "thinking", "redacted_thinking")
"""Types of blocks that the API takes from each side; calls and results are dealt with apart."""

_ORIGINS: Final[Mapping[str, Origin]] = {"user": "user", "assistant": "model", "tool": "tool"}


def paired(said: Iterable[Said]) -> tuple[RecordedMessage, ...]:
    """The messages of SAID as they may be sent, system messages aside: paired, ids repaired, nothing empty.

    Messages of one role in a row stay apart, as they were said; only where calls and their results are parted by another
    assistant message are the two made one, since a provider gives one reply to one request.
    """
    spoken = [s for s in said if s.role != "system" and s.content]
    messages: list[Said] = []
    at = 0
    while at < len(spoken):
        replies = list(takewhile(lambda s: s.role == "assistant", spoken[at:]))
        at += len(replies)
        after = list(takewhile(lambda s: s.role != "assistant", spoken[at:]))
        at += len(after)
        replies, results = _answered(replies, [b for s in after for b in s.content if b["type"] == "tool_result"])
        messages += [*replies, Said("tool", results)]
        messages += [Said("user", [b for b in s.content if b["type"] in _USER_BLOCKS]) for s in after]
    return tuple(
        RecordedMessage(
            "assistant" if m.role == "assistant" else "user",
            tuple(m.content),
            _ORIGINS[m.role],
            m.model,
            m.usage,
            m.stop_reason,
        )
        for m in messages
        if any(b["type"] not in THINKING for b in m.content)
    )


def system_of(said: Iterable[Said]) -> str:
    """The system prompt: the system messages before anything else was said."""
    return "\n\n".join(plain_text(s.content) for s in takewhile(lambda s: s.role == "system", said))


def _answered(replies: Sequence[Said], results: Sequence[Block]) -> tuple[list[Said], list[Block]]:
    """REPLIES with only the calls that RESULTS answer, and those results in the order of the calls; ids repaired alike."""
    waiting = list(results)
    kept: list[Said] = []
    answers: list[Block] = []
    for reply in replies:
        content: list[Block] = []
        before = kept.pop() if answers else None
        for block in reply.content:
            if block["type"] != "tool_use":
                content.append(block if block["type"] in _REPLY_BLOCKS else text_block(f"({block['type']})"))
                continue
            answer = next((r for r in waiting if r["tool_use_id"] == block["id"]), None)
            if answer is not None:
                waiting.remove(answer)
                repaired = _repaired(block["id"], {str(r["tool_use_id"]) for r in answers})
                answers.append({**answer, "tool_use_id": repaired})
                content.append({**block, "id": repaired})
        kept.append(replace(before, content=[*before.content, *content]) if before else replace(reply, content=content))
    return kept, answers


def _repaired(raw: str, taken: set[str]) -> str:
    """RAW as the API takes ids (letters, digits, _ and -), unlike every one in TAKEN."""
    clean = re.sub(r"[^a-zA-Z0-9_-]", "_", raw) or "call"
    if clean not in taken:
        return clean
    return next(new for n in range(2, len(taken) + 3) if (new := f"{clean}_{n}") not in taken)
