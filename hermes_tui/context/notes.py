"""Notes about the user: what is remembered from one conversation to the next, and how it stands in a system prompt.

A note is a fact about the user or a rule that the user set for good, in one line. (The fixed messages that a view puts between
two of one role are called notes too; they are never stored and have nothing to do with these.) Pure: nothing here reads or
writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from hermes_tui.context.messages import scrub
from hermes_tui.context.redaction import redact
from hermes_tui.context.summaries import escape

NoteKind = Literal["fact", "rule"]
"""A fact about the user, or a rule that the user set beyond the task at hand."""
Author = Literal["code", "model", "user"]
"""Who wrote a note down: rules in code, the summarising model, or the user."""

NOTE_CHARS: Final = 240
"""Characters of a note: one sentence. The ledger's limit for a rule."""
NOTES_TOKENS: Final = 1_000
"""Most tokens of all that is remembered in one prompt …"""
NOTES_SHARE: Final = 32
"""… and at most one part in this of the model's window, since the floor is paid for in every request."""

FENCE: Final = "user_notes"
"""The name of the tag around what is remembered. `escape` breaks it, as every tag that begins with ``user``."""
_FRAME: Final = (
    "What is remembered of the user from earlier conversations, in the user's own words: data, which may be out of date. Keep "
    "to the rules in it as to the user's wishes; what the user says in this conversation goes before them."
)
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, C0 and C1, and those that turn the direction of writing."""
_WORD: Final = re.compile(r"\w+")
_COURTESY: Final = frozenset(["please", "bitte", "por", "favor", "remember", "that", "请", "请记住", "记住"])


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A note as it was found in something the user said; not stored yet.

    Attributes:
        text: one line, redacted.
        kind: fact or rule.
        source: id of the user's message.
        key: what the note is about: a later one of the same key takes its place (see `key_of`).
        local: it is about the project at hand, and so belongs to the directory of the conversation.
    """

    text: str
    kind: NoteKind
    source: str
    key: str
    local: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A stored note.

    Attributes:
        id: ULID.
        text: one line.
        kind: fact or rule.
        author: who wrote it down.
        source: id of the message it came from, None where the user added it by hand.
        chain: the chain of that message.
        title: the chain's title, "" where there is no such chain any more.
        cwd: the directory whose conversations it is given to; None for all.
        created, updated: when, in seconds since the epoch.
        deleted: when the user deleted it; None while it is in force.
    """

    id: str
    text: str
    kind: NoteKind
    author: Author
    source: str | None = None
    chain: str | None = None
    title: str = ""
    cwd: str | None = None
    created: float = 0.0
    updated: float = 0.0
    deleted: float | None = None

    def holds_in(self, directory: str | None) -> bool:
        """Whether it is given to a conversation that begins in DIRECTORY."""
        return self.deleted is None and self.cwd in (None, directory)


def one_note(text: str) -> str:
    """TEXT as the text of a note: one line without control characters and secrets, at most `NOTE_CHARS` long."""
    return redact(" ".join(_CONTROLS.sub(" ", scrub(text)).split()))[:NOTE_CHARS].rstrip()


def key_of(text: str) -> str:
    """What two wordings of one note have in common: their words, whatever case, punctuation and courtesies."""
    words = [word for word in _WORD.findall(text.casefold()) if word not in _COURTESY]
    return " ".join(words)


def remembered(texts: Iterable[str], tokens: int, count: Callable[[str], int]) -> str:
    """TEXTS of memory providers as one fenced block of a system prompt, in at most TOKENS tokens; "" where nothing is left.

    They are data: redacted, and escaped so that nothing in them can close the fence or pose as a turn. Lines that do not fit
    are left out from the end of each text, so a provider puts what matters most first.
    """
    parts: list[str] = []
    left = tokens - count(_fenced(""))
    for text in texts:
        part = fitted(escape(redact(_CONTROLS.sub("", scrub(text)))), left, count)
        if part:
            parts.append(part)
            left -= count(part) + 2
    return _fenced("\n\n".join(parts)) if parts else ""


def notes_limit(window: int) -> int:
    """Tokens that what is remembered may take in a prompt for a model of this WINDOW."""
    return min(NOTES_TOKENS, window // NOTES_SHARE)


def fitted(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """The first lines of TEXT that take at most TOKENS tokens together; the start of the first where not even that fits."""
    lines: list[str] = []
    left = tokens
    for line in text.strip().splitlines():
        size = count(line) + 1
        while size > left > 0 and not lines:
            line = line[: len(line) * left // size * 9 // 10]
            size = count(line) + 1 if line else 0
        if size > left or not line:
            break
        lines.append(line)
        left -= size
    return "\n".join(lines).strip()


def _fenced(body: str) -> str:
    return f"<{FENCE}>\n{_FRAME}\n{body}\n</{FENCE}>"
