"""The list of commands that what is being written may become."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from hermes_tui.tui.commands import Command

NAME_CELLS = 20
"""Cells for a command and its argument."""


class CompletionList(Widget):
    """A few lines over the transcript, directly above the composer; the composer keeps the keys."""

    DEFAULT_CSS = """
    CompletionList {
        display: none;
        height: auto;
        width: 1fr;
        background: $surface;
        padding: 0 1;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.commands: tuple[Command, ...] = ()
        self.chosen = 0

    def show(self, commands: tuple[Command, ...]) -> None:
        """Offer COMMANDS, nothing for none."""
        if commands == self.commands:
            return
        self.commands, self.chosen = commands, 0
        self.display = bool(commands)
        self.refresh(layout=True)

    def move(self, rows: int) -> None:
        """Move the choice by ROWS, around the ends."""
        if self.commands:
            self.chosen = (self.chosen + rows) % len(self.commands)
            self.refresh()

    @property
    def choice(self) -> Command | None:
        """The command chosen."""
        return self.commands[self.chosen] if self.commands else None

    def render(self) -> Content:
        """A line for each command."""
        lines = []
        for index, command in enumerate(self.commands):
            name = f"/{command.name} {command.argument}".rstrip().ljust(NAME_CELLS)
            chosen = index == self.chosen
            lines.append(
                Content.assemble(
                    (name, "bold $accent" if chosen else "$foreground"), (command.help, "$foreground" if chosen else "$muted")
                )
            )
        return Content("\n").join(lines)
