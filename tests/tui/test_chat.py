"""Chatting in the app: what is said is stored and shown, Esc keeps what has come, messages typed ahead wait their turn."""

from __future__ import annotations

import asyncio
from typing import Any

from hermes_tui.paths import Paths
from hermes_tui.store.store import Store
from tests.tui.rooms import recorded_room, said
from tests.tui.waiting import shown, until

NASTY = "look [/b] [red]\x1b]52;c;eA==\x07\x9b31m\u202e<|endoftext|> <|im_end|> end"


async def test_a_message_gets_its_reply_and_both_stand_in_the_store(start: Any, say: Any) -> None:
    async with start([said("Rivers **flow**.")]) as (app, pilot):
        await say(app, pilot, "What do rivers do?")
        screen = shown(app)
        assert "What do rivers do?" in screen
        assert "Rivers flow." in screen
        stored = app.desk.room.store.messages(app.desk.conversation.chain)
        assert [m.content[0]["text"] for m in stored] == ["What do rivers do?", "Rivers **flow**."]


async def test_looking_around_leaves_no_empty_conversation_behind(start: Any) -> None:
    async with start() as (app, pilot):
        await pilot.press("f3")
        await pilot.pause()
        assert app.desk.room.store.chains() == ()


async def test_what_is_typed_before_everything_is_loaded_waits_and_is_sent(start: Any, paths: Paths) -> None:
    import threading

    go_on = threading.Event()
    room = recorded_room([said("Here.")])

    def slow(paths: Paths) -> Any:
        go_on.wait(20)
        return room(paths)

    async with start(load=slow, ready=False) as (app, pilot):
        await until(pilot, lambda: app.chat.is_mounted and app.focused is app.chat.composer)
        await pilot.press(*"early", "enter")
        await until(pilot, lambda: "queued" in shown(app))
        assert "early" in shown(app)
        go_on.set()
        await until(pilot, lambda: "Here." in shown(app))
        assert "queued" not in shown(app)


class Gate:
    """A pace that lets a number of characters through and then waits."""

    def __init__(self, characters: int) -> None:
        self.left = characters
        self.open = asyncio.Event()

    async def __call__(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            await self.open.wait()


async def test_esc_stops_the_reply_and_keeps_what_has_come(start: Any) -> None:
    reply = said("word " * 400)
    async with start([reply], pace=Gate(500)) as (app, pilot):
        app.chat.composer.text = "go"
        await pilot.press("enter")
        await until(pilot, lambda: "word word" in shown(app))
        assert "esc stops" in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.desk.works)
        kept = app.desk.room.store.messages(app.desk.conversation.chain)[-1]
        assert kept.role == "assistant"
        assert 100 < len(kept.content[0]["text"]) < 700
        assert "Stopped. What had come of the reply is kept." in shown(app)


async def test_a_message_typed_ahead_waits_below_and_has_a_turn_of_its_own(start: Any) -> None:
    gate = Gate(10)
    async with start([said("The first answer."), said("The second answer.")], pace=gate) as (app, pilot):
        app.chat.composer.text = "one"
        await pilot.press("enter")
        await until(pilot, lambda: app.desk.busy)
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: "1 message waiting" in shown(app))
        gate.open.set()
        await until(pilot, lambda: "The second answer." in shown(app))
        await until(pilot, lambda: not app.desk.conversation.busy)
        texts = [m.content[0]["text"] for m in app.desk.room.store.messages(app.desk.conversation.chain)]
        assert texts == ["one", "The first answer.", "two", "The second answer."]
        assert "waiting" not in shown(app)


async def test_a_failed_turn_says_why_in_place_and_the_message_is_kept(start: Any, say: Any) -> None:
    async with start([]) as (app, pilot):
        await say(app, pilot, "anybody there?")
        assert "The recording has no further reply." in shown(app)
        assert app.desk.room.store.messages(app.desk.conversation.chain)[0].content[0]["text"] == "anybody there?"
        assert app.focused is app.chat.composer


async def test_no_text_is_taken_for_markup_and_no_control_character_is_shown(start: Any, say: Any) -> None:
    async with start([said(NASTY), said(NASTY)]) as (app, pilot):
        await say(app, pilot, NASTY)
        await say(app, pilot, f"/title {NASTY}".replace("/title ", ""))
        app.notify(NASTY, markup=False)
        await pilot.press("f2", "enter")
        await until(pilot, lambda: app.screen.is_modal)
        screens = [shown(app)]
        await pilot.press("escape", "f3")
        await until(pilot, lambda: app.screen is not app.chat and "CHAINS" in shown(app))
        screens.append(shown(app))
        await pilot.press("f3")
        await until(pilot, lambda: app.screen is app.chat)
        screens.append(shown(app))
        for screen in screens:
            assert "[/b]" in screen
            assert not [c for c in screen if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066")]


async def test_an_unknown_command_is_told_and_given_back(start: Any) -> None:
    async with start() as (app, pilot):
        await pilot.press(*"/comprss", "enter")
        await until(pilot, lambda: "There is no command /comprss" in shown(app))
        assert app.chat.composer.text == "/comprss"


async def test_two_slashes_send_a_message_that_begins_with_one(start: Any, say: Any) -> None:
    async with start([said("ok")]) as (app, pilot):
        await say(app, pilot, "//help is a command")
        first = app.desk.room.store.messages(app.desk.conversation.chain)[0]
        assert first.content[0]["text"] == "/help is a command"


async def test_commands_complete_as_one_types_and_enter_runs_the_chosen_one(start: Any) -> None:
    async with start() as (app, pilot):
        await pilot.press(*"/he")
        await until(pilot, lambda: "keys, commands and where everything is" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.is_modal)
        assert "Shift+Enter, Ctrl+J" in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.composer.text == ""


async def test_help_opens_and_closes_with_its_key(start: Any) -> None:
    async with start() as (app, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: app.screen.is_modal)
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is app.chat)


async def test_the_palette_runs_a_command(start: Any, say: Any) -> None:
    async with start([said("ok")]) as (app, pilot):
        await say(app, pilot, "hello")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.is_modal)
        await pilot.press(*"new conv")
        await until(pilot, lambda: "New conversation" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.desk.conversation is None and not app.desk.works)
        assert "New conversation" in shown(app)


async def test_the_last_conversation_is_gone_on_with(start: Any, say: Any, paths: Paths) -> None:
    async with start([said("one")]) as (app, pilot):
        await say(app, pilot, "remember this")
    async with start([said("two")], continue_last=True) as (app, pilot):
        assert "remember this" in shown(app)
        assert app.desk.turns == 1
        await say(app, pilot, "and this")
        await pilot.press("up")
        await until(pilot, lambda: app.chat.composer.text == "and this")
    store = Store.open(paths.database)
    assert len(store.chains()) == 1
    assert len(store.messages(store.chains()[0].id)) == 4
    store.close()


async def test_an_unknown_session_is_told_and_an_empty_page_opened(start: Any) -> None:
    async with start(resume="ABCDEF") as (app, _):
        assert "ABCDEF" in shown(app)
        assert app.desk.conversation is None
        assert "Message" in shown(app)


async def test_leaving_does_not_wait_for_a_reply_that_streams_and_keeps_what_had_come(start: Any, paths: Paths) -> None:
    async with start([said("word " * 4_000)], pace=Gate(2_000)) as (app, pilot):
        app.chat.composer.text = "go"
        await pilot.press("enter")
        await until(pilot, lambda: "word word" in shown(app))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app._exit)
    store = Store.open(paths.database)
    kept = store.messages(store.chains()[0].id)[-1]
    assert kept.role == "assistant"
    assert len(kept.content[0]["text"]) > 1_000
    store.close()
