"""Compression seen in the app: the gauge, the divider, the two sessions, the originals, the past."""

from __future__ import annotations

from typing import Any

from hermes_tui.context.tokens import Meter
from hermes_tui.tui.numbers import short
from hermes_tui.tui.widgets.entries import EntryList
from tests.tui import story
from tests.tui.rooms import recorded_room, said
from tests.tui.waiting import shown, until


def a_story(**more: Any) -> Any:
    """The story with its tools, in a window that makes it compress."""
    given: dict[str, Any] = {
        "results": story.results(),
        "schemas": story.TOOLS,
        "declarations": story.DECLARATIONS,
        "model__window": 7_000,
    }
    return recorded_room(story.replies(), **{**given, **more})


async def tell(app: Any, pilot: Any, say: Any, steps: int) -> None:
    for step in story.STORY[:steps]:
        await say(app, pilot, step.asked)


async def test_a_long_conversation_compresses_by_itself_and_stays_one_transcript(start: Any, say: Any) -> None:
    async with start(load=a_story()) as (app, pilot):
        await tell(app, pilot, say, len(story.STORY))
        screen = shown(app)
        assert "compressed " in screen
        assert " → " in screen
        assert "session 2 of 2" in screen or "session 3 of 3" in screen
        assert "SUMMARY v" in screen
        sessions = app.desk.room.store.sessions(app.desk.conversation.chain)
        assert [s.ordinal for s in sessions] == list(range(1, len(sessions) + 1))
        assert all(s.end_reason == "compression" for s in sessions[:-1])
        messages = app.desk.room.store.messages(app.desk.conversation.chain)
        assert len([m for m in messages if m.is_real_user]) == len(story.STORY)


async def test_the_gauge_shows_the_size_of_the_next_request(start: Any, say: Any) -> None:
    async with start(load=a_story()) as (app, pilot):
        await tell(app, pilot, say, 4)
        conversation = app.desk.conversation
        size = Meter(app.desk.room.count).size(conversation.view, conversation.state)
        assert conversation.size == size
        assert f"{size.mark}{short(size.tokens)} of 7k" in shown(app)
        rows = app.chat.inspector.query_one(EntryList).rows
        assert [row.message for row in rows] == [e.message.id if e.message else "" for e in conversation.view.entries]


async def test_compress_by_hand_with_a_topic_leaves_a_divider_and_starts_a_session(start: Any, say: Any) -> None:
    async with start(load=a_story(model__window=8_000, context__auto=False)) as (app, pilot):
        await tell(app, pilot, say, 8)
        assert "session 1 of 1" in shown(app)
        app.chat.composer.text = "/compress ports"
        await pilot.press("enter")
        await until(pilot, lambda: "session 2 of 2" in shown(app) and not app.desk.works)
        assert "compressed " in shown(app)
        edit = [e for e in app.desk.room.store.edits(app.desk.conversation.chain) if e.generation is not None][-1]
        assert (edit.trigger, edit.focus) == ("manual", "ports")


async def test_nothing_to_compress_is_said_and_changes_nothing(start: Any, say: Any) -> None:
    async with start([said("short")]) as (app, pilot):
        await say(app, pilot, "hello")
        app.chat.composer.text = "/compress"
        await pilot.press("enter")
        await until(pilot, lambda: "Nothing was compressed." in shown(app) and not app.desk.works)
        assert "session 1 of 1" in shown(app)


async def test_a_summary_is_seen_while_it_is_written_and_esc_leaves_everything_as_it_was(start: Any, say: Any) -> None:
    import asyncio

    written = 0
    gate = asyncio.Event()

    async def slowly(characters: int) -> None:
        nonlocal written
        written += characters
        await (gate.wait() if written > 200 else asyncio.sleep(0.06))

    load = a_story(model__window=8_000, context__auto=False, summaries=[said(story.SUMMARY)], summary_pace=slowly)
    async with start(load=load) as (app, pilot):
        await tell(app, pilot, say, 8)
        before = app.desk.conversation.view
        app.chat.composer.text = "/compress"
        await pilot.press("enter")
        await until(pilot, lambda: "being written" in shown(app) and "compressing" in shown(app))
        await pilot.press(*"still typing")
        await until(pilot, lambda: "still typing" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: not app.desk.works)
        assert "The compression was stopped; nothing changed." in shown(app)
        assert "compressing" not in shown(app)
        assert app.desk.conversation.view == before
        assert app.chat.composer.text == "still typing"


async def test_enter_on_a_pruned_entry_shows_its_original(start: Any, say: Any) -> None:
    load = a_story(model__window=40_000, context__threshold_percent=0.05, context__auto=False)
    async with start(load=load) as (app, pilot):
        await tell(app, pilot, say, 8)
        app.chat.composer.text = "/compress"
        await pilot.press("enter")
        await until(pilot, lambda: not app.desk.works)
        entries = app.chat.inspector.query_one(EntryList)
        pruned = next((n for n, row in enumerate(entries.rows) if row.treatment == "pruned"), None)
        await pilot.press("f2")
        assert app.focused is entries
        await pilot.press("home", *["down"] * (pruned if pruned is not None else 0), "enter")
        await until(pilot, lambda: app.screen.is_modal)
        row = entries.rows[pruned or 0]
        if row.message:
            whole = app.desk.room.store.message(row.message)
            first = str(whole.content[0].get("text") or whole.content[0]["content"][0]["text"]).split("\n")[0]
            assert first[:40] in shown(app)


async def test_the_lineage_shows_how_each_session_ended_and_opens_the_past_read_only(start: Any, say: Any) -> None:
    async with start(load=a_story()) as (app, pilot):
        await tell(app, pilot, say, len(story.STORY))
        sessions = app.desk.room.store.sessions(app.desk.conversation.chain)
        await pilot.press("f3")
        await until(pilot, lambda: "◀ shown" in shown(app))
        screen = shown(app)
        assert "CHAINS" in screen
        first = sessions[0]
        assert f"× {short(first.tokens_before)} → {short(first.tokens_after)}" in screen
        await until(pilot, lambda: "· live" in shown(app))
        await pilot.press(*["up"] * (len(sessions) - 1))
        await until(pilot, lambda: "session 1 of" in shown(app) and "ended by compression" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: f"session 1 of {len(sessions)} · read-only" in shown(app) and not app.desk.works)
        await pilot.press(*"no one hears")
        assert not app.screen.query("#composer")
        view = app.screen._moment.view
        assert view.generation == first.last_generation
        await pilot.press("t")
        await until(pilot, lambda: app.screen is app.chat)
        assert app.focused is app.chat.composer


async def test_f3_goes_back_from_the_past_to_the_lineage_and_from_there_to_the_chat(start: Any, say: Any) -> None:
    async with start(load=a_story()) as (app, pilot):
        await tell(app, pilot, say, len(story.STORY))
        await pilot.press("f3")
        await until(pilot, lambda: "◀ shown" in shown(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: "read-only" in shown(app))
        await pilot.press("f3")
        await until(pilot, lambda: "CHAINS" in shown(app))
        await pilot.press("f3")
        await until(pilot, lambda: app.screen is app.chat)


async def test_the_filter_finds_a_chain_by_its_title(start: Any, say: Any) -> None:
    async with start([said("a"), said("b")]) as (app, pilot):
        await say(app, pilot, "Trip to Lisbon")
        app.chat.composer.text = "/new"
        await pilot.press("enter")
        await until(pilot, lambda: app.desk.conversation is None and not app.desk.works)
        await say(app, pilot, "Refactor the importer")
        await pilot.press("f3")
        await until(pilot, lambda: "Trip to Lisbon" in shown(app) and "Refactor" in shown(app))
        await pilot.press("slash", *"lisbon")
        await until(pilot, lambda: "Refactor" not in shown(app))
        await pilot.press("enter", "down", "enter")
        await until(pilot, lambda: app.screen is app.chat and not app.desk.works)


async def test_a_reopened_chain_shows_the_same_transcript(start: Any, say: Any) -> None:
    async with start(load=a_story()) as (app, pilot):
        await tell(app, pilot, say, len(story.STORY))
        before = [line for line in shown(app).split("\n") if "session" not in line]
        texts = [line[:70].rstrip() for line in before[2:30]]
    async with start(load=a_story(), continue_last=True) as (app, pilot):
        await until(pilot, lambda: "compressed " in shown(app))
        again = [line[:70].rstrip() for line in shown(app).split("\n")]
        missing = [t for t in texts if t.strip() and not any(t.strip()[:40] in line for line in again)]
        assert len(missing) <= 3, missing


async def test_the_inspector_tells_what_the_cache_read_and_what_the_edit_missed(start: Any, say: Any) -> None:
    async with start(load=a_story(model__window=8_000, context__auto=False)) as (app, pilot):
        await tell(app, pilot, say, 8)
        assert "cache read" in shown(app)
        assert app.desk.conversation.cache.edited is None
        assert "last edit" not in shown(app)
        app.chat.composer.text = "/compress"
        await pilot.press("enter")
        await until(pilot, lambda: "session 2 of 2" in shown(app) and not app.desk.works)
        await say(app, pilot, "and on")
        missed = app.desk.conversation.cache.edited.missed
        assert missed > 0
        assert f"last edit missed {short(missed)}" in " ".join(shown(app).split())


async def test_context_tells_every_number_in_force_and_where_it_comes_from(start: Any, say: Any) -> None:
    async with start([said("short")], size=(120, 60), context__threshold_tokens=150_000) as (app, pilot):
        await say(app, pilot, "hello")
        app.chat.composer.text = "/context"
        await pilot.press("enter")
        await until(pilot, lambda: "warm mark" in shown(app) and not app.desk.works)
        words = shown(app)
        assert f"{app.desk.conversation.budgets.threshold:,}" in words
        for told in ("150,000 · command line", "reserved for the reply", "code alone", "summary", "window"):
            assert told in words
