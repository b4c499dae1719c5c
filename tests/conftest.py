"""What all tests share: Hypothesis profiles, an environment without the developer's own, and the fake Messages API."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_timeout
from hypothesis import HealthCheck, settings

_ALLOWED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
PROFILES = {"default": (40, None), "ci": (300, 900), "deep": (20_000, 0)}
"""By name: examples of each property, and seconds that a test may take (None: the configured ones; 0: as many as it needs)."""
TEARDOWN_SECONDS = 60
for _profile, (_examples, _) in PROFILES.items():
    settings.register_profile(_profile, max_examples=_examples, deadline=None, suppress_health_check=_ALLOWED)
settings.load_profile("default")

EXAMPLE_ENGINE = Path(__file__).parent / "example_engine"
FAKE = Path(__file__).parent / "fakes" / "fake_anthropic.py"
OWN = ("ANTHROPIC_", "HERMES_TUI_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
"""Variables by which the developer's own keys, servers and settings would get into a test."""
for _name in [name for name in os.environ if name.startswith(OWN) and name != "HERMES_TUI_REAL_DATA"]:
    del os.environ[_name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test the time that its profile allows."""
    seconds = PROFILES.get(settings.get_current_profile_name(), (0, None))[1]
    if seconds is not None:
        for item in items:
            item.add_marker(pytest.mark.timeout(seconds))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give cleaning up a time of its own: the one of a test that failed was taken back for a debugger that may look at it."""
    hooks = item.config.pluginmanager.hook
    hooks.pytest_timeout_cancel_timer(item=item)
    hooks.pytest_timeout_set_timer(item=item, settings=pytest_timeout.Settings(TEARDOWN_SECONDS, "thread", False, True))
    try:
        return (yield)
    finally:
        hooks.pytest_timeout_cancel_timer(item=item)


@dataclass(frozen=True)
class FakeApi:
    """A running fake of the Messages API.

    Attributes:
        url: its address.
        log: a line of JSON for every request: at, path, key, body.
    """

    url: str
    log: Path

    def wait_for(self, count: int, within: float = 10.0) -> None:
        """Return once COUNT requests have come in."""
        ends = time.monotonic() + within
        while len(self.requests()) < count:
            assert time.monotonic() < ends, f"{len(self.requests())} of {count} requests came within {within} s"
            time.sleep(0.01)

    def requests(self) -> list[dict[str, Any]]:
        """What was asked so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def fake_api(tmp_path: Path) -> Iterator[Callable[..., FakeApi]]:
    """``fake_api(words=20, window=8000)`` starts a fake with these options; all of them end with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(**flags: Any) -> FakeApi:
        log = tmp_path / f"requests-{len(running)}.jsonl"
        given = {"rate": 5_000, "words": 20, "log": log, **flags}
        options: list[str] = []
        for name, value in given.items():
            option = "--" + name.replace("_", "-")
            options += [] if value is False else [option] if value is True else [option, str(value)]
        # Its complaints about clients that hang up are what some tests are for.
        process = subprocess.Popen(
            [sys.executable, str(FAKE), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        running.append(process)
        assert process.stdout is not None
        return FakeApi(process.stdout.readline().strip(), Path(given["log"]))

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def example_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example engine installed in it, as a package of its own."""
    source, target = tmp_path_factory.mktemp("source") / "engine", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE_ENGINE, source, ignore=shutil.ignore_patterns("__pycache__"))
    uv = shutil.which("uv")
    pip = [uv, "pip", "install", "--python", sys.executable, "--offline"] if uv else [sys.executable, "-m", "pip", "install"]
    command = [*pip, "--no-build-isolation", "--no-deps", "--quiet", "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target
