"""The help: keys, commands, signs and places, on one page."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from hermes_tui import __version__
from hermes_tui.paths import Paths
from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.commands import COMMANDS
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.screens.panel import Panel
from hermes_tui.tui.widgets.gauge import STYLES

KEYS: Final = (
    ("Enter", "send"),
    ("Shift+Enter, Ctrl+J", "new line"),
    ("Up, Down", "what was sent before, from the first and last line"),
    ("Esc", "stop the reply or the compression; what has come is kept"),
    ("F1 F2 F3", "help, inspector, lineage; again to close"),
    ("Ctrl+P", "palette: every command by name"),
    ("PgUp PgDn, Ctrl+Up Ctrl+Down", "scroll the conversation"),
    ("F2, then p or d", "pin the entry: never compressed; drop it: not sent; the same key takes it back"),
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
        paths: Paths | None = getattr(self.app, "paths", None)
        with VerticalScroll():
            yield Static(help_content(paths), markup=False)


def help_content(paths: Paths | None) -> Content:
    """The page."""
    table = glyphs()
    lines: list[Content] = [_heading("Keys")]
    lines += [_row(keys, "$accent", what) for keys, what in KEYS]
    lines += [Content(""), _heading("Commands")]
    for command in COMMANDS:
        name = f"/{command.name} {command.argument}".rstrip() + (f"  {command.key}" if command.key else "")
        lines.append(_row(name, "$accent", command.help))
    lines += [Content(""), _heading("Signs")]
    for sign, region, meaning in SIGNS:
        lines.append(_row(f"{getattr(table, sign)} {sign}", STYLES[region], meaning))
    lines.append(_row("~", "$foreground", "estimated; a number without it was measured by the provider"))
    if paths is not None:
        lines += [Content(""), _heading("Places")]
        lines += [
            _row("conversations", "$foreground", str(paths.database)),
            _row("settings", "$foreground", str(paths.config)),
            _row("your themes", "$foreground", str(paths.themes)),
            _row("log", "$foreground", str(paths.log)),
        ]
    lines += [Content(""), Content.styled(f"Hermes TUI {__version__}", "$muted")]
    return Content("\n").join(lines)


def _heading(text: str) -> Content:
    return Content.styled(text, "bold $foreground")


def _row(name: str, style: str, meaning: str) -> Content:
    return Content.assemble((name.ljust(NAME_CELLS) + " ", style), (clean_line(meaning), "$muted"))
