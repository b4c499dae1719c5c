"""A scrolling view of blocks that draws its own lines: placing, streaming, painting. Keys and mouse are in ``transcript``."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.transcript.blocks import Block, ReplySaid
from hermes_tui.tui.transcript.drawing import draw
from hermes_tui.tui.transcript.layout import Anchor, anchor_at, top_of
from hermes_tui.tui.transcript.messages import EarlierWanted, FollowChanged
from hermes_tui.tui.transcript.painting import MARGIN, RIGHT_MARGIN, highlight, paint
from hermes_tui.tui.transcript.palette import Palette
from hermes_tui.tui.transcript.rows import Page, Row
from hermes_tui.tui.transcript.selection import place
from hermes_tui.tui.transcript.slots import Slot, Slots
from hermes_tui.tui.transcript.warming import is_warm, warm_up, warm_up_more

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

FLUSH_SECONDS = 0.08
"""The shortest time between two renderings of streamed text."""
FLUSH_SHARE = 3
"""A rendering is followed by at least this many times its own cost without one, so that keys get through."""
HIDDEN_SECONDS = 0.5
"""How often to look whether a covered transcript is on the screen again while text streams into it."""
WARM_UP_SECONDS = 0.3
"""How long after mounting to load what laying out needs, if there is nothing to lay out before."""
MORE_SECONDS = 5.0
"""How long after that to load the rest, when the app has started up."""
OFF_LOOP_CHARACTERS = 2_000
"""A finished reply longer than this is laid out in a thread; shorter ones take a few milliseconds."""


class BlocksView(ScrollView, can_focus=True, can_focus_children=False):
    """Blocks one below the other, laid out when they are seen.

    It follows its end until the person scrolls up, and again when they reach the bottom.
    """

    EarlierWanted = EarlierWanted
    FollowChanged = FollowChanged

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.auto_links = False
        self._slots = Slots(Page(80, glyphs()))
        self._palette: Palette | None = None
        self._restyled = False
        self._strips: LRUCache[tuple[int, int, bool], Strip] = LRUCache(1024)
        self._follow = True
        self._placing = False
        self._painting = False
        self._earlier = False
        self._asked_earlier = False
        self._cursor: str | None = None
        self._flush_timer: Timer | None = None
        self._flushed_at = 0.0
        self._flush_cost = 0.0
        self._executor: ThreadPoolExecutor | None = None
        self._stopped = threading.Event()
        self._warming = False

    # -- what the parent tells it -----------------------------------------------------------------------------------------

    @property
    def following(self) -> bool:
        """Whether the end stays in view as text comes in."""
        return self._follow

    def set_blocks(self, blocks: Iterable[Block], earlier: bool = False) -> None:
        """Show these blocks and go to their end; ``earlier`` says that there are older ones to be asked for."""
        self._slots.set(blocks)
        self._strips.clear()
        self._earlier, self._asked_earlier = earlier, False
        self._cursor = None
        self._set_follow(True)
        self._place(None)

    def prepend(self, blocks: Iterable[Block], earlier: bool = True) -> None:
        """Older blocks above the others; the view does not move."""
        anchor = self._anchor()
        slot = self._slots[anchor.block] if anchor else None
        above = len(slot.lead) if slot else 0
        added = self._slots.prepend(blocks)
        self._earlier, self._asked_earlier = earlier, False
        if anchor and slot:
            # what was the oldest block may have a blank row above it now, or have lost its speaker's name
            anchor = Anchor(anchor.block + added, anchor.row + len(slot.lead) - above)
        self._place(anchor)

    def append(self, block: Block) -> None:
        """A block at the end, above what is queued."""
        anchor = self._anchor()
        self._slots.append(block)
        self._place(anchor)

    def replace(self, id: str, block: Block) -> None:
        """Another block in the place of one. Raises KeyError when there is none."""
        anchor = self._anchor()
        if self._cursor == id:
            self._cursor = block.id
        self._slots.replace(id, block)
        self._place(anchor)

    def drop(self, id: str) -> None:
        """Take a block away. Raises KeyError when there is none."""
        anchor = self._anchor()
        if self._cursor == id:
            self._cursor = None
        if anchor and anchor.block > self._slots.index(id):
            anchor = anchor._replace(block=anchor.block - 1)
        self._slots.remove(id)
        self._place(anchor)

    def stream_open(self, block: Block) -> None:
        """A block at the end whose text will grow."""
        anchor = self._anchor()
        self._slots.open(block)
        self._place(anchor)

    def stream_grow(self, id: str, text: str) -> None:
        """More text for a block that was opened; it is shown within a tenth of a second or so, if it is in view."""
        slot = self._slots.slot(id)
        if slot.growth is None:
            return
        slot.growth.grow(text)
        slot.pending = True
        self._schedule()

    def stream_close(self, id: str, block: Block) -> None:
        """The block is whole: it is laid out exactly, and takes the place of what was shown of it."""
        slot = self._slots.slot(id)
        grown = slot.body if slot.growth is not None else None
        anchor = self._anchor()
        if self._cursor == id:
            self._cursor = block.id
        self._slots.replace(id, block)
        if grown and isinstance(block, ReplySaid) and len(block.text) > OFF_LOOP_CHARACTERS:
            self._slots.give(self._slots.index(block.id), grown)
            self._lay_out_off_loop(slot)
        self._place(anchor)

    def scroll_to_end(self) -> None:
        """Go to the end and follow it."""
        self._place(None)

    # -- where things are -------------------------------------------------------------------------------------------------

    @property
    def _top(self) -> int:
        return round(self.scroll_y)

    @property
    def _page(self) -> Page:
        """What to lay out for at the size of the moment."""
        return Page(max(8, self.scrollable_content_region.width - MARGIN - RIGHT_MARGIN), glyphs(), not is_warm())

    def _anchor(self) -> Anchor | None:
        """What keeps the view in its place; None while it follows the end."""
        if self._follow or not len(self._slots):
            return None
        return anchor_at(self._slots.heights, self._slots.exact, self._top, self.size.height)

    def _place(self, anchor: Anchor | None) -> None:
        """Lay out what will be in view, then put the view where the anchor says (None: at the end)."""
        height = self.size.height
        if not self.size.width or not height:
            return
        slots, page = self._slots, self._page
        if page != slots.page:
            slots.set_page(page)
        if page.plain and len(slots):
            self._warm_up()
        heights, ahead = slots.heights, height // 2
        top, seen = 0, range(0)
        for _ in range(12):
            end = max(0, heights.total - height)
            top = end if anchor is None else min(top_of(heights, anchor), end)
            seen = heights.between(max(0, top - ahead), top + height + ahead)
            changed = False
            for index in seen:
                slot = slots[index]
                if slot.pending and slot.growth is not None:
                    changed |= self._flush_slot(index, top + height)
                elif slot.growth is None:
                    changed |= slots.lay_out(index)
            if not changed:
                break
        slots.trim(seen)
        self._placing = True
        try:
            self.virtual_size = Size(self.size.width, heights.total)
            self.scroll_y = self.scroll_target_y = top
        finally:
            self._placing = False
        self._set_follow(anchor is None or top >= max(0, heights.total - height))
        self.refresh()
        if self._earlier and not self._asked_earlier and top < height:
            self._asked_earlier = True
            self.post_message(EarlierWanted(self))

    def _set_follow(self, follow: bool) -> None:
        if follow != self._follow:
            self._follow = follow
            self.post_message(FollowChanged(self, follow))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Lay out what comes into view; following ends when the person leaves the bottom and begins again there."""
        super().watch_scroll_y(old_value, new_value)
        if self._placing or round(old_value) == round(new_value):
            return
        self._set_follow(new_value >= self.max_scroll_y)
        self._place(self._anchor())

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """Scroll at once: a moving target above estimated heights would miss its mark."""
        super().scroll_to(x, y, **{**options, "animate": False})

    def on_resize(self) -> None:
        """Lay out what is in view for the new width; the rest follows when it is seen."""
        anchor = self._anchor()
        if self._page != self._slots.page:
            self.screen.clear_selection()
        if anchor and self._page != self._slots.page:
            before = max(1, self._slots.heights[anchor.block])
            self._slots.set_page(self._page)
            self._slots.lay_out(anchor.block)
            if anchor.row > 0:
                anchor = anchor._replace(row=round(anchor.row * self._slots.heights[anchor.block] / before))
        self._place(anchor)

    # -- streaming --------------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        if self._flush_timer is not None or not self.is_mounted:
            return
        pause = max(FLUSH_SECONDS, FLUSH_SHARE * self._flush_cost)
        since = time.monotonic() - self._flushed_at
        self._flush_timer = self.set_timer(max(0.01, pause - since), self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        if self._covered():
            self._flush_timer = self.set_timer(HIDDEN_SECONDS, self._flush)
            return
        if self._follow or self._end_in_view():
            self._place(self._anchor())
        # otherwise the text waits until the person comes near

    def _covered(self) -> bool:
        """Whether another screen stands in front of this one, and not as a veil one sees through."""
        for screen in reversed(self.app.screen_stack):
            if screen is self.screen:
                return False
            if screen.styles.background.a == 1:
                return True
        return True

    def _end_in_view(self) -> bool:
        """Whether a block that waits for its text ends within the view."""
        bottom = self._top + self.size.height
        heights = self._slots.heights
        return any(
            self._slots[index].pending and heights.top(index + 1) <= bottom for index in heights.between(self._top, bottom)
        )

    def _flush_slot(self, index: int, bottom: int) -> bool:
        """Lay out streamed text if it would be seen; whether the block's height changed."""
        slot = self._slots[index]
        below = not self._follow and self._slots.heights.top(index + 1) > bottom
        if slot.body is not None and (below or self._covered()):
            return False
        started = time.monotonic()
        before = self._slots.heights[index]
        first, changed = self._slots.flush(index)
        for row in range(first, before):
            self._strips.discard((slot.version, row, False))
            self._strips.discard((slot.version, row, True))
        self._flushed_at = time.monotonic()
        self._flush_cost = self._flushed_at - started
        return changed

    def _lay_out_off_loop(self, slot: Slot) -> None:
        """Draw a finished reply in a thread and swap its rows in, if nothing else has happened to it meanwhile."""
        block, page, version = slot.block, self._slots.page, slot.version

        def swap(rows: list[Row]) -> None:
            if slot.version != version or self._slots.page != page or block.id not in self._slots or not self.is_mounted:
                return
            anchor = self._anchor()
            index = self._slots.index(block.id)
            self._slots.forget(index)
            self._slots.give(index, rows)
            self._place(anchor)

        app = self.app
        self._threads.submit(lambda: app.call_later(swap, draw(block, page, False)))

    @property
    def _threads(self) -> ThreadPoolExecutor:
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            self._executor = ThreadPoolExecutor(1, thread_name_prefix="transcript")
        return self._executor

    def on_mount(self) -> None:
        """Load parser and lexers once the first frame is out, so that the first reply does not stall on them."""
        self.set_timer(WARM_UP_SECONDS, self._warm_up)

    def _warm_up(self) -> None:
        if not self._warming:
            self._warming = True
            app = self.app
            self._threads.submit(warm_up).add_done_callback(lambda _: app.call_later(self._warmed))

    def _warmed(self) -> None:
        """Text can be laid out: what was shown as it is written is so now."""
        if self.is_mounted:
            self.set_timer(MORE_SECONDS, lambda: self._threads.submit(warm_up_more, self._stopped))
            if self._page != self._slots.page:
                self._place(self._anchor())

    def on_unmount(self) -> None:
        """End the thread; what it draws would not be seen."""
        self._stopped.set()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    # -- drawing ----------------------------------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        """Colours may have changed. They are compared when the next line is painted: here only some of them are known."""
        super().notify_style_update()
        self._restyled = True
        self.refresh()

    def _colours(self) -> Palette:
        """The palette of the moment; strips of other colours are forgotten, rows know no colours and stay."""
        if self._palette is None or self._restyled:
            self._restyled = False
            palette = Palette(self)
            if self._palette is None or not palette.looks_like(self._palette):
                self._palette = palette
                self._strips.clear()
        assert self._palette is not None
        return self._palette

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines for the screen; they need no selection offsets, which would make every style unique."""
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """One line of the view, with the places of its characters unless it is only painted."""
        width = self.size.width
        palette = self._colours()
        row = self._top + y
        if row >= self._slots.heights.total:
            return Strip.blank(width, palette.base)
        index = self._slots.heights.at(row)
        slot = self._slots[index]
        number = row - self._slots.heights.top(index)
        above = bool(slot.lead) and not number and not slot.lead[0].spans
        marked = self.has_focus and slot.block.id == self._cursor and not above
        key = (slot.version, number, marked)
        strip = self._strips.get(key)
        if strip is None or strip.cell_length != width:
            strip = paint(slot.row(number), palette, width, self._slots.page.glyphs, marked)
            if slot.body is not None:
                self._strips[key] = strip
        at = place(slot.number, number)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(at)) is not None:
            start = max(MARGIN, span[0])
            end = len(strip.text.rstrip()) if span[1] < 0 else span[1]
            strip = highlight(strip, start, end, palette.selection)
        return strip if self._painting else strip.apply_offsets(0, at)
