"""The log: one file of the user's own, with what happened and never what was said; no bodies, no keys."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 1_000_000
"""A log over this is moved aside (one old one is kept) when the next run starts."""
FOREIGN: Final = ("anthropic", "httpx2", "httpcore2", "asyncio", "sqlalchemy", "alembic", "textual", "py.warnings")
"""Loggers of libraries, kept to warnings: at DEBUG some of them write whole request bodies."""
_SECRET: Final = re.compile(
    r"(?i)(?:x-api-key|authorization)['\"]?\s*[:=]\s*['\"]?(?:bearer\s+|basic\s+)?[^\s'\",}]+"
    r"|\bbearer\s+[\w.~+/-]{8,}=*|\bsk-[\w-]{8,}"
)


class HideKeys(logging.Filter):
    """Blots out whatever looks like a key, in the message and in its arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite RECORD in place; it is always kept."""
        text = record.getMessage()
        record.msg, record.args = _SECRET.sub("[key hidden]", text), ()
        return True


def start_logging(path: Path, level: int = logging.INFO) -> None:
    """Send the log to PATH, created 0600 in its existing folder. Called again, it moves the log there.

    Raises:
        OSError: where the file cannot be written.
    """
    if path.exists() and path.stat().st_size > MAX_BYTES:
        path.replace(path.with_name(path.name + ".old"))
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = logging.FileHandler(path, encoding="utf-8", errors="replace", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(HideKeys())
    stop_logging()
    handler.set_name("hermes-tui-file")
    for name in ("hermes_tui", *FOREIGN):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(level if name == "hermes_tui" else logging.WARNING)


def stop_logging() -> None:
    """Close the log file, if one is open."""
    for name in ("hermes_tui", *FOREIGN):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            if handler.get_name() == "hermes-tui-file":
                logger.removeHandler(handler)
                handler.close()
