"""The gauge: the size of the next request against the window, its regions in proportion, the marks it is steered by."""

from __future__ import annotations

from typing import Final

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.glyphs import ASCII, glyphs
from hermes_tui.tui.numbers import short
from hermes_tui.tui.readings import GaugeReading, bar_cells, tick
from hermes_tui.tui.transcript.rows import wrap_text

STYLES: Final = {
    "system": "$region-system",
    "head": "$region-head",
    "summary": "$region-summary",
    "middle": "$region-middle",
    "pinned": "$accent",
    "tail": "$region-tail",
    "free": "$panel",
    "reserved": "$panel",
}
"""Each region's colour; $panel is the quietest one that is still seen."""

Piece = tuple[str, str]


def pattern(region: str) -> str:
    """What fills REGION's part of the bar, so that colour is never the only sign."""
    table = glyphs()
    if region == "reserved":
        return "/" if table is ASCII else "╱"
    return table.pinned if region == "pinned" else str(getattr(table, f"gauge_{region}"))


class Gauge(Widget):
    """CONTEXT: the number, the bar with its marks, and each region's tokens."""

    DEFAULT_CSS = """
    Gauge { height: auto; width: 1fr; }
    """

    reading = GaugeReading()

    def show(self, reading: GaugeReading) -> None:
        """Draw READING; nothing is laid out anew unless it takes more lines or fewer."""
        if reading != self.reading:
            width = self.content_size.width or 40
            lines = len(gauge_lines(self.reading, width))
            self.reading = reading
            self.refresh(layout=lines != len(gauge_lines(reading, width)))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as there are lines."""
        return len(gauge_lines(self.reading, width))

    def render(self) -> Content:
        """The lines of the gauge for the width it has."""
        width = self.content_size.width or 40
        return gauge_content(self.reading, width)


def gauge_content(reading: GaugeReading, width: int) -> Content:
    """READING in lines of WIDTH cells."""
    return Content("\n").join(Content.assemble(*line) for line in gauge_lines(reading, width))


def gauge_lines(reading: GaugeReading, width: int) -> list[list[Piece]]:
    """The lines of the gauge, each as pieces of text with their styles."""
    mark = "" if reading.kind == "measured" else "~"
    number = f"{mark}{short(reading.tokens)} of {short(reading.window)}" if reading.window else ""
    over = reading.window and reading.tokens > reading.window - reading.reserved
    known = f"  {reading.kind}" if reading.window else ""
    if len("CONTEXT") + len(known) + 1 + len(number) > width:
        known = ""
    lines: list[list[Piece]] = [
        [
            ("CONTEXT", "bold $foreground"),
            (known, "$muted"),
            (number.rjust(width - 7 - len(known)), "bold $error" if over else "bold $foreground"),
        ],
        _bar(reading, width),
        _marks(reading, width),
        *_table(reading, width),
        *_sources(reading, width),
    ]
    return lines


def _bar(reading: GaugeReading, width: int) -> list[Piece]:
    """The bar, with the marks standing in its free part."""
    pieces = [(pattern(cell.region) * cell.cells, STYLES[cell.region]) for cell in bar_cells(reading, width)]
    if not reading.window:
        return pieces
    for tokens, sign in ((reading.warm, glyphs().warm), (reading.threshold, glyphs().threshold)):
        pieces = _stand_in(pieces, tick(tokens, reading.window, width), sign)
    return pieces


def _stand_in(pieces: list[Piece], at: int, sign: str) -> list[Piece]:
    """PIECES with SIGN at cell AT where that cell is free; over a region the mark is left to the line below."""
    result: list[Piece] = []
    start = 0
    for text, style in pieces:
        end = start + len(text)
        if start <= at < end and style == STYLES["free"]:
            result += [(text[: at - start], style), (sign, "$foreground"), (text[at - start + 1 :], style)]
        else:
            result.append((text, style))
        start = end
    return [piece for piece in result if piece[0]]


def _marks(reading: GaugeReading, width: int) -> list[Piece]:
    """The line under the bar that names warm mark and threshold where they stand."""
    if not reading.window:
        return []
    warm, threshold = (tick(value, reading.window, width) for value in (reading.warm, reading.threshold))
    sign = "^" if glyphs() is ASCII else "╵"
    left = "warm "
    right = f" compress at {short(reading.threshold)}"
    if threshold + 1 + len(right) > width:  # no room to the right of the threshold: name both before the marks
        text = f"warm, compress at {short(reading.threshold)} "[: max(0, warm)]
        line = text.rjust(warm) + sign + (" " * (threshold - warm - 1) + sign if threshold > warm else "")
        return [(line, "$muted")]
    before = left.rjust(warm)[-warm:] if warm >= len(left) else " " * warm
    between = sign + " " * (threshold - warm - 1) if threshold > warm else ""
    return [(before + between + sign + right, "$muted")]


def _table(reading: GaugeReading, width: int) -> list[list[Piece]]:
    """Each region's glyph, name and tokens, in three columns (two where it is narrow)."""
    known = dict(reading.shares)
    regions = ["system", "head", "summary", "middle", "tail", "free"]
    if known.get("pinned"):
        regions.insert(4, "pinned")
    columns = 3 if width >= 42 else 2
    column = (width - (columns - 1)) // columns
    lines: list[list[Piece]] = []
    for start in range(0, len(regions), columns):
        line: list[Piece] = []
        for place, region in enumerate(regions[start : start + columns]):
            room = column if place < columns - 1 else width - (columns - 1) * (column + 1)
            count = reading.free if region == "free" else known.get(region, 0)
            tokens = short(count)
            if place:
                line.append((" ", ""))
            name = region[: max(1, room - 3 - len(tokens))]
            sign = str(getattr(glyphs(), region)) if region != "free" else glyphs().gauge_free
            line += [
                (sign + " ", STYLES[region] if region != "free" else "$muted"),
                (name, "$muted"),
                (tokens.rjust(room - 2 - len(name)), "$foreground"),
            ]
        lines.append(line)
    return lines


def _sources(reading: GaugeReading, width: int) -> list[list[Piece]]:
    """Where window and threshold come from, and the whole of a remark below."""
    lines: list[list[Piece]] = []
    if reading.window:
        window = f"window {short(reading.window)}, {clean_line(reading.window_source)}"
        told = (
            f"{window} · {short(reading.reserved)} for the reply",
            f"threshold {short(reading.threshold)}, {reading.threshold_rule}",
        )
        lines += [[(line[:width], "$muted")] for line in told]
    if reading.remark:
        lines += [[(row.text, "$warning")] for row in wrap_text(clean_line(reading.remark), "", width)]
    return lines
