"""Which part of a growing Markdown text is finished. Pure: text in, pieces out.

Laying out the whole text at every token is quadratic. So the text is cut into pieces that are laid out once and kept, and a
short live end that is laid out again. A cut goes to the last blank line outside a fence, where Markdown begins anew. Inside
one huge list, fence or paragraph there is none: there finished items, lines or words are cut off provisionally, which may look
slightly different until the whole text is laid out once more at its end.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

LIVE_LIMIT = 1500
"""Characters of live text beyond which it is cut provisionally; about 3 ms to lay out."""

FENCE_LIMIT = 600
"""The same inside a fence, where colouring makes a character dearer."""

_FENCE = re.compile(r" *(`{3,}|~{3,})([^`]*)$")
_ITEM = re.compile(r" {0,1}(?:[-*+]|\d{1,9}[.)])(?: |$)")
_NOT_PROSE = re.compile(r"(?: {4}|\t| {0,3}(?:#|>|\||[-*+] |\d{1,9}[.)] |`{3}|~{3}|[-=_*]{3,} *$))")


class Join(Enum):
    """How a piece follows the one before it."""

    APART = "a blank row goes between"
    UNDER = "directly under"
    ON = "in the same row: it goes on with a paragraph"


class Piece(NamedTuple):
    """A stretch of Markdown that can be laid out by itself."""

    text: str
    join: Join
    label: bool = True
    """False for a fence that was begun in an earlier piece: its language was shown there."""


class Growing:
    """A text that grows, and how much of it is cut off already."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._live = ""
        self._join = Join.UNDER
        self._opener = ""
        """The opening line of the fence that the live text continues."""

    @property
    def text(self) -> str:
        """All of the text so far."""
        return "".join(self._parts)

    def grow(self, text: str) -> None:
        """Add text at the end."""
        self._parts.append(text)
        self._live += text

    @property
    def live(self) -> Piece:
        """The unfinished end."""
        return Piece(self._opener + self._live, self._join, not self._opener)

    def freeze(self) -> list[Piece]:
        """Cut off what is finished now, in order."""
        pieces: list[Piece] = []
        while (cut := self._cut()) is not None:
            position, join, opener = cut
            pieces.append(Piece(self._opener + self._live[:position], self._join, not self._opener))
            self._live, self._join, self._opener = self._live[position:], join, opener
        return pieces

    def _cut(self) -> tuple[int, Join, str] | None:
        """Where the live text can be cut, how what follows is joined, and the fence it is in there."""
        scan = _scan(self._opener, self._live, self._join)
        if scan.blank:
            return scan.blank, Join.APART, ""
        if scan.fence and scan.inside > FENCE_LIMIT:
            return scan.line, Join.UNDER, scan.fence
        if len(self._live) <= LIVE_LIMIT or scan.fence:
            return None
        if scan.item:
            return scan.item, Join.UNDER, ""
        if scan.prose:
            return _prose_cut(self._live)
        return None


class _Scan(NamedTuple):
    blank: int = 0
    """Where the last block begins that follows a blank line."""
    fence: str = ""
    """The opening line of the fence that is open at the end, if it is at the left edge."""
    line: int = 0
    """Inside that fence, where the unfinished line begins."""
    inside: int = 0
    """How many characters of finished lines it has here."""
    item: int = 0
    """Where the last list item begins."""
    prose: bool = False
    """It is one paragraph and nothing else."""


def _scan(opener: str, live: str, join: Join) -> _Scan:
    """One pass over the lines of the live text."""
    mark = opener[: len(opener) - len(opener.lstrip("`~"))]
    """What closes the open fence; empty outside of one."""
    opened_by, at_edge = opener, bool(opener)
    blank = item = line_start = position = 0
    code = 0  # where the open fence's code begins
    after_blank, prose = False, not opener
    lines = live.split("\n")
    for number, line in enumerate(lines):
        complete = number < len(lines) - 1
        continues = number == 0 and join is Join.ON
        if mark:
            if complete and line.strip().startswith(mark) and not line.strip(" " + mark[0]):
                mark, opened_by, line_start = "", "", 0
            elif complete:
                line_start = position + len(line) + 1
        elif complete and not continues and (match := _FENCE.match(line)):
            at_edge = line[0] != " "
            if after_blank and at_edge:
                blank, item = position, 0
            mark, opened_by = match.group(1), line + "\n"
            code = line_start = position + len(line) + 1
            prose = after_blank = False
        elif not line.strip():
            after_blank = complete
        else:
            if line[0] not in " \t" and position:
                if after_blank:
                    blank, item, prose = position, 0, True
                elif _ITEM.match(line):
                    item = position
            if prose and not continues and _NOT_PROSE.match(line):
                prose = False
            after_blank = False
        position += len(line) + 1
    if mark:
        return _Scan(blank, opened_by if at_edge else "", line_start, line_start - code)
    return _Scan(blank, item=item, prose=prose)


def _prose_cut(live: str) -> tuple[int, Join, str] | None:
    """A cut inside one long paragraph: at a line end or between words, where no emphasis, code or link is open."""
    spaces = [match.start() for match in re.finditer(r"[ \n]", live[: len(live) - LIVE_LIMIT // 4])]
    for position in reversed(spaces[-80:]):
        before = live[:position]
        if all(before.count(mark) % 2 == 0 for mark in "`*_") and before.count("[") == before.count("]"):
            break
    else:
        if not spaces or len(live) < 3 * LIVE_LIMIT:
            return None
        position = spaces[-1]  # a stray mark must not keep a paragraph live for ever
    return position + 1, Join.UNDER if live[position] == "\n" else Join.ON, ""
