"""Every glyph the screen draws, with its twin for terminals and fonts that have ASCII only.

A glyph says without colour what a colour says: region, treatment, folded or open, how bad.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of glyphs; every one is a single cell wide unless its note says otherwise."""

    head: str = "○"
    summary: str = "Σ"
    pruned: str = "◌"
    middle: str = "◐"
    tail: str = "●"
    pinned: str = "◆"
    clipped: str = "◖"
    dropped: str = "×"
    system: str = "▪"
    folded: str = "▸"
    open: str = "▾"
    divider: str = "╌"
    rule: str = "─"
    bar: str = "▎"
    """The mark beside the block under the cursor."""
    quote: str = "│"
    bullet: str = "•"
    bullet_inner: str = "–"
    unchecked: str = "☐"
    checked: str = "☑"
    caret: str = "▍"
    """Where streamed text will go on."""
    dot: str = "·"
    arrow: str = "→"
    up: str = "↑"
    down: str = "↓"
    ellipsis: str = "…"
    times: str = "×"
    shown: str = "◀"
    branch: str = "├"
    imported: str = "⇣"
    information: str = "·"
    warning: str = "▲"
    error: str = "✗"
    done: str = "✓"
    image: str = "▣"
    threshold: str = "│"
    warm: str = "╎"
    gauge_system: str = "▌"
    gauge_head: str = "▒"
    gauge_summary: str = "▚"
    gauge_middle: str = "▓"
    gauge_tail: str = "█"
    gauge_free: str = "░"
    spark: str = "▁▂▃▄▅▆▇█"
    """Eight steps of a sparkline, lowest first."""


UNICODE = Glyphs()
"""The set for terminals with a Unicode font."""

ASCII = Glyphs(
    head="o", summary="S", pruned=".", middle="-", tail="*", pinned="#", clipped="%", dropped="x", system="=",
    folded=">", open="v", divider="-", rule="-", bar="|", quote="|", bullet="*", bullet_inner="-",
    unchecked="o", checked="x", caret="_", dot="-", arrow=">", up="^", down="v", ellipsis="~", times="x", shown="<",
    branch="+", imported="<", information="-", warning="!", error="x", done="+", image="#",
    threshold="|", warm=":", gauge_system="=", gauge_head="o", gauge_summary="S", gauge_middle="#", gauge_tail="*",
    gauge_free=".", spark="_.-:=+*#",
)  # fmt: skip
"""The set for everything else."""

_chosen = UNICODE


def choose(ascii_only: bool) -> Glyphs:
    """Choose the set that ``glyphs()`` gives from now on; called once, before the first frame."""
    global _chosen
    _chosen = ASCII if ascii_only else UNICODE
    return _chosen


def glyphs() -> Glyphs:
    """The set in use."""
    return _chosen
