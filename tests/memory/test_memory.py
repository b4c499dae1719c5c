"""Several providers at once: each is heard, none holds anybody up, and what a failing one does is said once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from hermes_tui.context.messages import Message, text_block
from hermes_tui.memory import lane, memory
from hermes_tui.memory.memory import Memory
from hermes_tui.memory.provider import MemoryProvider
from hermes_tui.memory.registry import memory_of, provider_names
from hermes_tui.store.store import Store
from tests.store.talk import say, start

MESSAGES = (Message("m", 0, "user", (text_block("hello"),), "user"),)


class Speaking(MemoryProvider):
    """Says WHAT, or raises it."""

    def __init__(self, name: str, what: object) -> None:
        self._name, self._what = name, what
        self.turns = 0

    @property
    def name(self) -> str:
        return self._name

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        if isinstance(self._what, BaseException):
            raise self._what
        return self._what

    def prefetch(self, directory: str | None) -> str:
        return self.on_pre_compress(())

    def on_turn(self, session: str, messages: Sequence[Message]) -> None:
        self.turns += 1
        self.on_pre_compress(messages)


class Hanging(MemoryProvider):
    """Comes back when it is let go."""

    name = "hanging"

    def __init__(self) -> None:
        self.go, self.calls = threading.Event(), 0

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        self.calls += 1
        self.go.wait(20)
        return "at last"


class Told(list[str]):
    """What was said on the screen."""

    def say(self, sentence: str, severity: str) -> None:
        self.append(sentence)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.mark.parametrize(
    "rubbish", [OSError("gone"), SystemExit(3), asyncio.CancelledError(), StopIteration(), 7, None, b"bytes"], ids=repr
)
async def test_whatever_one_provider_does_the_others_are_heard(rubbish: object, told: Told) -> None:
    both = Memory([Speaking("bad", rubbish), Speaking("good", "tabs")])
    for _ in range(3):
        assert await both.on_pre_compress(MESSAGES, told.say) == "tabs"
        assert await both.prefetch(None, told.say) == ("tabs",)
        both.on_turn("s", MESSAGES, told.say)
        await both.settled(5)
    assert len(told) == 1
    assert told[0].startswith("The memory provider bad ")
    both.close()


async def test_one_that_dawdles_is_left_out_and_not_asked_again_until_it_comes_back(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "SECONDS", 0.05)
    monkeypatch.setattr(lane, "SECONDS", 0.05)
    slow = Hanging()
    both = Memory([slow, Speaking("good", "tabs")])
    for _ in range(3):
        assert await both.on_pre_compress(MESSAGES, told.say) == "tabs"
        both.on_turn("s", MESSAGES, told.say)
    assert slow.calls == 1
    assert told == [sentence for sentence in told[:1] if "hanging did not answer" in sentence]
    slow.go.set()
    for _ in range(1_000):
        said = await both.on_pre_compress(MESSAGES, told.say)
        if said != "tabs":
            break
        await asyncio.sleep(0.01)
    assert said == "at last\n\ntabs"
    both.close()


async def test_a_provider_that_says_far_too_much_is_cut(told: Told) -> None:
    much = Memory([Speaking("much", "x" * 1_000_000), Speaking("blank", " \n")])
    assert await much.prefetch(None, told.say) == ("x" * memory.TEXT_CHARS,)
    assert await much.on_pre_compress(MESSAGES, told.say) == "x" * memory.TEXT_CHARS
    assert told == []
    much.close()


async def test_a_provider_of_another_package_is_used_where_the_settings_name_it(example: None, tmp_path, told: Told) -> None:
    store = Store.open(tmp_path / "hermes.db")
    assert {"notes", "diary"} <= set(provider_names())
    chosen = memory_of(["diary", "notes", "diary"], store.notes)
    assert chosen.names == ("diary", "notes")
    message = say(store, start(store), "I prefer tabs.")
    chosen.on_turn("s", [message], told.say)
    await chosen.settled(5)
    assert await chosen.prefetch(None, told.say) == ("The diary is kept in blue ink.", "- fact: I prefer tabs")
    assert told == ["Noted for new conversations: “I prefer tabs”. /memory shows and changes it."]
    chosen.close()
    store.close()


async def test_what_is_not_installed_or_cannot_be_made_is_left_out_and_said(example: None, tmp_path, told: Told) -> None:
    store = Store.open(tmp_path / "hermes.db")
    chosen = memory_of(["nobody", "broken", "stranger", "notes"], store.notes)
    assert chosen.names == ("notes",)
    chosen.on_session_start("s", told.say)
    chosen.on_session_start("s", told.say)
    assert [sentence.split("'")[1] for sentence in told] == ["nobody", "broken", "stranger"]
    assert "On offer: notes, broken, diary, stranger." in told[0]
    assert memory_of([], store.notes).names == ()
    chosen.close()
    store.close()
