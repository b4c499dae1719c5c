"""Rows to strips: the last step before the screen."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.glyphs import Glyphs
from hermes_tui.tui.transcript.palette import Palette
from hermes_tui.tui.transcript.rows import Row, cells

MARGIN = 2
"""Cells left of the text; the cursor's bar stands in the first."""

RIGHT_MARGIN = 1
"""Cells between the text and the scroll bar."""


def paint(row: Row, palette: Palette, width: int, glyphs: Glyphs, marked: bool) -> Strip:
    """The row as a strip of ``width`` cells; ``marked`` puts the cursor's bar beside it.

    Text is cleaned once more, whatever made the row: no control character gets past here.
    """
    base = palette.base
    parts: list[tuple[str, Style]] = []
    if marked:
        parts.append((glyphs.bar, palette.style("cursor")))
    parts.append((" " * (MARGIN - len(parts)), base))
    used = MARGIN
    for text, names, hit, _ in row.spans:
        text = clean_line(text)
        if text:
            style = palette.style(names)
            parts.append((text, style if hit is None else style + Style.from_meta({"hit": hit})))
            used += cells(text)
    if used < width:
        parts.append((" " * (width - used), base))
    segments: list[Segment] = []
    for text, style in parts:  # neighbours of one style are one: half the bytes for the terminal
        if segments and segments[-1].style == style:
            segments[-1] = Segment(segments[-1].text + text, style)
        else:
            segments.append(Segment(text, style))
    strip = Strip(segments, max(used, width))
    return strip if used <= width else strip.crop(0, width)


def highlight(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """The strip with the characters from ``start`` to ``end`` (-1: to its end) in the style of a selection."""
    segments: list[Segment] = []
    position = 0
    for text, own, _ in strip:
        after = position + len(text)
        low = max(start, position)
        high = after if end < 0 else min(end, after)
        if low >= high:
            segments.append(Segment(text, own))
        else:
            for part, selected in (
                (text[: low - position], False),
                (text[low - position : high - position], True),
                (text[high - position :], False),
            ):
                if part:
                    segments.append(Segment(part, (own or Style.null()) + style if selected else own))
        position = after
    return Strip(segments, strip.cell_length)
