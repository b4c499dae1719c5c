"""An app on a data folder of its own, with everything of the product but a provider that answers from a recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_tui.appearance import Appearance
from hermes_tui.paths import Paths, find_paths
from hermes_tui.tui.app import HermesApp
from tests.tui.rooms import recorded_room
from tests.tui.waiting import until

Start = Callable[..., AbstractAsyncContextManager[tuple[HermesApp, Pilot[None]]]]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """A data folder that holds everything, the config and the themes too."""
    return find_paths(tmp_path / "data", environment={})


@pytest.fixture
def start(paths: Paths) -> Start:
    """Start the app: ``async with start(replies, size=…, **room) as (app, pilot)``; it is ready when the block begins."""

    @asynccontextmanager
    async def starting(
        replies: Any = (),
        *,
        size: tuple[int, int] = (120, 40),
        resume: str | None = None,
        continue_last: bool = False,
        load: Any = None,
        ready: bool = True,
        **room: Any,
    ) -> AsyncIterator[tuple[HermesApp, Pilot[None]]]:
        app = HermesApp(
            paths,
            resume=resume,
            continue_last=continue_last,
            load=load or recorded_room(replies, **room),
            appearance=Appearance(animations=False),
        )
        async with app.run_test(size=size) as pilot:
            if ready:
                await until(pilot, lambda: app.desk.room is not None and not app.desk.works)
            yield app, pilot
            await app.desk.close()
        assert app.problems == []

    return starting


@pytest.fixture
def say() -> Callable[[HermesApp, Pilot[None], str], Awaitable[None]]:
    """Write something, send it, and wait until it is answered and everything is drawn."""

    async def saying(app: HermesApp, pilot: Pilot[None], text: str) -> None:
        turns = app.desk.turns
        app.chat.composer.text = text
        app.chat.composer.focus()
        await pilot.press("enter")
        await until(pilot, lambda: app.desk.turns > turns and not app.desk.works)
        await pilot.pause()

    return saying
