"""Where an estimate will not do the server counts: near a trigger, and after an edit while nothing runs. No failure shows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hermes_tui.chat import counting
from hermes_tui.chat.events import Compressed, CountDue, NoticeRaised, TurnEnded
from hermes_tui.llm.messages_api import MessagesApi
from hermes_tui.llm.provider import Busy
from tests.chat.stage import FakeApi, Stage
from tests.fakes.fake_anthropic import count_tokens

At = Callable[..., Stage]
Fake = Callable[..., FakeApi]
QUICK = ("--rate", "100000", "--words", "60", "--window", "8000")


class Server(MessagesApi):
    """The fake's address, with a count of our own making."""

    def __init__(self, address: str, count: Callable[[], Any]) -> None:
        super().__init__(address, "key")
        self.answer = count
        self.asked = 0

    async def count_tokens(self, body: Mapping[str, Any]) -> int | None:
        self.asked += 1
        answer = self.answer()
        return await answer if asyncio.iscoroutine(answer) else answer


def paths(api: FakeApi) -> list[str]:
    return [json.loads(line)["path"].split("?")[0] for line in api.log.read_text().splitlines()]


@pytest.fixture
def api(fake: Fake) -> FakeApi:
    return fake(*QUICK)


@pytest.fixture
async def on(stage: At, api: FakeApi) -> Stage:
    at = stage(api)
    at.configure(summary__engine="deterministic")
    return at


async def test_after_an_edit_the_size_is_counted_while_nothing_runs(on: Stage) -> None:
    conversation = await on.start()
    for n in range(4):
        await conversation.send(f"Say more, {n}. " + "A wide river. " * 80)
    assert not on.said(CountDue), "what was measured needs no count"
    await conversation.compress()
    assert on.said(Compressed)
    assert conversation.size.kind == "stale"
    assert len(on.said(CountDue)) == 1
    await conversation.count()
    assert conversation.size.kind == "measured"
    assert conversation.size.tokens == pytest.approx(count_tokens(conversation.next_body()), abs=4)
    assert conversation.state.anchor is not None
    assert conversation.state.anchor.generation == conversation.view.generation


def more(n: int) -> str:
    return "Say more. " + "A wide river. " * 30


async def test_near_the_trigger_the_server_decides(on: Stage, api: FakeApi) -> None:
    conversation = await on.start(foreground=True)
    budgets = conversation.budgets
    assert budgets is not None
    await on.filled(0.8, more)
    assert "/v1/messages/count_tokens" not in paths(api), "far from it nobody is asked"
    await on.talk_until(lambda: on.said(Compressed), more)
    asked = paths(api)
    assert "/v1/messages/count_tokens" in asked
    assert asked.count("/v1/messages/count_tokens") < asked.count("/v1/messages")


@pytest.mark.parametrize("answer", ["none", "busy", "silence"])
async def test_a_server_that_does_not_count_is_not_missed(
    on: Stage, api: FakeApi, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "WAIT_SECONDS", 0.05)

    def busy() -> None:
        raise Busy("rate limited", status=429)

    server = Server(api.address, {"none": lambda: None, "busy": busy, "silence": lambda: asyncio.sleep(3600)}[answer])
    await on.start(provider=server, foreground=True, clock=lambda: 1_000.0)
    await on.talk_until(lambda: on.said(Compressed), more)
    assert {e.reason for e in on.said(TurnEnded)} == {"end_turn"}
    assert server.asked == 1, "it is left in peace for a while"
    assert not on.said(NoticeRaised)
    await server.close()
