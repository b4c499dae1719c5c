"""ENTRIES: the context as a list, one line for each entry, drawn line by line however long it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.failures import Steadfast
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import short
from hermes_tui.tui.readings import EntryRow

WHY_FROM = 58
"""From this many cells on there is room for the reason on the row itself."""
ROLE_CELLS = 8
TOKEN_CELLS = 14
"""What the widest tokens take ("41.8k → 1.2k"), so that reasons stand below each other."""


def cut(text: str, cells: int) -> str:
    """TEXT on one line of exactly CELLS cells."""
    line = clean_line(text)
    if cell_len(line) > cells:
        line = set_cell_size(line, max(0, cells - 1)) + (glyphs().ellipsis if cells else "")
    return set_cell_size(line, cells)


class EntryList(Steadfast, ScrollView, can_focus=True):
    """The entries of a context; Enter opens the original of the one under the cursor, p pins it, d drops it."""

    DEFAULT_CSS = """
    EntryList {
        height: 1fr;
        min-height: 3;
        background: $background;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & .entries--system { color: $region-system; }
        & .entries--head { color: $region-head; }
        & .entries--summary { color: $region-summary; }
        & .entries--middle { color: $region-middle; }
        & .entries--tail { color: $region-tail; }
        & .entries--pinned { color: $accent; }
        & .entries--text { color: $foreground; }
        & .entries--muted { color: $muted; }
        & .entries--cursor { background: $surface; text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "entries--system",
        "entries--head",
        "entries--summary",
        "entries--middle",
        "entries--tail",
        "entries--pinned",
        "entries--text",
        "entries--muted",
        "entries--cursor",
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "jump(0)", "first", show=False),
        Binding("end,G", "jump(-1)", "last", show=False),
        Binding("enter", "open", "open the original", show=False),
        Binding("p", "mark('pin')", "pin or unpin", show=False),
        Binding("d", "mark('drop')", "drop or send again", show=False),
    ]

    cursor: reactive[int] = reactive(0)
    """The row under the cursor."""

    @dataclass
    class Opened(Message):
        """Enter or a click on a row: show what it stands for."""

        entries: EntryList
        row: EntryRow

        @property
        def control(self) -> EntryList:
            """The list it came from."""
            return self.entries

    @dataclass
    class MarkAsked(Message):
        """p or d on a row: pin it or drop it, or take that back."""

        entries: EntryList
        row: EntryRow
        key: Literal["pin", "drop"]

        @property
        def control(self) -> EntryList:
            """The list it came from."""
            return self.entries

    @dataclass
    class Pointed(Message):
        """The cursor came to a row (None when the list is empty)."""

        entries: EntryList
        row: EntryRow | None

        @property
        def control(self) -> EntryList:
            """The list it came from."""
            return self.entries

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: tuple[EntryRow, ...] = ()
        self._lines: dict[tuple[int, int, bool], Strip] = {}

    @property
    def rows(self) -> tuple[EntryRow, ...]:
        """The rows shown."""
        return self._rows

    def show(self, rows: tuple[EntryRow, ...]) -> None:
        """Show ROWS; the cursor stays on its entry, and a list looked at from its end goes on to the new end."""
        if rows == self._rows:
            return
        at_end = self.cursor >= len(self._rows) - 1
        position = self._rows[self.cursor].position if self._rows and self.cursor < len(self._rows) else None
        self._rows = rows
        self._lines.clear()
        self.virtual_size = Size(self.size.width, len(rows))
        last = max(0, len(rows) - 1)
        place = next((i for i, row in enumerate(rows) if row.position == position), last)
        self.cursor = last if at_end and not self.has_focus else min(place, last)
        self.call_after_refresh(self._show_cursor)
        self.refresh()
        self._tell()

    def watch_cursor(self) -> None:
        """Keep the cursor in view."""
        self._show_cursor()
        self.refresh()
        self._tell()

    def _tell(self) -> None:
        row = self._rows[self.cursor] if self.cursor < len(self._rows) else None
        self.post_message(self.Pointed(self, row))

    def _show_cursor(self) -> None:
        if self._rows:
            self.scroll_to_region(Region(0, self.cursor, self.size.width or 1, 1), animate=False, force=True)

    def action_move(self, rows: int) -> None:
        """Move the cursor by ROWS."""
        self.cursor = max(0, min(len(self._rows) - 1, self.cursor + rows))

    def action_page(self, pages: int) -> None:
        """Move the cursor by PAGES."""
        self.action_move(pages * max(1, self.size.height - 1))

    def action_jump(self, to: int) -> None:
        """Move to the first (0) or the last (-1) row."""
        self.cursor = 0 if to == 0 else max(0, len(self._rows) - 1)

    def action_open(self) -> None:
        """Open what the row under the cursor stands for."""
        if self.cursor < len(self._rows):
            self.post_message(self.Opened(self, self._rows[self.cursor]))

    def action_mark(self, key: Literal["pin", "drop"]) -> None:
        """Ask for the entry under the cursor to be pinned or dropped."""
        if self.cursor < len(self._rows):
            self.post_message(self.MarkAsked(self, self._rows[self.cursor], key))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a second one on the same row opens it."""
        row = int(event.y + self.scroll_offset.y)
        if 0 <= row < len(self._rows):
            if row == self.cursor:
                self.action_open()
            self.cursor = row

    def on_resize(self) -> None:
        """A new width: every line is drawn anew when it is looked at."""
        self._lines.clear()
        self.virtual_size = Size(self.size.width, len(self._rows))

    def on_focus(self) -> None:
        """The cursor is drawn stronger while the list has the keys."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor is drawn weaker without them."""
        self.refresh()

    def notify_style_update(self) -> None:
        """A new theme: forget every line."""
        self._lines.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """The line of the entry at row Y of what is in view."""
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        base = self.rich_style
        if index >= len(self._rows):
            return Strip.blank(width, base)
        under = index == self.cursor and self.has_focus
        key = (index, width, under)
        if key not in self._lines:
            self._lines[key] = self._draw(self._rows[index], width, under)
        return self._lines[key]

    def _draw(self, row: EntryRow, width: int, under: bool) -> Strip:
        """ROW in WIDTH cells."""
        base = self.rich_style
        if under:
            base += self.get_component_rich_style("entries--cursor", partial=True)

        def style(name: str) -> Style:
            return base + self.get_component_rich_style(f"entries--{name}", partial=True)

        table = glyphs()
        changed = row.treatment in ("pruned", "clipped", "dropped", "pinned")
        sign = str(getattr(table, row.treatment if changed else row.region))
        tokens = short(row.before)
        if row.treatment == "dropped":
            tokens = f"{tokens} {table.arrow} 0"
        elif row.after is not None:
            tokens = f"{tokens} {table.arrow} {short(row.after)}"
        reason = width // 4 if width >= WHY_FROM else 0
        right = max(TOKEN_CELLS if reason else 0, cell_len(tokens) + 1)
        middle = max(0, width - ROLE_CELLS - 2 - right - (reason + 2 if reason else 0))
        segments = [
            Segment(sign + " ", style(row.region)),
            Segment(set_cell_size(row.role, ROLE_CELLS), style("muted")),
            Segment(cut(row.snippet, middle), style("muted" if row.treatment in ("pruned", "dropped") else "text")),
        ]
        if reason:
            segments.append(Segment("  " + cut(row.why, reason), style("muted")))
        segments.append(Segment(" " * (right - cell_len(tokens)) + tokens, style("text")))
        return Strip(segments).adjust_cell_length(width, base)
