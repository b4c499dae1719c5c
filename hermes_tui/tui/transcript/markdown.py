"""Markdown laid out into rows. Pure: source text and a page in, rows out."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_tui.tui.clean import clean
from hermes_tui.tui.transcript.code import lay_out_code
from hermes_tui.tui.transcript.inline import lines_of
from hermes_tui.tui.transcript.rows import BLANK, Page, Row, Span, cells, indent, wrap_spans, wrap_text
from hermes_tui.tui.transcript.tables import Cell, lay_out_table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MARKDOWN_LIMIT = 400_000
"""Characters; a longer text is shown as it is written."""

_local = threading.local()
_AIRY = ("fence", "code_block", "table_open", "hr", "heading_open")


def _parser() -> MarkdownIt:
    """This thread's parser; it is dear to build and keeps state while it parses."""
    parser: MarkdownIt | None = getattr(_local, "parser", None)
    if parser is None:
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"html": False, "linkify": True}).enable(["table", "strikethrough", "linkify"])
        _local.parser = parser
    return parser


def warm_up_markdown() -> None:
    """Load what the first reply would wait for; for a thread."""
    _parser().parse("*warm* `up`, https://example.org")


def lay_out_markdown(source: str, page: Page, style: str = "reply", *, label: bool = True) -> list[Row]:
    """Rows of a Markdown text, in ``style`` where it says nothing else; ``label`` False leaves out the languages of fences."""
    source = clean(source)
    if page.plain or len(source) > MARKDOWN_LIMIT:
        return wrap_text(source, style, page.prose)
    rows, _ = _Layout(source, label).blocks(0, "", page, style)
    return rows


def lay_out_onward(source: str, before: Row, page: Page, style: str = "reply") -> list[Row]:
    """Rows of text that goes on with the paragraph whose last row is ``before``; they take the place of that row."""
    line, _, rest = clean(source).partition("\n")
    if page.plain:
        spans = [Span(line, style)]
    else:
        token = _parser().parseInline(line)[0]
        spans = [span for part in lines_of(token.children or [], style, page.glyphs) for span in part]
    rows = wrap_spans([*before.spans, Span(" ", style), *spans], page.prose)
    rows[0] = Row(rows[0].spans, before.joins)
    return rows + lay_out_markdown(rest, page, style) if rest.strip() else rows


def code_blocks(source: str) -> list[str]:
    """The code blocks of a Markdown text, in order."""
    source = clean(source, tabs=True)
    return [token.content.rstrip("\n") for token in _parser().parse(source) if token.type in ("fence", "code_block")]


class _Layout:
    """A walk over the block tokens of one source."""

    def __init__(self, source: str, label: bool) -> None:
        self.label = label
        self.lines = source.split("\n")
        self.tokens: list[Token] = _parser().parse(source)

    def blocks(self, index: int, until: str, page: Page, style: str) -> tuple[list[Row], int]:
        """Rows of the blocks from ``index`` to the token ``until`` (or the end), and the index after it."""
        rows: list[Row] = []
        before = ""
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.type == until:
                return rows, index + 1
            part, index = self.block(index, page, style)
            if rows and part and self._apart(token, before):
                rows.append(BLANK)
            rows += part
            before = token.type
        return rows, index

    def _apart(self, token: Token, before: str) -> bool:
        """Whether a blank row goes before this block: where the source has one, and around what needs air."""
        if token.type in _AIRY or (before in _AIRY and before != "heading_open"):
            return True
        line = token.map[0] - 1 if token.map else -1
        return line >= 0 and not self.lines[line].strip(" >\t")

    def block(self, index: int, page: Page, style: str) -> tuple[list[Row], int]:
        """Rows of the one block that begins at ``index``, and the index after it."""
        token = self.tokens[index]
        kind = token.type
        if kind == "paragraph_open":
            return self._paragraph(self.tokens[index + 1], page, style), index + 3
        if kind == "heading_open":
            level = min(int(token.tag[1:]), 4)
            return self._paragraph(self.tokens[index + 1], page, f"{style} heading heading-{level}"), index + 3
        if kind in ("fence", "code_block"):
            language = token.info.strip().split(" ")[0] if token.info.strip() else ""
            code = token.content.removesuffix("\n")
            return lay_out_code(code, clean(language), page.prose, page, label=self.label), index + 1
        if kind in ("bullet_list_open", "ordered_list_open"):
            return self._list(index, page, style)
        if kind == "blockquote_open":
            inside = replace(page, width=max(4, page.prose - 2))
            inner, after = self.blocks(index + 1, "blockquote_close", inside, f"{style} quote")
            bar = Span(f"{page.glyphs.quote} ", "quote-bar", None, True)
            return indent(inner, bar, bar), after
        if kind == "table_open":
            return self._table(index, page, style)
        if kind == "hr":
            return [Row((Span(page.glyphs.rule * page.prose, "rule", None, True),))], index + 1
        return wrap_text(clean(token.content).rstrip("\n"), style, page.prose), index + 1

    def _paragraph(self, token: Token, page: Page, style: str) -> list[Row]:
        rows: list[Row] = []
        for line in lines_of(token.children or [], style, page.glyphs):
            rows += wrap_spans(line, page.prose)
        return rows

    def _list(self, index: int, page: Page, style: str) -> tuple[list[Row], int]:
        opened = self.tokens[index]
        ordered = opened.type == "ordered_list_open"
        until = opened.type.replace("open", "close")
        items = sum(1 for token in self._inside(index) if token.type == "list_item_open" and token.level == opened.level + 1)
        number = int(opened.attrs.get("start", 1) or 0) if ordered else 0
        size = len(str(number + items - 1)) + 2 if ordered else 2
        bullet = page.glyphs.bullet if opened.level < 2 else page.glyphs.bullet_inner
        inner = replace(page, width=max(4, page.prose - size))
        rows: list[Row] = []
        index += 1
        while self.tokens[index].type != until:
            item = self.tokens[index]
            part, index = self.blocks(index + 1, "list_item_close", inner, style)
            marker = Span(f"{number}. ".rjust(size) if ordered else f"{bullet} ", "bullet")
            part, marker = _task(part, marker, page) if part else ([BLANK], marker)
            if rows and self._apart(item, ""):
                rows.append(BLANK)
            rows += indent(part, marker, Span(" " * size))
            number += 1
        return rows, index + 1

    def _inside(self, index: int) -> list[Token]:
        level = self.tokens[index].level
        end = index + 1
        while self.tokens[end].level > level or self.tokens[end].nesting != -1:
            end += 1
        return self.tokens[index + 1 : end]

    def _table(self, index: int, page: Page, style: str) -> tuple[list[Row], int]:
        lines: list[list[Cell]] = []
        aligns: list[str] = []
        index += 1
        while self.tokens[index].type != "table_close":
            token = self.tokens[index]
            if token.type == "tr_open":
                lines.append([])
            elif token.type in ("th_open", "td_open"):
                look = f"{style} table-header" if token.type == "th_open" else style
                parts = lines_of(self.tokens[index + 1].children or [], look, page.glyphs)
                lines[-1].append([span for part in parts for span in part])
                if len(lines) == 1:
                    aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:") or "left")
            index += 1
        return lay_out_table(lines[0], lines[1:], aligns, page), index + 1


def _task(rows: list[Row], marker: Span, page: Page) -> tuple[list[Row], Span]:
    """A list item that begins with ``[ ]`` or ``[x]`` gets a box for its bullet."""
    first = rows[0].spans[0] if rows[0].spans else None
    if first is None or first.text[:4].lower() not in ("[ ] ", "[x] "):
        return rows, marker
    done = first.text[1] in "xX"
    box = page.glyphs.checked if done else page.glyphs.unchecked
    spans = (first._replace(text=first.text[4:]), *rows[0].spans[1:])
    return [Row(spans, rows[0].joins), *rows[1:]], Span(f"{box} ".ljust(cells(marker.text)), "bullet")
