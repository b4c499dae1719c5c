"""Fidelity: how many facts of what an edit replaced still stand in the new context, by an extractor of its own.

It shares no code with the ledger or the extracts, so that what they overlook shows. A fact stands if its text stands, white
space and case aside; a paraphrase counts as lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hermes_tui.context.messages import Message

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
    r"\b(?:never|always|must|don'?t|do not|only|nie|niemals|immer|muss|nur|nunca|siempre|debe|jamás|solo|sólo)\b"
    r"|不要|必须|禁止|只能|务必|总是|永远",
    re.I,
)
_STOP: Final = re.compile(r"(?<=[.!?。！？])\s+|\n|(?<=[。！？])")
_PATH: Final = re.compile(
    r"(?<![\w:/.@-])(?:\.{0,2}/)?(?:[\w@.+-]+/)+[\w@+-]+\.\w{1,8}\b|(?<![\w/.-])[\w-]+\.(?:py|ts|tsx|js|jsx|rs|go|java|c|h|cpp|rb|md|json|ya?ml|toml|sh|css|html|sql)\b"
)
_NUMBER: Final = re.compile(r"(?<![\w.#-])[$€£¥]?\d[\d,]*(?:\.\d+)?%?(?![\w-])")
_NAME: Final = re.compile(
    r"\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[A-Z]{2,}[-_]?\d{2,}\w*\b|\b[A-Z0-9_]{6,}\b|\b(?:[A-Z][a-z0-9]+){2,}\b"
)
_COMMAND_KEYS: Final = ("command", "cmd", "script")
_WRONG: Final = re.compile(r"\berror\b|exception|failed|fatal|traceback|not found|denied|cannot", re.I)


def fidelity(before: Sequence[Message], after_text: str) -> Fidelity:
    """Which facts of BEFORE (the messages that an edit replaced) stand in AFTER_TEXT, the whole new context as text."""
    found: dict[tuple[str, str], LostFact] = {}
    weight: dict[tuple[str, str], int] = {}
    for message in before:
        for kind, text in _facts(message):
            key = (kind, _flat(text))
            if len(key[1]) < 2:
                continue
            found[key] = LostFact(kind, text, message.id)
            weight[key] = weight.get(key, 0) + 1
    # What only a tool's output showed, and once, is a fact of that output, not of the conversation.
    kept_of, total_of = dict.fromkeys(CLASSES, 0), dict.fromkeys(CLASSES, 0)
    lost: list[tuple[int, int, LostFact]] = []
    after = _flat(after_text)
    for at, (key, fact) in enumerate(found.items()):
        if fact.kind in ("identifiers", "numbers") and weight[key] < 2:
            continue
        total_of[fact.kind] += 1
        if key[1] in after:
            kept_of[fact.kind] += 1
        else:
            lost.append((weight[key], at, fact))
    lost.sort(key=lambda item: (CLASSES.index(item[2].kind), -item[0], -item[1]))
    classes = tuple((kind, kept_of[kind], total_of[kind]) for kind in CLASSES if total_of[kind])
    return Fidelity(classes, tuple(fact for _, _, fact in lost[:_MAX_LOST]))


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _facts(message: Message) -> Iterable[tuple[str, str]]:
    """(class, text) of every fact in MESSAGE."""
    for block in message.content:
        kind = block.get("type")
        if kind == "text":
            text = str(block.get("text", ""))
            if message.origin == "user":
                yield from (("rules", s.strip()) for s in _STOP.split(text) if _RULE.search(s) and len(s) < 300)
            yield from _literals(text)
        elif kind == "tool_use":
            yield from _of_call(block.get("input"))
        elif kind == "tool_result":
            text = _shown(block.get("content"))
            if block.get("is_error") or _WRONG.search(text[:400]):
                line = next((line.strip() for line in text.splitlines() if _WRONG.search(line)), "")
                if line:
                    yield "errors", line[:120]
            yield from _literals(text)


def _of_call(value: Any) -> Iterable[tuple[str, str]]:
    """The facts of a call's arguments."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, str) and str(key).lower() in _COMMAND_KEYS:
                yield "commands", item.strip().splitlines()[0][:120] if item.strip() else ""
            yield from _of_call(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _of_call(item)
    elif isinstance(value, str):
        yield from _literals(value)


def _literals(text: str) -> Iterable[tuple[str, str]]:
    """The files, names and numbers of TEXT, each once."""
    seen = dict.fromkeys(("files", m) for m in _PATH.findall(text))
    seen |= dict.fromkeys(("identifiers", m) for m in _NAME.findall(text))
    seen |= dict.fromkeys(("numbers", m) for m in _NUMBER.findall(text) if sum(c.isdigit() for c in m) > 1)
    return seen


def _shown(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(b.get("text", "")) for b in content or () if isinstance(b, Mapping))
