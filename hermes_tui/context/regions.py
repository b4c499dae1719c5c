"""Regions: which entries are head, summary, middle, pinned and tail if one compressed now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


Region = Literal["system", "head", "summary", "middle", "pinned", "tail"]


@dataclass(frozen=True, slots=True)
class Regions:
    """The regions of a view by position (each entry is in exactly one).

    Attributes:
        head, middle, pinned, tail: positions, ascending. The summary's entry is in none of them.
        anchor: position of the newest real user message, None where there is none.
        reasons: position -> why the entry is where it is, a few words for the inspector.
        tokens: scaled tokens of each region, system and summary included.
    """

    head: tuple[int, ...] = ()
    middle: tuple[int, ...] = ()
    pinned: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    anchor: int | None = None
    reasons: tuple[tuple[int, str], ...] = ()
    tokens: tuple[tuple[Region, int], ...] = ()

    def region_of(self, position: int) -> Region:
        """The region of the entry at POSITION; whatever is in none of the others is the summary."""
        if position in self.head:
            return "head"
        if position in self.middle:
            return "middle"
        if position in self.pinned:
            return "pinned"
        if position in self.tail:
            return "tail"
        return "summary"
