"""Facts as they stand in a text: literals that a later message may have to repeat exactly, and the sentences that hold them.

Used by the ledger and by the extracts. The measure of fidelity has an extractor of its own, so that neither judges itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from hermes_tui.context.signs import cut_after, cut_before

LITERAL: Final = re.compile(
    r"https?://[^\s\"'<>)\]}]+"  # addresses
    r"|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"  # mail
    r"|(?<![\w@.+~/-])(?:[\w@.+~-]*+/)++[\w@.+-]*\w"  # paths
    r"|(?<![\w-])--?[a-zA-Z][\w-]+"  # options of commands
    r"|\b\w+(?:[._:-]\w+)+\b"  # dotted, snake_case, kebab-case, versions, dates, times
    r"|\b[A-Za-z]*\d\w*\b"  # numbers and ids with digits
    r"|\b[a-z]+(?:[A-Z][a-z0-9]*)+\b|\b(?:[A-Z][a-z0-9]+){2,}\b|\b[A-Z]{2,}[A-Z0-9]*\b"  # camelCase, CamelCase, ABBREVIATIONS
)
"""Names, paths, numbers, addresses: what is not a word of the language. Linear in the text, whatever one endless word it is."""

MIN_LITERAL: Final = 3
"""Characters; shorter ones are found anywhere by chance."""

_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_IDEOGRAPHS: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]{2,}")
_BOLD: Final = re.compile(r"\*\*(\S(?:[^*\n]*\S)?)\*\*")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"')\]”»*]*\s+|(?<=[。！？；])|\n+")


def literals(text: str) -> list[str]:
    """The literals of TEXT in order, each once."""
    return list(dict.fromkeys([found for found in LITERAL.findall(text) if len(found) >= MIN_LITERAL]))


def words(text: str) -> list[str]:
    """The longer words of TEXT in lower case, each once; of scripts without spaces, the pairs of neighbouring signs."""
    found = [word.casefold() for word in _WORD.findall(text) if not _IDEOGRAPHS.search(word)]
    for run in _IDEOGRAPHS.findall(text):
        found += [run[i : i + 2] for i in range(len(run) - 1)]
    return list(dict.fromkeys(found))


def sentences(text: str) -> Iterator[str]:
    """TEXT cut into sentences and lines, each on one line, without list marks, headings' signs and bold type."""
    for piece in _SENTENCE.split(_BOLD.sub(r"\1", text)):
        if line := plain_line(piece):
            yield line


def plain_line(text: str) -> str:
    """TEXT on one line, without a list's mark, a heading's signs and bold type; "" where it holds no word."""
    line = " ".join(_BOLD.sub(r"\1", text).split()).lstrip("#>*•-").strip()
    return line if any(c.isalnum() for c in line) else ""


def beginning(text: str, limit: int) -> str:
    """The first words of TEXT in at most LIMIT characters, with an ellipsis where some are left out."""
    if len(text) <= limit:
        return text
    start = text[: cut_before(text, limit - 1)]
    if (space := start.rfind(" ")) > limit // 2:
        start = start[:space]
    return start.rstrip(" ,;:.-–—") + "…"


def clip(text: str, limit: int) -> str:
    """TEXT in at most LIMIT characters: its start and its end around an ellipsis, cut between words where one ends nearby."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail - 3
    start, end = text[: cut_before(text, head)], text[cut_after(text, len(text) - tail) :]
    if (space := start.rfind(" ")) > head * 3 // 4:
        start = start[:space]
    if text[len(text) - tail - 1] != " " and 0 <= (space := end.find(" ")) < tail * 3 // 4:
        end = end[space + 1 :]
    return f"{start} … {end}"


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """For each of PATHS the shortest ending, of whole parts, that no other of them shares."""
    split = {path: [part for part in path.split("/") if part] for path in paths}
    shared: dict[str, int] = {}
    for parts in split.values():
        for depth in range(1, min(3, len(parts)) + 1):
            ending = "/".join(parts[-depth:])
            shared[ending] = shared.get(ending, 0) + 1
    short: dict[str, str] = {}
    for path, parts in split.items():
        endings = ("/".join(parts[-depth:]) for depth in range(1, min(3, len(parts)) + 1))
        short[path] = next((e for e in endings if shared[e] == 1), path)
    return short
