"""A recording played in the app: it goes at a pace, pauses, ends at Esc, and nothing in it is run or sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_tui.appearance import Appearance
from hermes_tui.chat.replay import ReplayOrder
from hermes_tui.config import load_settings
from hermes_tui.paths import Paths
from hermes_tui.transfer.recognition import read_transcript
from hermes_tui.tui.app import HermesApp
from tests.tui.waiting import shown, until


def recording(folder: Path, turns: int) -> Path:
    """A file of Anthropic messages: TURNS questions and answers."""
    import json

    path = folder / "recording.json"
    messages = [
        {"role": role, "content": f"{role} {number}: " + "words and words " * 40}
        for number in range(turns)
        for role in ("user", "assistant")
    ]
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def app_for(paths: Paths, path: Path, **overrides: Any) -> HermesApp:
    settings = load_settings(None, environment={}, overrides={"summary.engine": "deterministic", **overrides})
    order = ReplayOrder(read_transcript(path).conversations, settings)
    return HermesApp(paths, replay=order, appearance=Appearance(animations=False))


async def test_a_replay_runs_to_its_end_and_compresses_on_the_way(paths: Paths, tmp_path: Path) -> None:
    app: Any = app_for(paths, recording(tmp_path, 60), **{"model.window": 8_000})
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*["plus"] * 8)
        await until(pilot, lambda: "replay ended" in shown(app), seconds=60)
        assert "120 messages" in shown(app)
        assert "compressed " in shown(app)
        assert app.desk.conversation.session.ordinal > 1
        await app.action_leave()
    assert not paths.database.exists()


async def test_a_replay_pauses_goes_on_and_ends_at_esc(paths: Paths, tmp_path: Path) -> None:
    app: Any = app_for(paths, recording(tmp_path, 200), **{"model.window": 100_000})
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.chat.played > 2)
        await pilot.press("space")
        assert app.chat.pacer.paused
        assert "space goes on" in shown(app)
        await pilot.press("space")
        stood = app.chat.played
        await until(pilot, lambda: app.chat.played > stood)
        await pilot.press("space", "escape")
        await until(pilot, lambda: "replay stopped" in shown(app))
        assert app.chat.played < 400
        await app.action_leave()
