"""Fidelity: how many facts of what an edit replaced still stand in the new context, by an extractor of its own.

It shares no code with the ledger or the extracts, so that what they overlook shows. A fact stands if its text stands, white
space and case aside; a paraphrase counts as lost. Lost facts are shown and stored, so they are taken from redacted text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hermes_tui.context.messages import Message
from hermes_tui.context.redaction import redact, redact_json

CLASSES: Final = ("rules", "files", "commands", "errors", "identifiers", "numbers")
"""The classes of facts, in the order they are shown."""
_MAX_LOST: Final = 40
"""Lost facts that are named; the count tells of all."""


@dataclass(frozen=True, slots=True)
class LostFact:
    """A fact that no longer stands in the context, and the message that held it."""

    kind: str
    text: str
    message: str


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Kept and total facts by class ((kind, kept, total), …) and the lost ones by importance."""

    classes: tuple[tuple[str, int, int], ...] = ()
    lost: tuple[LostFact, ...] = ()

    @property
    def kept(self) -> int:
        """Facts that still stand."""
        return sum(kept for _, kept, _ in self.classes)

    @property
    def total(self) -> int:
        """Facts that stood in what was replaced."""
        return sum(total for _, _, total in self.classes)


_RULE: Final = re.compile(
    r"\b(?:never|always|must|don['’]?t|do not|only|nie|niemals|immer|muss|nur|nunca|siempre|debe|jamás|solo|sólo)\b"
    r"|不要|必须|禁止|只能|务必|总是|永远",
    re.I,
)
_STOP: Final = re.compile(r"(?<=[.!?])\s+|\n|(?<=[。！？])")
_PATH: Final = re.compile(
    r"(?<![\w:/.@-])(?:\.{0,2}/)?(?:[\w@.+-]+/)+[\w@+-]+\.\w{1,8}\b"
    r"|(?<![\w/.-])[\w-]+\.(?:py|ts|tsx|js|jsx|rs|go|java|c|h|cpp|rb|md|json|ya?ml|toml|sh|css|html|sql)\b"
)
_NUMBER: Final = re.compile(r"(?<![\w.#-])[$€£¥]?\d[\d,]*\d(?:\.\d+)?%?(?![\w-])")
_NAME: Final = re.compile(
    r"\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[A-Z]{2,}[-_]?\d{2,}\w*\b|\b[A-Z0-9_]{6,}\b"
    r"|\b(?:[A-Z][a-z0-9]+){2,}\b"
)
_COMMAND_KEYS: Final = ("command", "cmd", "script")
_WRONG: Final = re.compile(r"\berror\b|exception|failed|fatal|traceback|not found|denied|cannot", re.I)
_INVISIBLE: Final = str.maketrans("", "", "\u200b\u200c\u200d\u2060\ufeff")
_BEGINNING: Final = 80
"""Characters of a command or an error that have to stand: a longer one may have been clipped in its middle."""


def fidelity(before: Sequence[Message], after_text: str) -> Fidelity:
    """Which facts of BEFORE (the messages that an edit replaced) stand in AFTER_TEXT, the whole new context as text.

    A name or number that only one message held is a fact of that message, not of the conversation, and is not counted.
    """
    held: dict[tuple[str, str], list[LostFact]] = {}
    for message in before:
        for kind, text in dict.fromkeys(_facts(message)):
            flat = _flat(text)
            if len(flat) > 1:
                held.setdefault((kind, flat), []).append(LostFact(kind, text, message.id))
    plain = after_text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    after = _flat(plain)
    stands = {_flat(text) for _, text in _literals(plain)}
    kept, total = dict.fromkeys(CLASSES, 0), dict.fromkeys(CLASSES, 0)
    lost: list[tuple[int, int, LostFact]] = []
    for number, ((kind, flat), found) in enumerate(held.items()):
        if kind in ("identifiers", "numbers"):
            if len(found) < 2:
                continue
            is_kept = flat in stands
        else:
            is_kept = flat in after
        total[kind] += 1
        kept[kind] += is_kept
        if not is_kept:
            lost.append((len(found), number, found[-1]))
    lost.sort(key=lambda item: (CLASSES.index(item[2].kind), -item[0], -item[1]))
    return Fidelity(
        tuple((kind, kept[kind], total[kind]) for kind in CLASSES if total[kind]),
        tuple(fact for _, _, fact in lost[:_MAX_LOST]),
    )


def _flat(text: str) -> str:
    return " ".join(text.translate(_INVISIBLE).split()).casefold()


def _facts(message: Message) -> Iterable[tuple[str, str]]:
    """(class, text) of every fact in MESSAGE."""
    for block in message.content:
        kind = block.get("type")
        if kind == "text":
            text = redact(str(block.get("text", "")))
            if message.origin == "user":
                yield from (("rules", s.strip()) for s in _STOP.split(text) if _RULE.search(s) and len(s) < 200)
            yield from _literals(text)
        elif kind == "tool_use":
            yield from _of_call(redact_json(block.get("input")))
        elif kind == "tool_result":
            text = redact(_shown(block.get("content")))
            if block.get("is_error"):
                line = next((line.strip() for line in text.splitlines() if _WRONG.search(line)), "")
                if line:
                    yield "errors", line[:_BEGINNING]
            yield from _literals(text)


def _of_call(value: Any) -> Iterable[tuple[str, str]]:
    """The facts of a call's arguments."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, str) and item.strip() and str(key).lower() in _COMMAND_KEYS:
                yield "commands", item.strip().splitlines()[0][:_BEGINNING]
            yield from _of_call(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _of_call(item)
    elif isinstance(value, str):
        yield from _literals(value)


def _literals(text: str) -> Iterable[tuple[str, str]]:
    """The files, names and numbers of TEXT."""
    yield from (("files", found) for found in _PATH.findall(text))
    yield from (("identifiers", found) for found in _NAME.findall(text))
    yield from (("numbers", found) for found in _NUMBER.findall(text))


def _shown(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(b.get("text", "")) for b in content or () if isinstance(b, Mapping))
