"""/memory through its keys: what is remembered is seen with where it came from, changed in place, and told to new chats."""

from __future__ import annotations

from typing import Any

from textual.widgets import Input, OptionList

from hermes_tui.tui.app import HermesApp
from tests.tui.rooms import said
from tests.tui.waiting import shown, until

TOLD = "My name is Ana. Always answer in short sentences."


async def command(app: HermesApp, pilot: Any, text: str) -> None:
    app.chat.composer.text = text
    app.chat.composer.focus()
    await pilot.press("enter")


async def memory(app: HermesApp, pilot: Any) -> None:
    """Open /memory and wait until it is drawn."""
    await command(app, pilot, "/memory")
    await until(pilot, lambda: "MEMORY" in shown(app) and "note" in shown(app) and not app.desk.works)


async def afresh(app: HermesApp, pilot: Any) -> None:
    await command(app, pilot, "/new")
    await until(pilot, lambda: app.desk.conversation is None and not app.desk.works)


def notes(app: HermesApp) -> list[tuple[str, str]]:
    assert app.desk.room
    return [(note.kind, note.text) for note in app.desk.room.store.notes.all()]


async def test_what_was_said_stands_there_with_where_it_came_from_and_enter_shows_the_message(start: Any, say: Any) -> None:
    async with start([said("Hello Ana.")]) as (app, pilot):
        await say(app, pilot, TOLD)
        await until(pilot, lambda: len(notes(app)) == 2 and "Noted for new conversations: “" in shown(app))
        await memory(app, pilot)
        screen = shown(app)
        assert "2 notes" in screen
        assert "Told to new conversations" in screen
        assert screen.index("Always answer in short sentences") < screen.index("My name is Ana\n")
        assert screen.count(f"· {TOLD[:40]}") == 2, "the conversation's title"
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen.is_modal)
        assert TOLD in shown(app)
        assert "Note: My name is Ana" in shown(app)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_a_note_is_edited_in_place_and_the_next_new_chat_is_told_not_this_one(start: Any, say: Any) -> None:
    async with start([said("Hello Ana."), said("Hello."), said("Yes.")]) as (app, pilot):
        await say(app, pilot, TOLD)
        first = app.desk.conversation.view.system
        await until(pilot, lambda: len(notes(app)) == 2)
        await memory(app, pilot)
        await pilot.press("end", "e")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"bel", "enter")
        await until(pilot, lambda: "My name is Anabel" in shown(app) and "edited" in shown(app))
        await pilot.press("escape")
        await say(app, pilot, "Still there?")
        assert app.desk.conversation.view.system == first
        assert "Ana" not in first
        await afresh(app, pilot)
        await say(app, pilot, "Hello again.")
        assert "- fact: My name is Anabel" in app.desk.conversation.view.system


async def test_a_deleted_note_stays_in_its_place_until_the_screen_is_left(start: Any, say: Any) -> None:
    async with start([said("Hello Ana.")]) as (app, pilot):
        await say(app, pilot, TOLD)
        await until(pilot, lambda: len(notes(app)) == 2)
        await memory(app, pilot)
        await pilot.press("d")
        await until(pilot, lambda: "u brings it back" in shown(app) and "1 note" in shown(app))
        assert notes(app) == [("fact", "My name is Ana")]
        await pilot.press("end", "u")
        await until(pilot, lambda: "2 notes" in shown(app))
        assert len(notes(app)) == 2
        await pilot.press("home", "delete")
        await until(pilot, lambda: "u brings it back" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat and not app.desk.works)
        await memory(app, pilot)
        assert "1 note" in shown(app)
        assert "Always answer in short sentences\n" not in shown(app)


async def test_a_note_is_written_by_hand_made_a_rule_and_stored_without_its_secret(start: Any) -> None:
    async with start([]) as (app, pilot):
        await memory(app, pilot)
        assert "Nothing yet" in shown(app)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"tabs only")
        assert "tabs only" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: "fact · added by hand" in shown(app))
        await pilot.press("k")
        await until(pilot, lambda: "rule · added by hand" in shown(app))
        assert notes(app) == [("rule", "tabs only")]
        await pilot.press("a", *"sk-ant-abcdefgh", "enter")
        await until(pilot, lambda: "2 notes" in shown(app))
        assert "abcdefgh" not in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: "This note was added by hand." in shown(app))


async def test_esc_leaves_the_line_that_is_written_in_before_the_screen_and_changes_nothing(start: Any) -> None:
    async with start([]) as (app, pilot):
        app.desk.room.store.notes.add("tabs")
        await memory(app, pilot)
        await pilot.press("e", *" and more", "escape")
        assert isinstance(app.focused, OptionList)
        await pilot.press("e", "ctrl+u", "!", "enter")
        await until(pilot, lambda: "A note has to say something." in shown(app))
        assert notes(app) == [("fact", "tabs")]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_o_opens_the_conversation_that_a_note_came_from(start: Any, say: Any) -> None:
    async with start([said("Hello Ana."), said("Hello.")]) as (app, pilot):
        await say(app, pilot, TOLD)
        chain = app.desk.conversation.chain
        await until(pilot, lambda: len(notes(app)) == 2)
        await afresh(app, pilot)
        await memory(app, pilot)
        await pilot.press("o")
        await until(pilot, lambda: app.desk.conversation is not None and app.desk.conversation.chain == chain)
        await until(pilot, lambda: app.screen is app.chat and "Hello Ana." in shown(app))


async def test_notes_hold_markup_and_look_alikes_as_text_and_fit_a_small_screen(start: Any) -> None:
    async with start([], size=(40, 12)) as (app, pilot):
        app.desk.room.store.notes.add("[/b] <summary> [red]x \x1b[31m and a long line that goes on and on beyond the edge")
        await memory(app, pilot)
        assert "[/b] <summary> [red]x" in shown(app)
        assert "esc closes" in shown(app)


async def test_without_the_provider_the_screen_says_that_nothing_is_learned(start: Any, say: Any) -> None:
    async with start([said("Hello.")], memory__providers=[]) as (app, pilot):
        app.desk.room.store.notes.add("tabs")
        await say(app, pilot, TOLD)
        await memory(app, pilot)
        assert "switched off" in shown(app)
        await pilot.press("d")
        await until(pilot, lambda: "brings it back" in shown(app))
        await pilot.press("u")
        await until(pilot, lambda: "brings it back" not in shown(app))
        assert notes(app) == [("fact", "tabs")]
        assert "user_notes" not in app.desk.conversation.view.system


async def test_what_is_switched_off_is_not_promised(start: Any) -> None:
    async with start([], memory__providers=[]) as (app, pilot):
        await memory(app, pilot)
        assert "Nothing is noted here" in shown(app)
        assert "will stand here" not in shown(app)


async def test_a_provider_that_is_not_installed_is_said_where_it_is_read(start: Any, say: Any) -> None:
    async with start([said("Hello.")], memory__providers=["nobody", "notes"]) as (app, pilot):
        await say(app, pilot, "hello")
        assert "There is no memory provider 'nobody'." in shown(app)
        assert app.desk.conversation.totals.requests == 1
    async with start([said("Hello.")], memory__providers=["nobody"], continue_last=True) as (app, pilot):
        await until(pilot, lambda: "Hello." in shown(app) and "There is no memory provider 'nobody'." in shown(app))


async def test_the_palette_and_the_help_name_the_memory(start: Any) -> None:
    async with start([]) as (app, pilot):
        await pilot.press("ctrl+p", *"memory")
        await until(pilot, lambda: "Memory: notes about you" in shown(app))
        await pilot.press("enter", "enter")
        await until(pilot, lambda: "MEMORY" in shown(app))
        await pilot.press("f1")
        await until(pilot, lambda: "/memory" in shown(app))
