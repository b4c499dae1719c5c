"""Themes: TOML files that name the colours of the screen, checked before they are used.

A theme is a file ``<name>.toml``: what it is called, whether it is dark, ten base colours and the five colours of the regions
(the same five in every view). Files of the user's own folder come before the ones that ship.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from textual.color import Color, ColorParseError
from textual.theme import Theme

from hermes_tui.appearance import DEFAULT_THEME
from hermes_tui.tui.clean import clean

DEFAULT: Final = DEFAULT_THEME
"""The theme of a fresh machine."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class ThemeUnusable(Exception):
    """A theme cannot be used; the message is a sentence naming the file, the key and what to write there."""


@dataclass(frozen=True, slots=True)
class Colours:
    """The base colours of a theme, each any colour that CSS can write."""

    background: str
    """Behind everything."""
    surface: str
    """The composer, the line under the cursor: one step up from the background."""
    panel: str
    """Rules, borders at rest, the drawer: two steps up."""
    foreground: str
    """Text."""
    muted: str
    """Labels and whatever is not the content: still readable."""
    accent: str
    """The one accent: focus, what is pressed next, pinned entries."""
    success: str
    """What went well."""
    warning: str
    """What asks for attention."""
    error: str
    """What failed."""
    selection: str
    """Behind selected text."""


@dataclass(frozen=True, slots=True)
class RegionColours:
    """One colour for each region of the context."""

    system: str
    """System prompt and tools."""
    head: str
    """The protected beginning."""
    summary: str
    """The summary, and the divider it leaves behind."""
    middle: str
    """What would go if one compressed now."""
    tail: str
    """What is protected at the end."""


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """A checked theme, ready to be registered under any name."""

    name: str
    title: str
    dark: bool
    colors: Colours
    regions: RegionColours
    path: Path

    def as_textual(self, registered_as: str) -> Theme:
        """The theme for the app under the name REGISTERED_AS (a reloaded file is registered under a new one)."""
        base = self.colors
        variables = {f"region-{name}": colour for name, colour in _pairs(self.regions)}
        variables |= {
            "muted": base.muted,
            "selection": base.selection,
            "border": base.accent,
            "border-blurred": base.panel,
            "input-selection-background": base.selection,
            "screen-selection-background": base.selection,
            "block-cursor-background": base.surface,
            "block-cursor-foreground": base.foreground,
            "block-cursor-text-style": "none",
            "block-cursor-blurred-background": base.background,
            "scrollbar": base.panel,
            "scrollbar-hover": base.muted,
            "scrollbar-active": base.accent,
            "scrollbar-background": base.background,
            "scrollbar-background-hover": base.background,
            "scrollbar-background-active": base.background,
            "scrollbar-corner-color": base.background,
            "footer-key-foreground": base.accent,
        }
        return Theme(
            name=registered_as,
            primary=base.accent,
            secondary=self.regions.tail,
            accent=base.accent,
            warning=base.warning,
            error=base.error,
            success=base.success,
            foreground=base.foreground,
            background=base.background,
            surface=base.surface,
            panel=base.panel,
            dark=self.dark,
            variables=variables,
        )


FALLBACK_VARIABLES: Final = {
    "muted": "#8b93a7",
    "selection": "#2f3b57",
    "region-system": "#8b93a7",
    "region-head": "#6cb6ff",
    "region-summary": "#c792ea",
    "region-middle": "#e0af68",
    "region-tail": "#7fd1ae",
}
"""What the style sheets may name even where no theme of ours is in force."""


def theme_files(folders: tuple[Path, ...]) -> dict[str, Path]:
    """Theme name -> file; a folder earlier in FOLDERS wins. Unreadable folders hold nothing."""
    found: dict[str, Path] = {}
    for folder in folders:
        try:
            paths = sorted(folder.glob("*.toml"))
        except OSError:
            continue
        for path in paths:
            found.setdefault(path.stem, path)
    return found


def find_theme(name: str, folders: tuple[Path, ...]) -> ThemeFile:
    """The checked theme called NAME.

    Raises:
        ThemeUnusable: there is none of that name, or its file does not hold.
    """
    files = theme_files(folders)
    if name not in files:
        known = ", ".join(sorted(files)) or "none"
        raise ThemeUnusable(f"There is no theme called {clean(name)!r}. Known themes: {clean(known)}.")
    return read_theme(files[name])


def read_theme(path: Path) -> ThemeFile:
    """The checked theme in PATH.

    Raises:
        ThemeUnusable: it cannot be read, is no TOML, or a key is missing, unknown or not a colour.
    """
    shown = clean(path.name)
    if not _NAME.fullmatch(path.stem):
        raise ThemeUnusable(f"Theme file {shown}: a theme's file name holds letters, digits, - and _ only; rename it.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ThemeUnusable(f"Theme file {shown} cannot be read: {clean(error.strerror or str(error))}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ThemeUnusable(f"Theme file {shown} is not valid TOML: {clean(str(error))}.") from None
    unknown = sorted(set(data) - {"title", "dark", "colors", "regions"})
    if unknown:
        raise ThemeUnusable(
            f"Theme file {shown}: {clean(unknown[0])!r} is not a key of a theme (title, dark, colors, regions)."
        )
    title = data.get("title", path.stem)
    if not isinstance(title, str):
        raise ThemeUnusable(f"Theme file {shown}: title must be a text.")
    dark = data.get("dark", True)
    if not isinstance(dark, bool):
        raise ThemeUnusable(f"Theme file {shown}: dark must be true or false.")
    return ThemeFile(
        name=path.stem,
        title=clean(title),
        dark=dark,
        colors=Colours(**_section(data, "colors", Colours, shown)),
        regions=RegionColours(**_section(data, "regions", RegionColours, shown)),
        path=path,
    )


def _section(data: dict[str, Any], name: str, kind: type[Colours] | type[RegionColours], shown: str) -> dict[str, str]:
    """The colours of section NAME, complete and checked."""
    section = data.get(name)
    wanted = [f.name for f in fields(kind)]
    if not isinstance(section, dict):
        raise ThemeUnusable(f"Theme file {shown} has no section [{name}]; it holds {', '.join(wanted)}.")
    unknown = sorted(set(section) - set(wanted))
    if unknown:
        raise ThemeUnusable(f"Theme file {shown}: {name}.{clean(unknown[0])} is not known; [{name}] holds {', '.join(wanted)}.")
    for key in wanted:
        if key not in section:
            raise ThemeUnusable(f"Theme file {shown}: {name}.{key} is missing.")
        value = section[key]
        try:
            if not isinstance(value, str):
                raise TypeError
            Color.parse(value)
        except (ColorParseError, TypeError):
            written = clean(str(value))[:40]
            raise ThemeUnusable(
                f"Theme file {shown}: {name}.{key} = {written!r} is not a colour; write #rrggbb or a CSS colour name."
            ) from None
    return {key: str(section[key]) for key in wanted}


def _pairs(colours: RegionColours) -> Iterator[tuple[str, str]]:
    """(name, colour) of every region."""
    for field in fields(colours):
        yield field.name, getattr(colours, field.name)
