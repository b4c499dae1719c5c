"""SUMMARY: the current summary, prose and ledger, or the one being written as it comes."""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from hermes_tui.tui.clean import clean
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import counted
from hermes_tui.tui.readings import SummaryReading

SECTION_TITLES: Final = {"Constraints and preferences": "Rules", "Open questions": "Open"}
"""Short names for the longer sections; the others go by their own."""


class SummaryPanel(Widget):
    """The summary of the context, with what it kept and what it lost."""

    DEFAULT_CSS = """
    SummaryPanel {
        height: 1fr;
        min-height: 3;
        & > #summary-title { height: 1; }
        & > #summary-body { height: 1fr; scrollbar-size-vertical: 1; }
    }
    """

    reading = SummaryReading()

    def compose(self) -> ComposeResult:
        """A title line and the text under it."""
        yield Static(id="summary-title", markup=False)
        with VerticalScroll(id="summary-body"):
            yield Static(id="summary-text", markup=False)

    def on_mount(self) -> None:
        """Say what this place is for before there is anything."""
        self._draw()

    def on_resize(self) -> None:
        """The title is set to the width."""
        self._draw_title()

    def show(self, reading: SummaryReading) -> None:
        """Show READING; a summary being written is followed to its end."""
        if reading != self.reading:
            self.reading = reading
            if self.is_mounted:
                self._draw()

    def _draw(self) -> None:
        self._draw_title()
        body = self.query_one("#summary-body", VerticalScroll)
        follow = bool(self.reading.writing) and body.scroll_offset.y >= body.max_scroll_y - 1
        self.query_one("#summary-text", Static).update(summary_content(self.reading))
        if follow:
            body.scroll_end(animate=False)

    def _draw_title(self) -> None:
        self.query_one("#summary-title", Static).update(title_content(self.reading, self.size.width), layout=False)


def title_content(reading: SummaryReading, width: int) -> Content:
    """The title line: which version, and how much of what it replaced still stands."""
    left = f"SUMMARY v{reading.version}" if reading.version else "SUMMARY"
    if reading.writing:
        right = "being written"
    elif reading.total:
        lost = reading.total - reading.kept
        right = f"kept {reading.kept}/{reading.total}" + (f" · {lost} lost" if lost else "")
    elif reading.version:
        right = counted(reading.told, "message")
    else:
        right = ""
    gap = max(1, width - len(left) - len(right))
    return Content.assemble((left, "bold $foreground"), " " * gap, (right, "$accent" if reading.writing else "$muted"))


def summary_content(reading: SummaryReading) -> Content:
    """The text: the draft while one is written, else prose, ledger and the lost facts; else what will come here."""
    if reading.writing:
        return _draft(clean(reading.writing))
    if not reading.version:
        return Content.assemble(
            ("Nothing has been summarised yet. From the warm mark on the summary is written in the background; "
             "/compress makes one now.", "$muted")
        )  # fmt: skip
    parts: list[tuple[str, str]] = []
    for section, text in reading.prose:
        parts += [(SECTION_TITLES.get(section, section), "bold $region-summary"), ("\n" + clean(text.strip()) + "\n\n", "")]
    for section, lines in reading.ledger:
        parts.append((section.capitalize(), "bold $region-head"))
        parts += [(f"\n{glyphs().bullet} {clean(line)}", "") for line in lines]
        parts.append(("\n\n", ""))
    if reading.lost:
        parts.append(("Lost", "bold $warning"))
        parts += [(f"\n{glyphs().times} {clean(kind)}: {clean(text)}", "$warning") for kind, text in reading.lost]
        parts.append(("\n\n", ""))
    author = f"written by {clean(reading.author)}" if reading.author else "made by rule, without a model"
    parts.append((f"{author} · stands for {counted(reading.told, 'message')}", "$muted"))
    return Content.assemble(*parts)


def _draft(text: str) -> Content:
    """A summary as far as it is written: its headings as they will stand, the caret where it goes on."""
    parts: list[tuple[str, str]] = []
    for line in text.split("\n"):
        heading = line.removeprefix("## ")
        if heading != line:
            parts.append((SECTION_TITLES.get(heading.strip(), heading) + "\n", "bold $region-summary"))
        else:
            parts.append((line + "\n", ""))
    if parts:
        parts[-1] = (parts[-1][0][:-1], parts[-1][1])
    return Content.assemble(*parts, (glyphs().caret, "$region-summary"))
