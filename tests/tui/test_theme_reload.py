"""A theme file that is saved is a look that changes, however the editor saves it; a bad one keeps the old look and says why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.appearance import Appearance
from hermes_tui.paths import Paths, built_in_theme_folders
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.themes import DEFAULT
from tests.tui.rooms import recorded_room
from tests.tui.waiting import shown, until

GOOD = (built_in_theme_folders()[0] / f"{DEFAULT}.toml").read_text(encoding="utf-8")


def coloured(background: str) -> str:
    return GOOD.replace('background = "#12141b"', f'background = "{background}"')


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def replace(path: Path, text: str) -> None:
    """As many editors do: a new file, renamed over the old one."""
    temporary = path.with_name(path.name + "~")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


@pytest.fixture
def themed(paths: Paths) -> Any:
    """An app that wears the user's own theme "mine"."""
    paths.themes.mkdir(parents=True)
    return HermesApp(paths, load=recorded_room([]), appearance=Appearance(theme="mine", animations=False))


def background(app: HermesApp) -> str:
    return app.chat.styles.background.hex.lower()


async def watching(app: HermesApp, pilot: Any, path: Path) -> None:
    """Wait until the folder is watched: until one of some saves shows."""
    await until(pilot, lambda: app.desk.room is not None and not app.desk.works)
    for number in range(20):
        colour = f"#0101{number:02x}"
        write(path, coloured(colour))
        try:
            await until(pilot, lambda colour=colour: background(app) == colour, seconds=1)
        except AssertionError:
            continue
        return
    raise AssertionError("no save shows")


@pytest.mark.parametrize("save", [write, replace])
async def test_a_saved_theme_shows_at_once(themed: Any, paths: Paths, save: Any) -> None:
    mine = paths.themes / "mine.toml"
    write(mine, coloured("#101010"))
    themed.dress()
    async with themed.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: background(themed) == "#101010")
        await watching(themed, pilot, mine)
        for colour in ("#202020", "#303030"):
            save(mine, coloured(colour))
            await until(pilot, lambda colour=colour: background(themed) == colour)
        await themed.desk.close()


async def test_a_theme_behind_a_link_shows_when_its_target_is_saved(themed: Any, paths: Paths, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    target = elsewhere / "look.toml"
    write(target, coloured("#101010"))
    (paths.themes / "mine.toml").symlink_to(target)
    themed.dress()
    async with themed.run_test(size=(80, 24)) as pilot:
        await watching(themed, pilot, target)
        replace(target, coloured("#202020"))
        await until(pilot, lambda: background(themed) == "#202020")
        await themed.desk.close()


async def test_a_bad_file_keeps_the_old_look_and_says_why_once(themed: Any, paths: Paths) -> None:
    mine = paths.themes / "mine.toml"
    write(mine, coloured("#101010"))
    themed.dress()
    async with themed.run_test(size=(120, 30)) as pilot:
        await watching(themed, pilot, mine)
        worn = background(themed)
        told: list[str] = []
        themed.notify = lambda message, **_: told.append(message)
        replace(mine, coloured("no colour\\u001b[2J"))
        await until(pilot, lambda: told)
        assert "colors.background" in told[0]
        assert "The look stays as it was." in told[0]
        assert "\x1b" not in told[0]
        assert background(themed) == worn
        replace(mine, coloured("#202020"))
        await until(pilot, lambda: background(themed) == "#202020")
        assert len(told) == 1
        await themed.desk.close()


async def test_an_unknown_theme_is_told_and_the_default_one_worn(paths: Paths) -> None:
    app = HermesApp(paths, load=recorded_room([]), appearance=Appearance(theme="nowhere", animations=False))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.desk.room is not None and not app.desk.works)
        assert "There is no theme called 'nowhere'" in shown(app)
        assert app.theme_file is not None
        assert app.theme_file.name == DEFAULT
        await app.desk.close()


async def test_a_theme_is_chosen_by_looking_at_it_and_remembered(paths: Paths) -> None:
    app = HermesApp(paths, load=recorded_room([]), appearance=Appearance(animations=False))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.desk.room is not None and not app.desk.works)
        before = background(app)
        await pilot.press(*"/theme", "enter")
        await until(pilot, lambda: app.screen.is_modal)
        await pilot.press("home")
        await until(pilot, lambda: app.theme_file.name == "dusk")
        await pilot.press("escape")
        await until(pilot, lambda: not app.screen.is_modal and background(app) == before)
        await pilot.press(*"/theme", "enter")
        await until(pilot, lambda: app.screen.is_modal)
        await pilot.press("home", "enter")
        await until(pilot, lambda: not app.screen.is_modal and not app.desk.works)
        assert app.theme_file.name == "dusk"
        assert 'theme = "dusk"' in paths.config.read_text(encoding="utf-8")
        await app.desk.close()
