"""Heights, positions and anchors of a long list of blocks. Pure numbers.

Only what was seen is laid out; every other block has an estimated height. When a height is corrected, or older blocks come in
above, the view is kept by an anchor: one block, and where the top of the view stands in relation to it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from hermes_tui.tui.transcript.blocks import Block, Divider, ReplySaid, UserSaid


class Heights:
    """Rows of each block, and the sums that turn a row into a block and back.

    Changing a height is cheap; the sums after it are made again when next asked for. The newest block changes most.
    """

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tops: list[int] = [0]
        self._good = 0
        """How many of the tops are right, beyond the first."""

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            self._good = min(self._good, index)

    def insert(self, index: int, heights: Iterable[int]) -> None:
        """Put blocks in before ``index``."""
        self._heights[index:index] = heights
        self._good = min(self._good, index)

    def remove(self, index: int) -> None:
        """Take one block out."""
        del self._heights[index]
        self._good = min(self._good, index)

    def _settled(self) -> list[int]:
        if self._good < len(self._heights) or len(self._tops) != len(self._heights) + 1:
            kept = self._tops[: self._good + 1]
            self._tops = kept[:-1] + list(accumulate(self._heights[self._good :], initial=kept[-1]))
            self._good = len(self._heights)
        return self._tops

    @property
    def total(self) -> int:
        """Rows of all blocks together."""
        return self._settled()[-1]

    def top(self, index: int) -> int:
        """The row where the block begins."""
        return self._settled()[index]

    def at(self, row: int) -> int:
        """The block that a row belongs to; the last one for rows below it, -1 if there is none."""
        if not self._heights:
            return -1
        index = bisect_right(self._settled(), max(0, row)) - 1
        return min(index, len(self._heights) - 1)

    def between(self, first: int, last: int) -> range:
        """The blocks that have rows from ``first`` up to, not including, ``last``."""
        if not self._heights or last <= first:
            return range(0)
        return range(self.at(first), self.at(max(first, last - 1)) + 1)


class Anchor(NamedTuple):
    """The top of the view is ``row`` rows below the top of block ``block`` (above it when negative)."""

    block: int
    row: int


def anchor_at(heights: Heights, exact: Sequence[bool], top: int, rows: int) -> Anchor:
    """The anchor for a view of ``rows`` rows that begins at ``top``: the first visible block whose height is known.

    A block whose height is only estimated would move what is below it when it is corrected; it is the anchor only if nothing
    else is on the screen.
    """
    visible = heights.between(top, top + rows)
    for index in visible:
        if exact[index]:
            return Anchor(index, top - heights.top(index))
    index = visible.start if visible else 0
    return Anchor(index, top - heights.top(index) if visible else 0)


def top_of(heights: Heights, anchor: Anchor) -> int:
    """Where the view begins for an anchor, with the heights as they are now."""
    if not len(heights):
        return 0
    return max(0, heights.top(min(anchor.block, len(heights) - 1)) + anchor.row)


def estimate(block: Block, width: int, folded: bool) -> int:
    """About how many rows a block takes, without laying it out: its lines, each at the width."""
    if isinstance(block, UserSaid | ReplySaid):
        return 2 + block.text.count("\n") + len(block.text) // max(8, width - 4)
    if isinstance(block, Divider) or folded:
        return 2
    return 2 + sum(1 + len(line) // max(8, width) for line in getattr(block, "text", "").split("\n")[:400])
