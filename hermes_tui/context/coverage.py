"""Coverage: which of many lines a budget of tokens is best spent on.

A line is worth the names that it adds and the pairs that it is the first to hold together, each by the chance that it is needed
again; lines are taken by worth per token until the budget is spent (greedy maximum coverage, lazily: what a line is worth only
ever falls, until its heading or a line of its kind stands).
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MIN_LINE: Final = 6
"""Characters; a shorter line tells nothing by itself."""
WORD_MARK: Final = "\0"
"""Before a plain word among names: a word of the language, which every sentence holds some of."""
_PAIRED: Final = 12
"""Names of a line that are looked at in pairs."""
_TOGETHER: Final = 0.27
"""Worth of holding two names together for the first time, as a share of the lesser one's chance."""
_WORTHLESS: Final = 0.0005
"""Worth per token from which a line is not worth its place, however much room there is: small talk."""
_FOCUSED: Final = 2.0
"""Worth that a line has by speaking of the topic asked for, whatever it names."""
_ALIKE: Final = re.compile(r"""^(["'`]?[\w.$@/-]+["'`]?\??)(\s*[:=]\s*\S.{3,})$""")


@dataclass(slots=True)
class LineGroup:
    """Lines under one heading.

    Attributes:
        section: the section of the prose it is shown in.
        heading: what it is about; "" for lines that stand for themselves.
        names: the literals of the heading.
        last: index of the message that touched it last.
        turn: number of the turn it belongs to, where it is part of the log.
        is_said: its lines are what the model said, in its own words.
        lines: numbers of its lines.
    """

    section: str
    heading: str
    names: tuple[str, ...] = ()
    last: int = -1
    turn: int = 0
    is_said: bool = False
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Line:
    """A candidate: one line in one group.

    Attributes:
        text, names: the line and its names, plain words among them, marked.
        group: number of its group.
        at: index of its message.
        message: id of its message.
        bonus: factor on its worth.
        focused: it speaks of the topic asked for.
        gone: an edit took it out.
    """

    text: str
    names: tuple[str, ...]
    group: int
    at: int
    message: str
    bonus: float
    focused: bool = False
    gone: bool = False


def alike(text: str) -> tuple[str, str] | None:
    """(name, rest) of a line like ``name: rest``: lines of one group with the same rest are told as one. None for others."""
    found = _ALIKE.match(text)
    return (found[1], found[2]) if found else None


class Coverage:
    """The choice among LINES in GROUPS, made once.

    CHANCES says how likely each name is needed again; KNOWN are the names of the lines that stand beside what is chosen; COST
    estimates the tokens of a text; SHORT gives headings a shorter wording.
    """

    def __init__(
        self,
        groups: Sequence[LineGroup],
        lines: Sequence[Line],
        chances: Mapping[str, float],
        known: Iterable[Sequence[str]],
        cost: Callable[[str], int],
        short: Mapping[str, str],
    ) -> None:
        self._groups, self._lines, self._chances = groups, lines, chances
        self._told: set[str] = set()
        self._together: set[tuple[str, str]] = set()
        for names in known:
            self._tell(names)
        self._opened = {number for number, group in enumerate(groups) if not group.heading}
        self._headings = [cost(short.get(g.heading, g.heading)) + 2 for g in groups]
        self._costs = [cost(line.text) + 2 for line in lines]
        self._kinds: dict[tuple[int, str], list[int]] = {}
        self._kind_of: dict[int, tuple[int, str]] = {}
        for number, line in enumerate(lines):
            if split := alike(line.text):
                self._kind_of[number] = kind = (line.group, split[1])
                self._kinds.setdefault(kind, []).append(number)
        self._begun: set[tuple[int, str]] = set()
        self._cost = cost
        self.chosen: set[int] = set()
        """Numbers of the lines taken."""

    def take(self, budget: int, among: Iterable[int]) -> int:
        """Take the lines AMONG those numbered that BUDGET tokens are best spent on; the tokens that are left."""
        among, chosen = set(among), self.chosen
        heap = [(-self._rate(number), number) for number in among if number not in chosen and not self._lines[number].gone]
        heapq.heapify(heap)
        left = budget
        while heap and left > 2:
            noted, number = heapq.heappop(heap)
            if number in chosen:
                continue
            now = -self._rate(number)
            if now > noted and heap and now > heap[0][0]:
                heapq.heappush(heap, (now, number))
                continue
            price = self._price(number)
            if price > left or now > -_WORTHLESS:
                continue
            left -= price
            chosen.add(number)
            line = self._lines[number]
            self._tell(line.names)
            dearer: list[int] = []
            if line.group not in self._opened:
                self._opened.add(line.group)
                self._tell(self._groups[line.group].names)
                dearer += self._groups[line.group].lines
            kind = self._kind_of.get(number)
            if kind is not None and kind not in self._begun:
                self._begun.add(kind)
                dearer += self._kinds[kind]
            for other in dearer:
                if other in among and other not in chosen and not self._lines[other].gone:
                    heapq.heappush(heap, (-self._rate(other), other))
        return left

    def _tell(self, names: Sequence[str]) -> None:
        self._told.update(names)
        self._together.update(_pairs(names))

    def _worth(self, names: Sequence[str]) -> float:
        chances = self._chances
        value = sum([chances.get(name, 0.0) for name in names if name not in self._told])
        for pair in _pairs(names):
            if pair not in self._together:
                value += _TOGETHER * min(chances.get(pair[0], 0.0), chances.get(pair[1], 0.0))
        return value

    def _price(self, number: int) -> int:
        line = self._lines[number]
        kind = self._kind_of.get(number)
        if kind is not None and kind in self._begun:
            return self._cost(line.text[: len(line.text) - len(kind[1])]) + 1
        return self._costs[number] + (0 if line.group in self._opened else self._headings[line.group])

    def _rate(self, number: int) -> float:
        line = self._lines[number]
        value = line.bonus * self._worth(line.names) + (_FOCUSED if line.focused else 0.0)
        if line.group not in self._opened:
            value += self._worth(self._groups[line.group].names)
        return value / self._price(number)


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Every two of the first names, plain words aside."""
    names = [name for name in names[:_PAIRED] if not name.startswith(WORD_MARK)]
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
