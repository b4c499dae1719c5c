"""The heading: what the conversation is called, who answers it, which session of its chain this is."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.glyphs import glyphs


class Heading(Widget):
    """One line at the top."""

    DEFAULT_CSS = """
    Heading { height: 1; background: $background; padding: 0 1; }
    """

    heading = ""
    model = ""
    ordinal = 0
    sessions = 0

    def show(self, *, title: str | None = None, model: str | None = None, ordinal: int = 0, sessions: int = 0) -> None:
        """Show what is given; the rest stays."""
        self.heading = self.heading if title is None else title
        self.model = self.model if model is None else model
        self.ordinal, self.sessions = ordinal or self.ordinal, sessions or self.sessions
        self.refresh()

    def render(self) -> Content:
        """Title left, model and session right; a narrow line gives up the model."""
        width = self.content_size.width or 80
        session = f"session {self.ordinal} of {self.sessions}" if self.sessions else ""
        model = clean_line(self.model)
        title = clean_line(self.heading) or "New conversation"
        right = f" {glyphs().dot} ".join(part for part in (model, session) if part)
        if len(right) > width // 2 and session:
            right = session
        room = max(0, width - len(right) - 2)
        if cell_len(title) > room:
            title = set_cell_size(title, max(0, room - 1)) + glyphs().ellipsis
        gap = " " * max(0, width - cell_len(title) - len(right))
        return Content.assemble((title, "bold $foreground"), gap, (right, "$muted"))
