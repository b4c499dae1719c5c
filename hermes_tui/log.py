"""The log: one file of the user's own, with what happened and never what was said; no bodies, no keys."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Final

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


def start_logging(path: Path, level: int = logging.INFO) -> None:
    """Send everything that is logged to PATH, created 0600 in its existing folder, and nothing to the terminal.

    Called again, it moves the log there.

    Raises:
        OSError: where the file cannot be written.
    """
    if path.exists() and path.stat().st_size > MAX_BYTES:
        path.replace(path.with_name(path.name + ".old"))
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = logging.FileHandler(path, encoding="utf-8", errors="replace", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
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
