"""A reply that streams looks like the reply it becomes, and costs the same however long it is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_tui.tui.glyphs import UNICODE
from hermes_tui.tui.transcript.growth import MarkdownGrowth, PlainGrowth
from hermes_tui.tui.transcript.markdown import lay_out_markdown
from hermes_tui.tui.transcript.rows import Page
from hermes_tui.tui.transcript.streaming import LIVE_LIMIT, Growing, Join
from tests.tui.test_transcript_markdown import DOCUMENTS

PAGE = Page(60, UNICODE)
CARET = UNICODE.caret


def texts(rows: list) -> list[str]:
    found = [row.text.rstrip() for row in rows]
    if found and found[-1].endswith(CARET):
        found[-1] = found[-1].removesuffix(CARET).rstrip()
        if not found[-1]:
            found.pop()
    while found and not found[-1]:
        found.pop()
    return found


def stream(source: str, sizes: list[int], page: Page = PAGE) -> MarkdownGrowth:
    growth, position = MarkdownGrowth(), 0
    for size in sizes * (len(source) // sum(sizes) + 1):
        growth.grow(source[position : position + size])
        position += size
        growth.lay_out(page)
    growth.lay_out(page)
    return growth


@given(DOCUMENTS, st.lists(st.integers(1, 40), min_size=1, max_size=8))
@settings(deadline=None)
def test_no_text_is_lost_or_doubled_by_cutting(source: str, sizes: list[int]) -> None:
    growing, position, pieces = Growing(), 0, []
    for size in sizes * (len(source) // sum(sizes) + 1):
        growing.grow(source[position : position + size])
        position += size
        pieces += growing.freeze()
    pieces.append(growing.live)
    # a fence that goes on begins with its opening line once more, so that it can be laid out by itself
    assert "".join(piece.text if piece.label else piece.text.partition("\n")[2] for piece in pieces) == source
    assert growing.text == source


@given(DOCUMENTS, st.lists(st.integers(1, 40), min_size=1, max_size=8))
@settings(deadline=None, max_examples=80)
def test_a_short_document_streams_to_what_it_is_at_its_end(source: str, sizes: list[int]) -> None:
    streamed = texts(stream(source, sizes).rows)
    exact = texts(lay_out_markdown(source, PAGE))
    # A list that a blank line divides is two lists to the stream, so numbers and marks may stand in other columns.
    assert [line.split() for line in streamed if line] == [line.split() for line in exact if line]


def test_a_long_paragraph_wraps_as_if_it_had_come_at_once() -> None:
    words = random.Random(7).choices(["lock", "reader", "`x`", "**held**", "waits", "extraordinarily", "a"], k=4000)
    source = " ".join(words)
    assert texts(stream(source, [211]).rows) == texts(lay_out_markdown(source, PAGE))


def test_a_long_list_streams_to_the_list_it_is() -> None:
    source = "Here:\n" + "\n".join(f"- item {n} with some words that say what it is about" for n in range(300))
    assert texts(stream(source, [97]).rows) == texts(lay_out_markdown(source, PAGE))


def test_a_long_fence_streams_to_the_code_it_is() -> None:
    source = "Look:\n\n```python\n" + "\n".join(f"def f{n}():\n\n    return {n}\n" for n in range(200)) + "```\n\nDone."
    assert texts(stream(source, [83]).rows) == texts(lay_out_markdown(source, PAGE))


@pytest.mark.parametrize("kind", ["words", "list", "code", "stray"])
def test_the_live_end_stays_short_however_long_the_reply(kind: str) -> None:
    growing, longest = Growing(), 0
    for n in range(6000):
        word = f"word{n} "
        if kind == "list" and n % 9 == 0:
            word = f"\n- {word}"
        elif kind == "code":
            word = "```\n" if n == 0 else word + "\n" * (n % 7 == 0)
        elif kind == "stray" and n == 5:
            word = "*"
        growing.grow(word)
        growing.freeze()
        longest = max(longest, len(growing.live.text))
    assert longest < 4 * LIVE_LIMIT


def test_what_is_frozen_is_not_laid_out_again() -> None:
    growth = MarkdownGrowth("first\n\nsecond\n\nthird")
    growth.lay_out(PAGE)
    kept = growth.rows[:3]
    growth.grow(" more")
    assert growth.lay_out(PAGE) == 3
    assert all(row is other for row, other in zip(kept, growth.rows, strict=False))


def test_another_width_in_the_middle_lays_out_everything_anew() -> None:
    source = "word " * 600 + "\n\n- a\n- b"
    growth = MarkdownGrowth(source[:2000])
    growth.lay_out(PAGE)
    growth.grow(source[2000:])
    growth.lay_out(Page(33, UNICODE))
    assert texts(growth.rows) == texts(lay_out_markdown(source, Page(33, UNICODE)))


def test_a_paragraph_that_goes_on_is_never_taken_for_a_list_or_heading() -> None:
    growing = Growing()
    growing.grow("word " * 250 + "- " * 400 + "# " * 100)
    pieces = [*growing.freeze(), growing.live]
    assert [piece.join for piece in pieces[1:]] == [Join.ON] * (len(pieces) - 1)
    source = "".join(piece.text for piece in pieces)
    assert texts(stream(source, [240]).rows) == texts(lay_out_markdown(source, PAGE))


def test_thinking_grows_line_by_line() -> None:
    growth = PlainGrowth()
    for piece in ("The user ", "asks\nabout", " locks\n\nand ", "files"):
        growth.grow(piece)
        growth.lay_out(PAGE)
    assert texts(growth.rows) == ["  The user asks", "  about locks", "", "  and files"]
