"""The transcript on a screen, driven by keys and mouse."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

import pytest
from textual.app import App, ComposeResult
from textual.message import Message
from textual.screen import Screen
from textual.selection import SELECT_ALL
from textual.widgets import Static

from hermes_tui.tui.themes import FALLBACK_VARIABLES
from hermes_tui.tui.transcript import (
    Block,
    Divider,
    Notice,
    Queued,
    ReplySaid,
    Thought,
    ToolCard,
    Transcript,
    UserSaid,
    warming,
)
from hermes_tui.tui.transcript.markdown import lay_out_markdown
from tests.tui.control import is_control
from tests.tui.waiting import until


class Alone(App[None]):
    """A transcript and nothing else."""

    CSS = "#above { height: 1; }"

    def __init__(self, blocks: Iterable[Block] = (), earlier: bool = False) -> None:
        super().__init__()
        self.blocks, self.earlier = tuple(blocks), earlier
        self.heard: list[Message] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return FALLBACK_VARIABLES

    def compose(self) -> ComposeResult:
        yield Static("above", id="above", markup=False)
        yield Transcript()

    def on_mount(self) -> None:
        self.transcript.set_blocks(self.blocks, self.earlier)
        self.transcript.focus()

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def said(self, kind: type[Message]) -> list[Message]:
        """Messages of a kind, each once although every widget it bubbles to hears it."""
        return list({id(message): message for message in self.heard if isinstance(message, kind)}.values())

    def run(self, *, size: tuple[int, int] = (60, 20)):
        return self.run_test(size=size, message_hook=self.heard.append)


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    """Parser and lexers are there, as they are a moment after the first frame."""
    warming.warm_up()


def lines(transcript: Transcript) -> list[str]:
    """What is in view."""
    return [transcript.render_line(y).text.rstrip()[2:] for y in range(transcript.size.height)]


def talk(turns: int, start: int = 0) -> list[Block]:
    blocks: list[Block] = []
    for n in range(start, start + turns):
        blocks += [
            UserSaid(f"u{n}", f"question {n}", "10:42"),
            ToolCard(f"c{n}", "read_file", f"file{n}.py", result="line\n" * 30, tokens=1200),
            ReplySaid(f"r{n}", f"answer {n}, " + "which takes more than one line to give. " * (n % 5 + 1)),
        ]
    return blocks


async def test_a_conversation_opens_at_its_end() -> None:
    app = Alone(talk(20))
    async with app.run() as pilot:
        await pilot.pause()
        assert lines(app.transcript)[-1].endswith("give.")
        assert app.transcript.following


async def test_only_what_is_seen_is_laid_out_however_long_the_conversation() -> None:
    app = Alone(talk(700))
    async with app.run() as pilot:
        await pilot.pause()
        assert sum(app.transcript._slots.exact) < 60


async def test_until_markdown_can_be_read_text_is_shown_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_warm", threading.Event())
    app = Alone([UserSaid("u", "hi"), ReplySaid("r", "**bold** words")])
    async with app.run() as pilot:
        assert "**bold** words" in lines(app.transcript) or "bold words" in lines(app.transcript)
        await until(pilot, lambda: "bold words" in lines(app.transcript))
        assert lines(app.transcript)[-1] == "" or app.transcript.following


async def test_a_reply_is_followed_as_it_streams_and_is_exact_at_its_end() -> None:
    text = "# Title\n\n" + "Some words and *more*.\n\n- a\n- b\n\n" * 80
    app = Alone(talk(3))
    async with app.run() as pilot:
        transcript = app.transcript
        transcript.stream_open(ReplySaid("s", ""))
        for k in range(0, len(text), 200):
            transcript.stream_grow("s", text[k : k + 200])
            await asyncio.sleep(0)
        await until(pilot, lambda: any("• b" in line for line in lines(transcript)[-3:]))
        assert transcript.scroll_y == transcript.max_scroll_y
        transcript.stream_close("s", ReplySaid("s", text))
        exact = lay_out_markdown(text, transcript._slots.page)
        await until(pilot, lambda: transcript._slots.slot("s").body == exact)
        assert transcript.scroll_y == transcript.max_scroll_y


async def test_scrolled_up_the_view_stays_while_text_streams_in() -> None:
    app = Alone(talk(20))
    async with app.run() as pilot:
        transcript = app.transcript
        transcript.stream_open(ReplySaid("s", "begun"))
        await pilot.pause()
        await pilot.press("pageup", "pageup")
        before = lines(transcript)
        for n in range(400):
            transcript.stream_grow("s", f"word{n} " + ("\n\n" if n % 9 == 0 else ""))
        await pilot.pause(0.2)
        assert lines(transcript) == before
        assert transcript._slots.slot("s").pending, "it waits, and costs nothing"
        await pilot.press("end")
        assert any("word399" in line for line in lines(transcript))
        assert transcript.following
        transcript.stream_grow("s", "\n\nmore")
        await until(pilot, lambda: any("more" in line for line in lines(transcript)))


async def test_reaching_the_bottom_by_the_wheel_follows_again() -> None:
    app = Alone(talk(20))
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        await pilot.press("pageup")
        assert not transcript.following
        for _ in range(40):
            transcript._on_mouse_scroll_down(_wheel(transcript))
        assert transcript.following


def _wheel(transcript: Transcript):
    from textual.events import MouseScrollDown

    return MouseScrollDown(transcript, 5, 5, 0, 1, 0, False, False, False)


async def test_older_messages_are_asked_for_once_and_come_in_without_moving_the_view() -> None:
    app = Alone(talk(20, start=20), earlier=True)
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        assert not app.said(Transcript.EarlierWanted)
        await pilot.press("home", "home")
        await pilot.pause()
        assert len(app.said(Transcript.EarlierWanted)) == 1
        before = lines(transcript)
        transcript.prepend(talk(20), earlier=False)
        assert lines(transcript) == before
        await pilot.press("home")
        assert lines(transcript)[:2] == ["you · 10:42", "question 0"]
        assert len(app.said(Transcript.EarlierWanted)) == 1


async def test_scrolling_up_through_unseen_messages_never_jumps() -> None:
    app = Alone(talk(60))
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        while transcript.scroll_y > 0:
            before = lines(transcript)
            top = round(transcript.scroll_y)
            transcript.scroll_relative(y=-3, animate=False)
            assert lines(transcript)[3:] == before[:-3] or top < 3
        assert lines(transcript)[:2] == ["you · 10:42", "question 0"]


async def test_a_card_opens_and_folds_where_it_stands() -> None:
    app = Alone([*talk(6), ToolCard("c", "read_file", "a.py", result="the result", tokens=9), ReplySaid("r", "done")])
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.press("up")
        assert transcript.cursor == "c"
        row = next(y for y, line in enumerate(lines(transcript)) if "a.py" in line)
        await pilot.press("enter")
        assert lines(transcript)[row].startswith("▾ read_file a.py")
        assert lines(transcript)[row + 1] == "  the result"
        await pilot.press("enter")
        assert lines(transcript)[row].startswith("▸ read_file a.py")
        await pilot.click(transcript, offset=(5, row))
        assert lines(transcript)[row].startswith("▾ read_file a.py")
        assert [message.folded for message in app.said(Transcript.CardToggled)] == [False, True, False]


async def test_a_divider_is_chosen_by_enter_and_by_click() -> None:
    app = Alone([Divider("d", "compressed 48.2k → 11.3k · 42 summarised"), UserSaid("u", "so?")])
    async with app.run() as pilot:
        await pilot.press("up", "enter")
        await pilot.click(app.transcript, offset=(10, 0))
        await pilot.pause()
        assert [message.id for message in app.said(Transcript.DividerChosen)] == ["d", "d"]
        assert lines(app.transcript)[0].startswith("╌╌ compressed 48.2k → 11.3k · 42 summarised ╌")


async def test_a_link_says_where_it_leads() -> None:
    app = Alone([ReplySaid("r", "[here](https://example.com/?q=[/b])")])
    async with app.run() as pilot:
        await pilot.pause()
        await pilot.click(app.transcript, offset=(3, 1))
        await pilot.pause()
        assert [message.url for message in app.said(Transcript.LinkChosen)] == ["https://example.com/?q=%5B/b%5D"]


async def test_the_cursor_goes_from_block_to_block_and_scrolls_long_ones() -> None:
    app = Alone([UserSaid("a", "first"), UserSaid("long", "\n".join(f"line {n}" for n in range(60))), UserSaid("b", "last")])
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        assert transcript.cursor == "b"
        await pilot.press("k")
        assert transcript.cursor == "long"
        presses = 0
        while transcript.cursor != "a":
            await pilot.press("up")
            presses += 1
        assert 5 < presses < 20
        assert lines(transcript)[:2] == ["you", "first"]
        await pilot.pause()
        assert [message.id for message in app.said(Transcript.BlockSelected)] == ["long", "a"]


async def test_what_is_selected_by_mouse_is_copied_without_bars_and_breaks() -> None:
    reply = "A sentence that is too long to stand in one line of this narrow screen.\n\n> quoted\n\n```python\nreturn 1\n```"
    app = Alone([UserSaid("u", "question"), ReplySaid("r", reply)])
    async with app.run(size=(40, 20)) as pilot:
        transcript = app.transcript
        await pilot.pause()
        shown = lines(transcript)
        last = next(y for y, line in enumerate(shown) if "return" in line)
        await pilot.mouse_down(transcript, offset=(2, 1))
        await pilot.hover(transcript, offset=(20, last))
        await pilot.mouse_up(transcript, offset=(20, last))
        assert app.screen.get_selected_text() == (
            "question\n\nhermes\nA sentence that is too long to stand in one line of this narrow screen.\n\nquoted\n\nreturn 1"
        )


async def test_a_selection_keeps_its_words_when_older_messages_come_in() -> None:
    app = Alone(talk(20, start=20), earlier=True)
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        await pilot.mouse_down(transcript, offset=(2, 3))
        await pilot.hover(transcript, offset=(9, 9))
        await pilot.mouse_up(transcript, offset=(9, 9))
        before = app.screen.get_selected_text()
        assert before
        transcript.prepend(talk(20))
        assert app.screen.get_selected_text() == before


async def test_blocks_between_the_ends_of_a_selection_are_copied_as_written() -> None:
    app = Alone([UserSaid("a", "one"), ReplySaid("b", "**bold** text"), Thought("t", "secret"), UserSaid("c", "two")])
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        app.screen.selections = {transcript: SELECT_ALL}
        text = app.screen.get_selected_text() or ""
        assert "**bold** text" in text
        assert "secret" not in text
        assert text.startswith("you\none")
        assert text.endswith("two")


async def test_a_drag_that_ends_on_a_card_does_not_open_it() -> None:
    app = Alone([UserSaid("u", "question"), ToolCard("c", "ls", "src", result="x")])
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        await pilot.mouse_down(transcript, offset=(3, 1))
        await pilot.hover(transcript, offset=(6, 4))
        await pilot.mouse_up(transcript, offset=(6, 4))
        await pilot.pause()
        assert not app.said(Transcript.CardToggled)


HOSTILE = "a\x1b]52;c;aGk=\x07b\x9b31mc\u202ed[/b]e[bold]f\u2028g<|endoftext|>&#x202e;&#x9b;\x00\r\n\ttab"


async def test_no_control_byte_reaches_a_strip_whatever_says_it() -> None:
    blocks: list[Block] = [
        UserSaid("u", HOSTILE, HOSTILE),
        Thought("t", HOSTILE, 1.0, 5),
        ToolCard("c", HOSTILE, HOSTILE, HOSTILE, HOSTILE, True, 3),
        ReplySaid("r", f"{HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n```\n\n| {HOSTILE} |\n|---|\n| x |", ending=HOSTILE),
        Divider("d", HOSTILE),
        Notice("n", HOSTILE, "error"),
        Queued("q", HOSTILE),
    ]
    app = Alone(blocks)
    async with app.run(size=(50, 90)) as pilot:
        transcript = app.transcript
        for id in ("t", "c"):
            transcript.reveal(id)
            await pilot.press("enter")
        transcript.stream_open(ReplySaid("s", HOSTILE))
        for piece in HOSTILE:
            transcript.stream_grow("s", piece)
        await until(pilot, lambda: not transcript._slots.slot("s").pending)
        for y in range(transcript.size.height):
            for segment in transcript.render_line(y):
                assert not any(is_control(character) for character in segment.text)
        assert sum("[/b]" in line for line in lines(transcript)) >= 9


async def test_a_theme_recolours_without_laying_out_again() -> None:
    app = Alone([ReplySaid("r", "# Title\n\n`code`")])
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        body, before = transcript._slots.slot("r").body, list(transcript.render_line(1))
        app.theme = "textual-light"
        await until(pilot, lambda: list(transcript.render_line(1)) != before)
        assert transcript._slots.slot("r").body is body


@pytest.mark.parametrize("width", [30, 90])
async def test_another_width_keeps_the_message_in_view(width: int) -> None:
    app = Alone(talk(60))
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        await pilot.press("pageup", "pageup", "pageup")
        named = next(line for line in lines(transcript) if line.startswith("question"))
        await pilot.resize_terminal(width, 20)
        await until(pilot, lambda: transcript.size.width == width)
        await until(pilot, lambda: named in lines(transcript))


async def test_another_height_still_shows_the_end() -> None:
    app = Alone(talk(20))
    async with app.run() as pilot:
        transcript = app.transcript
        await pilot.pause()
        last = lines(transcript)[-1]
        for height in (9, 30, 12):
            await pilot.resize_terminal(60, height)
            await until(pilot, lambda rows=height - 1: transcript.size.height == rows and lines(transcript)[-1] == last)


async def test_a_covered_transcript_does_not_render_what_streams_in() -> None:
    app = Alone([UserSaid("u", "hi")])
    async with app.run() as pilot:
        transcript = app.transcript
        transcript.stream_open(ReplySaid("s", "begun"))
        await pilot.pause()
        app.push_screen(Screen())
        await pilot.pause()
        transcript.stream_grow("s", " and more")
        await pilot.pause(0.2)
        assert transcript._slots.slot("s").pending
        app.pop_screen()
        await until(pilot, lambda: "begun and more▍" in lines(transcript))


async def test_copying_a_block_says_which_way_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    monkeypatch.delenv("TMUX", raising=False)
    app = Alone([ReplySaid("r", "see\n\n```\n\tcode\n```\n")])
    async with app.run() as pilot:
        written: list[str] = []
        assert app._driver is not None
        app._driver.write = written.append
        await pilot.press("c")
        assert written == ["\x1b]52;c;CWNvZGU=\x07"]
        assert [toast.message for toast in app._notifications] == ["Sent 5 characters to your terminal's clipboard (OSC 52)"]


async def test_it_works_in_a_very_small_place() -> None:
    app = Alone([*talk(3), Divider("d", "compressed 1k → 2k")])
    async with app.run(size=(12, 4)) as pilot:
        await pilot.press("up", "up", "enter", "home", "end", "pageup", "j")
        assert len(lines(app.transcript)) == 3


async def test_blocks_can_be_replaced_and_taken_away_while_others_stream() -> None:
    app = Alone([UserSaid("u", "hi"), ToolCard("c", "ls", running=True), Queued("q", "next")])
    async with app.run() as pilot:
        transcript = app.transcript
        transcript.stream_open(ReplySaid("s", "text"))
        transcript.replace("c", ToolCard("c", "ls", result="a", tokens=4))
        transcript.drop("q")
        transcript.stream_grow("s", " more")
        await until(pilot, lambda: "text more▍" in lines(transcript))
        assert not any("running" in line or "queued" in line for line in lines(transcript))
