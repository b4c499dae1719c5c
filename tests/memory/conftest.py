"""The example provider, installed as a package is: importable, and named by its entry points."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "example_memory"


def install(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the example on the path, with the metadata that an installer writes from its project file."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = where / "example_memory-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = (
        f"[{group}]\n" + "\n".join(f"{name} = {where_to}" for name, where_to in points.items())
        for group, points in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.syspath_prepend(str(where))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)
