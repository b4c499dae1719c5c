"""Future use: how much of what a recorded conversation will need later still stands after a compression. No model is asked.

A *fact* is a literal that may have to be repeated exactly: a path, a flag, a hash, a version or a number, a name in snake_case,
CamelCase or with dots. It is *used later* if one of the next `HORIZON` messages has the assistant say it (in text or in a
call), it stood somewhere before the compression, and no user message or result has shown it again in between. A *relation* is
a pair of such facts that one later message uses together and one earlier line held together; it is kept where the two stand
within `NEAR` characters of each other. A bag of names scores well on facts and badly on relations.

An extractor of its own, like that of `fidelity`: what the summaries' extracts overlook is to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from hermes_tui.context.messages import Block

HORIZON: Final = 100
"""Messages after a compression that count as its future."""
NEAR: Final = 160
"""Characters within which two facts count as standing together."""
LEAST: Final = 5
"""Characters; shorter literals recur by chance."""
MOST_IN_LINE: Final = 12
"""Facts of one line that are paired, in their order."""
MOST_SPOTS: Final = 200
"""Places of a fact that are looked at for its partner."""

_KINDS: Final = (
    r"https?://[^\s\"'<>)\]]+",
    r"(?:[\w@.+-]*/)+[\w@.+-]+",
    r"(?<![\w-])--?[a-z][\w-]{2,}(?==|\b)",
    r"\b[0-9a-f]{7,40}\b",
    r"\b\d+(?:\.\d+){1,3}\b",
    r"\b\d{4,}\b",
    r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b",
    r"\b[a-z]+(?:[A-Z][a-z0-9]+)+\b",
    r"\b(?:[A-Z][a-z0-9]+){2,}\b",
    r"\b\w+(?:\.\w+)+\b",
)
_FACT: Final = re.compile("|".join(_KINDS))

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Kept:
    """How many of the facts and relations used later stand in a context, of how many."""

    facts: int = 0
    facts_used: int = 0
    relations: int = 0
    relations_used: int = 0

    def plus(self, other: Kept) -> Kept:
        """Both together."""
        return Kept(
            self.facts + other.facts,
            self.facts_used + other.facts_used,
            self.relations + other.relations,
            self.relations_used + other.relations_used,
        )


@dataclass(frozen=True, slots=True)
class _Spoken:
    """The facts that a message's speaker said or asked for, and those that it showed."""

    said: frozenset[str]
    shown: frozenset[str]


class FutureUse:
    """What a conversation uses later, for any place to compress it at; the messages are read once.

    Args:
        messages: (role, content) of every message, in order.
    """

    def __init__(self, messages: Iterable[tuple[str, Sequence[Block]]]) -> None:
        self._spoken: list[_Spoken] = []
        self._first: dict[str, int] = {}
        self._partners: dict[str, dict[str, int]] = {}
        for at, (role, content) in enumerate(messages):
            said, shown = _texts(role, content)
            spoken = _Spoken(facts_in(said), facts_in(shown))
            self._spoken.append(spoken)
            for fact in spoken.said | spoken.shown:
                self._first.setdefault(fact, at)
            for line in (*said.splitlines(), *shown.splitlines()):
                for a, b in combinations(sorted(facts_in(line))[:MOST_IN_LINE], 2):
                    self._partners.setdefault(a, {}).setdefault(b, at)

    def after(self, cut: int) -> tuple[frozenset[str], frozenset[Pair]]:
        """The facts and the relations that are used after the first CUT messages."""
        shown: set[str] = set()
        used: set[str] = set()
        pairs: set[Pair] = set()
        for spoken in self._spoken[cut : cut + HORIZON]:
            now = {f for f in spoken.said if self._first.get(f, cut) < cut and f not in shown}
            used |= now
            for a in now:
                partners = self._partners.get(a, {})
                near = now.intersection(partners) if len(now) < len(partners) else (b for b in partners if b in now)
                pairs.update((a, b) for b in near if partners[b] < cut and a not in b and b not in a)
            shown |= spoken.shown
        return frozenset(used), frozenset(pairs)

    def kept(self, cut: int, text: str) -> Kept:
        """What of that stands in TEXT, the whole context after compressing the first CUT messages."""
        used, pairs = self.after(cut)
        return Kept(sum(f in text for f in used), len(used), sum(_near(text, a, b) for a, b in pairs), len(pairs))


def facts_in(text: str) -> frozenset[str]:
    """The facts of TEXT."""
    return frozenset(found.rstrip(".,:;") for found in _FACT.findall(text) if len(found) >= LEAST)


def context_text(messages: Iterable[Mapping[str, Any]], system: str = "") -> str:
    """All text of a request, as a reader would search it."""
    return system + "\n" + "\n".join("\n".join(_texts(m["role"], m["content"])) for m in messages)


def _near(text: str, a: str, b: str) -> bool:
    """Whether A and B stand within `NEAR` characters of each other in TEXT."""
    at = text.find(a)
    for _ in range(MOST_SPOTS):
        if at < 0:
            return False
        if text.find(b, max(0, at - NEAR), at + len(a) + NEAR) >= 0:
            return True
        at = text.find(a, at + len(a))
    return False


def _texts(role: str, content: str | Sequence[Block]) -> tuple[str, str]:
    """(what the speaker of a message said or asked for, what the message showed)."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said: list[str] = []
    shown: list[str] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            (said if role == "assistant" else shown).append(str(block.get("text", "")))
        elif kind == "tool_use":
            said += _leaves(block.get("input", {}))
        elif kind == "tool_result":
            inner = block.get("content", "")
            shown.append(inner if isinstance(inner, str) else "\n".join(str(b.get("text", "")) for b in inner or ()))
    return "\n".join(said), "\n".join(shown)


def _leaves(value: Any) -> Iterator[str]:
    """Every string or number in a call's arguments."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield str(value)
