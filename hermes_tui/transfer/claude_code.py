"""Claude Code's session files: a line per event, messages under ``message``, linked by ``parentUuid``.

One reply stands on several lines that share ``message.id``, with results of its parallel calls in between; side
conversations (``isSidechain``), its own remarks (``isMeta``), summaries and synthetic replies are no part of the talk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_tui.transfer.blocks import word_of
from hermes_tui.transfer.branches import Node, newest_branch
from hermes_tui.transfer.chat_messages import read_message
from hermes_tui.transfer.transcripts import Found, Said


def is_claude_code(records: Sequence[Any]) -> bool:
    """Whether RECORDS hold a message line as Claude Code writes them."""
    return any(_is_message(record) for record in records)


def read_claude_code(records: Sequence[Any]) -> Found:
    """The conversation on the newest branch of RECORDS."""
    lines = [record for record in records if isinstance(record, Mapping)]
    if any(_is_message(line) and not line.get("isSidechain") for line in lines):
        lines = [line for line in lines if not line.get("isSidechain")]
    said: list[Said] = []
    reply_id: str | None = None
    reply_at = 0
    for line in _newest(lines):
        message = read_message(line["message"])
        own = word_of(line["message"].get("id"))
        if message.role == "assistant":
            between = said[reply_at + 1 :]
            if own and own == reply_id and all(b["type"] == "tool_result" for s in between for b in s.content):
                said[reply_at].content.extend(message.content)
                continue
            reply_id, reply_at = own, len(said)
        said.append(message)
    return Found(said, title=_title(lines))


def _newest(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The message lines of the newest branch, with those of the same reply and the results of its calls beside it."""
    spoken = [n for n, line in enumerate(lines) if _is_spoken(line)]
    if not spoken:
        return []
    path = newest_branch([Node(word_of(line.get("uuid")), word_of(line.get("parentUuid"))) for line in lines], spoken[-1])
    replied = {n: word_of(lines[n]["message"].get("id")) for n in spoken if lines[n]["type"] == "assistant"}
    replies = {own for n, own in replied.items() if n in path and own}
    path |= {n for n, own in replied.items() if own in replies}
    on_path = {word_of(lines[n].get("uuid")) for n in path} - {None}
    path |= {n for n in spoken if word_of(lines[n].get("parentUuid")) in on_path and _holds_results(lines[n])}
    first = min(path & set(spoken), default=0)
    return [lines[n] for n in spoken if n in path and (n == first or not lines[n].get("isCompactSummary"))]


def _is_message(line: Any) -> bool:
    return (
        isinstance(line, Mapping)
        and line.get("type") in ("user", "assistant")
        and isinstance(line.get("message"), Mapping)
        and line["message"].get("role") in ("user", "assistant")
    )


def _is_spoken(line: Mapping[str, Any]) -> bool:
    """Whether a person, the model or a tool said it, rather than Claude Code itself."""
    return _is_message(line) and not line.get("isMeta") and line["message"].get("model") != "<synthetic>"


def _holds_results(line: Mapping[str, Any]) -> bool:
    content = line["message"].get("content")
    return isinstance(content, list) and any(isinstance(b, Mapping) and b.get("type") == "tool_result" for b in content)


def _title(lines: Sequence[Mapping[str, Any]]) -> str:
    """The last title that the file gives, or its summary of itself."""
    for kind, key in (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary")):
        titles = [line[key] for line in lines if line.get("type") == kind and isinstance(line.get(key), str)]
        if titles:
            return str(titles[-1])
    return ""
