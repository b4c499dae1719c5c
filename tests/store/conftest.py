"""A store in a real file, closed at the end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_tui.store.store import Store


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database without a row: made once, copied by every test that does not ask how it is made."""
    path = tmp_path_factory.mktemp("empty") / "hermes.db"
    Store.open(path).close()
    return path


@pytest.fixture
def path(tmp_path: Path, empty: Path) -> Path:
    return Path(shutil.copy(empty, tmp_path / "hermes.db"))


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store.open(path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory, empty: Path) -> Iterator[Store]:
    """One store for all examples of a property; each takes a chain of its own."""
    opened = Store.open(Path(shutil.copy(empty, tmp_path_factory.mktemp("shared") / "hermes.db")))
    yield opened
    opened.close()
