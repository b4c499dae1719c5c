"""Code, coloured by Pygments: style names only, so that themes decide what a keyword looks like."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hermes_tui.tui.transcript.rows import Page, Row, Span, cells, chops, slice_spans

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]  # it ships no types

HIGHLIGHT_LIMIT = 60_000
"""Characters; longer code is shown plain, since colouring takes about a microsecond a character."""

_STYLES = {
    "Comment": "syntax-comment",
    "Keyword": "syntax-keyword",
    "Literal.String": "syntax-string",
    "Literal.Number": "syntax-number",
    "Name.Builtin": "syntax-builtin",
    "Name.Function": "syntax-function",
    "Name.Class": "syntax-function",
    "Name.Decorator": "syntax-function",
    "Name.Tag": "syntax-keyword",
    "Name.Attribute": "syntax-builtin",
    "Operator.Word": "syntax-keyword",
    "Generic.Deleted": "syntax-deleted",
    "Generic.Inserted": "syntax-inserted",
    "Generic.Heading": "syntax-function",
    "Generic.Subheading": "syntax-comment",
}


@lru_cache(512)
def _style_of(token: Any) -> str:
    """The style name of a Pygments token type, or of the nearest kind above it."""
    while token is not None:
        name = str(token).removeprefix("Token.")
        if name in _STYLES:
            return _STYLES[name]
        token = token.parent
    return ""


@lru_cache(64)
def _lexer(language: str) -> Lexer | None:
    """The lexer of that name, or nothing if there is none."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # it ships no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # it ships no types

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def warm_up_lexer(language: str) -> None:
    """Load one lexer; for a thread."""
    if (lexer := _lexer(language)) is not None:
        list(lexer.get_tokens("x = 1"))


def highlight(code: str, language: str) -> list[list[Span]]:
    """The lines of ``code`` as spans; plain where the language is unknown or the code is very long."""
    lexer = _lexer(language.lower()) if language and len(code) <= HIGHLIGHT_LIMIT else None
    if lexer is None:
        return [[Span(line, "code")] if line else [] for line in code.split("\n")]
    lines: list[list[Span]] = [[]]
    for token, text in lexer.get_tokens(code):
        name = _style_of(token)
        style = f"code {name}" if name else "code"
        first, *others = text.split("\n")
        if first:
            line = lines[-1]
            if line and line[-1].style == style:
                line[-1] = Span(line[-1].text + first, style)
            else:
                line.append(Span(first, style))
        lines += [[Span(other, style)] if other else [] for other in others]
    return lines


def lay_out_code(code: str, language: str, width: int, page: Page, *, label: bool = True) -> list[Row]:
    """Rows of a code block on its own ground, ``width`` cells wide, with the language at the end of its first row.

    A click on the language copies the code.
    """
    inner = max(2, width - 3)
    rows: list[Row] = []
    for line in highlight(code, language):
        text = "".join(span.text for span in line)
        rows += slice_spans(line, chops(text, inner))
    out: list[Row] = []
    name = f" {language}" if label and language else ""
    for index, row in enumerate(rows):
        used = cells(row.text)
        room = width - 2 - used
        tail: tuple[Span, ...]
        if index == 0 and name and room > len(name) + 1:
            hit = ("copy", code)
            tail = (
                Span(" " * (room - cells(name) - 1), "code", None, True),
                Span(name, "code code-label", hit, True),
                Span(" ", "code", None, True),
            )
        else:
            tail = (Span(" " * max(0, room), "code", None, True),) if room > 0 else ()
        out.append(Row((Span("  ", "code", None, True), *row.spans, *tail), row.joins))
    return out
