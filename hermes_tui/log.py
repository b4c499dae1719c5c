"""The log: one file of the user's own, with what happened and never what was said; no bodies, no keys."""

from __future__ import annotations

import logging
import os
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

MAX_BYTES: Final = 1_000_000
"""A log over this is moved aside (one old one is kept) when the next run starts."""
OURS: Final = "hermes_tui"
_HANDLER: Final = "hermes-tui-file"
_SECRET: Final = re.compile(
    r"(?i)(?:x-api-key|authorization)['\"]?\s*[:=]\s*['\"]?(?:bearer\s+|basic\s+)?[^\s'\",}]+"
    r"|\bbearer\s+[\w.~+/-]{8,}=*|\bsk-[\w-]{8,}"
)


class OnlyWhatMayBeKept(logging.Filter):
    """Lets warnings of libraries pass and all that is ours, and blots out whatever looks like a key."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether RECORD is kept; it is rewritten in place."""
        # Libraries write whole request bodies below that level, and ANTHROPIC_LOG=debug sets theirs.
        if record.levelno < logging.WARNING and record.name.partition(".")[0] != OURS:
            return False
        record.msg, record.args = _SECRET.sub("[key hidden]", record.getMessage()), ()
        return True


class WithoutWords(logging.Formatter):
    """Writes where an exception was raised, and not its message, which may quote what was said; CLEAN goes over all of it."""

    def __init__(self, clean: Callable[[str], str] | None = None) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """The line, or lines, of RECORD."""
        record.exc_text = None  # what another handler made of the exception
        text = super().format(record)
        return self._clean(text) if self._clean else text

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's own name
        """The frames of an exception and its type."""
        return f"{''.join(traceback.format_tb(ei[2]))}{ei[0].__name__ if ei[0] else ''}"


def start_logging(path: Path, level: int = logging.INFO, clean: Callable[[str], str] | None = None) -> None:
    """Send everything that is logged to PATH, created 0600 in its existing folder, and nothing to the terminal.

    CLEAN takes secrets out of a text, beyond what looks like a header or a key. Called again, it moves the log there.

    Raises:
        OSError: where the file cannot be written.
    """
    if path.exists() and path.stat().st_size > MAX_BYTES:
        path.replace(path.with_name(path.name + ".old"))
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = logging.FileHandler(path, encoding="utf-8", errors="replace", delay=True)
    handler.setFormatter(WithoutWords(clean))
    handler.addFilter(OnlyWhatMayBeKept())
    stop_logging()
    handler.set_name(_HANDLER)
    # At the root: a root without handlers writes warnings to the terminal, over the screen.
    logging.getLogger().addHandler(handler)
    logging.getLogger(OURS).setLevel(level)
    logging.captureWarnings(True)


def stop_logging() -> None:
    """Close the log file, if one is open."""
    root = logging.getLogger()
    for handler in [h for h in root.handlers if h.get_name() == _HANDLER]:
        root.removeHandler(handler)
        handler.close()
        logging.captureWarnings(False)
