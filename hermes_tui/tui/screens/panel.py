"""A panel: a screen that lies over the page, with a title, closed by Esc."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.failures import Steadfast

T = TypeVar("T")


class Panel(Steadfast, ModalScreen[T]):
    """What all panels share: the box, its title, its hint, the way out."""

    DEFAULT_CSS = """
    Panel {
        align: center middle;
        background: $background 70%;
        & > #panel {
            width: 90%;
            max-width: 100;
            height: auto;
            max-height: 90%;
            border: round $accent;
            background: $background;
            padding: 0 1;
            border-title-color: $foreground;
            border-title-style: bold;
            border-subtitle-color: $muted;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "close", show=False)]

    heading: ClassVar[str] = ""
    hint: ClassVar[str] = "esc closes"

    def compose(self) -> ComposeResult:
        """The box, and the parts of the panel in it."""
        box = Vertical(id="panel")
        box.border_title = Content(clean_line(self.title_text()))
        box.border_subtitle = Content(self.hint)
        with box:
            yield from self.parts()

    def title_text(self) -> str:
        """The title in the border."""
        return self.heading

    def parts(self) -> ComposeResult:
        """What stands in the box."""
        raise NotImplementedError

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
