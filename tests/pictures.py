"""Makes the pictures in screenshots/ from the running app: `python -m tests.pictures`.

The conversation is fixed (`tests/tui/story.py`), replies and results come from it, and the clock stands on a fixed day, so the
same commit makes the same pictures.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

os.environ["TZ"] = "UTC"
time.tzset()

from textual.pilot import Pilot  # noqa: E402

from hermes_tui.appearance import Appearance  # noqa: E402
from hermes_tui.paths import find_paths  # noqa: E402
from hermes_tui.tui.app import HermesApp  # noqa: E402
from hermes_tui.tui.themes import theme_files  # noqa: E402
from tests.tui import story  # noqa: E402
from tests.tui.rooms import recorded_room, said  # noqa: E402
from tests.tui.waiting import until  # noqa: E402

PICTURES = Path(__file__).parents[1] / "screenshots"
SIZE = (120, 40)
WINDOW = 7_000
MONDAY = 1_796_031_000.0
"""Mon 30 Nov 2026, 09:30 UTC: when the story begins."""
Scene = Callable[[HermesApp, Pilot[None]], Awaitable[None]]


class Clock:
    """A clock that stands, and goes on by some seconds whenever it is asked: a conversation's pace without its waiting."""

    def __init__(self, start: float, step: float) -> None:
        self.now, self.step = start, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


async def say(app: HermesApp, pilot: Pilot[None], number: int) -> None:
    """Say the NUMBER-th thing of the story (from 1) and let it be answered."""
    app.chat.composer.text = story.STORY[number - 1].asked
    await pilot.press("enter")
    await until(pilot, lambda: app.desk.turns == number and not app.desk.busy)


async def chat(app: HermesApp, pilot: Pilot[None]) -> None:
    """The conversation beside what is sent."""
    for number in range(1, len(story.STORY) + 1):
        await say(app, pilot, number)
        await until(pilot, lambda: not app.desk.works)


async def compressing(app: HermesApp, pilot: Pilot[None]) -> None:
    """A summary is being written while one types."""
    number = 0
    while not app.chat.activity.activity.compressing_since:
        number += 1
        await say(app, pilot, number)
    await until(pilot, lambda: len(app.chat.inspector.writing) > 200)
    app.chat.composer.text = "So which of the two should let go of "
    app.chat.composer.move_cursor(app.chat.composer.document.end)


async def lineage(app: HermesApp, pilot: Pilot[None]) -> None:
    """The chain of sessions that the conversation became."""
    await chat(app, pilot)
    await pilot.press("f3")
    await until(pilot, lambda: app.screen is not app.chat and app.screen.query("#told-text"))
    await pilot.press("up")


async def shoot(name: str, scene: Scene, *, theme: str) -> None:
    """Play SCENE in a fresh data folder and write its picture."""
    go_on = asyncio.Event()
    written = 0

    async def half_way(characters: int) -> None:
        nonlocal written
        written += characters
        if scene is compressing:
            await (go_on.wait() if written > 320 else asyncio.sleep(0.06))  # slower than what is seen is drawn

    with tempfile.TemporaryDirectory() as folder:
        load = recorded_room(
            story.replies(),
            results=story.results(),
            schemas=story.TOOLS,
            declarations=story.DECLARATIONS,
            summaries=[said(story.SUMMARY)] * 4,
            summary_pace=half_way,
            directory=Path("~/importer"),
            model__window=WINDOW,
        )
        app = HermesApp(find_paths(folder, environment={}), load=load, appearance=Appearance(theme=theme, animations=False))
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: app.desk.room is not None and not app.desk.works)
            app.chat.composer.cursor_blink = False
            await scene(app, pilot)
            await pilot.pause(0.3)
            svg = app.export_screenshot(title="Hermes TUI")
            go_on.set()
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.svg").write_text(re.sub(r"terminal-\d+", f"terminal-{name}", svg), encoding="utf-8")
    print(name)


def pictures() -> dict[str, tuple[Scene, str]]:
    """Every picture: its name, its scene, its theme."""
    themes = theme_files((Path(__file__).parents[1] / "themes",))
    return {
        "chat": (chat, "hermes-dark"),
        "compressing": (compressing, "hermes-dark"),
        "lineage": (lineage, "hermes-dark"),
        **{f"theme-{theme}": (chat, theme) for theme in themes},
    }


def main(names: list[str]) -> None:
    """Make the pictures called NAMES, or all; each in a process of its own, so that all begin with the same clock and ids."""
    if len(names) != 1:
        for name in names or pictures():
            subprocess.run([sys.executable, "-m", "tests.pictures", name], check=True)
        return
    clock = Clock(MONDAY, 0.7)
    time.time, time.time_ns = clock, lambda: int(clock() * 1e9)
    scene, theme = pictures()[names[0]]
    asyncio.run(shoot(names[0], scene, theme=theme))


if __name__ == "__main__":
    main(sys.argv[1:])
