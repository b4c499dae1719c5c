"""Undo, redo, pins, drops, forks and deletion, through the keys: seen at once, refused in words."""

from __future__ import annotations

from typing import Any

from hermes_tui.context.view import Treatment
from hermes_tui.paths import Paths, make_private_folder
from hermes_tui.store.store import Store
from hermes_tui.tui.numbers import short
from hermes_tui.tui.widgets.entries import EntryList
from tests.store import talk
from tests.tui.rooms import MODEL, said
from tests.tui.waiting import shown, until


async def command(app: Any, pilot: Any, text: str) -> None:
    app.chat.composer.text = text
    app.chat.composer.focus()
    await pilot.press("enter")


def page(app: Any) -> str:
    """The words of the conversation's side of the screen, unwrapped."""
    return " ".join(" ".join(line[: app.chat.transcript.size.width] for line in shown(app).split("\n")).split())


def long_talk(paths: Paths, *, compressed: bool = True) -> str:
    """A chain of six long turns in the database, of which the middle was summarised where it is COMPRESSED; its id."""
    make_private_folder(paths.data)
    store = Store.open(paths.database)
    chain = store.create_chain(title="Refactor the importer", model=MODEL, system="Be brief.").chain
    for n in range(6):
        talk.say(store, chain, f"question {n}")
        talk.reply(store, chain, " ".join(f"Step {n}.{k} of it changes src/part{k}.py." for k in range(40)))
    if compressed:
        talk.applied(store, talk.summarise(store.view(chain), 1, 9))
    store.close()
    return chain


async def test_undo_brings_everything_back_and_redo_takes_it_away_again(start: Any, say: Any, paths: Paths) -> None:
    chain = long_talk(paths, compressed=False)
    async with start([said("going on")], resume=chain, model__window=16_000, context__auto=False) as (app, pilot):
        whole = app.desk.conversation.view.entries
        await command(app, pilot, "/compress")
        await until(pilot, lambda: "session 2 of 2" in shown(app) and not app.desk.works)
        small = app.desk.conversation.size.tokens
        await command(app, pilot, "/undo")
        await until(pilot, lambda: "undone: " in shown(app) and not app.desk.works)
        large = app.desk.conversation.size.tokens
        screen = shown(app)
        assert f"undone: {short(small)} → {short(large)}" in screen
        assert f"~{short(large)} of 16k" in screen, "the gauge follows at once"
        assert "SUMMARY v" not in screen
        assert "session 2 of 2" in screen, "sessions stay as they are"
        assert [e.message for e in app.desk.conversation.view.entries] == [e.message for e in whole]
        await say(app, pilot, "and then?")
        later = app.desk.conversation.view.last_message
        await command(app, pilot, "/redo")
        await until(pilot, lambda: "redone: " in shown(app) and not app.desk.works)
        assert "SUMMARY v" in shown(app)
        assert app.desk.conversation.view.last_message == later
        before = shown(app)
        await command(app, pilot, "/redo")
        await until(pilot, lambda: "There is nothing to redo" in shown(app) and not app.desk.works)
        assert "nothing to redo" not in before
    async with start([], continue_last=True) as (app, pilot):
        await until(pilot, lambda: "undone: " in shown(app) and "redone: " in shown(app))


async def test_an_undo_that_cannot_fit_is_refused_with_the_numbers(start: Any, paths: Paths) -> None:
    chain = long_talk(paths)
    async with start([], resume=chain, model__window=4_000, context__auto=False) as (app, pilot):
        view = app.desk.conversation.view
        await command(app, pilot, "/undo")
        await until(pilot, lambda: "Undoing this would make" in shown(app) and not app.desk.works)
        usable = app.desk.conversation.budgets.usable
        assert f"only {usable:,} of the window's 4,000" in page(app)
        assert "Nothing was changed." in page(app)
        assert app.desk.conversation.view == view


async def test_undo_with_nothing_to_undo_says_so(start: Any, say: Any) -> None:
    async with start([said("short")]) as (app, pilot):
        await command(app, pilot, "/undo")
        await until(pilot, lambda: "There is nothing to undo yet." in shown(app))
        await say(app, pilot, "hello")
        await command(app, pilot, "/undo")
        await until(pilot, lambda: "nothing of this context was compressed" in page(app))


async def test_p_and_d_in_the_entries_pin_and_drop_and_take_it_back(start: Any, say: Any) -> None:
    async with start([said("first answer " * 30), said("second answer")], size=(150, 40)) as (app, pilot):
        await say(app, pilot, "first question")
        await say(app, pilot, "second question")
        entries = app.chat.inspector.query_one(EntryList)
        assert "p pin" not in shown(app)
        await pilot.press("f2", "home")
        await until(pilot, lambda: "p pin · d drop" in shown(app))

        async def press(key: str, index: int, treatment: str) -> None:
            await pilot.press(key)
            await until(pilot, lambda: entries.rows[index].treatment == treatment and not app.desk.works)

        await press("p", 0, "pinned")
        await until(pilot, lambda: "p unpin" in shown(app) and "pinned by you: never compressed" in shown(app))
        assert "◆ user" in shown(app)
        await press("p", 0, "verbatim")
        size = app.desk.conversation.size.tokens
        await pilot.press("down")
        await press("d", 1, "dropped")
        await until(pilot, lambda: "d send again" in shown(app) and "dropped by you: not sent" in shown(app))
        assert "× reply" in shown(app)
        assert app.desk.conversation.size.tokens < size
        assert "first answer" not in str(app.desk.conversation.next_body())
        await press("d", 1, "verbatim")
        assert app.desk.conversation.size.tokens == size
        await pilot.press("down")
        await pilot.press("d")
        await until(pilot, lambda: "cannot be dropped" in page(app) and not app.desk.works)
        assert app.desk.conversation.view.entries[2].treatment is Treatment.VERBATIM
        await press("p", 2, "pinned")
        await command(app, pilot, "/undo")
        await until(pilot, lambda: "· the pin" in shown(app) and not app.desk.works)
        assert app.desk.conversation.view.entries[2].treatment is Treatment.VERBATIM


async def test_a_summary_can_be_neither_pinned_nor_dropped(start: Any, paths: Paths) -> None:
    chain = long_talk(paths)
    async with start([], resume=chain) as (app, pilot):
        entries = app.chat.inspector.query_one(EntryList)
        at = next(n for n, row in enumerate(entries.rows) if not row.message)
        await pilot.press("f2", "home", *["down"] * at, "p")
        await until(pilot, lambda: "A summary cannot be pinned." in shown(app))
        await pilot.press("d")
        await until(pilot, lambda: "A summary cannot be dropped." in shown(app))


async def test_fork_opens_a_chain_of_its_own_and_the_lineage_shows_both(start: Any, say: Any) -> None:
    async with start([said("a"), said("b"), said("c")]) as (app, pilot):
        await say(app, pilot, "Trip to Lisbon")
        chain = app.desk.conversation.chain
        await command(app, pilot, "/fork")
        await until(pilot, lambda: "This is a fork" in shown(app) and not app.desk.works)
        fork = app.desk.conversation.chain
        assert fork != chain
        assert "Trip to Lisbon" in shown(app)
        await say(app, pilot, "by train")
        store = app.desk.room.store
        assert (len(store.messages(chain)), len(store.messages(fork))) == (2, 4)
        await pilot.press("f3")
        await until(pilot, lambda: "fork: Trip to Lisbon" in shown(app) and "◀ shown" in shown(app))


async def test_d_in_the_lineage_asks_first_and_deletes_the_whole_chain(start: Any, say: Any) -> None:
    async with start([said("a"), said("b")]) as (app, pilot):
        await say(app, pilot, "Trip to Lisbon")
        await command(app, pilot, "/new")
        await until(pilot, lambda: app.desk.conversation is None and not app.desk.works)
        await say(app, pilot, "Refactor the importer")
        await pilot.press("f3")
        await until(pilot, lambda: "Trip to Lisbon" in shown(app) and "◀ shown" in shown(app))
        await pilot.press("d")
        await until(pilot, lambda: "Delete “Refactor the importer”: all of it, 1 session, 2 messages?" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: "enter open" in shown(app))
        assert app.screen is not app.chat
        assert len(app.desk.room.store.chains()) == 2
        await pilot.press("d", "y")
        await until(pilot, lambda: "Refactor the importer" not in shown(app) and not app.desk.works)
        assert [c.title for c in app.desk.room.store.chains()] == ["Trip to Lisbon"]
        assert app.desk.conversation is None, "what lay open was put away"
        await until(pilot, lambda: "Trip to Lisbon" in shown(app))
        await pilot.press("d", "y")
        await until(pilot, lambda: "No conversation yet." in shown(app))
        await pilot.press("f3")
        await until(pilot, lambda: "New conversation" in shown(app))


async def test_the_past_is_read_only_and_a_fork_goes_on_from_it(start: Any, paths: Paths) -> None:
    chain = long_talk(paths)
    async with start([], resume=chain) as (app, pilot):
        before = app.desk.room.store.view(chain)
        await pilot.press("f3")
        await until(pilot, lambda: "◀ shown" in shown(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: "session 1 of 2 · read-only" in shown(app) and not app.desk.works)
        await pilot.press("f2", "home", "p")
        await until(pilot, lambda: "The past is read-only." in shown(app))
        assert "p pin" not in shown(app)
        assert app.desk.room.store.view(chain) == before
        await pilot.press("f")
        await until(pilot, lambda: app.screen is app.chat and "This is a fork" in shown(app) and not app.desk.works)
        assert app.desk.conversation.view.summary is None, "it goes on from before the compression"
        assert app.desk.room.store.view(chain) == before
