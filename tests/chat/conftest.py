from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from hermes_tui.store.store import Store
from tests.chat.stage import FakeApi, Stage


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Callable[..., FakeApi]]:
    """Starts a fake Messages API with the options given."""
    started: list[FakeApi] = []

    def start(*options: str) -> FakeApi:
        started.append(FakeApi(tmp_path, *options))
        return started[-1]

    yield start
    for api in started:
        api.stop()


@pytest.fixture
async def stage(tmp_path: Path, fake: Callable[..., FakeApi]) -> AsyncIterator[Callable[..., Stage]]:
    """Sets a stage at a fake API with the options given."""
    stages: list[Stage] = []

    def at(api: FakeApi) -> Stage:
        stages.append(Stage(tmp_path, api.address))
        return stages[-1]

    yield at
    for one in stages:
        await one.close()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One database for all examples of a property; each takes a chain of its own."""
    store = Store.open(tmp_path_factory.mktemp("law") / "hermes.db")
    yield store
    store.close()
