"""The rows of text that still streams: the finished part laid out once, the live end again at every flush."""

from __future__ import annotations

from hermes_tui.tui.clean import clean
from hermes_tui.tui.transcript.markdown import lay_out_markdown, lay_out_onward
from hermes_tui.tui.transcript.rows import BLANK, Page, Row, Span, cells, indent, wrap_text
from hermes_tui.tui.transcript.streaming import Growing, Join, Piece


class MarkdownGrowth:
    """A reply that grows. ``rows`` is what to show; a caret stands at its end."""

    def __init__(self, text: str = "") -> None:
        self.rows: list[Row] = []
        self._growing = Growing()
        self._frozen = 0
        """How many of the rows are final until the end."""
        self._carried: Row | None = None
        """The row after them, when the live end goes on in it."""
        self._page: Page | None = None
        if text:
            self.grow(text)

    @property
    def text(self) -> str:
        """All of the text so far, laid out or not."""
        return self._growing.text

    def grow(self, text: str) -> None:
        """Take in more text; nothing is laid out."""
        self._growing.grow(text)

    def lay_out(self, page: Page) -> int:
        """Bring the rows up to date; returns the first row that may differ from before."""
        if page != self._page:
            text, self._growing = self.text, Growing()
            self._growing.grow(text)
            self.rows, self._frozen, self._carried, self._page = [], 0, None, page
        first = self._frozen
        del self.rows[first:]
        if self._carried is not None:
            self.rows.append(self._carried)
        for piece in self._growing.freeze():
            self._add(piece, page)
        live = self._growing.live
        self._carried = self.rows[-1] if live.join is Join.ON and self.rows else None
        self._frozen = len(self.rows) - (self._carried is not None)
        if live.text.strip():
            self._add(live, page)
        self.rows = _with_caret(self.rows, self._frozen, page)
        return first

    def _add(self, piece: Piece, page: Page) -> None:
        if piece.join is Join.ON and self.rows:
            self.rows += lay_out_onward(piece.text, self.rows.pop(), page)
            return
        rows = lay_out_markdown(piece.text, page, label=piece.label)
        if rows and self.rows and piece.join is Join.APART:
            self.rows.append(BLANK)
        self.rows += rows


class PlainGrowth:
    """Thinking that grows, as an open card shows it: plain text, where every finished line is final."""

    def __init__(self, text: str = "") -> None:
        self.rows: list[Row] = []
        self._parts: list[str] = [text] if text else []
        self._frozen = 0
        self._done = 0
        """How many characters the frozen rows hold."""
        self._page: Page | None = None

    @property
    def text(self) -> str:
        """All of the text so far, laid out or not."""
        return "".join(self._parts)

    def grow(self, text: str) -> None:
        """Take in more text; nothing is laid out."""
        self._parts.append(text)

    def lay_out(self, page: Page) -> int:
        """Bring the rows up to date; returns the first row that may differ from before."""
        if page != self._page:
            self.rows, self._frozen, self._done, self._page = [], 0, 0, page
        first = self._frozen
        text = self.text
        end = text.rfind("\n") + 1
        del self.rows[first:]
        if end > self._done:
            self.rows += _thought(text[self._done : end - 1], page)
            self._frozen, self._done = len(self.rows), end
        self.rows += _thought(text[self._done :], page)
        self.rows = _with_caret(self.rows, self._frozen, page)
        return first


Growth = MarkdownGrowth | PlainGrowth


def _thought(text: str, page: Page) -> list[Row]:
    margin = Span("  ", "", None, True)
    return indent(wrap_text(clean(text), "thought", max(4, page.prose - 2)), margin, margin)


def _with_caret(rows: list[Row], frozen: int, page: Page) -> list[Row]:
    """The rows with a caret at the end of the last live one, or in a row of its own."""
    caret = Span(page.glyphs.caret, "caret", None, True)
    if len(rows) > frozen and cells(rows[-1].text) < page.prose:
        rows[-1] = Row((*rows[-1].spans, caret), rows[-1].joins)
    else:
        rows.append(Row((caret,)))
    return rows
