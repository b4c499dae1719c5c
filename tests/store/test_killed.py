"""Killed at any statement, a database shows either what was before or what comes after, never half of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.store.conftest import Forked

SAID = [text for n in range(6) for text in (f"question {n}", f"answer {n}")]
PARTIAL = "the whole re"
"""The last state of the draft: its process is dead when the database is opened again, so it is a message by then."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, empty: Path, forked: Forked) -> dict[str, list[Any]]:
    """What was found after each kill of each action."""
    return forked("kill", Path(shutil.copy(empty, tmp_path_factory.mktemp("killed") / "hermes.db")))


def outcomes(found: list[Any]) -> tuple[list[Any], list[Any]]:
    """What was found after the kills, and after the one run that got to its end; all of them can go on."""
    assert all(f["goes_on"] and f["session"] for f in found)
    return [f for f in found if f["killed"]], [f for f in found if not f["killed"]]


def test_a_split_is_whole_or_was_never_begun(found: dict) -> None:
    killed, (whole,) = outcomes(found["split"])
    old, new = 0, 0
    for seen in [*killed, whole]:
        assert seen["texts"] == [*SAID, PARTIAL], "every message that was said is there"
        if seen["generation"] == 0:
            old += 1
            assert seen["sessions"] == [[1, "root", None, "A talk #12"]]
            assert seen["entries"] == [[2 * n, "verbatim", 0, False] for n in range(13)]
            assert (seen["edits"], seen["covered"]) == (0, [])
        else:
            new += 1
            assert seen["sessions"] == [[1, "root", "compression", "A talk #12"], [2, "compression", None, "A talk #12"]]
            kept = [[2 * n, "verbatim", 0, False] for n in (0, 1, 8, 9, 10, 11)]
            last = [24, "verbatim", 1, False]
            assert seen["entries"] == [*kept[:2], [3, "verbatim", 1, True], *kept[2:], last]
            assert (seen["edits"], seen["covered"]) == (1, [2, 3, 4, 5, 6, 7])
    assert old > 12, "it was killed in the middle of it many times"
    assert new >= 1
    assert whole["generation"] == 1


def test_a_prune_is_whole_or_was_never_begun(found: dict) -> None:
    killed, (whole,) = outcomes(found["prune"])
    for seen in [*killed, whole]:
        assert seen["texts"] == [*SAID, PARTIAL]
        assert len(seen["sessions"]) == 1
        pruned = [e[0] for e in seen["entries"] if e[1] == "pruned"]
        assert (seen["generation"], seen["edits"], pruned) in ((0, 0, []), (1, 1, [2, 4]))
    assert len(killed) > 10
    assert whole["generation"] == 1


def test_an_undo_is_whole_or_was_never_begun(found: dict) -> None:
    killed, (whole,) = outcomes(found["undo"])
    for seen in [*killed, whole]:
        assert seen["texts"] == [*SAID, PARTIAL]
        assert seen["sessions"] == [[1, "root", None, "A talk #12"]]
        born = {e[0]: e[2] for e in seen["entries"]}
        pruned = [e[0] for e in seen["entries"] if e[1] == "pruned"]
        changed = {p: b for p, b in born.items() if b and p < 24}
        assert (seen["generation"], seen["edits"], pruned, changed) in (
            (0, 0, [], {}),
            (1, 1, [2, 4], {2: 1, 4: 1}),
            (2, 2, [], {2: 2, 4: 2}),
        )
    assert sum(seen["generation"] == 1 for seen in killed) > 3, "it was killed in the middle of the undo many times"
    assert whole["generation"] == 2


def test_a_fork_is_whole_or_was_never_begun_and_so_is_a_deletion(tmp_path: Path, forked: Forked) -> None:
    found = forked("kill-chains", tmp_path / "hermes.db")
    root, fork = ["root", 2, 13, 14, 1], ["fork", 1, 12, 13, 1]
    ends = {"fork": ([fork, root], [fork, ["fork", 1, 13, 14, 1], root]), "delete": ([fork, root], [fork])}
    for action, (before, after) in ends.items():
        for seen in found[action]:
            assert (seen["broken"], seen["orphans"]) == (0, 0)
            assert seen["chains"] in (before, after)
            assert bool(seen["found"]) == (root in seen["chains"])
        assert sum(seen["killed"] for seen in found[action]) > 2
        assert found[action][-1]["chains"] == after


@pytest.mark.parametrize("action", ["append", "finish"])
def test_a_message_is_stored_whole_or_not_at_all(found: dict, action: str) -> None:
    killed, (whole,) = outcomes(found[action])
    reply_of = {"append": [PARTIAL], "finish": [PARTIAL]}[action]
    done = {"append": ["one more", PARTIAL], "finish": ["the whole reply"]}[action]
    for seen in [*killed, whole]:
        assert seen["texts"] in ([*SAID, *reply_of], [*SAID, *done]), "the partial reply, or the whole one, never both"
        assert [e[0] for e in seen["entries"]] == [2 * n for n in range(len(seen["texts"]))]
    assert whole["texts"] == [*SAID, *done]
    assert len(killed) > 6


def test_a_database_is_made_whole_or_not_at_all(tmp_path: Path, forked: Forked) -> None:
    found = forked("birth", tmp_path / "hermes.db")
    assert sum(f["killed"] for f in found) > 10
    assert all(f["goes_on"] for f in found), "it opens the next time, whatever was there"
