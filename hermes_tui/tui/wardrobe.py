"""The wardrobe: which theme the app wears, and how it is put on, chosen and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import App
from textual.filter import LineFilter

from hermes_tui.appearance import Appearance
from hermes_tui.tui.themes import DEFAULT, FALLBACK_VARIABLES, ThemeFile, ThemeUnusable, find_theme

if TYPE_CHECKING:
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.desk import Desk

    _App = App[None]
else:
    _App = object


class Wardrobe(_App):
    """What the app is that has to do with its looks.

    Attributes:
        theme_file: the theme it wears.
        theme_folders: where themes are looked up, the user's own first.
    """

    desk: Desk
    appearance: Appearance
    theme_folders: tuple[Path, ...]
    theme_file: ThemeFile | None = None
    _theme_version = 0

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours that the style sheets name, for themes that are not ours."""
        return dict(FALLBACK_VARIABLES)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's own filters, and the one that knows ASCII only where that is wanted."""
        filters = super().get_line_filters()
        if self.appearance.ascii:
            from hermes_tui.tui.ascii import AsciiSigns

            return [*filters, AsciiSigns()]
        return filters

    def wear(self, theme: ThemeFile) -> None:
        """Put THEME on. It is registered under a new name each time, so that an edited file shows at once."""
        self._theme_version += 1
        name = f"{theme.name}-v{self._theme_version}"
        old = self.theme
        self.theme_file = theme
        self.register_theme(theme.as_textual(name))
        self.theme = name
        if old.startswith(("textual", "ansi")):
            return
        self.unregister_theme(old)

    def dress(self) -> None:
        """The configured theme, else the default one; what was wrong is told once there is a screen."""
        try:
            self.wear(find_theme(self.appearance.theme, self.theme_folders))
        except ThemeUnusable as problem:
            self.desk.tell_later(f"{problem} The default theme is used.", "warning")
            try:
                self.wear(find_theme(DEFAULT, self.theme_folders))
            except ThemeUnusable:
                return

    def action_theme(self, name: str) -> None:
        """Put the theme NAME on and remember it; without a name, choose from a list that shows each at once."""
        from hermes_tui.tui.screens.choose import choose_theme

        if not name:
            choose_theme(cast("HermesApp", self))
            return
        try:
            self.wear(find_theme(name, self.theme_folders))
        except ThemeUnusable as problem:
            self.desk.tell(str(problem), "warning")
        else:
            self.desk.remember("appearance.theme", name)
