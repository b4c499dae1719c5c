"""What a user installs is the whole product: themes, style sheets and migrations are in the wheel, and it starts lightly."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    folder = wheel.parent / "site"
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with the package of FOLDER, from outside the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True)


def test_the_wheel_holds_every_theme_and_style_sheet_and_the_migrations_and_none_of_the_tests(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"hermes_tui/themes/{theme.name}" for theme in (ROOT / "themes").glob("*.toml")} <= names
    assert {str(sheet.relative_to(ROOT)) for sheet in (ROOT / "hermes_tui").rglob("*.tcss")} <= names
    assert {str(step.relative_to(ROOT)) for step in (ROOT / "hermes_tui/store/migrations").rglob("*.py")} <= names
    assert not [name for name in names if name.startswith(("tests", "screenshots", "themes"))]


def test_at_least_six_themes_come_with_it():
    assert len(list((ROOT / "themes").glob("*.toml"))) >= 6


def test_an_installed_package_finds_its_themes_in_itself(installed):
    found = run(installed, "-c", "from hermes_tui.paths import built_in_theme_folders as f; print(f()[0])").stdout
    assert Path(found.strip()) == installed / "hermes_tui" / "themes"


def test_the_installed_command_says_its_version(installed):
    import hermes_tui

    assert run(installed, "-m", "hermes_tui", "--version").stdout == f"hermes-tui {hermes_tui.__version__}\n"


def test_the_command_imports_nothing_heavy_before_it_knows_what_to_do(installed):
    heavy = "{'click', 'textual', 'anthropic', 'sqlalchemy', 'pydantic', 'alembic', 'tiktoken', 'keyring', 'tomlkit'}"
    code = f"import sys, hermes_tui.cli; print(sorted({heavy} & set(sys.modules)))"
    assert run(installed, "-c", code).stdout == "[]\n"


def test_versions_are_bounded_and_the_tested_ones_are_pinned_for_uv():
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    names = {w.split(">")[0] for w in wanted}
    assert all("<" in w for w in wanted)
    assert names <= {c.split("==")[0] for c in PROJECT["tool"]["uv"]["constraint-dependencies"]}


def test_nothing_committed_names_a_registry_host():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "uv.lock" not in tracked
    assert "index-url" not in (ROOT / "pyproject.toml").read_text()
