"""A file as JSON values, whatever state it is in: one document, or one record a line.

Lone surrogates, raw control characters, invalid UTF-8, NaN and a last line cut off in mid-write are all met in real
recordings and are read as well as they can be; everything else that is no JSON is refused in a sentence.
"""

from __future__ import annotations

import json
import math
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_tui.transfer.transcripts import READABLE, ImportRefused

LARGEST = 512 * 1024 * 1024
"""Bytes of the largest file that is read: JSON takes about ten times its size in memory."""

DEEPEST = 64
"""Levels of nesting that a block may have. Whatever walks it later recurses, and Python's stack ends near 1,000."""


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a file: the lines of a JSONL file, the items of a JSON list, or one JSON document."""

    values: tuple[Any, ...]
    notes: tuple[str, ...] = ()


def load_records(path: Path) -> Records:
    """The JSON records in the file at PATH.

    Raises:
        ImportRefused: where it cannot be opened, is too large, or is neither JSON nor JSONL.
    """
    name = repr(path.name or str(path))
    data = _bytes_of(path, name)
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace").strip("\0 \t\r\n")
    if not text:
        raise ImportRefused(f"{name} is empty: there is nothing to replay in it.")
    try:
        document = parse(text)
    except RecursionError:
        raise ImportRefused(f"{name} is nested too deeply to be a transcript; {READABLE} can be read.") from None
    except ValueError:
        return _lines_of(text, name)
    return Records(tuple(document) if isinstance(document, list) else (document,))


def parse(text: str) -> Any:
    """TEXT as JSON: raw control characters are let through, numbers that JSON cannot hold become strings.

    Raises:
        ValueError: where it is no JSON.
        RecursionError: where it is nested too deeply.
    """
    return json.loads(text, strict=False, parse_constant=str, parse_float=_finite)


def is_too_deep(value: Any, limit: int = DEEPEST) -> bool:
    """Whether VALUE is nested more than LIMIT levels deep; found without recursion."""
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _bytes_of(path: Path, name: str) -> bytes:
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise ImportRefused(f"{name} is not a file; name a transcript: {READABLE} can be read.")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no such file"
        raise ImportRefused(f"{name} cannot be opened ({reason.lower()}); check the path.") from None
    if len(data) > LARGEST:
        raise ImportRefused(f"{name} is larger than {LARGEST // 1024**2} MiB, more than can be read at once; split it first.")
    return data


def _lines_of(text: str, name: str) -> Records:
    """The records of a JSONL file; a last line that is cut off is left out, and said."""
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip("\0 \t\r")]
    values: list[Any] = []
    for n, line in lines:
        try:
            values.append(parse(line.strip("\0 \t\r")))
        except RecursionError:
            raise ImportRefused(f"Line {n} of {name} is nested too deeply to be a message; remove it and try again.") from None
        except ValueError:
            if n == lines[-1][0] and values and line.lstrip("\0 \t").startswith("{"):
                return Records(tuple(values), (f"The last line of {name} is cut off and was left out.",))
            if values and all(isinstance(v, dict) for v in values):
                raise ImportRefused(f"Line {n} of {name} is damaged (no JSON); remove it and try again.") from None
            raise ImportRefused(f"{name} is neither JSON nor JSONL; {READABLE} can be read.") from None
    return Records(tuple(values))


def _finite(number: str) -> float | str:
    value = float(number)
    return value if math.isfinite(value) else number


def json_text(value: Any) -> str:
    """VALUE as JSON text, or a few words where it is too deep even for that."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to show)"
