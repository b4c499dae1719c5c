"""The blocks of a transcript in their order, each with what is known of its rows. Pure: no widget, no screen.

Only blocks that were seen are laid out; the others have an estimated height. Rows not seen for long are dropped again, their
height is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from hermes_tui.tui.transcript.blocks import Block, Queued, ReplySaid, Thought, ToolCard, is_card
from hermes_tui.tui.transcript.drawing import card_header, draw, lead
from hermes_tui.tui.transcript.growth import Growth, MarkdownGrowth, PlainGrowth
from hermes_tui.tui.transcript.layout import Heights, estimate
from hermes_tui.tui.transcript.rows import BLANK, Page, Row

KEPT_ROWS = 12_000
"""Rows kept laid out; about 10 MB. A hundred screens."""

_FIRST = 1 << 30
"""The number of the first block ever set; older pages count down from it, newer blocks up."""

_versions = count(1)


class Slot:
    """One block in its place."""

    __slots__ = ("block", "body", "growth", "lead", "number", "pending", "version")

    def __init__(self, block: Block, number: int) -> None:
        self.block = block
        self.number = number
        """Its place, counted so that it keeps when older blocks come in above."""
        self.lead: list[Row] = []
        """The rows that stand before its own: a blank one, a speaker's name."""
        self.body: list[Row] | None = None
        """Its own rows, once laid out."""
        self.growth: Growth | None = None
        """Its text while it streams."""
        self.pending = False
        """Streamed text waits to be laid out."""
        self.version = next(_versions)
        """Names these rows in caches; a new one whenever they change other than by growing."""

    def rows(self) -> Iterator[Row]:
        """All its rows, if it is laid out."""
        yield from self.lead
        yield from self.body or ()

    def row(self, index: int) -> Row:
        """One of its rows, if it is laid out; a blank one beyond them."""
        if index < len(self.lead):
            return self.lead[index]
        index -= len(self.lead)
        return self.body[index] if self.body is not None and index < len(self.body) else BLANK


class Slots:
    """All blocks, their heights, and which cards are open."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.heights = Heights()
        self.exact: list[bool] = []
        """Whether each height is that of rows laid out, or estimated."""
        self.opened: set[str] = set()
        """Ids of the cards that are unfolded."""
        self._slots: list[Slot] = []
        self._by_id: dict[str, Slot] = {}
        self._recent: dict[Slot, None] = {}
        """Slots that are laid out, the longest unseen first."""
        self._kept = 0

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, index: int) -> Slot:
        return self._slots[index]

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def slot(self, id: str) -> Slot:
        """The slot of a block. Raises KeyError when there is none."""
        return self._by_id[id]

    def index(self, id: str) -> int:
        """The place of a block. Raises KeyError when there is none."""
        return self._by_id[id].number - self._slots[0].number

    def index_of_number(self, number: int) -> int:
        """The place of a slot's number, whether or not it is (still) there."""
        return number - self._slots[0].number if self._slots else 0

    def folded(self, block: Block) -> bool:
        """Whether the block is a card that is folded."""
        return is_card(block) and block.id not in self.opened

    # -- changing the list ------------------------------------------------------------------------------------------------

    def set(self, blocks: Iterable[Block]) -> None:
        """These blocks and no others. An id that comes twice keeps its last block."""
        self._slots, self._by_id, self._recent, self._kept = [], {}, {}, 0
        self.heights, self.exact = Heights(), []
        self._put(0, tuple({block.id: block for block in blocks}.values()), _FIRST)

    def prepend(self, blocks: Iterable[Block]) -> int:
        """Older blocks before all others; blocks that are there already are passed over. How many came in."""
        new = tuple(block for block in blocks if block.id not in self._by_id)
        self._put(0, new, (self._slots[0].number if self._slots else _FIRST) - len(new))
        if new and len(self._slots) > len(new):
            self._relead(len(new))
        return len(new)

    def append(self, block: Block) -> Slot:
        """A block after all others, but before what is queued; one that is there already is replaced in its place."""
        if block.id in self._by_id:
            self.replace(block.id, block)
            return self._by_id[block.id]
        at = len(self._slots)
        while not isinstance(block, Queued) and at and isinstance(self._slots[at - 1].block, Queued):
            at -= 1
        self._put(at, (block,), (self._slots[0].number if self._slots else _FIRST) + at)
        self._renumber(at + 1)
        return self._slots[at]

    def replace(self, id: str, block: Block) -> None:
        """Another block in the place of one; it is laid out when it is next seen. Raises KeyError when there is none."""
        slot = self._by_id.pop(id)
        self._by_id[block.id] = slot
        if block.id != id and id in self.opened:
            self.opened.add(block.id)
        slot.block, slot.growth, slot.pending = block, None, False
        index = self.index(block.id)
        self.forget(index)
        for at in (index, index + 1):
            self._relead(at)

    def remove(self, id: str) -> None:
        """Take a block out. Raises KeyError when there is none."""
        index = self.index(id)
        self.forget(index)
        slot = self._by_id.pop(id)
        slot.growth = None
        del self._slots[index], self.exact[index]
        self.heights.remove(index)
        if index == 0 and self._slots:
            self._slots[0].number = slot.number
        self._renumber(index)
        self._relead(index)

    def _put(self, at: int, blocks: Sequence[Block], number: int) -> None:
        new = [Slot(block, number + k) for k, block in enumerate(blocks)]
        previous = self._slots[at - 1].block if at else None
        for slot in new:
            slot.lead = lead(previous, slot.block, self.page)
            previous = slot.block
            self._by_id[slot.block.id] = slot
        self._slots[at:at] = new
        self.exact[at:at] = [False] * len(new)
        self.heights.insert(at, [self._estimate(slot) for slot in new])

    def _renumber(self, start: int) -> None:
        """Count on from the slot before ``start``."""
        for index in range(max(1, start), len(self._slots)):
            slot = self._slots[index]
            if slot.number == self._slots[index - 1].number + 1:
                return
            slot.number = self._slots[index - 1].number + 1
        if 0 < start < len(self._slots):
            self._relead(start)

    def _relead(self, index: int) -> None:
        """Draw the rows before a block anew, since what it follows has changed."""
        if not 0 <= index < len(self._slots):
            return
        slot = self._slots[index]
        rows = lead(self._slots[index - 1].block if index else None, slot.block, self.page)
        if rows != slot.lead:
            self.heights[index] += len(rows) - len(slot.lead)
            slot.lead, slot.version = rows, next(_versions)

    # -- laying out -------------------------------------------------------------------------------------------------------

    def _estimate(self, slot: Slot) -> int:
        return len(slot.lead) + max(1, estimate(slot.block, self.page.prose, self.folded(slot.block)))

    def set_page(self, page: Page) -> None:
        """Lay out for another page from now on; every height is an estimate again."""
        self.page = page
        for index in range(len(self._slots)):
            self.forget(index)
            self._relead(index)
            self.heights[index] = self._estimate(self._slots[index])

    def forget(self, index: int) -> None:
        """Drop a block's rows; its height stays as an estimate."""
        slot = self._slots[index]
        self.exact[index] = False
        self._drop(slot)
        slot.version = next(_versions)

    def _drop(self, slot: Slot) -> None:
        if slot in self._recent:
            del self._recent[slot]
            self._kept -= len(slot.body or ())
        slot.body = None

    def lay_out(self, index: int) -> bool:
        """Have a block's rows at hand; whether its height changed by that."""
        slot = self._slots[index]
        if slot.growth is not None:
            return self.flush(index)[1]
        if slot.body is None:
            return self.give(index, draw(slot.block, self.page, self.folded(slot.block)))
        self._recent[slot] = self._recent.pop(slot, None)
        return False

    def give(self, index: int, body: list[Row]) -> bool:
        """Set a block's own rows; whether its height changed by that."""
        slot = self._slots[index]
        self._drop(slot)
        slot.body = body
        self._recent[slot] = None
        self._kept += len(body)
        before = self.heights[index]
        self.heights[index] = len(slot.lead) + len(body)
        self.exact[index] = True
        return self.heights[index] != before

    def trim(self, seen: range) -> None:
        """Drop rows that were not seen for long, if too many are kept; those of ``seen`` stay."""
        for slot in list(self._recent):
            if self._kept <= KEPT_ROWS:
                return
            if slot.growth is None and self.index_of_number(slot.number) not in seen:
                self._drop(slot)

    # -- streaming --------------------------------------------------------------------------------------------------------

    def open(self, block: Block) -> Slot:
        """A block at the end whose text will grow, beginning with the text it has."""
        slot = self.append(block)
        text = "" if isinstance(block, ToolCard) else block.text
        slot.growth = MarkdownGrowth(text) if isinstance(block, ReplySaid) else PlainGrowth(text)
        slot.pending = True
        return slot

    def flush(self, index: int) -> tuple[int, bool]:
        """Lay out what streamed into a block; the first of its rows that changed, and whether its height did."""
        slot = self._slots[index]
        growth = slot.growth
        if growth is None:
            return 0, self.lay_out(index)
        slot.pending = False
        if isinstance(slot.block, Thought | ToolCard):
            folded = self.folded(slot.block)
            body = [card_header(slot.block, self.page, folded, growing=True)]
            if not folded and isinstance(slot.block, Thought):
                growth.lay_out(self.page)
                body += growth.rows
            first = 0
        else:
            first = growth.lay_out(self.page)
            body = growth.rows
        slot.body = body
        before = self.heights[index]
        self.heights[index] = len(slot.lead) + len(body)
        self.exact[index] = True
        return len(slot.lead) + first, self.heights[index] != before

    def toggle(self, id: str) -> bool:
        """Fold or unfold a card; whether it is folded now. Raises KeyError when there is none."""
        index = self.index(id)
        self.opened.symmetric_difference_update((id,))
        self.forget(index)
        self.lay_out(index)
        return id not in self.opened
