"""Readings: what the instruments show, as plain values worked out from the conversation's own view, state and budgets.

The widgets only draw these; a reading can be made anew at any time from what the conversation holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

REGIONS: Final = ("system", "head", "summary", "middle", "pinned", "tail")
"""The regions in the order they are sent."""


@dataclass(frozen=True, slots=True)
class GaugeReading:
    """The size of the next request against the window.

    Attributes:
        tokens: the size; the number is never clamped, the bar is.
        kind: measured, estimated or stale.
        window, reserved, threshold, warm: tokens.
        shares: (region, tokens) in the order sent.
        window_source, threshold_rule: where those numbers come from.
        remark: why something is not as the settings say (compression rests, an engine is set aside), or "".
    """

    tokens: int = 0
    kind: str = "estimated"
    window: int = 0
    reserved: int = 0
    threshold: int = 0
    warm: int = 0
    shares: tuple[tuple[str, int], ...] = ()
    window_source: str = ""
    threshold_rule: str = ""
    remark: str = ""

    @property
    def free(self) -> int:
        """Tokens of the window that neither the next request takes nor its reply is reserved."""
        return max(0, self.window - self.reserved - self.tokens)


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry of the context as the list shows it.

    Attributes:
        position: the entry's position, unique in a context.
        message: id of the message it names, "" for the summary.
        region: where it stands in the plan if one compressed now.
        treatment: verbatim, pruned, pinned, clipped or dropped.
        role: user, reply, call, result or summary.
        snippet: its first words, one line.
        before: tokens of the message itself.
        after: tokens as sent, where that differs.
        why: a few words on why it is where and how it is.
    """

    position: int
    message: str
    region: str
    treatment: str
    role: str
    snippet: str
    before: int
    after: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SummaryReading:
    """The current summary, or the one that is being written.

    Attributes:
        version: 0 while there is none.
        prose: (section, text) pairs.
        ledger: (section, lines) pairs.
        kept, total: facts that still stand, of how many.
        lost: (kind, text) of the others.
        author: the model that wrote it, or how else it was made.
        told: messages it stands for.
        writing: the text so far while one is being written.
    """

    version: int = 0
    prose: tuple[tuple[str, str], ...] = ()
    ledger: tuple[tuple[str, tuple[str, ...]], ...] = ()
    kept: int = 0
    total: int = 0
    lost: tuple[tuple[str, str], ...] = ()
    author: str = ""
    told: int = 0
    writing: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """What the status line counts.

    Attributes:
        prompt: tokens of the last request, cache included.
        reply: tokens of the last reply.
        cached: tokens of the last request that came from the cache.
        cost: dollars of everything the chain asked for, None where no price is known.
        turn: turns so far.
    """

    prompt: int = 0
    reply: int = 0
    cached: int = 0
    cost: float | None = None
    turn: int = 0


@dataclass(frozen=True, slots=True)
class UsageReading:
    """What the requests did with the cache, in tokens, and what they cost, in dollars.

    Attributes:
        known: a cache was seen at work.
        read, written, missed: of the last request; missed is what was sent before and was not read.
        edit_missed: missed by the first request after the last edit, None while there was none.
        cost: of everything the chain asked for, as far as a price is known.
        summaries: the part of it that summaries cost.
    """

    known: bool = False
    read: int = 0
    written: int = 0
    missed: int = 0
    edit_missed: int | None = None
    cost: float = 0.0
    summaries: float = 0.0


@dataclass(frozen=True, slots=True)
class ContextReading:
    """Everything the inspector shows at one moment."""

    gauge: GaugeReading = field(default_factory=GaugeReading)
    entries: tuple[EntryRow, ...] = ()
    summary: SummaryReading = field(default_factory=SummaryReading)
    requests: tuple[int, ...] = ()
    usage: UsageReading = field(default_factory=UsageReading)


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of equal cells of the bar: which region (or free, reserved), and how many."""

    region: str
    cells: int


def bar_cells(reading: GaugeReading, width: int) -> tuple[Cell, ...]:
    """The bar of READING in WIDTH cells: every region in proportion, none that holds anything without a cell, clamped."""
    if width <= 0 or reading.window <= 0:
        return (Cell("free", max(0, width)),) if width > 0 else ()
    shares = [(region, count) for region, count in reading.shares if count > 0]
    measured = sum(count for _, count in shares)
    scale = reading.tokens / measured if measured else 0.0
    cells: list[Cell] = []
    at, told = 0, 0.0
    for index, (region, count) in enumerate(shares):
        told += count * scale
        end = round(told / reading.window * width)
        still = len(shares) - index - 1
        end = min(max(end, at + 1), max(at, width - still) if at + still < width else width)
        if end > at:
            cells.append(Cell(region, end - at))
            at = end
    reserved = min(width - at, round(reading.reserved / reading.window * width))
    free = width - at - reserved
    if free:
        cells.append(Cell("free", free))
    if reserved:
        cells.append(Cell("reserved", reserved))
    return tuple(cells)


def tick(tokens: int, window: int, width: int) -> int:
    """The cell in which TOKENS fall on a bar of WIDTH cells for WINDOW, clamped to the bar."""
    return max(0, min(width - 1, round(tokens / window * width))) if window > 0 and width > 0 else 0


def spark_levels(values: Sequence[int], width: int, levels: int = 8) -> tuple[int, ...]:
    """The last WIDTH of VALUES as heights 0 … LEVELS - 1, the greatest of them at the top."""
    shown = list(values[-width:]) if width > 0 else []
    top = max(shown, default=0)
    return tuple(round(v / top * (levels - 1)) if top else 0 for v in shown)


def shares_of(tokens: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """TOKENS by region, in the order that the regions are sent."""
    known = dict(tokens)
    return tuple((region, known.get(region, 0)) for region in REGIONS if known.get(region, 0) or region != "pinned")
