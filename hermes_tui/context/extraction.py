"""Extracts: the lines of a conversation that will be needed again, chosen by code, as a short log of the work.

No model is asked. A name, path or number is worth what the conversation so far says about it: who used it (a person or the model
itself, rather than a file that happened to be read), how often, and how lately. A line is worth the names that it holds and that no
line chosen before it holds, and a little for those it shows together again; lines are taken by worth per token until the budget is spent
(greedy maximum coverage under a budget). They are shown in the order they were said, each under the act it belongs to.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hermes_tui.context.acts import Act, acts_of, one_line, strings_in
from hermes_tui.context.facts import clip, literals, sentences
from hermes_tui.context.messages import Message, plain_text
from hermes_tui.context.redaction import redact

LINE_LIMIT: Final = 160
"""Characters of an extracted line; what stands further apart is not read together."""
_AGAIN: Final = 0.25
"""Worth of a name that a chosen line already holds, as a share: it still tells what it belongs to."""
_HALF_LIFE: Final = 40.0
"""Messages after which a mention counts half."""
_MAX_LINES: Final = 400
"""Lines of one result that are looked at: its start and its end."""


@dataclass(slots=True)
class _Line:
    """A candidate: one line under one heading."""

    text: str
    names: tuple[str, ...]
    heading: int
    order: int
    message: str
    bonus: float


@dataclass(frozen=True, slots=True)
class Extract:
    """The lines chosen, as text; ``told`` holds the ids of the messages that at least one of them was taken from."""

    text: str
    told: frozenset[str]


def _heading(act: Act) -> str:
    target = redact(clip(act.target, 120))
    outcome = f" → exit {act.exit_code}" if act.exit_code else " → failed" if act.failed else ""
    name = f"{act.name} " if act.verb == "called" else ""
    return f"{act.verb} {name}{target}{outcome}"


def _ends(lines: list[str]) -> Iterable[str]:
    if len(lines) <= _MAX_LINES:
        return lines
    return (*lines[: _MAX_LINES // 2], *lines[-_MAX_LINES // 2 :])


class _Reading:
    """SOURCES read once: headings, candidate lines, and what each name is worth."""

    def __init__(self, sources: Sequence[Message], earlier: Sequence[str]) -> None:
        self.headings: list[str] = []
        self.lines: list[_Line] = []
        self.worth: defaultdict[str, float] = defaultdict(float)
        self._seen: dict[str, int] = {}
        self._count = len(sources)
        for line in earlier:
            self._add(line, self._head(""), "", -1, said=True)
        acts: defaultdict[int, list[Act]] = defaultdict(list)
        for at, act in acts_of(sources):
            acts[at].append(act)
        for at, message in enumerate(sources):
            if message.origin != "tool":
                self._said(message, at)
            for act in acts.get(at, ()):
                self._done(act, at)

    def _recency(self, at: int) -> float:
        return math.pow(0.5, (self._count - 1 - at) / _HALF_LIFE)

    def _head(self, text: str) -> int:
        self.headings.append(text)
        return len(self.headings) - 1

    def _credit(self, names: Iterable[str], amount: float) -> None:
        for name in names:
            self.worth[name] += amount

    def _said(self, message: Message, at: int) -> None:
        text = redact(plain_text(message.content))
        heading = -1
        recent = self._recency(at)
        self._credit(literals(text), (2.0 if message.is_real_user else 1.0) * (0.3 + recent))
        if message.is_real_user:
            return
        for sentence in sentences(text):
            if heading < 0:
                heading = self._head("said")
            self._add(clip(sentence, LINE_LIMIT), heading, message.id, at, said=True)

    def _done(self, act: Act, at: int) -> None:
        recent = self._recency(at)
        heading = self._head(_heading(act))
        given = [redact(text) for text in strings_in(act.arguments)]
        for text in given:
            self._credit(literals(text), 1.0 * (0.3 + recent))
            if text.strip() != act.target.strip():
                for line in _ends(text.splitlines()):
                    self._add(clip(one_line(line), LINE_LIMIT), heading, act.message, at, said=True)
        output = redact(act.output)
        names = literals(output)
        self._credit(names, 0.3 * (0.1 + recent) / math.sqrt(1 + len(names) / 20))
        for line in _ends(output.splitlines()):
            self._add(clip(one_line(line), LINE_LIMIT), heading, act.result_message, at, said=False)

    def _add(self, text: str, heading: int, message: str, at: int, *, said: bool) -> None:
        if len(text) < 6:
            return
        before = self._seen.get(text)
        if before is not None:
            self.lines[before].heading = heading
            self.lines[before].message = message
            return
        names = tuple(literals(text))
        if not names:
            return
        self._seen[text] = len(self.lines)
        self.lines.append(_Line(text, names, heading, len(self.lines), message, 1.2 if said else 1.0))


def extract(
    sources: Sequence[Message], budget: int, cost: Callable[[str], float], *, known: str = "", earlier: Sequence[str] = ()
) -> Extract:
    """The lines of SOURCES (and of the EARLIER summary's extracts) most worth keeping in BUDGET tokens.

    KNOWN is what stands beside them (the ledger): its names count as told. COST estimates the tokens of a line.
    """
    if budget <= 0:
        return Extract("", frozenset())
    reading = _Reading(sources, earlier)
    told = set(literals(known))
    chosen: list[_Line] = []
    opened: set[int] = set()

    def gain(line: _Line) -> float:
        worth = sum(reading.worth[n] * (_AGAIN if n in told else 1.0) for n in line.names)
        return line.bonus * worth

    def price(line: _Line) -> float:
        return cost(line.text) + 2 + (0 if line.heading in opened else cost(reading.headings[line.heading]) + 1)

    heap = [(-gain(line) / price(line), i) for i, line in enumerate(reading.lines)]
    heapq.heapify(heap)
    left = float(budget)
    while heap and left > 8:
        rate, at = heapq.heappop(heap)
        line = reading.lines[at]
        now = -gain(line) / price(line)
        if now > rate + 1e-9 and heap and now > heap[0][0]:
            heapq.heappush(heap, (now, at))
            continue
        if price(line) > left or now >= 0:
            continue
        left -= price(line)
        opened.add(line.heading)
        told.update(line.names)
        chosen.append(line)
    chosen.sort(key=lambda c: (c.heading, c.order))
    return Extract(_laid_out(chosen, reading.headings), frozenset(c.message for c in chosen if c.message))


def _laid_out(chosen: Sequence[_Line], headings: Sequence[str]) -> str:
    out: list[str] = []
    under = -1
    for line in chosen:
        if line.heading != under:
            under = line.heading
            if headings[under]:
                out.append(f"{headings[under]}:")
        out.append(f"  {line.text}" if headings[under] else line.text)
    return "\n".join(out)
