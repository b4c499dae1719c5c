"""What a mouse selection means in a transcript: places that keep while rows come and go, and the text between two of them."""

from __future__ import annotations

from textual.geometry import Offset
from textual.selection import Selection

from hermes_tui.tui.transcript.blocks import written
from hermes_tui.tui.transcript.painting import MARGIN
from hermes_tui.tui.transcript.rows import Row
from hermes_tui.tui.transcript.slots import Slots

_ROWS = 1_000_000
"""Places per block: more than a block has rows."""
_FAR = 1 << 30
"""Beyond the end of any row."""


def place(number: int, row: int) -> int:
    """The y of a selection offset: a block's number and a row in it, so that older pages coming in do not move it."""
    return number * _ROWS + min(row, _ROWS - 1)


def _cut(row: Row, start: int, end: int) -> str:
    """The copied text of a row between two characters of its strip."""
    parts: list[str] = []
    position = MARGIN
    for span in row.spans:
        after = position + len(span.text)
        if not span.decoration:
            low = max(start, position)
            high = min(end, after)
            if low < high:
                parts.append(span.text[low - position : high - position])
        position = after
    return "".join(parts)


def selected_text(slots: Slots, selection: Selection, top: int = 0) -> str:
    """The text of a selection, without margins, bars and padding, wrapped paragraphs made whole.

    A block that is selected in part gives what is seen of it. One that lies whole between the ends gives its own text as it was
    written, and so need not be laid out: selecting everything is quick however long the conversation is.
    ``top`` is the first row in view.
    """
    if not len(slots):
        return ""
    first, first_row, first_x = _end(slots, selection.start, (0, 0, 0), top)
    last, last_row, last_x = _end(slots, selection.end, (len(slots) - 1, _ROWS, _FAR), top)
    out: list[str] = []
    for index in range(max(0, first), min(last, len(slots) - 1) + 1):
        slot = slots[index]
        if first < index < last:
            own = "\n".join(row.copied for row in slot.lead)
            text = written(slot.block) if not slots.folded(slot.block) else _header(slots, index)
            out.append("\n".join(part for part in (own, text) if part or own))
            out.append("\n")
            continue
        slots.lay_out(index)
        begun = False
        for number, row in enumerate(slot.rows()):
            if index == first and number < first_row:
                continue
            if index == last and number > last_row:
                break
            start = first_x if index == first and number == first_row else 0
            end = last_x if index == last and number == last_row else _FAR
            text = _cut(row, start, end)
            if begun:
                if row.joins == "\n" and out:
                    out[-1] = out[-1].rstrip(" ")
                out.append(row.joins)
            out.append(text)
            begun = True
        if index < last:
            out.append("\n")
    return "".join(out)


def _header(slots: Slots, index: int) -> str:
    slots.lay_out(index)
    body = slots[index].body
    return body[0].copied if body else ""


def _end(slots: Slots, offset: Offset | None, default: tuple[int, int, int], top: int) -> tuple[int, int, int]:
    """Block, row in it and character of one end of a selection."""
    if offset is None:
        return default
    if offset.y < _ROWS:  # the pointer was on the widget's padding, where Textual counts rows of the view
        index = slots.heights.at(top + offset.y)
        return index, top + offset.y - slots.heights.top(index), offset.x
    return slots.index_of_number(offset.y // _ROWS), offset.y % _ROWS, offset.x
