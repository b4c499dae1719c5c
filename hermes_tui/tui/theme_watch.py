"""Themes, reloaded while they are edited: a file saved is a look changed, without a restart."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_tui.tui.themes import ThemeUnusable, find_theme, theme_files

if TYPE_CHECKING:
    from hermes_tui.tui.app import HermesApp

log = logging.getLogger(__name__)

DEBOUNCE = 60
"""Milliseconds that writes are gathered: editors write a file in several steps."""


def watched_folders(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders to watch: those that exist, and the homes of the files that symbolic links in them point to.

    Folders and not files, since editors replace a file by renaming another one over it.
    """
    found: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            continue
        found[folder.resolve()] = None
        for path in folder.glob("*.toml"):
            if path.is_symlink():
                home = path.resolve().parent
                if home.is_dir():
                    found[home] = None
    return tuple(found)


async def watch_themes(app: HermesApp) -> None:
    """Reload the theme that APP wears whenever its file changes; a bad file keeps the old look and says why, once."""
    from watchfiles import awatch

    folders = app.theme_folders
    user = folders[0]
    try:
        user.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        log.warning("no theme folder at %s: %s", user, problem)
    told = ""
    while True:
        watched = watched_folders(folders)
        if not watched:
            return
        async for _ in awatch(*watched, debounce=DEBOUNCE, step=20, recursive=False):
            told = _reload(app, told)
            if watched_folders(folders) != watched:
                break


def _reload(app: HermesApp, told: str) -> str:
    """Put the worn theme on anew if its file changed; returns what was told of it last."""
    name = app.theme_file.name if app.theme_file else app.appearance.theme
    if name not in theme_files(app.theme_folders):
        return told
    try:
        theme = find_theme(name, app.theme_folders)
    except ThemeUnusable as problem:
        sentence = f"{problem} The look stays as it was."
        if sentence != told:
            app.notify(sentence, severity="warning", markup=False, timeout=8)
        return sentence
    if theme != app.theme_file:
        app.wear(theme)
    return ""
