"""Context engines in the app: one that is missing is missed in sight, and the chat goes on; an installed one is at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tui.rooms import said
from tests.tui.waiting import shown, until


async def test_a_missing_engine_gives_way_on_the_screen_and_in_the_inspector(start: Any, say: Any) -> None:
    async with start([said("Rivers flow."), said("They do.")], context__engine="nowhere", size=(150, 44)) as (app, pilot):
        await say(app, pilot, "What do rivers do?")
        screen = shown(app)
        assert "Rivers flow." in screen
        assert "The engine nowhere is set aside" in screen
        await until(pilot, lambda: shown(app).count("engine nowhere") == 2)
        inspector = " ".join(line.split("▏")[-1].strip() for line in shown(app).splitlines() if "▏" in line)
        assert "On offer: compressor, recall" in inspector, "a remark is told to its end"
        assert "threshold" in inspector, "and takes nothing else away"
        chain = app.desk.conversation.chain
    async with start([said("They do.")], context__engine="nowhere", size=(150, 44), resume=chain) as (app, pilot):
        assert "The engine nowhere is set aside" in shown(app)
        await say(app, pilot, "Do they?")
        assert "They do." in shown(app)


async def test_an_installed_engine_is_at_work_in_the_app(
    start: Any, say: Any, example_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(example_engine))
    async with start([said("Rivers flow.")], context__engine="folding", size=(150, 44)) as (app, pilot):
        await say(app, pilot, "What do rivers do?")
        await until(pilot, lambda: "folding, 1 requests seen" in shown(app))
        assert "set aside" not in shown(app)
