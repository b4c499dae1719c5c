"""A store in a real file, closed at the end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.store.store import Store


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database without a row: made once, copied by every test that does not ask how it is made."""
    path = tmp_path_factory.mktemp("empty") / "hermes.db"
    Store.open(path).close()
    return path


Forked = Callable[..., Any]
"""Carries an action out in processes of its own, and answers with what they said (see ``forked``)."""


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    command = [sys.executable, "-m", "tests.store.forked"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    lines, answers = process.stdin, process.stdout
    assert lines is not None
    assert answers is not None

    def ask(action: str, path: Path, *more: Any) -> Any:
        print(json.dumps([action, str(path), *more]), file=lines, flush=True)
        return json.loads(answers.readline())

    yield ask
    lines.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture
def path(tmp_path: Path, empty: Path) -> Path:
    return Path(shutil.copy(empty, tmp_path / "hermes.db"))


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store.open(path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory: pytest.TempPathFactory, empty: Path) -> Path:
    """One database for all examples of a property; each takes a chain of its own."""
    return Path(shutil.copy(empty, tmp_path_factory.mktemp("shared") / "hermes.db"))


@pytest.fixture(scope="module")
def shared_store(shared_path: Path) -> Iterator[Store]:
    """That database, open."""
    opened = Store.open(shared_path)
    yield opened
    opened.close()
