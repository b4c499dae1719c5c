"""What the commands print: JSON for programs, one object a line; plain lines for people, free of control characters."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from hermes_tui.tui.clean import clean_line


def write_json(value: Mapping[str, Any], out: TextIO | None = None, *, indented: bool = False) -> None:
    """One line of JSON to OUT (stdout), at once: whoever reads along sees every event as it happens. INDENTED, many lines.

    On stdout everything outside ASCII is escaped, so that no terminal is ever sent a control character.
    """
    line = json.dumps(value, ensure_ascii=out is None, indent=2 if indented else None)
    file = out or sys.stdout
    file.write((line if out else line.replace("\x7f", "\\u007f")) + "\n")
    file.flush()


def write_text(line: str) -> None:
    """One line for people to stdout."""
    try:
        print(clean_line(line), flush=True)
    except UnicodeEncodeError:
        print(clean_line(line).encode("ascii", "replace").decode(), flush=True)


def warn(sentence: str) -> None:
    """A sentence on stderr."""
    print("hermes-tui: " + clean_line(sentence), file=sys.stderr)


def moment(seconds: float) -> str:
    """A time (seconds since the epoch) in UTC as ISO 8601 has it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
