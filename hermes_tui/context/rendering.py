"""From a context view to what is sent: the rows, the notes between them, the cache breakpoints, the body.

The only shape is system + tools, head, summary, pinned groups of the middle, tail: the entries' own order. Bytes of a body
are a function of the view alone (and the renderer number stored with each request), so any past request can be rendered
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hermes_tui.context.messages import THINKING, Block, Role, calls_of, results_of, text_block
from hermes_tui.context.view import ContextView, Entry, Treatment

RENDERER: Final = 1
"""Number of the wording and the rules below; stored with each request, raised when they change."""

NOTES: Final[Mapping[int, Mapping[Role, str]]] = {
    1: {
        "assistant": "[note: no reply was recorded here]",
        "user": "[note: no user message was recorded here]",
    },
}
"""By renderer number, the fixed note of each role that stands where two messages of the other role would meet."""

MESSAGE_BREAKPOINTS: Final = 3
"""Of the four cache breakpoints the API allows, one closes tools and system; the newest messages carry the others."""

CACHE_SECONDS: Final = 300
"""How long what an ephemeral breakpoint marks stays in the provider's cache after its last use (the API's default of five
minutes)."""


@dataclass(frozen=True, slots=True)
class SentRow:
    """One message of a request: an entry's content as it goes out, or a note (entry is None)."""

    role: Role
    content: tuple[Block, ...]
    entry: Entry | None = None


def sent_rows(view: ContextView, *, renderer: int = RENDERER) -> tuple[SentRow, ...]:
    """The rows of the next request for an empty composer, alternating and beginning with a user row."""
    notes = NOTES[renderer]
    rows: list[SentRow] = []
    for entry in view.entries:
        if entry.treatment is Treatment.DROPPED:
            continue
        content = _sendable(view, entry, first=not rows)
        if not content:
            continue
        role: Role = entry.message.role if entry.message else "user"
        if not rows:
            if role == "assistant":
                rows.append(SentRow("user", (text_block(notes["user"]),)))
        elif rows[-1].role == role:
            other: Role = "assistant" if role == "user" else "user"
            rows.append(SentRow(other, (text_block(notes[other]),)))
        rows.append(SentRow(role, content, entry))
    return tuple(rows)


def carries_block(view: ContextView) -> bool:
    """Whether the next request begins with what the provider's own compaction made, which it has to say in its header."""
    row = next(iter(sent_rows(view)), None)
    return row is not None and any(block.get("type") == "compaction" for block in row.content)


def _sendable(view: ContextView, entry: Entry, *, first: bool) -> tuple[Block, ...]:
    """ENTRY's blocks without blank texts (the API refuses them) and without thinking that no longer holds.

    FIRST: nothing is sent before it. A provider's block may stand nowhere else.
    """
    content = entry.summary.sent_to(view.model) if entry.summary is not None and first else entry.content
    if all(b.get("type") not in THINKING and (b.get("type") != "text" or b["text"].strip()) for b in content):
        return content
    holds: bool | None = None
    kept: list[Block] = []
    for block in content:
        kind = block.get("type")
        if kind == "text" and not block["text"].strip():
            continue
        if kind in THINKING:
            if holds is None:
                holds = view.thinking_holds(entry, view.model)
            if not holds or (kind == "thinking" and not block.get("signature")):
                continue
        kept.append(block)
    if all(b.get("type") in THINKING for b in kept):
        return ()
    return tuple(kept)


def open_loop_edited(view: ContextView) -> bool:
    """Whether an edit lies before or in the open tool loop, so that the rest of the turn goes without thinking.

    Thinking that the loop began with is gone then, and some models refuse a loop whose thinking went missing.
    """
    last = view.last_message
    if last is None or not results_of(last):
        return False
    for entry in reversed(view.entries):
        if entry.message is None or entry.message.is_real_user:
            break
        if calls_of(entry.message) and any(g > entry.written and first < entry.position for g, first in view.edit_marks):
            return True
    return False


def render(
    view: ContextView,
    *,
    max_tokens: int,
    thinking: Mapping[str, Any] | None = None,
    extras: Mapping[str, Any] | None = None,
    cache: bool = True,
    renderer: int = RENDERER,
) -> dict[str, Any]:
    """The body of the next request (without ``stream``).

    Args:
        view: what is sent.
        max_tokens: the reserved output.
        thinking: the API's thinking parameter, None to leave it out.
        extras: further top-level keys (sampling of a local server).
        cache: whether to set cache breakpoints (servers without prompt caching need none).
        renderer: the number of the notes and rules to render by.
    """
    messages: list[dict[str, Any]] = [
        {"role": row.role, "content": [dict(b) for b in row.content]} for row in sent_rows(view, renderer=renderer)
    ]
    body: dict[str, Any] = {"model": view.model, "max_tokens": max_tokens}
    tools = [dict(t) for t in view.tools]
    if view.system:
        body["system"] = [{"type": "text", "text": view.system}]
    if tools:
        body["tools"] = tools
    body["messages"] = messages
    if thinking is not None:
        body["thinking"] = dict(thinking)
    body.update(extras or {})
    if cache:
        _mark_breakpoints(body)
    return body


def _mark_breakpoints(body: dict[str, Any]) -> None:
    """Set the cache breakpoints: the end of system (or tools), and the newest messages that can carry one."""
    mark = {"type": "ephemeral"}
    if "system" in body:
        body["system"][-1]["cache_control"] = mark
    elif "tools" in body:
        body["tools"][-1]["cache_control"] = mark
    left = MESSAGE_BREAKPOINTS
    for message in reversed(body["messages"]):
        if left == 0:
            break
        last = message["content"][-1]
        if last.get("type") not in THINKING:
            last["cache_control"] = mark
            left -= 1
