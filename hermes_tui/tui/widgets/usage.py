"""The cache and the cost: what the last request read, wrote and missed, what the last edit made of that, and the dollars."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import money, short
from hermes_tui.tui.readings import UsageReading


class UsageLines(Widget):
    """A line or three; none for what is not known."""

    DEFAULT_CSS = """
    UsageLines { height: auto; width: 1fr; color: $muted; }
    """

    reading = UsageReading()

    def show(self, reading: UsageReading) -> None:
        """Draw READING; nothing is laid out anew unless it takes more lines or fewer."""
        if reading != self.reading:
            width = self.content_size.width or 40
            lines = len(usage_lines(self.reading, width))
            self.reading = reading
            self.refresh(layout=lines != len(usage_lines(reading, width)))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as there are lines."""
        return len(usage_lines(self.reading, width))

    def render(self) -> Content:
        """The lines for the width it has."""
        return Content("\n").join(Content(line) for line in usage_lines(self.reading, self.content_size.width or 40))


def usage_lines(reading: UsageReading, width: int) -> list[str]:
    """READING in words, in lines of at most WIDTH cells."""
    parts: list[str] = []
    if reading.known:
        parts = [f"cache read {short(reading.read)}", f"written {short(reading.written)}", f"missed {short(reading.missed)}"]
        if reading.edit_missed is not None:
            parts.append(f"last edit missed {short(reading.edit_missed)}")
    if reading.cost:
        parts.append(f"cost {money(reading.cost)}")
        if reading.summaries:
            parts.append(f"summaries {money(reading.summaries)}")
    dot, lines = f" {glyphs().dot} ", list[str]()
    for part in parts:
        if lines and len(lines[-1]) + len(dot) + len(part) <= width:
            lines[-1] += dot + part
        else:
            lines.append(part[:width])
    return lines
