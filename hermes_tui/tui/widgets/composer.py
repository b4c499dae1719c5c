"""The composer: where a message is written.

Enter sends; Shift+Enter or Ctrl+J begins a new line; it grows from one row to ten. A long paste stands as a chip and is put in
on sending. Up on the first line and Down on the last walk through what was sent before.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from hermes_tui.tui.clean import clean
from hermes_tui.tui.failures import Steadfast
from hermes_tui.tui.numbers import short

PASTE_LINES: Final = 200
"""A paste of more lines than this becomes a chip."""
PASTE_CHARACTERS: Final = 40_000
"""So does a longer one of fewer lines: laying out 100 kB in one line takes 150 ms."""
HISTORY: Final = 500
"""Sent texts that are remembered."""

NEWLINE_KEYS: Final = frozenset({"ctrl+j", "shift+enter", "alt+enter", "shift+\r", "ctrl+enter", "ctrl+\r"})
"""Keys that begin a new line; the odd ones are what Shift+Enter becomes in terminals without the kitty protocol."""


class _AltEnter(enum.Enum):
    """The key that ESC CR is: Alt+Enter, and what some terminals are set up to send for Shift+Enter."""

    KEY = "alt+enter"


if isinstance(ANSI_SEQUENCES_KEYS, dict):
    ANSI_SEQUENCES_KEYS.setdefault("\x1b\r", (_AltEnter.KEY,))  # else it would arrive as plain Enter


class PromptHistory:
    """What was sent, walked through with Up and Down; what was being written is kept below the newest."""

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._at: int | None = None
        self._draft = ""

    def seed(self, texts: list[str]) -> None:
        """Begin with TEXTS, oldest first."""
        self._sent = texts[-HISTORY:]
        self._at = None

    def add(self, text: str) -> None:
        """TEXT was sent."""
        if not self._sent or self._sent[-1] != text:
            self._sent = [*self._sent[-HISTORY + 1 :], text]
        self._at = None

    def older(self, current: str) -> str | None:
        """The text before the one shown, None where there is none."""
        if self._at is None:
            if not self._sent:
                return None
            self._draft, self._at = current, len(self._sent)
        if self._at == 0:
            return None
        self._at -= 1
        return self._sent[self._at]

    def newer(self) -> str | None:
        """The text after the one shown, in the end what was being written; None where one is not walking."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._sent):
            self._at = None
            return self._draft
        return self._sent[self._at]


class Composer(Steadfast, TextArea):
    """A text area that sends on Enter."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 12;
        padding: 0 1;
        border: round $panel;
        background: $background;
        scrollbar-size-vertical: 1;
        &:focus { border: round $accent; }
        & .text-area--placeholder { color: $muted; }
        & .text-area--cursor-line { background: $background; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+j", "newline", "new line", show=False)]

    @dataclass
    class Sent(Message):
        """The user sent TEXT, chips put in; ``written`` is what stood in the composer."""

        composer: Composer
        text: str
        written: str

        @property
        def control(self) -> Composer:
            """The composer it came from."""
            return self.composer

    @dataclass
    class Edited(Message):
        """What is being written changed; for completions."""

        composer: Composer
        text: str

        @property
        def control(self) -> Composer:
            """The composer it came from."""
            return self.composer

    @dataclass
    class Steered(Message):
        """A key meant for an open list of completions: up, down, tab or enter."""

        composer: Composer
        key: str

        @property
        def control(self) -> Composer:
            """The composer it came from."""
            return self.composer

    def __init__(self, *, placeholder: str, id: str | None = None) -> None:
        super().__init__(
            id=id, placeholder=placeholder, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False, compact=False
        )
        self.history_of_prompts = PromptHistory()
        self.completing = False
        """True while a list of completions is open: it gets Up, Down, Tab and Enter."""
        self._chips: dict[str, str] = {}

    def render_line(self, y: int) -> Strip:
        """A line; none while there is no room for any, where a text area would fail to wrap its placeholder."""
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    # -- sending -------------------------------------------------------------------------------------------------------

    def expanded(self) -> str:
        """What would be sent: the text with every chip replaced by what it stands for."""
        text = self.text
        for chip, pasted in self._chips.items():
            text = text.replace(chip, pasted, 1)
        return text

    def give_back(self, written: str) -> None:
        """Put WRITTEN back where it could not be used, before whatever is being written by now."""
        self._show(f"{written}\n\n{self.text}" if self.text.strip() else written)

    def hand_over(self) -> None:
        """Hand over what is written and begin afresh."""
        written, text = self.text, self.expanded()
        if not text.strip():
            return
        self.history_of_prompts.add(written)
        self.text = ""
        self.post_message(self.Sent(self, text, written))

    def _show(self, text: str) -> None:
        """Show TEXT with the cursor at its end."""
        self.text = clean(text)
        self.move_cursor(self.document.end)

    # -- keys ----------------------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        """Enter sends; the keys for a new line begin one; an open list of completions gets its keys first."""
        key = event.key
        if self.completing and key in ("tab", "enter", "up", "down"):
            self.post_message(self.Steered(self, key))
        elif key == "enter":
            self.hand_over()
        elif key in NEWLINE_KEYS:
            self.action_newline()
        else:
            return
        event.stop()
        event.prevent_default()

    def action_newline(self) -> None:
        """Begin a new line at the cursor."""
        self._replace_via_keyboard("\n", *self.selection)

    def action_cursor_up(self, select: bool = False) -> None:
        """One row up; on the first, the text sent before."""
        if not select and self.wrapped_document.location_to_offset(self.cursor_location).y == 0:
            older = self.history_of_prompts.older(self.text)
            if older is not None:
                self._show(older)
                return
        super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """One row down; on the last, the text sent after."""
        last = self.wrapped_document.height - 1
        if not select and self.wrapped_document.location_to_offset(self.cursor_location).y >= last:
            newer = self.history_of_prompts.newer()
            if newer is not None:
                self._show(newer)
                return
        super().action_cursor_down(select)

    def action_delete_left(self) -> None:
        """Delete a character, or the whole chip before the cursor."""
        row, column = self.cursor_location
        if self.selection.is_empty:
            before = self.document.get_line(row)[:column]
            for chip in self._chips:
                if before.endswith(chip):
                    self._delete_via_keyboard((row, column - len(chip)), (row, column))
                    return
        super().action_delete_left()

    # -- pasting -------------------------------------------------------------------------------------------------------

    async def _on_paste(self, event: events.Paste) -> None:
        """Put a paste in: as it is when short, as a chip when long; control characters never reach the screen."""
        event.stop()
        event.prevent_default()
        self._paste(event.text)

    def action_paste(self) -> None:
        """Paste what this app copied last."""
        self._paste(self.app.clipboard)

    def _paste(self, text: str) -> None:
        """Put TEXT in at the cursor."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines > PASTE_LINES or len(text) > PASTE_CHARACTERS:
            chip = f"[paste {len(self._chips) + 1}: {lines:,} lines, {short(len(text))} characters]"
            self._chips[chip] = text
            shown = chip
        else:
            shown = clean(text)
        if result := self._replace_via_keyboard(shown, *self.selection):
            self.move_cursor(result.end_location)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Tell what is being written now."""
        event.stop()
        self.post_message(self.Edited(self, self.text))
