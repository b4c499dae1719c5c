"""The screen at every size: 40 by 12 and 200 by 60, the inspector beside the page or over it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tui.rooms import said
from tests.tui.waiting import shown, until

REPLY = "A reply of some words, long enough to be wrapped on a narrow screen, with `code` and **weight**."


def fits(screen: str, width: int, height: int) -> None:
    from rich.cells import cell_len

    lines = screen.split("\n")
    assert len(lines) == height
    assert all(cell_len(line) <= width for line in lines)


@pytest.mark.parametrize("size", [(40, 12), (60, 16), (99, 30), (100, 30), (200, 60)])
async def test_one_can_chat_at_any_size(start: Any, say: Any, size: tuple[int, int]) -> None:
    async with start([said(REPLY)], size=size) as (app, pilot):
        await say(app, pilot, "hello")
        screen = shown(app)
        fits(screen, *size)
        assert "Message" in screen
        assert "session 1 of 1" in screen
        assert "weight." in screen
        await pilot.press(*"typed")
        await until(pilot, lambda: "typed" in shown(app))


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_under_100_columns_the_inspector_folds_away_and_f2_lays_it_over_the_page(
    start: Any, say: Any, size: tuple[int, int]
) -> None:
    async with start([said(REPLY)], size=size) as (app, pilot):
        await say(app, pilot, "hello")
        assert "CONTEXT" not in shown(app)
        await pilot.press("f2")
        await until(pilot, lambda: "CONTEXT" in shown(app))
        assert "ENTRIES" in shown(app)
        assert app.focused.id == "entries"
        await pilot.press("escape")
        await until(pilot, lambda: "CONTEXT" not in shown(app))
        assert app.focused is app.chat.composer


async def test_f2_goes_to_the_entries_then_folds_the_inspector_then_brings_it_back(start: Any, say: Any) -> None:
    async with start([said(REPLY)]) as (app, pilot):
        await say(app, pilot, "hello")
        assert "CONTEXT" in shown(app)
        await pilot.press("f2")
        assert app.focused.id == "entries"
        await pilot.press("f2")
        await until(pilot, lambda: "CONTEXT" not in shown(app))
        assert app.focused is app.chat.composer
        await pilot.press("f2")
        await until(pilot, lambda: "CONTEXT" in shown(app))


async def test_a_window_made_narrow_and_wide_again_keeps_up(start: Any, say: Any) -> None:
    async with start([said(REPLY)]) as (app, pilot):
        await say(app, pilot, "hello")
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: "CONTEXT" not in shown(app))
        fits(shown(app), 60, 20)
        await pilot.resize_terminal(140, 45)
        await until(pilot, lambda: "CONTEXT" in shown(app))
        fits(shown(app), 140, 45)


@pytest.mark.parametrize("size", [(40, 12), (200, 60)])
async def test_help_and_lineage_open_at_any_size(start: Any, say: Any, size: tuple[int, int]) -> None:
    async with start([said(REPLY)], size=size) as (app, pilot):
        await say(app, pilot, "hello")
        await pilot.press("f1")
        await until(pilot, lambda: "Keys" in shown(app))
        fits(shown(app), *size)
        await pilot.press("f1", "f3")
        await until(pilot, lambda: "CHAINS" in shown(app) and "hello" in shown(app))
        fits(shown(app), *size)
        assert "esc closes" in " ".join(shown(app).split())


@pytest.mark.parametrize("size", [(120, 60), (60, 60)])
async def test_what_is_told_in_two_columns_stays_in_them(start: Any, say: Any, size: tuple[int, int]) -> None:
    async with start([said(REPLY)], size=size) as (app, pilot):
        await say(app, pilot, "hello")
        await pilot.press("f1")
        await until(pilot, lambda: "Keys" in shown(app))
        inside = [line.split("│")[1] for line in shown(app).splitlines() if line.count("│") >= 2]
        keys = inside[: next(n for n, line in enumerate(inside) if "Commands" in line)]
        begins = {len(line) - len(line.lstrip()) for line in keys if line.strip()}
        assert begins == {1, 33} if size[0] == 120 else begins == {1, 3}, "a name at the edge, what it means beside or below it"
        await pilot.press("f1")
        app.chat.composer.text = "/context"
        await pilot.press("enter")
        await until(pilot, lambda: "real tokens" in shown(app) or "thinking" in shown(app))
        page = [line.split("▏")[0] for line in shown(app).splitlines()]
        numbers = page[
            next(n for n, line in enumerate(page) if " window " in line) : next(
                n for n, line in enumerate(page) if "thinking" in line
            )
        ]
        assert len({len(line) - len(line.lstrip()) for line in numbers}) == 2, "what does not fit goes on where it began"


async def test_with_ascii_only_nothing_but_ascii_is_drawn(paths: Any) -> None:
    from hermes_tui.appearance import Appearance
    from hermes_tui.tui import glyphs
    from hermes_tui.tui.app import HermesApp
    from tests.tui.rooms import recorded_room

    app = HermesApp(paths, load=recorded_room([said("plain words")]), appearance=Appearance(ascii=True, animations=False))
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.desk.room is not None and not app.desk.works)
            app.chat.composer.text = "hello"
            await pilot.press("enter")
            await until(pilot, lambda: app.desk.turns == 1 and not app.desk.works)
            odd = sorted({c for c in shown(app) if ord(c) > 126})
            assert odd == []
            await app.desk.close()
    finally:
        glyphs.choose(False)
