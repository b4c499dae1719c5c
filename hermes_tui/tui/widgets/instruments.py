"""The instruments of the inspector: gauge, entries, summary and the tokens of each request."""

from __future__ import annotations

from dataclasses import replace

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.readings import ContextReading, EntryRow
from hermes_tui.tui.widgets.entries import EntryList
from hermes_tui.tui.widgets.gauge import Gauge
from hermes_tui.tui.widgets.spark import RequestSpark
from hermes_tui.tui.widgets.summary import SummaryPanel
from hermes_tui.tui.widgets.usage import UsageLines


class Instruments(Vertical):
    """What is sent, drawn from the same view that the request is rendered from."""

    DEFAULT_CSS = """
    Instruments {
        background: $background;
        & > Static { height: 1; }
        & > #entries { height: 3fr; }
        & > SummaryPanel { height: 2fr; margin-top: 1; }
        & > #entry-why { height: 1; color: $muted; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """

    def __init__(self, *, id: str | None = None, read_only: bool = False) -> None:
        super().__init__(id=id)
        self._read_only = read_only
        self._row: EntryRow | None = None

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        yield Gauge(id="gauge")
        yield UsageLines(id="usage")
        yield Static(_heading(), id="entries-title", markup=False)
        yield EntryList(id="entries")
        yield Static(id="entry-why", markup=False)
        yield SummaryPanel(id="summary")
        yield RequestSpark(id="spark")

    def show(self, reading: ContextReading) -> None:
        """Draw READING in every part."""
        if not self.is_mounted:
            return
        self.query_one(Gauge).show(reading.gauge)
        self.query_one(UsageLines).show(reading.usage)
        self.query_one(EntryList).show(reading.entries)
        self.query_one(SummaryPanel).show(reading.summary)
        self.query_one(RequestSpark).show(reading.requests)

    @property
    def writing(self) -> str:
        """The summary as far as it is written, "" when none is."""
        return self.query_one(SummaryPanel).reading.writing if self.is_mounted else ""

    def show_writing(self, text: str) -> None:
        """Draw the summary as far as it is written; "" when none is being written."""
        if self.is_mounted:
            panel = self.query_one(SummaryPanel)
            panel.show(replace(panel.reading, writing=text))

    @on(EntryList.Pointed)
    def _tell_why(self, event: EntryList.Pointed) -> None:
        """Say of the entry under the cursor why it is where and how it is."""
        event.stop()
        self._row = event.row
        self.query_one("#entry-why", Static).update(_why(event.row), layout=False)
        self._head()

    def on_resize(self) -> None:
        """The heading names its columns at the right edge."""
        self._head()

    def on_descendant_focus(self) -> None:
        """While the entries have the keys, the heading names them."""
        self._head()

    def on_descendant_blur(self) -> None:
        """Without them, it does not."""
        self._head()

    def _head(self) -> None:
        focused = self.is_mounted and self.query_one(EntryList).has_focus
        keys = _keys(self._row) if focused and not self._read_only else ""
        self.query_one("#entries-title", Static).update(_heading(self.content_size.width, keys), layout=False)


def _heading(width: int = 0, keys: str = "") -> Content:
    """ENTRIES, the KEYS that work on the one under the cursor, and what the last column is."""
    right = "tokens"
    keys = f"  {keys}" if keys and len(keys) + 18 <= width else ""
    rest = right.rjust(max(len(right) + 1, width - 7 - len(keys)))
    return Content.assemble(("ENTRIES", "bold $foreground"), (keys, "$accent"), (rest, "$muted"))


def _keys(row: EntryRow | None) -> str:
    """What p and d do to ROW."""
    if row is None or not row.message:
        return ""
    return f"p {'unpin' if row.treatment == 'pinned' else 'pin'} · d {'send again' if row.treatment == 'dropped' else 'drop'}"


def _why(row: EntryRow | None) -> Content:
    """The reason of ROW and what Enter does."""
    if row is None:
        return Content("")
    opens = "enter opens the original · " if row.after is not None else ""
    return Content.assemble((opens, "$accent"), (clean_line(row.why) or row.treatment, "$muted"))
