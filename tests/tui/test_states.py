"""What cannot be done is said in one sentence in place, nothing is changed, and what was typed is not lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.paths import Paths
from hermes_tui.store.store import Store
from hermes_tui.tui.room import load_room
from tests.tui.waiting import shown, until


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no setting of the machine that runs the tests."""
    import os

    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "HERMES_TUI_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr("hermes_tui.llm.keys.KEYRING_SECONDS", 0.0)


async def stuck(start: Any, told: str) -> None:
    """The app says TOLD, keeps what is typed, and leaves when asked to."""
    async with start(load=load_room, ready=False) as (app, pilot):
        await until(pilot, lambda: "✗" in shown(app))
        screen = " ".join(shown(app).split())
        assert told in screen
        assert "Traceback" not in screen
        await pilot.press(*"not lost", "enter")
        await until(pilot, lambda: app.chat.composer.text == "not lost")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app._exit)


def config(paths: Paths, text: str) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(text, encoding="utf-8")


async def test_a_damaged_database_is_told_and_left_as_it_is(start: Any, paths: Paths) -> None:
    paths.data.mkdir()
    junk = b"SQLite format 3\x00" + b"\xff" * 5_000
    paths.database.write_bytes(junk)
    await stuck(start, "database")
    assert paths.database.read_bytes() == junk


async def test_a_database_of_a_newer_version_is_told_and_left_as_it_is(start: Any, paths: Paths) -> None:
    paths.data.mkdir()
    Store.open(paths.database).close()
    connection = sqlite3.connect(paths.database)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = paths.database.read_bytes()
    await stuck(start, "newer")
    assert paths.database.read_bytes() == before


async def test_a_config_that_does_not_hold_names_the_key(start: Any, paths: Paths) -> None:
    config(paths, "[context]\nthreshold_percent = 7\n")
    await stuck(start, "threshold_percent")


async def test_a_data_folder_that_cannot_be_one_is_told(start: Any, paths: Paths) -> None:
    paths.data.write_text("a file stands here")
    await stuck(start, str(paths.data.name))


async def test_without_a_key_for_anthropic_the_app_says_how_to_add_one_and_takes_it(start: Any, paths: Paths) -> None:
    config(paths, '[provider]\nkind = "anthropic"\n')
    async with start(load=load_room, ready=False) as (app, pilot):
        await until(pilot, lambda: "ANTHROPIC_API_KEY" in shown(app))
        await pilot.press(*"/key", "enter")
        await until(pilot, lambda: app.screen.is_modal)
        await pilot.press(*"sk-ant-secret")
        assert "sk-ant-secret" not in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.screen.is_modal)


async def test_a_server_that_cannot_be_reached_is_told_and_writing_goes_on(start: Any, paths: Paths) -> None:
    config(paths, '[provider]\nkind = "compatible"\nbase_url = "http://127.0.0.1:9"\n')
    async with start(load=load_room, size=(50, 20)) as (app, pilot):
        assert "127.0.0.1:9" in shown(app)
        await pilot.press(*"anybody", "enter")
        await until(pilot, lambda: "trying again in" in shown(app))
        assert app.chat.activity.activity.retry_reason.rstrip(".") in " ".join(shown(app).split()), (
            "the reason is told to its end"
        )
        await pilot.press("escape")
        await until(pilot, lambda: "trying again in" not in shown(app) and not app.desk.busy)
        assert app.desk.room.store.messages(app.desk.conversation.chain)[0].content[0]["text"] == "anybody"


async def test_no_error_that_nobody_foresaw_ends_the_app(paths: Paths, tmp_path: Path) -> None:
    from hermes_tui.tui.failures import told

    try:
        raise RuntimeError("what was said is secret")
    except RuntimeError as error:
        sentence = told(error, tmp_path / "hermes.log")
    assert "RuntimeError" in sentence
    assert "secret" not in sentence
