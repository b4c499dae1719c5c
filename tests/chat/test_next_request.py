"""The next request of a chain that nobody has open is what the conversation would send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hermes_tui.chat.next_request import next_body
from hermes_tui.llm.tokenizer import load_counter
from tests.chat.stage import FakeApi, Stage


def plain(messages: list[dict[str, Any]]) -> list[Any]:
    """MESSAGES without their cache marks."""
    return [{**m, "content": [{k: v for k, v in b.items() if k != "cache_control"} for b in m["content"]]} for m in messages]


async def test_it_is_what_is_sent_next_but_for_the_new_message(
    fake: Callable[..., FakeApi], stage: Callable[[FakeApi], Stage]
) -> None:
    api = fake("--rate", "100000", "--words", "60")
    on = stage(api)
    conversation = await on.start(tools=on.tools())
    await conversation.send("!fault think+tool:list_files {}")
    shown = next_body(on.store, conversation.chain, on.settings, on.provider, load_counter())
    assert shown == conversation.next_body()
    await conversation.send("and now?")
    sent = api.bodies()[-1]
    assert plain(sent["messages"])[:-1] == plain(shown["messages"])
    assert {k: v for k, v in sent.items() if k not in ("messages", "system")} == {
        k: v for k, v in shown.items() if k not in ("messages", "system")
    }
    assert sent["system"] == shown["system"]


async def test_a_chain_that_was_never_sent_takes_its_numbers_from_the_settings(
    fake: Callable[..., FakeApi], stage: Callable[[FakeApi], Stage]
) -> None:
    on = stage(fake())
    on.configure(model__max_tokens=1_000, model__window=50_000)
    conversation = await on.start()
    shown = next_body(on.store, conversation.chain, on.settings, on.provider, load_counter())
    assert shown["max_tokens"] == 1_000
    assert shown["messages"] == []
    assert shown == conversation.next_body()
