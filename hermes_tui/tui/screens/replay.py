"""The replay screen: the chat screen with a recording at work in it; where the composer was stands the line of its pace."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.replaying import Pacer, pace_line
from hermes_tui.tui.screens.chat import ChatScreen

if TYPE_CHECKING:
    from hermes_tui.chat.replay import ReplayOrder


class ReplayScreen(ChatScreen):
    """Plays ORDER; nothing can be written in it."""

    AUTO_FOCUS = "#transcript"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", "pause or go on", show=False, priority=True),
        Binding("plus,equals_sign,right_square_bracket", "speed(1)", "faster", show=False),
        Binding("minus,left_square_bracket", "speed(-1)", "slower", show=False),
    ]

    def __init__(self, order: ReplayOrder) -> None:
        super().__init__()
        self.order = order
        self.pacer = Pacer()
        self.played = 0
        self.total = sum(len(c.messages) for c in order.conversations)
        self.ended = ""

    def foot(self) -> ComposeResult:
        """The line of the pace; the composer stays out of sight."""
        for widget in super().foot():
            widget.display = False
            yield widget
        yield Static(id="read-only", markup=False)

    def on_mount(self) -> None:
        """Draw the line, and again as it goes on."""
        super().on_mount()
        self.draw_pace()
        self.set_interval(0.25, self.draw_pace)

    def draw_pace(self) -> None:
        """Say how far and how fast."""
        words = clean_line(pace_line(self.pacer, self.played, self.total, self.ended))
        self.query_one("#read-only", Static).update(Content(words), layout=False)

    def action_pause(self) -> None:
        """Pause, or go on."""
        self.pacer.toggle()
        self.draw_pace()

    def action_speed(self, steps: int) -> None:
        """Faster or slower."""
        self.pacer.change(steps)
        self.draw_pace()
