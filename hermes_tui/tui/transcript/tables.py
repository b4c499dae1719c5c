"""Tables: columns as wide as they need while they fit, wrapped in their cells when not, records when even that fails."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.tui.transcript.rows import Page, Row, Span, cells, indent, wrap_spans

Cell = list[Span]

GAP = 2
"""Cells between columns."""
NARROW = 4
"""The fewest cells a column is squeezed to before the table becomes records."""


def _size(cell: Cell) -> int:
    return sum(cells(span.text) for span in cell)


def column_widths(natural: Sequence[int], room: int) -> list[int] | None:
    """Widths for columns that would like ``natural`` cells, in ``room`` cells for all; None if they cannot fit.

    Narrow columns keep what they need; what is left is shared out evenly among the wide ones.
    """
    if sum(natural) <= room:
        return list(natural)
    if sum(min(NARROW, size) for size in natural) > room:
        return None
    widths = [0] * len(natural)
    left, open_columns = room, sorted(range(len(natural)), key=lambda column: natural[column])
    while open_columns:
        share = left // len(open_columns)
        column = open_columns.pop(0)
        widths[column] = min(natural[column], share)
        left -= widths[column]
    return widths


def _aligned(row: Row, width: int, align: str) -> tuple[Span, ...]:
    used = sum(cells(span.text) for span in row.spans)
    free = max(0, width - used)
    before = free if align == "right" else free // 2 if align == "center" else 0
    left = (Span(" " * before),) if before else ()
    right = (Span(" " * (free - before)),) if free - before else ()
    return (*left, *row.spans, *right)


def lay_out_table(header: Sequence[Cell], body: Sequence[Sequence[Cell]], aligns: Sequence[str], page: Page) -> list[Row]:
    """Rows of a table: a header in its own weight, a thin rule, and the body."""
    count = len(header)
    lines = [header, *(list(line)[:count] + [[]] * (count - len(line)) for line in body)]
    natural = [max(1, *(_size(line[column]) for line in lines)) for column in range(count)]
    widths = column_widths(natural, page.width - GAP * (count - 1))
    if widths is None:
        return _records(header, lines[1:], page)
    rows: list[Row] = []
    for number, line in enumerate(lines):
        stacks = [wrap_spans(cell, width) for cell, width in zip(line, widths, strict=True)]
        for depth in range(max(len(stack) for stack in stacks)):
            spans: list[Span] = []
            for column, stack in enumerate(stacks):
                row = stack[depth] if depth < len(stack) else Row()
                spans += _aligned(row, widths[column], aligns[column])
                if column < count - 1:
                    spans.append(Span(" " * GAP))
            rows.append(Row(tuple(spans)))
        if number == 0:
            rule = (" " * GAP).join(page.glyphs.rule * width for width in widths)
            rows.append(Row((Span(rule, "table-rule", None, True),)))
    return rows


def _records(header: Sequence[Cell], body: Sequence[Sequence[Cell]], page: Page) -> list[Row]:
    """The table one field a line, for a screen too narrow for its columns."""
    rows: list[Row] = []
    for number, line in enumerate(body):
        if number:
            rows.append(Row((Span(page.glyphs.rule * min(8, page.width), "table-rule", None, True),)))
        for title, cell in zip(header, line, strict=True):
            rows += indent(wrap_spans([*title, Span(": "), *cell], max(1, page.width - 2)), Span(""), Span("  "))
    return rows
