"""The help: keys, commands, signs and places, on one page."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from hermes_tui import __version__
from hermes_tui.paths import Paths
from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.commands import COMMANDS
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.screens.panel import Panel
from hermes_tui.tui.transcript.rows import wrap_beside
from hermes_tui.tui.widgets.gauge import STYLES

KEYS: Final = (
    ("Enter", "send"),
    ("Shift+Enter, Ctrl+J", "new line"),
    ("Up, Down", "what was sent before, from the first and last line"),
    ("Esc", "stop the reply or the compression; what has come is kept"),
    ("F1 F2 F3", "help, inspector, lineage; again to close"),
    ("Ctrl+P", "palette: every command by name"),
    ("PgUp PgDn, Ctrl+Up Ctrl+Down", "scroll the conversation"),
    ("F2, then arrows and Enter", "walk through what is sent; open an entry whole, as it is sent and as it was"),
    ("F2, then Tab", "the summary that is sent, and at its end what it lost"),
    ("F2, then p or d", "pin the entry: never compressed; drop it: not sent; the same key takes it back"),
    ("F3, then Enter, f or d", "open a session, fork from it, delete a conversation (asks first)"),
    ("Tab", "to the conversation and back: arrows walk, Enter folds, y copies, c copies code"),
    ("Ctrl+C", "copy what is selected; with nothing selected, quit"),
    ("Ctrl+Q", "quit; everything is saved"),
)
"""Keys and what they do."""

SIGNS: Final = (
    ("system", "system", "system prompt and tools"),
    ("head", "head", "the beginning, kept"),
    ("summary", "summary", "what the middle was told again as"),
    ("middle", "middle", "would be summarised if one compressed now"),
    ("tail", "tail", "the newest, kept as it is"),
    ("pruned", "middle", "an old result or argument given in one line; Enter opens the original"),
    ("pinned", "pinned", "kept whatever happens"),
    ("dropped", "middle", "not sent; it stays stored, and d sends it again"),
    ("clipped", "tail", "too large to send whole: its start and end are sent"),
)
"""(glyph, region whose colour it has, meaning)."""

NAME_CELLS: Final = 31


class HelpScreen(Panel[None]):
    """Keys, commands, signs and places."""

    heading = "Help"
    hint: ClassVar[str] = "esc or F1 closes · arrows scroll"
    DEFAULT_CSS = """
    HelpScreen VerticalScroll { height: auto; max-height: 100%; scrollbar-size-vertical: 1; }
    """

    def parts(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll():
            yield HelpPage(getattr(self.app, "paths", None))


class HelpPage(Widget):
    """The page, laid out for the width that it has."""

    DEFAULT_CSS = """
    HelpPage { height: auto; }
    """

    def __init__(self, paths: Paths | None) -> None:
        super().__init__()
        self._paths = paths

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as there are lines."""
        return len(help_lines(self._paths, width))

    def render(self) -> Content:
        """The lines."""
        return Content("\n").join(help_lines(self._paths, self.content_size.width or 80))


def help_lines(paths: Paths | None, width: int) -> list[Content]:
    """The page in lines of at most WIDTH cells."""
    table = glyphs()
    lines: list[Content] = [_heading("Keys")]
    for keys, what in KEYS:
        lines += _rows(keys, "$accent", what, width)
    lines += [Content(""), _heading("Commands")]
    for command in COMMANDS:
        name = f"/{command.name} {command.argument}".rstrip() + (f"  {command.key}" if command.key else "")
        lines += _rows(name, "$accent", command.help, width)
    lines += [Content(""), _heading("Signs")]
    for sign, region, meaning in SIGNS:
        lines += _rows(f"{getattr(table, sign)} {sign}", STYLES[region], meaning, width)
    lines += _rows("~", "$foreground", "estimated; without it the gauge's number was measured by the provider", width)
    if paths is not None:
        lines += [Content(""), _heading("Places")]
        lines += _rows("conversations", "$foreground", str(paths.database), width)
        lines += _rows("settings", "$foreground", str(paths.config), width)
        lines += _rows("your themes", "$foreground", str(paths.themes), width)
        lines += _rows("log", "$foreground", str(paths.log), width)
    return [*lines, Content(""), Content.styled(f"Hermes TUI {__version__}", "$muted")]


def _heading(text: str) -> Content:
    return Content.styled(text, "bold $foreground")


def _rows(name: str, style: str, meaning: str, width: int) -> list[Content]:
    """NAME in its style, and beside it what it means, or below where the screen is narrow."""
    rows = wrap_beside(name.ljust(NAME_CELLS) + " ", clean_line(meaning), "", width)
    lines = [Content.styled(row.text, "$muted") for row in rows]
    return [lines[0].stylize(style, 0, len(name)), *lines[1:]]
