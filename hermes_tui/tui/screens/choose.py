"""Choosing one of a list: a theme, a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.screens.panel import Panel

if TYPE_CHECKING:
    from hermes_tui.tui.app import HermesApp


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the list: its value, what it is called, and a remark."""

    value: str
    name: str
    remark: str = ""


class ChooseScreen(Panel[str]):
    """A list; dismissed with the value chosen, or None."""

    hint: ClassVar[str] = "enter chooses · esc leaves it as it is"
    DEFAULT_CSS = """
    ChooseScreen {
        & > #panel { width: 70%; max-width: 76; }
        & OptionList { height: auto; max-height: 20; border: none; background: $background; padding: 0; }
        & OptionList:focus { border: none; }
        & OptionList > .option-list--option-highlighted { background: $surface; color: $accent; text-style: bold; }
    }
    """

    def __init__(
        self, title: str, choices: Sequence[Choice], *, current: str = "", look: Callable[[str], None] | None = None
    ) -> None:
        super().__init__()
        self._title, self._choices, self._current, self._look = title, tuple(choices), current, look

    def title_text(self) -> str:
        """What is chosen."""
        return self._title

    def parts(self) -> ComposeResult:
        """The list, the current value under the cursor."""
        options = OptionList(*(Option(_line(c, c.value == self._current), id=None) for c in self._choices))
        yield options

    def on_mount(self) -> None:
        """Begin at the current value."""
        options = self.query_one(OptionList)
        values = [c.value for c in self._choices]
        options.highlighted = values.index(self._current) if self._current in values else 0
        options.focus()

    @on(OptionList.OptionHighlighted)
    def _show(self, event: OptionList.OptionHighlighted) -> None:
        """Let the one under the cursor be seen before it is chosen."""
        if self._look is not None:
            self._look(self._choices[event.option_index].value)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        """This one."""
        self.dismiss(self._choices[event.option_index].value)


def _line(choice: Choice, current: bool) -> Content:
    return Content.assemble(
        (clean_line(choice.name), "bold" if current else ""),
        ("  " + clean_line(choice.remark) if choice.remark else "", "$muted"),
    )


def choose_theme(app: HermesApp) -> None:
    """Choose a theme; each is worn while the cursor is on it, and Esc puts the old one back on."""
    from hermes_tui.tui.themes import ThemeUnusable, read_theme, theme_files

    themes, choices, bad = {}, [], []
    for name, path in sorted(theme_files(app.theme_folders).items()):
        try:
            themes[name] = read_theme(path)
        except ThemeUnusable as problem:
            bad.append(str(problem))
        else:
            own = path.parent == app.theme_folders[0]
            remark = " · ".join([name, "dark" if themes[name].dark else "light", *(["yours"] if own else [])])
            choices.append(Choice(name, themes[name].title, remark))
    old = app.theme_file

    def look(name: str) -> None:
        if app.theme_file is None or themes[name] != app.theme_file:
            app.wear(themes[name])

    def chosen(name: str | None) -> None:
        if name is not None:
            app.desk.remember("appearance.theme", name)
        elif old is not None and old != app.theme_file:
            app.wear(old)

    for sentence in bad[:1]:
        app.desk.tell(sentence, "warning")
    app.push_screen(ChooseScreen("Theme", choices, current=old.name if old else "", look=look), chosen)
