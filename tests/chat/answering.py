"""Conversations without a server: a model that answers from a die, a summariser that behaves, a database of their own."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_tui.chat.conversation import Conversation
from hermes_tui.chat.events import Event
from hermes_tui.chat.parts import Parts
from hermes_tui.config import Settings, load_settings
from hermes_tui.context.engine import SummariserFailed, SummaryPrompt, Usage
from hermes_tui.context.messages import Block
from hermes_tui.context.tokens import compact_json
from hermes_tui.llm.provider import BlockEnded, BlockStarted, ModelInfo, ModelRequest, ReplyEnded, RequestRefused, Unreachable
from hermes_tui.store.store import Store
from tests.store.stored import store_all
from tests.store.talk import start
from tests.strategies import TOOLS, answers, conversation, count, sentences

MODEL, OTHER, SMALL = "model-a", "model-b", "small-model"
SETTINGS = load_settings(None, environment={}, overrides={"summary.model": SMALL})
PAST = 1_800_000_000.0
"""The clock's first reading."""


def infos(window: int) -> tuple[ModelInfo, ...]:
    """What the provider says of its models."""
    sizes = {MODEL: window, OTHER: 2 * window, SMALL: 8_000}
    return tuple(ModelInfo(name, window=size, max_output=64_000, thinking="none") for name, size in sizes.items())


class Scripted:
    """What every provider here has in common."""

    name = "compatible"
    tools = True
    breaks_control_tokens = False
    request_extras: Mapping[str, Any] = {}
    base_url = None

    def describe(self) -> str:
        return "scripted"

    async def warm(self) -> None:
        """Nothing to load."""

    async def count_tokens(self, body: Mapping[str, Any]) -> int | None:
        return None

    async def models(self) -> tuple[ModelInfo, ...]:
        return infos(8_192)

    async def close(self) -> None:
        """Nothing to free."""


class Answering(Scripted):
    """A model that answers with texts and calls from DICE, and measures every request exactly.

    Attributes:
        sent: every body it was given.
        longest: tokens of the longest prompt.
    """

    def __init__(self, dice: random.Random, calls: float = 0.3) -> None:
        self._dice, self._calls = dice, calls
        self.sent: list[Mapping[str, Any]] = []
        self.longest = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        body, dice = request.body, self._dice
        self.sent.append(body)
        prompt = count(compact_json([body.get("system"), body.get("tools"), body["messages"]]))
        self.longest = max(self.longest, prompt)
        content: list[Block] = [{"type": "text", "text": sentences(dice, 8)}]
        if dice.random() < self._calls and body.get("tools"):
            content += [
                {"type": "tool_use", "id": f"t{len(self.sent)}{k}", "name": dice.choice(TOOLS), "input": {"path": f"{k}.py"}}
                for k in range(dice.randint(1, 2))
            ]
        for index, block in enumerate(content):
            yield BlockStarted(index, block)
            yield BlockEnded(index, block)
        stop = "tool_use" if len(content) > 1 else "end_turn"
        yield ReplyEnded(tuple(content), stop, Usage(input=prompt, output=50))


class Summarising(Scripted):
    """A summariser that behaves in turn as told; the last behaviour goes on for ever.

    Attributes:
        asked: how often it was asked.
        begun: set whenever it is asked; one that is "stalled" then waits for ever.
    """

    def __init__(self, *behaviours: str) -> None:
        self.asked = 0
        self.begun = asyncio.Event()
        self.behaves(*behaviours)

    def behaves(self, *behaviours: str) -> None:
        """Behave so from now on."""
        self._behaviours, self._since = behaviours, self.asked

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        self.asked += 1
        self.begun.set()
        behaviour = self._behaviours[min(self.asked - self._since, len(self._behaviours)) - 1]
        if behaviour == "stalled":
            await asyncio.Event().wait()
        text = str(request.body["messages"][0]["content"])
        try:
            answer = await answers(behaviour)(SummaryPrompt("", text, 0, 0))
        except SummariserFailed as problem:
            raise (Unreachable if problem.transport else RequestRefused)(f"{problem}.") from None
        block = {"type": "text", "text": answer}
        yield BlockStarted(0, block)
        yield BlockEnded(0, block)
        yield ReplyEnded((block,), "end_turn", Usage(input=count(text), output=count(answer)))


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = PAST

    def __call__(self) -> float:
        return self.now


class Tooling:
    """Tools that answer from a die, long and short."""

    schemas = tuple({"name": name, "description": "", "input_schema": {"type": "object"}} for name in TOOLS)
    declarations: Mapping[str, Any] = {}

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    async def run(self, call: Block) -> Block:
        return {"type": "tool_result", "tool_use_id": call["id"], "content": sentences(self._dice, 30)}


@dataclass
class Room:
    """A conversation and all that it was put together from."""

    store: Store
    dice: random.Random
    window: int = 4_000
    behaviours: tuple[str, ...] = ("good",)
    foreground: bool = True
    settings: Settings = SETTINGS
    events: list[Event] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model, self.summariser, self.clock = Answering(self.dice), Summarising(*self.behaviours), Clock()

    def parts(self, **more: Any) -> Parts:
        """The parts of a conversation, with MORE put in place."""
        given: dict[str, Any] = {
            "store": self.store,
            "provider": self.model,
            "settings": self.settings,
            "model": MODEL,
            "count": count,
            "publish": self.events.append,
            "tools": Tooling(self.dice),
            "infos": infos(self.window),
            "summary_provider": self.summariser,
            "foreground": self.foreground,
            "clock": self.clock,
            "retry_delays": (0.0, 0.0, 0.0),
        }
        return Parts(**{**given, **more})

    async def open(self, chain: str, **more: Any) -> Conversation:
        """The conversation of CHAIN, opened as another process would."""
        self.conversations.append(await Conversation.open(self.parts(**more), chain))
        return self.conversations[-1]

    async def begun(self, turns: int = 4, **more: Any) -> Conversation:
        """A conversation in which so many turns were said already, opened to go on with."""
        chain = start(self.store, title="A talk #12")
        store_all(self.store, chain, conversation(self.dice, turns))
        return await self.open(chain, **more)

    async def talk(self, conversation: Conversation, turns: int = 1) -> None:
        """Say so many things, and have them answered."""
        for _ in range(turns):
            await conversation.send(sentences(self.dice, 10))

    def said(self, kind: type[Any]) -> list[Any]:
        """The events of one kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def close(self) -> None:
        """End all conversations."""
        for each in self.conversations:
            with contextlib.suppress(Exception):
                await each.close()


def held(store: Store, chain: str) -> tuple[Any, ...]:
    """All that an edit of CHAIN would change: entries, generation, sessions and titles."""
    return (
        store.view(chain),
        store.sessions(chain),
        store.tip(chain).title,
        store.messages(chain),
    )


async def ticks(count: int) -> None:
    """Let the loop go round so many times."""
    for _ in range(count):
        await asyncio.sleep(0)
