"""Adding or changing the API key: typed once, kept in the keyring or in a private file, never shown again."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.screens.panel import Panel


class KeyScreen(Panel[str]):
    """Dismissed with the key, or None. SERVER is whom it is for."""

    heading = "API key"
    hint: ClassVar[str] = "enter keeps it · esc leaves it as it is"
    BINDINGS: ClassVar = []
    DEFAULT_CSS = """
    KeyScreen {
        & > #panel { width: 80%; max-width: 84; }
        & Static { height: auto; color: $muted; margin-bottom: 1; }
        & Input { border: round $panel; background: $background; }
        & Input:focus { border: round $accent; }
    }
    """

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server

    def parts(self) -> ComposeResult:
        """What happens with the key, and where to put it in."""
        yield Static(
            Content(
                f"The key for {clean_line(self._server)}. It goes into your system's keyring, or where there is none into a "
                "file that only you can read, and to that server only. ANTHROPIC_API_KEY in the environment works too."
            ),
            markup=False,
        )
        yield Input(password=True, placeholder="sk-ant-…", id="key")

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        """Take the key."""
        key = event.value.strip()
        if key:
            self.dismiss(key)
