"""The transcript widget: scrolling, streaming, the cursor and the mouse over a list of blocks."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from hermes_tui.tui.clipboard import copy
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.transcript.blocks import Block, Divider, ReplySaid, is_card, written
from hermes_tui.tui.transcript.drawing import draw
from hermes_tui.tui.transcript.layout import Anchor, anchor_at, top_of
from hermes_tui.tui.transcript.looks import LOOKS
from hermes_tui.tui.transcript.markdown import code_blocks
from hermes_tui.tui.transcript.painting import MARGIN, RIGHT_MARGIN, highlight, paint
from hermes_tui.tui.transcript.palette import COMPONENTS, Palette
from hermes_tui.tui.transcript.rows import Page, Row
from hermes_tui.tui.transcript.selection import place, selected_text
from hermes_tui.tui.transcript.slots import Slot, Slots

FLUSH_SECONDS = 0.06
"""The shortest time between two renderings of streamed text."""
FLUSH_SHARE = 3
"""A rendering is followed by at least this many times its own cost without one, so that keys get through."""
HIDDEN_SECONDS = 0.5
"""How often to look whether a covered transcript is on the screen again while text streams into it."""
OFF_LOOP_CHARACTERS = 2_000
"""A finished reply longer than this is laid out in a thread; shorter ones take a few milliseconds."""


class Transcript(ScrollView, can_focus=True, can_focus_children=False):
    """A conversation as one widget that draws its own lines.

    What it shows is blocks, given by its parent; what is folded, selected and scrolled is its own. It follows the end until
    the person scrolls up, and again when they reach the bottom.
    """

    ALLOW_SELECT = True
    FOCUS_ON_CLICK = False
    """A click on a card or a link leaves the keyboard in the composer."""
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)
    DEFAULT_CSS = LOOKS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Previous", show=False),
        Binding("down,j", "cursor(1)", "Next", show=False),
        Binding("enter,space", "choose", "Open or fold", show=False),
        Binding("y", "copy_block", "Copy", show=False),
        Binding("c", "copy_code", "Copy code", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "top", "Beginning", show=False),
        Binding("end,G", "bottom", "End", show=False),
    ]

    @dataclass
    class EarlierWanted(Message):
        """The person is near the top and there are older messages: answer with ``prepend``."""

        transcript: Transcript

        @property
        def control(self) -> Transcript:
            """The transcript."""
            return self.transcript

    @dataclass
    class BlockSelected(EarlierWanted):
        """The cursor moved to a block."""

        id: str

    @dataclass
    class DividerChosen(EarlierWanted):
        """A divider was clicked, or chosen with Enter."""

        id: str

    @dataclass
    class CardToggled(EarlierWanted):
        """A card was folded or unfolded."""

        id: str
        folded: bool

    @dataclass
    class LinkChosen(EarlierWanted):
        """A link was clicked. The address is a model's word: whoever opens it decides whether to."""

        url: str

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.auto_links = False
        self._slots = Slots(Page(80, glyphs()))
        self._palette: Palette | None = None
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

    # -- what the parent tells it -----------------------------------------------------------------------------------------

    @property
    def following(self) -> bool:
        """Whether the end stays in view as text comes in."""
        return self._follow

    @property
    def cursor(self) -> str | None:
        """The id of the block under the cursor, if any."""
        return self._cursor

    def set_blocks(self, blocks: Iterable[Block], earlier: bool = False) -> None:
        """Show these blocks and go to their end; ``earlier`` says that there are older ones to be asked for."""
        self._slots.set(blocks)
        self._strips.clear()
        self._earlier, self._asked_earlier = earlier, False
        self._cursor, self._follow = None, True
        self._place(None)

    def prepend(self, blocks: Iterable[Block], earlier: bool = True) -> None:
        """Older blocks above the others; the view does not move."""
        anchor = self._anchor()
        added = self._slots.prepend(blocks)
        self._earlier, self._asked_earlier = earlier, False
        self._place(anchor and anchor._replace(block=anchor.block + added))

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

    def reveal(self, id: str) -> None:
        """Put the cursor on a block and scroll it into view. Raises KeyError when there is none."""
        self._move_to(self._slots.index(id), top=True)

    def scroll_to_end(self) -> None:
        """Go to the end and follow it."""
        self._place(None)

    # -- where things are -------------------------------------------------------------------------------------------------

    @property
    def _top(self) -> int:
        return round(self.scroll_y)

    def _anchor(self) -> Anchor | None:
        """What keeps the view in its place; None while it follows the end."""
        if self._follow or not len(self._slots):
            return None
        return anchor_at(self._slots.heights, self._slots.exact, self._top, self.size.height)

    def _place(self, anchor: Anchor | None) -> None:
        """Lay out what will be in view, then put the view where the anchor says (None: at the end)."""
        width, height = self.size
        if not width or not height:
            return
        slots = self._slots
        page = Page(max(8, width - MARGIN - RIGHT_MARGIN), glyphs())
        if page != slots.page:
            slots.set_page(page)
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
            self.virtual_size = Size(width, heights.total)
            self.scroll_y = self.scroll_target_y = top
        finally:
            self._placing = False
        self._follow = anchor is None or top >= max(0, heights.total - height)
        self.refresh()
        if self._earlier and not self._asked_earlier and top < height:
            self._asked_earlier = True
            self.post_message(self.EarlierWanted(self))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Lay out what comes into view; following ends when the person leaves the bottom and begins again there."""
        super().watch_scroll_y(old_value, new_value)
        if self._placing or round(old_value) == round(new_value):
            return
        self._follow = new_value >= self.max_scroll_y
        self._place(self._anchor())

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """Scroll at once: a moving target above estimated heights would miss its mark."""
        super().scroll_to(x, y, **{**options, "animate": False})

    def on_resize(self) -> None:
        """Lay out what is in view for the new width; the rest follows when it is seen."""
        anchor = self._anchor()
        width = max(8, self.size.width - MARGIN - RIGHT_MARGIN)
        if anchor and width != self._slots.page.width:
            before = max(1, self._slots.heights[anchor.block])
            self._slots.set_page(Page(width, glyphs()))
            self._slots.lay_out(anchor.block)
            if anchor.row > 0:
                anchor = anchor._replace(row=round(anchor.row * self._slots.heights[anchor.block] / before))
            self.screen.clear_selection()
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
        if not self.screen.is_current:
            self._flush_timer = self.set_timer(HIDDEN_SECONDS, self._flush)
            return
        if self._follow or self._end_in_view():
            self._place(self._anchor())
        # otherwise the text waits until the person comes near

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
        if not self._follow and slot.body is not None and self._slots.heights.top(index + 1) > bottom:
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
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="transcript")
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
        self._executor.submit(lambda: app.call_later(swap, draw(block, page, False)))

    def on_unmount(self) -> None:
        """End the thread; what it draws would not be seen."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    # -- drawing ----------------------------------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        """Colours may have changed: strips are painted anew if they did. Rows know no colours and stay."""
        super().notify_style_update()
        if self._palette is not None:
            palette = Palette(self)
            if palette != self._palette:
                self._palette = palette
                self._strips.clear()

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
        palette = self._palette
        if palette is None:
            palette = self._palette = Palette(self)
        row = self._top + y
        if row >= self._slots.heights.total:
            return Strip.blank(width, palette.base)
        index = self._slots.heights.at(row)
        slot = self._slots[index]
        number = row - self._slots.heights.top(index)
        marked = self.has_focus and slot.block.id == self._cursor and bool(number or len(slot.lead) != 1 or slot.lead[0].spans)
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
            strip = highlight(strip, start, end, self.screen.get_component_rich_style("screen--selection"))
        return strip if self._painting else strip.apply_offsets(0, at)

    # -- selection and clicks ---------------------------------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, as it should be in the clipboard."""
        text = selected_text(self._slots, selection, self._top)
        return (text, "\n") if text else None

    def selection_updated(self, selection: Selection | None) -> None:
        """Show the new selection."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Fold a card, choose a divider, follow a link, copy a code block; a drag that ends here does none of it."""
        if self.text_selection is not None:
            return
        hit = event.style.meta.get("hit")
        if hit is not None:
            event.stop()
            self._hit(*hit)

    def _hit(self, what: str, which: str) -> None:
        if what == "fold" and which in self._slots:
            self._toggle(which)
        elif what == "divider":
            self.post_message(self.DividerChosen(self, which))
        elif what == "link":
            self.post_message(self.LinkChosen(self, which))
        elif what == "copy":
            self._copy(which)

    def _toggle(self, id: str) -> None:
        """Fold or unfold a card; its header stays where it is."""
        index = self._slots.index(id)
        anchor = Anchor(index, self._top - self._slots.heights.top(index))
        folded = self._slots.toggle(id)
        self._place(anchor)
        self.post_message(self.CardToggled(self, id, folded))

    def _copy(self, text: str) -> None:
        copied = copy(self.app, text)
        self.notify(copied.sentence, severity="information" if copied.route != "none" else "warning", markup=False)

    # -- the keyboard -----------------------------------------------------------------------------------------------------

    def on_focus(self) -> None:
        """Show the cursor; at first it is on the last block in view."""
        if self._cursor not in self._slots and len(self._slots):
            self._cursor = self._slots[self._slots.heights.at(self._top + self.size.height - 1)].block.id
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.refresh()

    def _move_to(self, index: int, top: bool) -> None:
        """Put the cursor on a block, in view: its top, or its bottom."""
        slot = self._slots[index]
        self._cursor = slot.block.id
        self._slots.lay_out(index)
        heights, height = self._slots.heights, self.size.height
        first, after = heights.top(index), heights.top(index + 1)
        if self._top <= first and after <= self._top + height:
            self.refresh()
        elif after - first >= height:
            self._place(Anchor(index, 0 if top else after - first - height))
        elif first < self._top:
            self._place(Anchor(index, 0))
        else:
            self._place(Anchor(index, after - first - height))
        self.post_message(self.BlockSelected(self, slot.block.id))

    def action_cursor(self, step: int) -> None:
        """Move to the next block or the one before; a block that goes on beyond the view is scrolled first."""
        if not len(self._slots):
            return
        if self._cursor not in self._slots:
            self.on_focus()
        assert self._cursor is not None
        index = self._slots.index(self._cursor)
        heights, height = self._slots.heights, self.size.height
        first, after = heights.top(index), heights.top(index + 1)
        beyond = after - (self._top + height) if step > 0 else self._top - first
        in_view = first < self._top + height and after > self._top
        if in_view and beyond > 0:
            self.scroll_to(y=self._top + step * min(beyond, max(1, height // 3)))
        elif 0 <= index + step < len(self._slots):
            self._move_to(index + step, top=step > 0)

    def action_page(self, step: int) -> None:
        """Scroll by a view, less two rows to keep one's place; the cursor comes along."""
        self.scroll_to(y=self._top + step * max(1, self.size.height - 2))
        self._cursor_into_view()

    def action_top(self) -> None:
        """Go to the oldest block there is."""
        self.scroll_to(y=0)
        self._cursor_into_view()

    def action_bottom(self) -> None:
        """Go to the end and follow it."""
        self._place(None)
        self._cursor_into_view()

    def _cursor_into_view(self) -> None:
        if not len(self._slots):
            return
        heights, bottom = self._slots.heights, self._top + self.size.height
        seen = heights.between(self._top, bottom)
        if self._cursor is None or self._cursor not in self._slots or self._slots.index(self._cursor) not in seen:
            index = seen[-1] if self._follow else next((k for k in seen if heights.top(k) >= self._top), seen[0])
            self._cursor = self._slots[index].block.id
            self.post_message(self.BlockSelected(self, self._cursor))
        self.refresh()

    def action_choose(self) -> None:
        """Fold or unfold the card under the cursor, or choose the divider."""
        if self._cursor is None or self._cursor not in self._slots:
            return
        block = self._slots.slot(self._cursor).block
        if is_card(block):
            self._toggle(block.id)
        elif isinstance(block, Divider):
            self.post_message(self.DividerChosen(self, block.id))

    def action_copy_block(self) -> None:
        """Copy the block under the cursor as it was written."""
        if self._cursor is not None and self._cursor in self._slots:
            self._copy(written(self._slots.slot(self._cursor).block))

    def action_copy_code(self) -> None:
        """Copy the last code block of the reply under the cursor."""
        if self._cursor is None or self._cursor not in self._slots:
            return
        block = self._slots.slot(self._cursor).block
        found = code_blocks(block.text) if isinstance(block, ReplySaid) else []
        if found:
            self._copy(found[-1])
        else:
            self.notify("There is no code block in this message", severity="warning", markup=False)
