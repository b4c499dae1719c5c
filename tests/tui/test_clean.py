"""Nothing that a model, a tool, a file or a theme says can speak to the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.tui.clean import clean, clean_line
from tests.growth import growth
from tests.tui.control import is_control


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain", "plain"),
        ("\x1b]52;c;aGk=\x07", "]52;c;aGk="),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\x9b31mb", "a31mb"),
        ("abc\u202edef\u2066x\u2069", "abcdefx"),
        ("\u200e\u200f\u061c", ""),
        ("a\tb", "a   b"),
        ("tab\tat a stop", "tab at a stop"),
        ("a\r\nb\rc\u2028d\u2029e\x85f\x0bg\x0ch", "a\nb\nc\nd\ne\nf\ng\nh"),
        ("lone \ud83d surrogate", "lone  surrogate"),
        ("null\x00 del\x7f", "null del"),
        ("[/b] [bold]", "[/b] [bold]"),
        ("<|endoftext|>", "<|endoftext|>"),
        ("👩‍👩‍👧 日本語 e\u0301", "👩‍👩‍👧 日本語 e\u0301"),
    ],
)
def test_what_is_said_is_shown_without_what_a_terminal_would_obey(said: str, shown: str) -> None:
    assert clean(said) == shown


@given(st.text(st.characters()))
def test_no_control_is_left_whatever_the_text(text: str) -> None:
    assert not any(is_control(character) for character in clean(text) if character != "\n")
    assert not any(is_control(character) for character in clean_line(text))
    clean(text).encode()  # and it can be written


@given(st.text(st.characters()))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_a_label_is_one_line() -> None:
    assert clean_line("a\nb\r\nc") == "a b c"


def test_copied_code_keeps_its_tabs() -> None:
    assert clean("all:\n\tmake\x1b", tabs=True) == "all:\n\tmake"


def test_a_long_text_takes_no_longer_than_its_length_says() -> None:
    text = "some text with \x1b in it\n"
    assert growth(clean, text * 4_000, text * 40_000) < 40
