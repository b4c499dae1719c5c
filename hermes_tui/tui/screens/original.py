"""An original: a message as it was said, whole, whatever stands for it in the context now."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from hermes_tui.tui.clean import clean
from hermes_tui.tui.screens.panel import Panel


class OriginalScreen(Panel[None]):
    """Shows TEXT under TITLE; NOTE says what is sent in its place."""

    hint: ClassVar[str] = "esc closes · arrows scroll · c copies all"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "copy_all", "copy", show=False)]
    DEFAULT_CSS = """
    OriginalScreen {
        & > #panel { height: 90%; max-width: 120; }
        & #note { height: auto; max-height: 4; color: $muted; }
        & TextArea { height: 1fr; border: none; padding: 0; background: $background; scrollbar-size-vertical: 1; }
        & TextArea:focus { border: none; }
    }
    """

    def __init__(self, title: str, text: str, note: str = "") -> None:
        super().__init__()
        self._title, self._text, self._note = title, text, note

    def title_text(self) -> str:
        """What this is the original of."""
        return self._title

    def parts(self) -> ComposeResult:
        """The note, and the text to be scrolled and selected."""
        if self._note:
            yield Static(clean(self._note), id="note", markup=False)
        yield TextArea(clean(self._text), read_only=True, show_cursor=False, highlight_cursor_line=False)

    def action_copy_all(self) -> None:
        """Copy the whole original."""
        self.app.copy_to_clipboard(self._text)
