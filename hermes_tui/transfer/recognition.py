"""What a file is, told by its structure and never by its name, and the reader for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hermes_tui.context.messages import plain_text, scrub
from hermes_tui.transfer.blocks import blocks_of
from hermes_tui.transfer.chat_messages import is_message, read_messages
from hermes_tui.transfer.claude_code import is_claude_code, read_claude_code
from hermes_tui.transfer.files import load_records
from hermes_tui.transfer.pairing import paired, system_of
from hermes_tui.transfer.pi import is_pi, read_pi
from hermes_tui.transfer.tool_schemas import tools_of
from hermes_tui.transfer.transcripts import READABLE, Found, ImportRefused, RecordedConversation, Transcript

LISTS: Final = ("messages", "history", "traj", "loglines")
"""Keys under which a document keeps the list of its messages."""

TITLE_LENGTH: Final = 60
"""Characters of a title taken from the first thing that was said."""

_FOREIGN: Final = (
    ("mapping", "a ChatGPT export"),
    ("chat_messages", "a claude.ai export"),
    ("lc", "a LangChain dump"),
    ("messageId", "a LibreChat export"),
    ("$schema", "a JSON schema"),
)
"""What a key tells of formats that are met often and not read."""


def read_transcript(path: Path) -> Transcript:
    """The conversations that the file at PATH holds, in its order.

    Raises:
        ImportRefused: where the file cannot be read, or holds no conversation in a readable format.
    """
    records = load_records(path)
    found = _conversations(records.values)
    if found is None:
        raise ImportRefused(_refusal(path, records.values))
    conversations = tuple(_finished(one, path) for one in found)
    if not any(c.messages for c in conversations):
        raise ImportRefused(f"{path.name!r} holds no messages: there is nothing to replay in it.")
    return Transcript(conversations, records.notes)


def _conversations(records: Sequence[Any]) -> list[Found] | None:
    """What RECORDS hold: one conversation, or several that each have a list of their own; None for something foreign."""
    one = _listed(records)
    if one is not None:
        return [one]
    several = [_contained(record) for record in records]
    return [one for one in several if one is not None] if several and all(several) else None


def _listed(records: Sequence[Any]) -> Found | None:
    """RECORDS as the messages of one conversation, None where they are not."""
    if is_claude_code(records):
        return read_claude_code(records)
    if is_pi(records):
        return read_pi(records)
    if records and all(is_message(record) for record in records):
        return read_messages(records)
    return None


def _contained(document: Any) -> Found | None:
    """The conversation whose messages stand in a list in DOCUMENT, with the system prompt and the tools beside it."""
    if isinstance(document, list):
        return _listed(document)
    if not isinstance(document, Mapping):
        return None
    for key in LISTS:
        records = document.get(key)
        found = (_listed(records) or (None if records else Found([]))) if isinstance(records, list) else None
        if found is not None:
            system = document.get("system", document.get("system_prompt"))
            tools = document.get("tools")
            found.system = plain_text(blocks_of(system)) if isinstance(system, str | list) else ""
            found.tools = tools if isinstance(tools, list) else []
            found.title = found.title or _own_title(document)
            return found
    return None


def _finished(found: Found, path: Path) -> RecordedConversation:
    messages = paired(found.said)
    system = found.system or system_of(found.said)
    said = (plain_text(m.content).strip() for m in messages if m.origin == "user")
    title = found.title or next((text for text in said if text), "") or path.stem
    return RecordedConversation(_short(title), system, tools_of(found.tools, messages), messages)


def _own_title(document: Mapping[str, Any]) -> str:
    return next((document[k] for k in ("title", "name") if isinstance(document.get(k), str)), "")


def _short(title: str) -> str:
    line = " ".join(scrub(title).split("\n", 1)[0].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def _refusal(path: Path, records: Sequence[Any]) -> str:
    """The sentence for a file of JSON that is no transcript."""
    first = records[0] if records else None
    members = [first, *(m[0] for m in first.values() if isinstance(m, list) and m)] if isinstance(first, Mapping) else []
    keys = {key for member in members if isinstance(member, Mapping) for key in member}
    kind = next((what for key, what in _FOREIGN if key in keys), "")
    what = f"looks like {kind}, which is not read here" if kind else "holds no list of messages that is known here"
    return f"{path.name!r} {what}; {READABLE} can be read."
