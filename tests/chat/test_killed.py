"""kill -9 in a streamed reply, a tool, a summary and a split: the next start has everything that was whole, and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chat.stage import FakeApi


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """What the next start found, by scenario."""
    directory = tmp_path_factory.mktemp("killed")
    api = FakeApi(directory, "--rate", "120", "--words", "600", "--window", "12000")
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.chat.killed", str(directory), api.address],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
            timeout=110,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        yield {line["name"]: {**line, "directory": directory / line["name"].replace(" ", "_")} for line in lines}
    finally:
        api.stop()


def test_every_conversation_goes_on_after_its_process_was_killed(found: dict[str, dict[str, Any]]) -> None:
    for name, after in found.items():
        assert after["killed"], name
        assert after["ended"] == ["end_turn"], name
        assert after["covered"], name


def test_at_most_the_last_second_of_a_streamed_reply_is_missing(found: dict[str, dict[str, Any]]) -> None:
    after = found["stream"]
    shown = [json.loads(line) for line in (after["directory"] / "shown.jsonl").read_text().splitlines()]
    died = shown[-1][0]
    certain = "".join(text for at, text in shown if at <= died - 1.0)
    assert after["origins"] == ["user", "model", "user", "model"]
    partial = after["texts"][-1]
    assert "".join(text for _, text in shown).startswith(partial)
    assert len(partial) >= len(certain) > 100
    assert ["turn", "interrupted"] in after["statuses"]


def test_a_call_whose_process_died_is_answered_before_anything_else_is_sent(found: dict[str, dict[str, Any]]) -> None:
    assert found["tool"]["origins"][:2] == ["user", "model"]
    assert found["tool"]["results"] == ["interrupted; outcome unknown"]


def test_a_summary_that_was_being_written_changes_nothing(found: dict[str, dict[str, Any]]) -> None:
    after = found["summary"]
    assert after["sessions"] == [[1, True, None]]
    assert after["generation"] == 0
    assert ["summary", "interrupted"] in after["statuses"]


def test_a_split_is_whole_or_was_never_begun(found: dict[str, dict[str, Any]]) -> None:
    splits = [after for name, after in found.items() if name.startswith("split")]
    outcomes = [after["sessions"] for after in splits]
    assert len(splits) == 4
    assert all(o in ([[1, True, None]], [[1, True, "compression"], [2, True, None]]) for o in outcomes)
    assert all((len(after["sessions"]) == 2) == (after["generation"] == 1) for after in splits)
