"""The provider's own compaction: its block is sent first, unchanged, and only where it is taken; a summary there is always."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hermes_tui.chat.conversation import Conversation
from hermes_tui.chat.events import Compressed, NoticeRaised, TurnEnded
from hermes_tui.chat.requests import sent_bodies
from hermes_tui.context.compaction import without_secrets
from hermes_tui.llm.messages_api import MessagesApi
from hermes_tui.llm.provider import ModelInfo
from hermes_tui.tui.originals import original_of
from hermes_tui.tui.readings import EntryRow
from tests.chat.stage import SUMMARY, FakeApi, Stage, canonical, sent_and_logged
from tests.chat.test_compressing import LONG, QUICK, Clock, fill, summaries

Fake = Callable[..., FakeApi]
At = Callable[[FakeApi], Stage]
OFFERED = (*QUICK, "--compaction", "--bind-thinking")


def first_block(body: dict[str, Any]) -> Any:
    return body["messages"][0]["content"][0]


async def compacted(on: Stage, **more: Any) -> Conversation:
    """A conversation whose middle the provider was asked to compact, with one reply since."""
    on.configure(summary__engine="api", **{k: v for k, v in more.items() if "__" in k})
    conversation = await on.start(foreground=True, **{k: v for k, v in more.items() if "__" not in k})
    await conversation.send("!fault think")
    await fill(on, 0.6)
    await conversation.compress()
    assert len(on.said(Compressed)) == 1
    await conversation.send("and on")
    return conversation


async def test_the_providers_block_goes_first_with_the_ledger_beside_it_and_is_never_refused(fake: Fake, stage: At) -> None:
    api = fake(*OFFERED)
    on = stage(api)
    conversation = await compacted(on)
    assert on.said(Compressed)[-1].compression.rung == "api"
    number = next(n for n, body in enumerate(api.bodies()) if "compaction" in body)
    asked, before = plain(api.bodies()[number]["messages"]), plain(api.bodies()[number - 1]["messages"])
    assert asked == before[: len(asked)]
    row = next(r for r in on.store.requests(conversation.chain) if r.purpose == "summary")
    assert row.usage is not None
    assert row.usage.beside[0].cache_read > 0
    sent = api.bodies()[-1]
    assert first_block(sent)["type"] == "compaction"
    assert "<earlier_conversation>" in sent["messages"][0]["content"][1]["text"]
    assert sum("The importer stalls" in str(m["content"]) for m in sent["messages"][1:]) < 6
    summary = conversation.view.summary
    assert summary is not None
    assert summary.block is not None
    assert first_block(sent) == summary.block.block
    read = original_of(conversation.view, EntryRow(conversation.view.entries[0].position, "", "summary", "verbatim", "", "", 0))
    assert summary.block.block["content"] in read[1]
    assert not conversation.view.entries[0].message
    await fill(on, 0.8)  # the newest block stands for the older one and all that came since
    await conversation.compress()
    await conversation.send("!fault think")
    await conversation.send("and on")
    assert {e.compression.rung for e in on.said(Compressed)} == {"api"}
    assert {e.reason for e in on.said(TurnEnded)} == {"end_turn"}
    assert all(r.status == "done" for r in on.store.requests(conversation.chain))
    sent_and_logged(on.store, conversation.chain, api)


def plain(messages: Any) -> Any:
    """MESSAGES without the marks of the cache, which move with every request."""
    return json.loads(json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', ""))


async def test_what_it_cost_is_counted_and_its_size_is_not_taken_for_the_contexts(fake: Fake, stage: At) -> None:
    on = stage(fake(*OFFERED))
    conversation = await compacted(
        on, model="claude-sonnet-5-5", infos=(ModelInfo("claude-sonnet-5-5", window=12_000, compaction=True),)
    )
    row = next(r for r in on.store.requests(conversation.chain) if r.purpose == "summary")
    assert row.usage is not None
    assert (row.usage.prompt, len(row.usage.beside)) == (0, 1)
    assert row.cost is not None
    assert row.cost > 0
    assert conversation.totals.summaries == pytest.approx(row.cost)
    assert on.said(Compressed)[-1].tokens_before > on.said(Compressed)[-1].tokens_after > 0


async def test_another_model_is_sent_the_summary_written_beside_the_block_and_that_is_said(fake: Fake, stage: At) -> None:
    api = fake(*OFFERED)
    on = stage(api)
    conversation = await compacted(on)
    before = conversation.view
    await conversation.switch_model("claude-other-2")
    assert any("claude-other-2 is sent the one" in n.text for n in on.said(NoticeRaised))
    assert conversation.view.entries == before.entries
    await conversation.send("and on")
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    assert first_block(api.bodies()[-1])["type"] == "text"
    assert "<earlier_conversation>" in first_block(api.bodies()[-1])["text"]
    await conversation.switch_model("claude-fake-1")
    await conversation.send("and on")
    assert first_block(api.bodies()[-1])["type"] == "compaction"
    sent_and_logged(on.store, conversation.chain, api)


async def test_a_block_that_is_refused_gives_way_to_what_code_wrote_and_the_turn_goes_on(
    fake: Fake, stage: At, tmp_path: Any
) -> None:
    on = stage(fake(*OFFERED))
    conversation = await compacted(on)
    (tmp_path / "elsewhere").mkdir()
    elsewhere = FakeApi(tmp_path / "elsewhere", *OFFERED)  # signs with another key: it knows no block of the first
    provider = MessagesApi(elsewhere.address, "key")
    again = await Conversation.open(await on.parts(provider=provider), conversation.chain)
    ordinal = again.session.ordinal
    await again.send("and on")
    assert on.said(TurnEnded)[-1].reason == "end_turn"
    told = on.said(Compressed)[-1].compression
    assert told.rung == "deterministic"
    assert "refused what its own compaction made" in told.failures[0]
    summary = again.view.summary
    assert summary is not None
    assert summary.block is None
    assert again.session.ordinal == ordinal
    assert on.store.view(again.chain) == again.view
    assert first_block(elsewhere.bodies()[-1])["type"] == "text"
    await again.close()
    await provider.close()
    elsewhere.stop()


async def test_where_it_is_not_offered_the_model_summarises_and_the_status_says_why(fake: Fake, stage: At) -> None:
    on = stage(fake(*QUICK))
    on.configure(summary__engine="api")
    conversation = await on.start(foreground=True, summary_provider=summaries(SUMMARY), summary_model="claude-haiku-5-5")
    await fill(on, 0.6)
    await conversation.compress()
    assert on.said(Compressed)[-1].compression.rung == "model"
    assert "claude-fake-1 offers no compaction of its own: claude-haiku-5-5 summarises" in conversation.engine_status


@pytest.mark.parametrize(
    ("model", "why"), [("claude-fault-nosummary", "compacted nothing"), ("claude-fault-longsummary", "takes")]
)
async def test_a_compaction_that_cannot_be_used_gives_way_to_the_next_rung(fake: Fake, stage: At, model: str, why: str) -> None:
    on = stage(fake(*OFFERED))
    on.configure(summary__engine="api")
    infos = (ModelInfo(model, window=12_000, compaction=True),)
    conversation = await on.start(
        foreground=True, summary_provider=summaries(SUMMARY), summary_model="other", model=model, infos=infos
    )
    await fill(on, 0.6)
    await conversation.compress()
    made = on.said(Compressed)[-1].compression
    assert made.rung == "model"
    assert why in made.failures[0]


async def test_own_wishes_and_a_topic_go_along_and_secrets_do_not(fake: Fake, stage: At) -> None:
    api = fake(*OFFERED)
    on = stage(api)
    on.configure(summary__engine="api", summary__prompt="Keep every port.")
    conversation = await on.start(foreground=True)
    secret = "tvly-Ab12Cd34Ef56Gh78"
    await conversation.send(f"The key is {secret}, use it.")
    await fill(on, 0.6)
    await conversation.compress("the importer")
    asked = next(body for body in api.bodies() if "compaction" in body)
    assert on.said(Compressed)[-1].compression.rung == "api"
    assert secret not in canonical(asked)
    assert "Keep every port." in asked["compaction"]["instructions"]
    assert "the importer" in asked["compaction"]["instructions"]
    assert secret not in str(conversation.view.summary)
    stored = [canonical(body) for _, purpose, _, body in sent_bodies(on.store, conversation.chain) if purpose == "summary"]
    assert not any(secret in body for body in stored)


def test_a_request_without_secrets_is_sent_as_it_was_and_one_with_them_without_its_thinking() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "t1", "name": "login", "input": {"password": "hunter2x", "user": "bob"}}
    block = {"type": "compaction", "content": "The key is tvly-Ab12Cd34Ef56Gh78.", "signature": "s"}

    def body(*content: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": [block]}, {"role": "assistant", "content": [thinking, *content]}]}

    clean = body({"type": "text", "text": "The importer stalls."})
    assert without_secrets(clean) == clean
    cleaned = without_secrets(body(call))["messages"]
    assert cleaned[0]["content"] == [block]
    assert [b["type"] for b in cleaned[1]["content"]] == ["tool_use"]
    assert "hunter2x" not in str(cleaned[1])
    assert cleaned[1]["content"][0]["input"]["user"] == "bob"


async def test_a_view_with_a_block_is_read_back_as_it_was(fake: Fake, stage: At) -> None:
    on = stage(fake(*OFFERED))
    conversation = await compacted(on)
    assert on.store.view(conversation.chain) == conversation.view
    summary = conversation.view.summary
    assert summary is not None
    assert replace(summary, block=None) != summary
    again = await Conversation.open(await on.parts(), conversation.chain)
    assert again.view == conversation.view
    await again.close()


async def test_compacted_beside_a_long_talk_with_tools_and_thinking_no_request_is_ever_refused(fake: Fake, stage: At) -> None:
    api = fake(*OFFERED)
    on = stage(api)
    on.configure(summary__engine="api")
    on.prepare_when_due()
    (on.directory / "notes.txt").write_text("The reader holds the lock. " * 120)
    conversation = await on.start(tools=on.tools())
    for n in range(16):
        order = ("!fault think", '!fault think+loop:4 tool:read_file {"path": "notes.txt"}', "say more")[n % 3]
        await conversation.send(f"{order}\n{LONG.format(n=n)[:1200]}")
    await asyncio.gather(*on.beside)
    done = on.said(Compressed)
    assert [e.compression.rung for e in done if e.kind == "summarise"].count("api") >= 2
    assert {e.reason for e in on.said(TurnEnded)} == {"end_turn"}
    assert {r.status for r in on.store.requests(conversation.chain)} <= {"done", "cancelled"}
    assert on.store.view(conversation.chain) == conversation.view
    sent_and_logged(on.store, conversation.chain, api)


async def test_a_compaction_that_is_of_no_use_is_not_paid_for_again_and_again(fake: Fake, stage: At) -> None:
    on, clock, model = stage(fake(*OFFERED)), Clock(), "claude-fault-longsummary"
    on.configure(summary__engine="api")
    infos = (ModelInfo(model, window=12_000, compaction=True),)
    parts: dict[str, Any] = {"summary_model": "other", "model": model, "infos": infos, "foreground": True, "clock": clock}
    conversation = await on.start(summary_provider=summaries(*[SUMMARY] * 6), **parts)
    for _ in range(3):
        await fill(on, 0.6)
        await conversation.compress()
    assert {e.compression.rung for e in on.said(Compressed)} == {"model"}
    asked = [r.model for r in on.store.requests(conversation.chain) if r.purpose == "summary"]
    assert asked.count(model) == 2
    assert "was of no use twice: other summarises until" in conversation.engine_status
    again = await Conversation.open(await on.parts(**parts), conversation.chain)
    assert "was of no use twice" in again.engine_status
    clock.now += 601
    assert not again.engine_status
    await again.close()
