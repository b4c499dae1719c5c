"""A turn: said, answered, stored, stopped, retried."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from hermes_tui.chat.events import (
    BlockGrew,
    Compressed,
    MessageQueued,
    MessageStored,
    NoticeRaised,
    RequestStarted,
    RetryScheduled,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from hermes_tui.context.acts import Declaration
from hermes_tui.context.messages import calls_of, plain_text, result_text, results_of
from hermes_tui.store.store import Store
from tests.chat.stage import FakeApi, Stage, sent_and_logged

Fake = Callable[..., FakeApi]
At = Callable[[FakeApi], Stage]


async def test_a_message_gets_a_streamed_reply_and_both_are_stored(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "5000", "--words", "60"))
    conversation = await on.start()
    await conversation.send("Hello there")
    said = await conversation.messages()
    assert [(m.role, m.origin) for m in said] == [("user", "user"), ("assistant", "model")]
    assert "".join(e.text for e in on.said(BlockGrew)) == plain_text(said[1].content)
    assert on.said(TurnEnded) == [TurnEnded("end_turn")]
    assert conversation.session.title == "Hello there"


async def test_the_gauge_shows_what_was_measured_and_totals_only_grow(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "5000", "--words", "60"))
    conversation = await on.start()
    await conversation.send("one")
    first, totals = conversation.size, conversation.totals
    assert conversation.state.anchor is not None
    await conversation.send("two")
    assert conversation.size.tokens > first.tokens
    assert conversation.totals.requests == totals.requests + 1
    assert conversation.totals.cost >= totals.cost
    again = await conversation.open(conversation.parts, conversation.chain)
    assert again.totals == conversation.totals
    assert again.size == conversation.size
    assert again.view == conversation.view
    await again.close()


async def test_calls_are_run_and_their_results_reach_the_model(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "5000", "--words", "20"))
    (on.directory / "notes.txt").write_text("the port is 8443\n")
    conversation = await on.start(tools=on.tools())
    await conversation.send('!fault tool:read_file {"path": "notes.txt"}; tool:list_files {}')
    said = await conversation.messages()
    assert [m.origin for m in said] == ["user", "model", "tool", "model"]
    assert len(calls_of(said[1])) == 2
    texts = [result_text(b) for b in results_of(said[2])]
    assert "8443" in texts[0]
    assert "notes.txt" in texts[1]
    assert len(on.said(ToolEnded)) == 2


async def test_esc_keeps_what_had_come_and_works_at_once_on_a_stalled_reply(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "400", "--words", "40"))
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("!fault stall"))
    await on.until(lambda: len(on.said(BlockGrew)) >= 20)
    conversation.cancel()
    async with asyncio.timeout(30):  # the reply itself would stand still for two minutes
        await turn
    shown = "".join(e.text for e in on.said(BlockGrew))
    assert plain_text((await conversation.messages())[-1].content) == shown
    assert on.said(TurnEnded)[-1].reason == "cancelled"
    await conversation.send("and now?")
    assert on.said(TurnEnded)[-1].reason == "end_turn"


async def test_esc_before_the_first_word_leaves_the_message_and_no_reply(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "5000", "--words", "5"))
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("!fault slowfirst"))
    await on.until(lambda: on.said(RequestStarted))
    conversation.cancel()
    await turn
    assert [m.origin for m in await conversation.messages()] == ["user"]
    await conversation.send("hello")
    assert [m.origin for m in await conversation.messages()] == ["user", "user", "model"]


class SlowTools:
    """A tool that answers the first call and hangs on the second."""

    schemas = ({"name": "wait", "description": "Waits.", "input_schema": {"type": "object"}},)
    declarations: dict[str, Declaration] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.calls = 0
        self.hanging = asyncio.Event()

    async def run(self, call: Any) -> Any:
        self.calls += 1
        if self.calls == 2:
            self.hanging.set()
            await asyncio.Event().wait()
        return {"type": "tool_result", "tool_use_id": call["id"], "content": "done"}


async def test_esc_in_a_tool_keeps_the_finished_result_and_answers_the_other_call(fake: Fake, stage: At) -> None:
    on, tools = stage(fake("--rate", "5000", "--words", "5")), SlowTools()
    conversation = await on.start(tools=tools)
    turn = asyncio.ensure_future(conversation.send("!fault tool:wait {}; tool:wait {}; tool:wait {}"))
    await tools.hanging.wait()
    conversation.cancel()
    await turn
    results = results_of((await conversation.messages())[-1])
    assert [result_text(r) for r in results] == ["done", "interrupted; outcome unknown", "interrupted; outcome unknown"]
    assert [bool(r.get("is_error")) for r in results] == [False, True, True]
    assert tools.calls == 2
    await conversation.send("go on")
    assert on.said(TurnEnded)[-1].reason == "end_turn"


async def test_messages_typed_while_a_turn_runs_become_turns_of_their_own_in_order(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "300", "--words", "60"))
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("first"))
    await on.until(lambda: on.said(BlockGrew))
    await conversation.send("second")
    await conversation.send("third")
    assert conversation.busy
    assert [e.waiting for e in on.said(MessageQueued)] == [1, 2]
    await turn
    said = [plain_text(m.content) for m in await conversation.messages() if m.is_real_user]
    assert said == ["first", "second", "third"]
    assert len(on.said(TurnStarted)) == 3
    assert not conversation.busy
    assert not conversation.queue


@pytest.mark.parametrize("fault", ["529", "500"])
async def test_a_failure_that_passes_is_retried_in_sight(fake: Fake, stage: At, fault: str) -> None:
    on = stage(fake("--rate", "5000", "--words", "20"))
    conversation = await on.start()
    await conversation.send(f"!fault {fault}")
    assert [e.attempt for e in on.said(RetryScheduled)] == [1]
    assert on.said(TurnEnded)[-1].reason == "end_turn"


async def test_a_server_that_names_its_pause_is_waited_for_and_esc_ends_the_wait(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "5000", "--words", "20"))
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("!fault 429"))
    await on.until(lambda: on.said(RetryScheduled))
    assert on.said(RetryScheduled)[0].seconds == 1.0
    conversation.cancel()
    await turn
    assert on.said(TurnEnded)[-1].reason == "cancelled"
    assert len(on.store.requests(conversation.chain)) == 1, "nothing was asked again"


@pytest.mark.parametrize("fault", ["drop", "midstream-error", "garbage"])
async def test_a_reply_that_breaks_off_every_time_is_kept_once_when_retries_end(fake: Fake, stage: At, fault: str) -> None:
    api = fake("--rate", "5000", "--words", "40")
    on = stage(api)
    conversation = await on.start()
    await conversation.send(f"!fault {fault}")
    assert [e.attempt for e in on.said(RetryScheduled)] == [1, 2, 3]
    ended = on.said(TurnEnded)[-1]
    assert ended.reason == "failed"
    assert ended.sentence.endswith(".")
    said = await conversation.messages()
    assert [m.origin for m in said] == ["user", "model"]
    assert len(plain_text(said[1].content).split()) >= 10
    await conversation.send("hello")
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    sent_and_logged(on.store, conversation.chain, api)


async def test_a_reply_cut_at_max_tokens_is_kept_and_said_so(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "5000", "--words", "20"))
    conversation = await on.start()
    await conversation.send("!fault maxtokens")
    assert on.said(TurnEnded)[-1].reason == "max_tokens"
    assert "continue" in on.said(TurnEnded)[-1].sentence
    assert len(await conversation.messages()) == 2


async def test_a_wrong_key_is_one_sentence_and_the_message_stays(fake: Fake, stage: At) -> None:
    from hermes_tui.llm.messages_api import MessagesApi

    on = stage(fake("--rate", "5000"))
    conversation = await on.start(provider=MessagesApi(on.address, "bad-key"))
    await conversation.send("hello")
    assert on.said(TurnEnded)[-1].reason == "failed"
    assert "key" in on.said(TurnEnded)[-1].sentence
    assert not on.said(RetryScheduled)
    assert len(await conversation.messages()) == 1


async def test_a_turn_ends_in_words_when_its_iterations_are_spent(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "5000", "--words", "5"))
    conversation = await on.start(tools=on.tools(), iterations=9)
    await conversation.send("!fault loop:20 tool:list_files {}")
    ended = on.said(TurnEnded)[-1]
    assert ended.reason == "iterations"
    assert "9 model calls" in ended.sentence
    assert "continue" in ended.sentence
    assert not conversation.view.has_open_call


async def test_leaving_does_not_wait_for_the_reply_and_keeps_what_had_come(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "100", "--words", "4000"))
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("tell me"))
    await on.until(lambda: len(on.said(BlockGrew)) >= 30)
    await conversation.close()
    await turn
    assert 25 <= len(plain_text(on.store.messages(conversation.chain)[-1].content).split()) < 4_000


async def test_a_cancelled_task_keeps_the_partial_reply_too(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "400", "--words", "400"))
    conversation = await on.start()
    turn = asyncio.ensure_future(conversation.send("tell me"))
    await on.until(lambda: len(on.said(BlockGrew)) >= 30)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert not conversation.busy
    assert on.said(TurnEnded)[-1].reason == "cancelled"
    assert (await conversation.messages())[-1].origin == "model"


async def test_a_window_that_cannot_work_is_refused_in_words(fake: Fake, stage: At) -> None:
    on = stage(fake())
    on.configure(model__window=1024)
    conversation = await on.start()
    assert conversation.budgets is None
    assert "1,024" in conversation.impossible
    await conversation.send("hello")
    assert on.said(TurnEnded)[-1].reason == "failed"
    assert "1,024" in on.said(TurnEnded)[-1].sentence
    assert not on.said(RequestStarted)
    assert len(on.said(MessageStored)) == 1


async def test_a_database_that_fails_is_told_and_nothing_is_lost_from_the_composer(fake: Fake, stage: At) -> None:
    on = stage(fake())
    impatient = Store.open(on.directory / "hermes.db", patience=0.1)
    conversation = await on.start(store=impatient)
    other = sqlite3.connect(on.directory / "hermes.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await conversation.send("keep me")
    notice = on.said(NoticeRaised)[-1]
    assert notice.severity == "error"
    assert notice.details["unsent"] == "keep me"
    other.execute("ROLLBACK")
    await conversation.send("keep me")
    assert [m.origin for m in await conversation.messages()] == ["user", "model"]
    await conversation.close()
    impatient.close()
    other.close()


async def test_a_message_longer_than_the_window_ends_in_words_and_the_conversation_goes_on(fake: Fake, stage: At) -> None:
    api = fake("--rate", "100000", "--words", "30", "--window", "6000")
    on = stage(api)
    conversation = await on.start()
    for n in range(4):
        await conversation.send(f"{n}: how is the importer?")
    await conversation.send("word " * 9_000)
    ended = on.said(TurnEnded)[-1]
    assert ended.reason == "failed"
    assert "6,000" in ended.sentence
    await conversation.send("sorry, in short: how is it?")
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    sent_and_logged(on.store, conversation.chain, api)


async def test_an_overflow_that_the_server_alone_knows_of_is_compressed_and_answered(fake: Fake, stage: At) -> None:
    api = fake("--rate", "100000", "--words", "100", "--window", "6000", "--claim", "100000")
    on = stage(api)
    conversation = await on.start(foreground=True)
    for n in range(16):
        await conversation.send(f"{n}: " + "how is the importer, and what of the queue? " * 40)
    assert {e.reason for e in on.said(TurnEnded)} == {"end_turn"}
    overflows = [e for e in on.said(Compressed) if e.trigger == "overflow"]
    assert len(overflows) == 1, "the window was learned from the first"
    assert conversation.budgets is not None
    assert conversation.budgets.window.value == 6_000
    again = await conversation.open(conversation.parts, conversation.chain)
    assert again.budgets is not None
    assert again.budgets.window.value == 6_000
    await again.close()
