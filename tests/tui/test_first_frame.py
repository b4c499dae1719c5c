"""The first frame needs Textual, tomllib and dataclasses; all that is heavy comes after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = (
    "anthropic", "httpx", "sqlmodel", "sqlalchemy", "alembic", "tiktoken", "genai_prices", "pydantic", "pydantic_settings",
    "detect_secrets",
    "tomlkit", "keyring", "watchfiles", "click", "pyperclip",
    "hermes_tui.store", "hermes_tui.llm", "hermes_tui.chat", "hermes_tui.context", "hermes_tui.config", "hermes_tui.tools",
)  # fmt: skip

FRAME = """
import asyncio, sys
from hermes_tui.cli.entry import main  # what the command imports first
from hermes_tui.paths import find_paths
from hermes_tui.tui.app import HermesApp

def ready(app):
    print(sorted(set(sys.modules)))
    app.exit()

HermesApp.on_ready = ready
asyncio.run(HermesApp(find_paths(sys.argv[1], environment={})).run_async(headless=True, size=(120, 40)))
"""


def test_nothing_heavy_is_imported_before_the_first_frame(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FRAME, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    loaded = set(eval(done.stdout.strip().splitlines()[-1]))
    assert "textual.app" in loaded
    assert sorted(name for name in HEAVY if name in loaded) == []
