"""What stands inside a paragraph: Markdown's inline tokens as lines of spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_tui.tui.clean import clean
from hermes_tui.tui.glyphs import Glyphs
from hermes_tui.tui.transcript.rows import Hit, Span

if TYPE_CHECKING:
    from markdown_it.token import Token

_MARKS = {"strong": "strong", "em": "em", "s": "strike"}


def lines_of(tokens: Sequence[Token], style: str, glyphs: Glyphs) -> list[list[Span]]:
    """The inline tokens as lines (a break in the source is a break on the screen), each a list of spans in ``style``.

    Entities may decode to control characters after the source was cleaned, so every piece of text is cleaned here again.
    """
    lines: list[list[Span]] = [[]]
    marks: list[str] = []
    hit: Hit | None = None

    def add(text: str, *more: str) -> None:
        names = " ".join(name for name in (style, *marks, *more) if name)
        for index, part in enumerate(clean(text).split("\n")):
            if index:
                lines.append([])
            if part:
                lines[-1].append(Span(part, names, hit))

    for token in tokens:
        kind = token.type
        if kind == "text":
            add(token.content)
        elif kind in ("softbreak", "hardbreak"):
            lines.append([])
        elif kind == "code_inline":
            add(token.content, "inline-code")
        elif kind == "link_open":
            hit = ("link", clean(str(token.attrs.get("href", ""))))
            marks.append("link")
        elif kind == "link_close":
            hit = None
            if "link" in marks:
                marks.remove("link")
        elif kind == "image":
            before, hit = hit, ("link", clean(str(token.attrs.get("src", ""))))
            add(f"{glyphs.image} {token.content or token.attrs.get('src', '')}", "link")
            hit = before
        elif kind.endswith("_open"):
            marks.append(_MARKS.get(token.tag, ""))
        elif kind.endswith("_close"):
            if marks:
                marks.pop()
        else:
            add(token.content)
    return lines
