"""How each kind of block looks: a block and a page in, rows out."""

from __future__ import annotations

from hermes_tui.tui.clean import clean, clean_line
from hermes_tui.tui.numbers import short
from hermes_tui.tui.transcript.blocks import (
    OF_HERMES,
    Block,
    Card,
    Divider,
    Notice,
    Queued,
    ReplySaid,
    Thought,
    ToolCard,
    UserSaid,
)
from hermes_tui.tui.transcript.markdown import lay_out_markdown
from hermes_tui.tui.transcript.rows import BLANK, Page, Row, Span, cells, crop, indent, wrap_columns, wrap_text

SHOWN_LINES = 400
"""Lines of a tool result that an open card shows; copying the card gives all of it."""


def lead(previous: Block | None, block: Block, page: Page) -> list[Row]:
    """The rows that stand before a block's own because of what it follows: a blank row, a speaker's name, both or none."""
    heading = _heading(previous, block, page)
    if previous is None:
        return heading
    close = not heading and _close(previous, block)
    return heading if close else [BLANK, *heading]


def _heading(previous: Block | None, block: Block, page: Page) -> list[Row]:
    dot = page.glyphs.dot
    if isinstance(block, UserSaid):
        spans = [Span("you", "user-name")]
        if block.time:
            spans.append(Span(f" {dot} {clean_line(block.time)}", "muted"))
        return [Row(tuple(spans))]
    if isinstance(block, Queued):
        return [Row((Span("you", "queued"), Span(f" {dot} queued", "muted")))]
    if isinstance(block, OF_HERMES) and not isinstance(previous, OF_HERMES):
        return [Row((Span("hermes", "reply-name"),))]
    return []


def _close(previous: Block, block: Block) -> bool:
    """Whether a block stands directly under the one before it."""
    if isinstance(block, Notice):
        return isinstance(previous, Notice)
    return isinstance(previous, Thought | ToolCard) and isinstance(block, OF_HERMES)


def draw(block: Block, page: Page, folded: bool) -> list[Row]:
    """The block's own rows."""
    if isinstance(block, UserSaid):
        return wrap_text(clean(block.text).rstrip("\n"), "user", page.prose)
    if isinstance(block, ReplySaid):
        return draw_reply(block, page)
    if isinstance(block, Queued):
        return wrap_text(clean(block.text).rstrip("\n"), "queued", page.prose)
    if isinstance(block, Divider):
        return [_divider(block, page)]
    if isinstance(block, Notice):
        return _notice(block, page)
    return [card_header(block, page, folded), *(() if folded else card_body(block, page))]


def draw_reply(block: ReplySaid, page: Page) -> list[Row]:
    """Rows of a reply; text that Markdown cannot read for whatever reason is shown as it is written."""
    try:
        rows = lay_out_markdown(block.text, page)
    except Exception:
        rows = wrap_text(clean(block.text), "reply", page.prose)
    if block.ending:
        rows = [*rows, Row((Span(f"{page.glyphs.dot} {clean_line(block.ending)}", "muted"),))]
    return rows or [BLANK]


def card_header(card: Card, page: Page, folded: bool, growing: bool = False) -> Row:
    """The one row that a folded card is: what it was, and its tokens at the end of the row."""
    hit = ("fold", card.id)
    glyph = page.glyphs.folded if folded else page.glyphs.open
    tokens = short(card.tokens) if card.tokens is not None else ""
    if isinstance(card, Thought):
        seconds = f" for {card.seconds:.0f} s" if card.seconds is not None and card.seconds >= 0.5 else ""
        name, argument, state = ("thinking", "", "") if growing else (f"thought{seconds}", "", "")
        look = "card-thought"
    else:
        name, argument = clean_line(card.name) or "tool", clean_line(card.main_argument)
        look = "card-name"
        state = "failed" if card.is_error else "running" if card.running or growing else ""
    mark = f" {page.glyphs.error} {state}" if state == "failed" else f" {page.glyphs.ellipsis} {state}" if state else ""
    room = page.prose - 2 - cells(tokens) - cells(mark) - 1
    name = crop(name, room, page.glyphs.ellipsis)
    argument = crop(argument, room - cells(name) - 1, page.glyphs.ellipsis)
    spans = [Span(f"{glyph} ", "card-glyph", hit, True), Span(name, look, hit)]
    if argument:
        spans.append(Span(f" {argument}", "card-argument", hit))
    if mark:
        spans.append(Span(mark, "error" if card_failed(card) else "card-argument", hit))
    used = sum(cells(span.text) for span in spans)
    spans.append(Span(" " * max(0, page.prose - used - cells(tokens)), "card-argument", hit, True))
    if tokens:
        spans.append(Span(tokens, "card-tokens", hit, True))
    return Row(tuple(spans))


def card_failed(card: Card) -> bool:
    """Whether the card is of a tool that answered with an error."""
    return isinstance(card, ToolCard) and card.is_error


def card_body(card: Card, page: Page) -> list[Row]:
    """What an open card shows under its header."""
    width = max(4, page.prose - 2)
    if isinstance(card, Thought):
        rows = wrap_text(clean(card.text).strip("\n"), "thought", width)
    else:
        rows = _shown(card.input, "card-input", width, page) if card.input else []
        if card.result is not None:
            rows += _shown(card.result or "(empty)", "error" if card.is_error else "card-result", width, page)
    margin = Span("  ", "", None, True)
    return indent(rows, margin, margin)


def _shown(text: str, style: str, width: int, page: Page) -> list[Row]:
    lines = clean(text).rstrip("\n").split("\n")
    rows = wrap_text("\n".join(lines[:SHOWN_LINES]), style, width)
    if len(lines) > SHOWN_LINES:
        more = f"{page.glyphs.ellipsis} {len(lines) - SHOWN_LINES:,} more lines {page.glyphs.dot} y copies all"
        rows.append(Row((Span(more, "muted", None, True),)))
    return rows


def _divider(block: Divider, page: Page) -> Row:
    line, hit = page.glyphs.divider, ("divider", block.id)
    text = crop(clean_line(block.text), page.prose - 8, page.glyphs.ellipsis)
    after = max(2, page.prose - cells(text) - 4)
    return Row(
        (
            Span(f"{line * 2} ", "divider-line", hit, True),
            Span(text, "divider", hit),
            Span(f" {line * after}", "divider-line", hit, True),
        )
    )


def _notice(block: Notice, page: Page) -> list[Row]:
    glyph = {"warning": page.glyphs.warning, "error": page.glyphs.error}.get(block.severity, page.glyphs.information)
    style = block.severity if block.severity in ("warning", "error") else "notice"
    rows = wrap_columns(clean(block.text).rstrip("\n"), style, max(4, page.prose - 2))
    return indent(rows, Span(f"{glyph} ", style, None, True), Span("  ", style, None, True))
