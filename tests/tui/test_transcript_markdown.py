"""Markdown becomes rows that fit, read well and copy well."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_tui.tui.glyphs import ASCII, UNICODE
from hermes_tui.tui.transcript.markdown import code_blocks, lay_out_markdown
from hermes_tui.tui.transcript.rows import Page, Row, cells, wrap_text
from tests.tui.control import is_control

PAGE = Page(40, UNICODE)


def shown(source: str, page: Page = PAGE) -> list[str]:
    return [row.text.rstrip() for row in lay_out_markdown(source, page)]


def copied(rows: list[Row]) -> str:
    out = ""
    for number, row in enumerate(rows):
        out += (row.joins if number else "") + row.copied
    return out


def styles(source: str, text: str) -> str:
    return next(span.style for row in lay_out_markdown(source, PAGE) for span in row.spans if text in span.text)


def test_a_paragraph_wraps_between_words() -> None:
    assert shown("The reader holds the lock while it waits for the writer") == [
        "The reader holds the lock while it waits",
        "for the writer",
    ]


def test_a_wrapped_paragraph_is_one_line_when_copied() -> None:
    source = "The reader holds the lock while it waits for the writer, and the writer waits too"
    assert copied(lay_out_markdown(source, PAGE)) == source


def test_a_line_break_of_the_model_stays() -> None:
    assert shown("Name: a\nSize: b") == ["Name: a", "Size: b"]


def test_lists_stand_under_their_bullets() -> None:
    assert shown("- one item that is longer than the line is wide\n  - inner\n- two") == [
        "• one item that is longer than the line",
        "  is wide",
        "  – inner",
        "• two",
    ]


def test_numbers_are_right_aligned() -> None:
    assert shown("9. nine\n10. ten") == [" 9. nine", "10. ten"]


def test_tasks_have_boxes() -> None:
    assert shown("- [ ] write\n- [x] find") == ["☐ write", "☑ find"]


def test_code_keeps_its_columns_and_names_its_language() -> None:
    rows = lay_out_markdown("```python\nif x:\n    return 1\n```", PAGE)
    assert [row.text.rstrip() for row in rows] == ["  if x:                          python", "      return 1"]
    assert copied(rows) == "if x:\n    return 1"
    assert {cells(row.text) for row in rows} == {40}, "its ground is a block"


def test_long_code_lines_wrap_and_copy_whole() -> None:
    line = "x = '" + "a" * 90 + "'"
    assert copied(lay_out_markdown(f"```\n{line}\n```", PAGE)) == line


def test_keywords_and_strings_have_their_styles() -> None:
    assert "syntax-keyword" in styles("```python\nreturn 'a'\n```", "return")
    assert "syntax-string" in styles("```python\nreturn 'a'\n```", "'a'")


def test_an_unknown_language_is_shown_plain() -> None:
    assert shown("```no-such-language\nx\n```")[0].startswith("  x")


def test_tables_fit_their_columns() -> None:
    assert shown("| file | rows |\n|---|---:|\n| a.py | 412 |\n| long_name.py | 7 |") == [
        "file          rows",
        "────────────  ────",
        "a.py           412",
        "long_name.py     7",
    ]


def test_a_table_too_wide_wraps_in_its_cells() -> None:
    rows = shown("| a | b |\n|---|---|\n| short | a text that is far longer than what is left of the line |")
    assert max(map(cells, rows)) <= 40
    assert rows[2].startswith("short  a text")


def test_a_table_too_narrow_to_stand_becomes_records() -> None:
    columns = "|" + "|".join(f"column{n}" for n in range(12)) + "|\n|" + "---|" * 12 + "\n|" + "value|" * 12
    assert shown(columns)[0] == "column0: value"


def test_quotes_have_a_bar_that_is_not_copied() -> None:
    rows = lay_out_markdown("> said\n>\n> so", PAGE)
    assert [row.text.rstrip() for row in rows] == ["│ said", "│", "│ so"]
    assert copied(rows) == "said\n\nso"


def test_links_carry_their_address() -> None:
    rows = lay_out_markdown("see [the docs](https://example.com/a) or https://example.org", PAGE)
    hits = [span.hit for row in rows for span in row.spans if span.hit]
    assert ("link", "https://example.com/a") in hits
    assert ("link", "https://example.org") in hits


def test_wide_characters_take_two_cells_and_break_anywhere_but_before_a_full_stop() -> None:
    rows = shown("日本語の文" * 4 + "章。", Page(44, UNICODE))
    assert rows == ["日本語の文" * 4, "章。"] or rows == ["日本語の文" * 4 + "章。"]
    rows = shown("日本語の文" * 4 + "。", Page(40, UNICODE))
    assert rows == ["日本語の文" * 3 + "日本語の", "文。"]


def test_html_and_brackets_are_text() -> None:
    assert shown("<b>x</b> [/b] [bold]y") == ["<b>x</b> [/b] [bold]y"]


def test_a_terminal_without_unicode_gets_ascii() -> None:
    source = "# Title\n\n- a\n  - b\n\n> q\n\n| x |\n|---|\n| 1 |\n\n---\n"
    assert all(row.isascii() for row in shown(source, Page(40, ASCII)))


def test_a_control_hidden_in_an_entity_is_gone() -> None:
    assert shown("a&#x202e;b &#27;[31m &#x9b;")[0].startswith("ab")
    assert not any(is_control(c) for line in shown("a&#x202e;b &#27;[31m &#x9b; &#x2028;") for c in line)


def test_code_blocks_are_found_in_order() -> None:
    assert code_blocks("```\na\n```\n\ntext\n\n~~~py\n\tb\n~~~") == ["a", "\tb"]


SAID = ("word", "**bold**", "`code`", "a_b_c", "*", "`", "[x](http://y)", "|", "[/b]", "x" * 70)
ODD = ("日本語", "👩‍👩‍👧", "&amp;", "\u202e", "\x1b[1m")
WORDS = st.sampled_from((*SAID, *ODD))
STARTS = st.sampled_from(
    ["", "", "", "# ", "- ", "  - ", "1. ", "> ", "```\n", "```py\n", "    ", "| a | b |\n|---|---|\n| ", "---\n", "- [ ] "]
)
DOCUMENTS = st.lists(st.tuples(STARTS, st.lists(WORDS, max_size=14)), max_size=12).map(
    lambda lines: "\n".join(start + " ".join(words) for start, words in lines)
)


@given(DOCUMENTS, st.integers(8, 120))
@settings(max_examples=150, deadline=None)
def test_no_document_is_wider_than_its_page_or_raises(source: str, width: int) -> None:
    for row in lay_out_markdown(source, Page(width, UNICODE)):
        assert "\n" not in row.text
        assert not any(is_control(character) for character in row.text)
        assert cells(row.text) <= max(width, 16), row.text  # nested prefixes keep a few cells for the text


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=300), st.integers(2, 60))
@settings(deadline=None)
def test_plain_text_survives_wrapping(text: str, width: int) -> None:
    from hermes_tui.tui.clean import clean

    source = clean(text)
    rows = wrap_text(source, "", width)
    assert all(cells(row.text) <= width for row in rows)
    whole = "".join((row.joins if number else "") + row.text for number, row in enumerate(rows))
    kept = [line.strip(" \u3000") for line in source.split("\n")]
    assert [line.strip(" \u3000") for line in whole.split("\n")] == kept


FRAGMENTS = ["", "\n\n", "```", "|", "- ", ">", "#", "[", "![", "`" * 200, "*" * 500, "[" * 500, ">" * 300]


@pytest.mark.parametrize("source", FRAGMENTS)
def test_fragments_and_pathologies_are_laid_out(source: str) -> None:
    lay_out_markdown(source, PAGE)
