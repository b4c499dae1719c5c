"""Tokens per request, as a line of bars: what compressions did over time."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import short
from hermes_tui.tui.readings import spark_levels


class RequestSpark(Widget):
    """The prompt tokens of the last requests."""

    DEFAULT_CSS = """
    RequestSpark { height: 2; width: 1fr; }
    """

    requests: tuple[int, ...] = ()

    def show(self, requests: tuple[int, ...]) -> None:
        """Draw REQUESTS, oldest first; nothing is laid out anew."""
        if requests != self.requests:
            self.requests = requests
            self.refresh()

    def render(self) -> Content:
        """The bars and what they are."""
        width = self.content_size.width or 40
        if not self.requests:
            return Content("")
        bars = "".join(glyphs().spark[level] for level in spark_levels(self.requests, width))
        top = short(max(self.requests[-width:]))
        label = "tokens per request"
        return Content.assemble(
            (bars, "$region-tail"), "\n", (label, "$muted"), (f"most {top}".rjust(width - len(label)), "$muted")
        )
