"""The composer: Enter sends, the keys for a new line begin one, pastes and history behave."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App, ComposeResult

from hermes_tui.tui.widgets.composer import NEWLINE_KEYS, Composer, PromptHistory
from tests.tui.waiting import until


class Page(App[None]):
    """A composer by itself; keeps what was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Composer.Sent] = []

    def compose(self) -> ComposeResult:
        yield Composer(placeholder="Message …")

    def on_composer_sent(self, event: Composer.Sent) -> None:
        self.sent.append(event)

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        from hermes_tui.tui.themes import FALLBACK_VARIABLES

        return dict(FALLBACK_VARIABLES)


async def test_enter_sends_and_the_composer_is_empty_again() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: app.sent)
        assert app.sent[0].text == "hello"
        assert app.composer.text == ""


async def test_nothing_but_blanks_is_not_sent() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        await pilot.press("space", "ctrl+j", "enter")
        await pilot.pause()
        assert app.sent == []


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter"])
async def test_a_new_line_is_begun_and_sent_with_the_rest(key: str) -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        await pilot.press("a", key, "b", "enter")
        await until(pilot, lambda: app.sent)
        assert app.sent[0].text == "a\nb"


@pytest.mark.parametrize("sequence", ["\x1b[13;2u", "\x1b[27;2;13~", "\x1b\r", "\n"])
def test_whatever_a_terminal_sends_for_shift_enter_or_ctrl_j_is_a_key_for_a_new_line(sequence: str) -> None:
    parser = XTermParser()
    keys = [event.key for event in (*parser.feed(sequence), *parser.feed("")) if isinstance(event, events.Key)]
    assert len(keys) == 1
    assert keys[0] in NEWLINE_KEYS


async def test_it_grows_with_its_lines_and_stops_at_ten() -> None:
    async with Page().run_test(size=(60, 40)) as pilot:
        composer = pilot.app.query_one(Composer)
        heights = []
        for _ in range(14):
            await pilot.press("x", "ctrl+j")
            await pilot.pause()
            heights.append(composer.size.height)
        assert heights[0] == 2
        assert heights[-1] == 10
        assert heights == sorted(heights)


async def test_a_long_paste_stands_as_a_chip_and_is_sent_whole() -> None:
    pasted = "\n".join(f"line {n}" for n in range(1_000))
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        await pilot.press(*"see ")
        app.composer.post_message(events.Paste(pasted))
        await until(pilot, lambda: "1,000 lines" in app.composer.text)
        assert "line 500" not in app.composer.text
        await pilot.press("enter")
        await until(pilot, lambda: app.sent)
        assert app.sent[0].text == f"see {pasted}"


async def test_backspace_takes_a_whole_chip_away() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        app.composer.post_message(events.Paste("x\n" * 300))
        await until(pilot, lambda: app.composer.text)
        await pilot.press("backspace")
        assert app.composer.text == ""


async def test_a_short_paste_of_many_lines_stays_one_message() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        app.composer.post_message(events.Paste("one\r\ntwo\rthree"))
        await until(pilot, lambda: app.composer.text)
        await pilot.press("enter")
        await until(pilot, lambda: app.sent)
        assert [event.text for event in app.sent] == ["one\ntwo\nthree"]


async def test_no_control_character_of_a_paste_comes_to_stand_in_it() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        app.composer.post_message(events.Paste("a\x1b]52;c;eA==\x07\x9b31m\u202eb"))
        await until(pilot, lambda: app.composer.text)
        assert app.composer.text == "a]52;c;eA==31mb"


async def test_up_and_down_walk_through_what_was_sent_and_keep_what_was_being_written() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        for text in ("first", "second"):
            await pilot.press(*text, "enter")
        await pilot.press(*"draft", "up")
        assert app.composer.text == "second"
        await pilot.press("up")
        assert app.composer.text == "first"
        await pilot.press("up")
        assert app.composer.text == "first"
        await pilot.press("down", "down")
        assert app.composer.text == "draft"


async def test_up_inside_several_lines_moves_the_cursor_first() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        await pilot.press(*"sent", "enter", "a", "ctrl+j", "b", "up")
        assert app.composer.text == "a\nb"
        await pilot.press("up")
        assert app.composer.text == "sent"


def test_the_history_begins_with_what_the_chain_already_holds() -> None:
    history = PromptHistory()
    history.seed(["one", "two"])
    assert [history.older(""), history.older(""), history.older("")] == ["two", "one", None]
    assert [history.newer(), history.newer(), history.newer()] == ["two", "", None]


async def test_what_was_sent_before_is_recalled_without_its_control_characters() -> None:
    async with Page().run_test() as pilot:
        app: Any = pilot.app
        app.composer.history_of_prompts.seed(["a\x1b[2Jb"])
        await pilot.press("up")
        assert app.composer.text == "a[2Jb"
