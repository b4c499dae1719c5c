"""Rows of styled text, and how text is broken into them. Pure: no widget, no colour, only style names.

A row knows how it follows the row before it when it is copied: a paragraph that was wrapped to the screen is one line again
in the clipboard, and margins, bars and padding are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from hermes_tui.tui.glyphs import Glyphs

PROSE_WIDTH = 100
"""Cells; longer lines of prose are hard to read, so wide screens keep this measure."""

COLUMNS = re.compile(r"\S+(?: \S+)* {2,}(?=\S)")
"""What stands before the second column of a line of two."""
LEAST_COLUMN = 20
"""Cells; a second column that is narrower than this is no longer read as one."""

Hit = tuple[str, str]
"""What a click does and on what: ``("fold", block id)``, ``("divider", block id)``, ``("link", url)``, ``("copy", text)``."""


class Span(NamedTuple):
    """Text of one look within a row; never holds a newline."""

    text: str
    style: str = ""
    """Style names, separated by spaces, later ones on top."""
    hit: Hit | None = None
    decoration: bool = False
    """Drawn but not copied."""


class Row(NamedTuple):
    """One line of the transcript."""

    spans: tuple[Span, ...] = ()
    joins: str = "\n"
    """What stands between the row before and this one when both are copied: a newline, or what a soft break swallowed."""

    @property
    def text(self) -> str:
        """All of its text, decorations too."""
        return "".join(span.text for span in self.spans)

    @property
    def copied(self) -> str:
        """Its text as copying gives it."""
        return "".join(span.text for span in self.spans if not span.decoration).rstrip()


BLANK = Row()


@dataclass(frozen=True, slots=True)
class Page:
    """What rows are laid out for."""

    width: int
    """Cells for text, margins excluded."""
    glyphs: Glyphs
    plain: bool = False
    """Markdown cannot be read yet: text is shown as it is written."""

    @property
    def prose(self) -> int:
        """Cells a line of prose may take."""
        return max(1, min(self.width, PROSE_WIDTH))


def cells(text: str) -> int:
    """How many cells ``text`` takes; wide characters two, combining ones none."""
    return len(text) if text.isascii() else cell_len(text)


# Chinese and Japanese break between any two characters, but not before a closing mark.
_WIDE = "\u2e80-\u303f\u3041-\u33ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
_CLOSING = "、。，．！？；：）」』】〉》〕〗…"
_TOKENS = re.compile(f"[ \u3000]+|[{_WIDE}][{_CLOSING}]*|[^ \u3000{_WIDE}]+[{_CLOSING}]*")


class Break(NamedTuple):
    """A row's worth of a text: the characters from ``start`` to ``end``, after ``joins`` that was swallowed before them."""

    start: int
    end: int
    joins: str


def breaks(text: str, width: int) -> list[Break]:
    """Where to break one line of text so that every row takes at most ``width`` cells; words stay whole if they fit."""
    if cells(text) <= width:
        return [Break(0, len(text), "\n")]
    found: list[Break] = []
    joins = "\n"
    start = end = used = pending = 0  # the open row is text[start:end] of `used` cells; `pending` cells of space follow it
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token[0] in " \u3000":
            pending += cells(token)
            continue
        size = cells(token)
        if used + pending + size <= width:
            used += pending + size
            pending, end = 0, match.end()
            continue
        if end > start:
            found.append(Break(start, end, joins))
            joins = text[end : match.start()]
        elif pending and start == 0 and not found:
            pending = 0  # an indent that leaves no room for its first word is dropped
        start, pending = match.start(), 0
        if size > width:  # the word alone is wider than a row
            *pieces, _ = _chopped(token, width)
            for piece in pieces:
                found.append(Break(start, start + len(piece), joins))
                joins = ""
                start += len(piece)
            size = cells(text[start : match.end()])
        end, used = match.end(), size
    if end > start or not found:
        found.append(Break(start, end, joins))
    return found


def _chopped(text: str, width: int) -> list[str]:
    """``text`` in pieces of ``width`` cells; two at least, or a wide character would fit nowhere."""
    width = max(2, width)
    return [text[k : k + width] for k in range(0, len(text), width)] if text.isascii() else chop_cells(text, width)


def chops(text: str, width: int) -> list[Break]:
    """Where to break one line of code: at the edge, wherever that is, so that columns stay where they were written."""
    if cells(text) <= width:
        return [Break(0, len(text), "\n")]
    found: list[Break] = []
    start, joins = 0, "\n"
    pieces = _chopped(text, width)
    for piece in pieces:
        found.append(Break(start, start + len(piece), joins))
        start, joins = start + len(piece), ""
    return found


def slice_spans(spans: Sequence[Span], found: Iterable[Break]) -> list[Row]:
    """Rows of the spans' text, cut at the breaks."""
    rows: list[Row] = []
    index = offset = 0  # the span at hand and where it begins in the text
    for start, end, joins in found:
        while index < len(spans) and offset + len(spans[index].text) <= start:
            offset += len(spans[index].text)
            index += 1
        out: list[Span] = []
        at, begins = index, offset
        while at < len(spans) and begins < end:
            span = spans[at]
            text = span.text[max(0, start - begins) : end - begins]
            if text:
                out.append(span if text == span.text else span._replace(text=text))
            begins += len(span.text)
            at += 1
        rows.append(Row(tuple(out), joins))
    return rows


def wrap_spans(spans: Sequence[Span], width: int) -> list[Row]:
    """One line of spans, wrapped to rows of at most ``width`` cells."""
    text = "".join(span.text for span in spans)
    if cells(text) <= width:
        return [Row(tuple(spans))]
    return slice_spans(spans, breaks(text, max(1, width)))


def wrap_text(text: str, style: str, width: int) -> list[Row]:
    """Plain text of any number of lines, wrapped."""
    rows: list[Row] = []
    for line in text.split("\n"):
        if cells(line) <= width:
            rows.append(Row((Span(line, style),)) if line else BLANK)
        else:
            rows += [Row((Span(line[start:end], style),), joins) for start, end, joins in breaks(line, max(1, width))]
    return rows


def wrap_columns(text: str, style: str, width: int) -> list[Row]:
    """Plain text wrapped; in a line of two columns, parted by two spaces or more, the second goes on where it begins."""
    rows: list[Row] = []
    for line in text.split("\n"):
        parted = COLUMNS.match(line)
        rows += wrap_text(line, style, width) if parted is None else wrap_beside(parted[0], line[parted.end() :], style, width)
    return rows


def wrap_beside(name: str, told: str, style: str, width: int) -> list[Row]:
    """TOLD wrapped beside NAME, or below it, a little to the right, where NAME leaves too little of the width."""
    begins = cells(name)
    if begins + cells(told) <= width:
        return [Row((Span(name, style), Span(told, style)))]
    if width - begins >= LEAST_COLUMN:
        return indent(wrap_text(told, style, width - begins), Span(name, style), Span(" " * begins, style, None, True))
    rows = wrap_text(told, style, max(1, width - 2))
    return [*wrap_text(name.rstrip(), style, width), *indent(rows, Span("  ", style), Span("  ", style, None, True))]


def indent(rows: Iterable[Row], first: Span, rest: Span) -> list[Row]:
    """The rows with ``first`` before the first and ``rest`` before the others; only at true line starts is it copied."""
    out: list[Row] = []
    lead = first
    for row in rows:
        prefix = lead if row.joins == "\n" else lead._replace(decoration=True)
        out.append(Row((prefix, *row.spans), row.joins))
        lead = rest
    return out


def crop(text: str, width: int, ellipsis: str) -> str:
    """``text`` in at most ``width`` cells, its end replaced by an ellipsis if it does not fit."""
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    room = width - cells(ellipsis)
    if room <= 0:
        return ellipsis[:width]
    return chop_cells(text, room)[0] + ellipsis
