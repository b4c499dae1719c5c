"""The transcript widget: cursor, keys, mouse, selection and copying over a view of blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.selection import Selection

from hermes_tui.tui.clipboard import copy
from hermes_tui.tui.transcript.blocks import Block, Divider, ReplySaid, is_card, written
from hermes_tui.tui.transcript.layout import Anchor
from hermes_tui.tui.transcript.looks import LOOKS
from hermes_tui.tui.transcript.markdown import code_blocks
from hermes_tui.tui.transcript.messages import BlockSelected, CardToggled, DividerChosen, LinkChosen
from hermes_tui.tui.transcript.selection import selected_text
from hermes_tui.tui.transcript.view import BlocksView


class Transcript(BlocksView):
    """A conversation as one widget that draws its own lines.

    What it shows is blocks, given by its parent; what is folded, selected and scrolled is its own.
    """

    ALLOW_SELECT = True
    DEFAULT_CSS = LOOKS
    FOCUS_ON_CLICK = False
    """A click on a card or a link leaves the keyboard in the composer."""
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

    BlockSelected = BlockSelected
    DividerChosen = DividerChosen
    CardToggled = CardToggled
    LinkChosen = LinkChosen

    @property
    def cursor(self) -> str | None:
        """The id of the block under the cursor, if any."""
        return self._cursor

    def set_blocks(self, blocks: Iterable[Block], earlier: bool = False) -> None:
        """Show these blocks and go to their end; ``earlier`` says that there are older ones to be asked for."""
        super().set_blocks(blocks, earlier)
        if self.has_focus:
            self.on_focus()

    def reveal(self, id: str) -> None:
        """Put the cursor on a block and scroll it into view. Raises KeyError when there is none."""
        self._move_to(self._slots.index(id), top=True)

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
            self.post_message(DividerChosen(self, which))
        elif what == "link":
            self.post_message(LinkChosen(self, which))
        elif what == "copy":
            self._copy(which)

    def _toggle(self, id: str) -> None:
        """Fold or unfold a card; its header stays where it is."""
        index = self._slots.index(id)
        anchor = Anchor(index, self._top - self._slots.heights.top(index))
        folded = self._slots.toggle(id)
        self._place(anchor)
        self.post_message(CardToggled(self, id, folded))

    def _copy(self, text: str) -> None:
        copied = copy(self.app, text)
        self.notify(copied.sentence, severity="information" if copied.route != "none" else "warning", markup=False)

    # -- the keyboard -----------------------------------------------------------------------------------------------------

    def on_focus(self) -> None:
        """Show the cursor; at first it is on the last block in view."""
        if self._cursor not in self._slots and len(self._slots):
            last = len(self._slots) - 1
            index = last if self.following else self._slots.heights.at(self._top + self.size.height - 1)
            self._cursor = self._slots[index].block.id
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
        self.post_message(BlockSelected(self, slot.block.id))

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
            self.post_message(BlockSelected(self, self._cursor))
        self.refresh()

    def action_choose(self) -> None:
        """Fold or unfold the card under the cursor, or choose the divider."""
        if self._cursor is None or self._cursor not in self._slots:
            return
        block = self._slots.slot(self._cursor).block
        if is_card(block):
            self._toggle(block.id)
        elif isinstance(block, Divider):
            self.post_message(DividerChosen(self, block.id))

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
