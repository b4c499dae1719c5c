"""ASCII only: whatever sign is drawn, by us or by Textual, becomes its twin of the same width just before it is written."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_TWINS: Final = {
    "─━╌╍┄┅┈┉╴╶▔▁": "-",
    "│┃╎╏┆┇┊┋▎▏▕▌▐": "|",
    "╭╮╰╯┌┐└┘├┤┬┴┼╞╡╪": "+",
    "═": "=",
    "║": "|",
    "▂▃▄▅▆▇": "-",
    "█▉▊▋▓▒": "#",
    "░": ".",
    "╱": "/",
    "╵": "^",
    "·•": "-",
    "…": "~",
    "→▶▸▷": ">",
    "←◀": "<",
    "↑▲△": "^",
    "↓▼▾": "v",
    "×✗✕": "x",
    "✓": "+",
    "⎘⏎": "*",
    "\u00a0": " ",
}
_TABLE: Final = str.maketrans({sign: twin for signs, twin in _TWINS.items() for sign in signs})


class AsciiSigns(LineFilter):
    """Replaces signs in every line of the screen; letters of any script stay what they are."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """SEGMENTS with twins for signs."""
        return [
            segment if segment.text.isascii() else Segment(segment.text.translate(_TABLE), segment.style, segment.control)
            for segment in segments
        ]
