"""Compression beside a conversation: prepared, awaited, by hand, stopped, refused; and what of it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hermes_tui.chat.events import (
    BlockGrew,
    Compressed,
    CompressionStarted,
    CompressionStopped,
    NothingCompressed,
    NoticeRaised,
    SummaryAwaited,
    SummaryDue,
    SummaryGrew,
    SummaryPrepared,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import Compression, Plan, Summariser
from hermes_tui.context.gain import no_gain
from hermes_tui.context.messages import Message
from hermes_tui.context.view import Change
from hermes_tui.llm.messages_api import MessagesApi
from hermes_tui.llm.recorded import RecordedProvider, RecordedReply
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.memory.memory import Memory
from hermes_tui.memory.provider import MemoryProvider
from hermes_tui.store.ids import new_id
from tests.chat.stage import SUMMARY, FakeApi, Stage, sent_and_logged

Fake = Callable[..., FakeApi]
At = Callable[[FakeApi], Stage]
LONG = "The importer stalls on file {n} because the reader holds the lock while the queue is full. " * 40
QUICK = ("--rate", "100000", "--words", "120", "--window", "12000")


def summaries(*texts: str, pace: Callable[[int], Any] | None = None) -> RecordedProvider:
    """A summariser that answers with TEXTS, one after the other."""
    return RecordedProvider([RecordedReply(({"type": "text", "text": text},)) for text in texts], pace)


async def fill(on: Stage, share: float) -> None:
    """Talk until the size has reached SHARE of the threshold, without compressing on the way."""
    await on.filled(share, lambda n: LONG.format(n=n))


async def test_the_summary_is_prepared_from_the_warm_mark_and_swapped_in_while_one_chats(fake: Fake, stage: At) -> None:
    api = fake(*QUICK)
    on = stage(api)
    on.prepare_when_due()
    conversation = await on.start(summary_provider=summaries(*[SUMMARY] * 8))
    for n in range(14):
        await conversation.send(LONG.format(n=n))
    await asyncio.gather(*on.beside)
    assert on.said(SummaryPrepared)
    assert on.said(SummaryGrew)
    done = on.said(Compressed)
    assert len(done) >= 2
    assert {e.compression.rung for e in done} == {"model"}
    assert {e.trigger for e in done} <= {"preflight", "response"}
    assert conversation.session.ordinal == 1 + len(done)
    for event in done:
        assert event.tokens_after <= 0.9 * event.tokens_before
    assert [e.ordinal for e in done] == list(range(2, 2 + len(done)))
    assert "port 8443" in (conversation.view.summary.text if conversation.view.summary else "")
    assert on.store.view(conversation.chain) == conversation.view
    assert [e.purpose for e in on.said(UsageReported)].count("summary") >= 2


async def test_what_is_said_while_the_summary_is_written_joins_the_tail(fake: Fake, stage: At) -> None:
    on, gate = stage(fake(*QUICK)), asyncio.Event()

    async def wait(characters: int) -> None:
        await gate.wait()

    conversation = await on.start(summary_provider=summaries(SUMMARY, SUMMARY, pace=wait))
    await fill(on, 0.9)
    assert on.said(SummaryDue)
    writing = asyncio.ensure_future(conversation.prepare())
    await on.until(lambda: on.said(CompressionStarted))
    await conversation.send("What about the second file?" + LONG.format(n=77))
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    assert not on.said(Compressed)
    meanwhile = [m.id for m in (await conversation.messages())[-2:]]
    gate.set()
    await writing
    assert len(on.said(Compressed)) == 1
    assert [e.message.id for e in conversation.view.entries if e.message][-2:] == meanwhile
    assert all(e.sent is None for e in conversation.view.entries[-2:])


async def test_a_turn_does_not_wait_for_the_summary_below_the_last_mark(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    conversation = await on.start(summary_provider=summaries(SUMMARY))
    await fill(on, 1.05)
    assert conversation.budgets
    assert conversation.size.tokens >= conversation.budgets.threshold
    await conversation.send("go on")
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    assert not on.said(Compressed)
    assert on.said(SummaryDue)


class Stalled:
    """The pace of a summariser that has begun and never goes on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def __call__(self, characters: int) -> None:
        self.begun.set()
        await asyncio.Event().wait()


async def test_near_the_window_the_summary_is_awaited_and_esc_takes_the_one_by_code(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    conversation = await on.start(summary_provider=summaries(SUMMARY, pace=Stalled()))
    assert conversation.budgets
    usable = conversation.budgets.usable
    await on.talk_until(lambda: conversation.size.tokens >= 0.80 * usable, lambda n: LONG.format(n=1))
    turn = asyncio.ensure_future(conversation.send(LONG.format(n=2)))
    await on.until(lambda: on.said(SummaryAwaited))
    assert not on.said(CompressionStarted)[-1].background
    conversation.cancel()
    await on.until(lambda: on.said(Compressed))
    await turn
    assert on.said(Compressed)[-1].compression.rung == "deterministic"
    assert on.said(TurnEnded)[-1].reason == "end_turn"


async def test_esc_stops_a_summary_beside_the_turns_and_nothing_has_changed(fake: Fake, stage: At) -> None:
    on, stalled = stage(fake(*QUICK)), Stalled()
    conversation = await on.start(summary_provider=summaries(SUMMARY, pace=stalled))
    await fill(on, 0.9)
    before = on.store.view(conversation.chain), on.store.sessions(conversation.chain), on.store.edits(conversation.chain)
    writing = asyncio.ensure_future(conversation.prepare())
    await stalled.begun.wait()
    assert conversation.preparing
    conversation.cancel()
    async with asyncio.timeout(0.4):
        await writing
    assert on.said(CompressionStopped)
    assert not conversation.preparing
    assert conversation.prepared is None
    assert before == (
        on.store.view(conversation.chain),
        on.store.sessions(conversation.chain),
        on.store.edits(conversation.chain),
    )
    rows = [r for r in on.store.requests(conversation.chain) if r.purpose == "summary"]
    assert [r.status for r in rows] == ["cancelled"]


async def test_compressing_by_hand_takes_a_topic_and_works_below_the_threshold(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    conversation = await on.start(summary_provider=summaries(SUMMARY))
    await fill(on, 0.6)
    preview = conversation.preview("ports")
    await conversation.compress("ports")
    event = on.said(Compressed)[0]
    assert event.trigger == "manual"
    assert event.compression.plan.focus == "ports"
    plan = event.compression.plan
    assert plan.summarised == preview.summarised
    assert plan.prunes == preview.prunes
    assert plan.summary_position == preview.summary_position
    asked = next(r for r in on.store.requests(conversation.chain) if r.purpose == "summary")
    assert "ports" in str(on.store.body(asked.id)["messages"])


async def test_opening_a_preview_writes_and_sends_nothing(fake: Fake, stage: At) -> None:
    api = fake(*QUICK)
    on = stage(api)
    conversation = await on.start()
    await fill(on, 0.6)
    files = {p: p.read_bytes() for p in on.directory.glob("hermes.db*")}
    sent = len(api.bodies())
    assert conversation.preview().kind == "summarise"
    assert files == {p: p.read_bytes() for p in on.directory.glob("hermes.db*")}
    assert len(api.bodies()) == sent


async def test_compressing_by_hand_during_a_turn_waits_for_its_end(fake: Fake, stage: At) -> None:
    on = stage(fake("--rate", "300", "--words", "90", "--window", "12000"))
    conversation = await on.start(summary_provider=summaries(SUMMARY))
    for n in range(3):
        await conversation.send(LONG.format(n=n))
    turn = asyncio.ensure_future(conversation.send("go on"))
    grown = len(on.said(BlockGrew))
    await on.until(lambda: len(on.said(BlockGrew)) > grown)
    await conversation.compress()
    assert turn.done()
    assert len(on.said(Compressed)) == 1
    assert on.events.index(on.said(Compressed)[0]) > on.events.index(on.said(TurnEnded)[-1])


async def test_a_middle_that_does_not_exist_is_said_and_counts_for_nothing(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    conversation = await on.start()
    await conversation.send("hello")
    for _ in range(3):
        await conversation.compress()
    assert [e.refusal.kind for e in on.said(NothingCompressed)] == ["nothing_eligible"] * 3
    assert conversation.state.strikes == 0
    assert conversation.state.stopped_at is None


async def test_two_passes_without_gain_stop_automatic_runs_also_after_a_restart(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    engine = Refusing(load_counter(), new_id)
    clock = Clock()
    parts = {"engine": engine, "foreground": True, "clock": clock}
    conversation = await on.start(**parts)
    await fill(on, 1.1)
    await conversation.send("and on")
    await conversation.send("and on")
    assert conversation.state.strikes == 2
    assert conversation.state.stopped_at is not None
    assert any("stopped" in n.text for n in on.said(NoticeRaised))
    asked = engine.asked
    await conversation.send("short")
    assert engine.asked == asked
    again = await conversation.open(await on.parts(**parts), conversation.chain)
    await again.send("short")
    assert engine.asked == asked
    clock.now += 31 * 60
    await again.send("short")
    assert engine.asked > asked
    await again.close()


async def test_growth_rearms_the_breaker_and_a_run_by_hand_always_goes(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    engine = Refusing(load_counter(), new_id)
    conversation = await on.start(engine=engine, foreground=True)
    await fill(on, 1.1)
    await conversation.send("and on")
    await conversation.send("and on")
    assert conversation.state.stopped_at is not None
    asked = engine.asked
    await conversation.compress()
    assert engine.asked == asked + 1
    assert conversation.state.strikes == 2
    assert conversation.budgets
    grown = conversation.state.stopped_at[1] + 0.2 * conversation.budgets.threshold
    await on.talk_until(lambda: conversation.size.tokens >= grown, lambda n: LONG.format(n=3))
    assert engine.asked > asked + 1


async def test_off_means_off_until_one_asks(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    on.configure(context__auto=False)
    conversation = await on.start(foreground=True)
    await fill(on, 1.3)
    assert not on.said(Compressed)
    assert not on.said(SummaryDue)
    assert not on.said(CompressionStarted)
    await conversation.compress()
    assert len(on.said(Compressed)) == 1


async def test_a_summariser_out_of_reach_costs_nothing_but_the_prose_and_then_rests(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    nowhere = MessagesApi("http://127.0.0.1:9", None)
    clock = Clock()
    conversation = await on.start(summary_provider=nowhere, foreground=True, clock=clock)
    await fill(on, 0.6)
    await conversation.compress()
    assert on.said(Compressed)[-1].compression.rung == "deterministic"
    assert conversation.state.model_rests_until == pytest.approx(clock.now + 600)
    tried = len([r for r in on.store.requests(conversation.chain) if r.purpose == "summary"])
    assert tried == 3
    await fill(on, 0.6)
    await conversation.compress()
    assert len([r for r in on.store.requests(conversation.chain) if r.purpose == "summary"]) == tried
    await nowhere.close()


async def test_another_engine_that_fails_is_set_aside_in_sight(fake: Fake, stage: At) -> None:
    for engine in (Raising(load_counter(), new_id), Forging(load_counter(), new_id)):
        on = stage(fake(*QUICK))
        conversation = await on.start(engine=engine, foreground=True)
        await fill(on, 0.6)
        await conversation.compress()
        if not on.said(Compressed):
            await conversation.compress()
        assert any(engine.name in n.text and "set aside" in n.text for n in on.said(NoticeRaised))
        assert len(on.said(Compressed)) == 1
        assert on.store.view(conversation.chain) == conversation.view
        await on.close()
        (on.directory / "hermes.db").unlink()


async def test_memory_is_asked_when_a_summary_is_drafted_and_cannot_get_in_the_way(fake: Fake, stage: At) -> None:
    for provider in (Remembering(), Failing()):
        on = stage(fake(*QUICK))
        conversation = await on.start(summary_provider=summaries(SUMMARY), memory=Memory([provider]), foreground=True)
        await fill(on, 0.6)
        await conversation.compress()
        assert len(on.said(Compressed)) == 1
        body = on.store.body(next(r.id for r in on.store.requests(conversation.chain) if r.purpose == "summary"))
        if isinstance(provider, Remembering):
            assert len(provider.asked) == 1
            assert provider.asked[0]
            assert str(body).count("prefers tabs") == 1
            assert len(str(body)) < 60_000
        else:
            assert any(provider.name in n.text for n in on.said(NoticeRaised))
        await on.close()
        (on.directory / "hermes.db").unlink()


async def test_two_processes_on_one_chain_have_one_winner_and_the_other_follows(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    first = await on.start(foreground=True, summary_provider=summaries(SUMMARY))
    await fill(on, 0.8)
    second = await first.open(await on.parts(foreground=True, summary_provider=summaries(SUMMARY)), first.chain)
    await asyncio.gather(first.compress(), second.compress())
    sessions = on.store.sessions(first.chain)
    done = on.said(Compressed)
    assert len(sessions) == 1 + len(done)
    assert len(done) >= 1
    assert [s.ordinal for s in sessions] == list(range(1, len(sessions) + 1))
    await second.send("from the second")
    await first.send("from the first")
    await second.send("and the second again")
    assert first.chain == second.chain
    assert second.session.id == on.store.tip(first.chain).id
    assert second.view == on.store.view(first.chain)
    assert [e.reason for e in on.said(TurnEnded)[-3:]] == ["end_turn"] * 3
    await second.close()


async def test_switching_the_model_works_out_every_budget_anew(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    conversation = await on.start()
    await conversation.send("hello")
    infos = tuple(replace(i, id="other-model", window=64_000) for i in conversation.parts.infos)
    await conversation.switch_model("other-model", infos)
    assert conversation.state.anchor is None
    assert conversation.budgets
    assert conversation.budgets.window.value == 64_000
    assert conversation.view.model == "other-model"
    await conversation.send("hello again")
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    assert on.store.tip(conversation.chain).model == "other-model"


async def test_what_was_sent_can_be_rendered_again_with_summaries_among_it(fake: Fake, stage: At) -> None:
    api = fake(*QUICK)
    on = stage(api)
    conversation = await on.start(foreground=True)
    for n in range(10):
        await conversation.send(LONG.format(n=n))
    assert on.said(Compressed)
    sent_and_logged(on.store, conversation.chain, api)


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Refusing(ContextCompressor):
    """An engine whose passes never gain."""

    name = "refusing"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked = 0

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        self.asked += 1
        return self._refused(plan, no_gain(plan.tokens_before, plan.tokens_before))


class Raising(ContextCompressor):
    """An engine that raises."""

    name = "raising"

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        raise RuntimeError("broken")


class Forging(ContextCompressor):
    """An engine that lets messages vanish."""

    name = "forging"

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        return Compression(plan, Change(tuple(e.position for e in plan.summarised)))


class Remembering(MemoryProvider):
    """A memory provider with far too much to say."""

    name = "remembering"

    def __init__(self) -> None:
        self.asked: list[Sequence[Message]] = []

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        self.asked.append(messages)
        return "The user prefers tabs. " + "noise " * 20_000


class Failing(MemoryProvider):
    """A memory provider that raises."""

    name = "failing"

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        raise OSError("gone")


class Embedded(RecordedProvider):
    """A summariser that shares its one model with the conversation."""

    name = "embedded"


async def test_on_the_embedded_model_a_message_comes_before_a_summary_which_is_written_when_idle(fake: Fake, stage: At) -> None:
    on, stalled = stage(fake(*QUICK)), Stalled()
    slow = [True]

    async def pace(characters: int) -> None:
        if slow[0]:
            await stalled(characters)

    reply = RecordedReply(({"type": "text", "text": SUMMARY},))
    on.prepare_when_due()
    conversation = await on.start(summary_provider=Embedded([reply] * 8, pace))
    await fill(on, 0.9)
    await stalled.begun.wait()
    slow[0] = False
    await conversation.send("a word in between")
    assert on.said(CompressionStopped)
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    await on.until(lambda: on.said(SummaryPrepared))
    body = on.store.body([r for r in on.store.requests(conversation.chain) if r.purpose == "summary"][-1].id)
    assert load_counter()(str(body["messages"])) < 2_500, "its source is a thousand tokens at most"


async def test_near_the_window_a_summary_under_way_is_waited_for_and_esc_ends_the_waiting(fake: Fake, stage: At) -> None:
    on, stalled = stage(fake(*QUICK)), Stalled()
    on.prepare_when_due()
    conversation = await on.start(summary_provider=summaries(SUMMARY, SUMMARY, pace=stalled))
    await fill(on, 0.9)
    await stalled.begun.wait()
    assert conversation.budgets
    missing = 0.9 * conversation.budgets.usable - conversation.size.tokens
    turn = asyncio.ensure_future(conversation.send("word " * int(missing)))
    await on.until(lambda: on.said(SummaryAwaited))
    assert not on.said(CompressionStarted)[1:], "it is the one that was under way"
    conversation.cancel()
    await turn
    assert on.said(CompressionStopped)
    assert on.said(Compressed)[0].compression.rung == "deterministic"
    assert on.said(TurnEnded)[-1].reason == "end_turn"


async def test_compressing_by_hand_answers_the_calls_that_a_crash_left_open(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    conversation = await on.start(foreground=True)
    await fill(on, 0.6)
    block = {"type": "tool_use", "id": "left", "name": "look", "input": {}}
    on.store.append(conversation.chain, role="assistant", content=[block], origin="model", model="claude-fake-1")
    await conversation.compress()
    assert len(on.said(Compressed)) == 1
    assert not conversation.view.has_open_call


async def test_a_blank_message_is_not_sent(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    conversation = await on.start()
    await conversation.send("  \n")
    assert not on.events[1:] or not on.said(TurnStarted)
    assert not await conversation.messages()
