"""A stage for conversations: a fake Messages API on loopback, a database of their own, and every event that is published."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_tui.chat.conversation import Conversation
from hermes_tui.chat.events import Event, SummaryDue
from hermes_tui.chat.parts import Parts
from hermes_tui.config import Settings, load_settings
from hermes_tui.llm.messages_api import MessagesApi
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.store.store import Store
from hermes_tui.tools.files import FILE_TOOLS
from hermes_tui.tools.tools import Tools

MOST_SENT = 80
"""Messages after which one has talked in vain. A test that works for ever may not be stopped by its time limit."""
FAKE = Path(__file__).parents[1] / "fakes" / "fake_anthropic.py"
SUMMARY = (
    "## Goal\nShip the importer.\n## Decisions\nUse port 8443.\n## Done\nThe parser was split.\n## State\nTests are green.\n"
    "## Next\nWrite the docs.\n"
)
"""What a summariser that does as it is told answers."""


class FakeApi:
    """The fake Messages API in a process of its own."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.log = directory / "requests.jsonl"
        command = [sys.executable, str(FAKE), "--log", str(self.log), *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def bodies(self) -> list[dict[str, Any]]:
        """Every body that was posted for a reply, in the order of arrival."""
        if not self.log.exists():
            return []
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line["body"] for line in lines if line["path"] == "/v1/messages"]

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@dataclass
class Stage:
    """Conversations over one database, and what they published."""

    directory: Path
    address: str
    settings: Settings = field(default_factory=lambda: load_settings(None, environment={}))
    store: Store = None
    events: list[Event] = field(default_factory=list)
    listeners: list[Callable[[Event], None]] = field(default_factory=list)
    beside: list[asyncio.Task[None]] = field(default_factory=list)
    conversation: Conversation = None

    def __post_init__(self) -> None:
        self.store = Store.open(self.directory / "hermes.db")
        self.provider = MessagesApi(self.address, "key")
        self._arrived = asyncio.Event()

    def configure(self, **overrides: Any) -> None:
        """Settings by dotted key, dots written as two underscores."""
        keys = {key.replace("__", "."): value for key, value in overrides.items()}
        self.settings = load_settings(None, environment={}, overrides=keys)

    def heard(self, event: Event) -> None:
        """What the conversation publishes."""
        self.events.append(event)
        self._arrived.set()
        for listener in self.listeners:
            listener(event)

    async def parts(self, **more: Any) -> Parts:
        """The parts of a conversation with the fake, with MORE put in place."""
        given: dict[str, Any] = {
            "store": self.store,
            "provider": self.provider,
            "settings": self.settings,
            "model": "claude-fake-1",
            "count": load_counter(),
            "publish": self.heard,
            "infos": await self.provider.models(),
            "retry_delays": (0.02, 0.02, 0.02),
        }
        return Parts(**{**given, **more})

    def tools(self) -> Tools:
        """The read-only tools, confined to the stage's directory."""
        return Tools(FILE_TOOLS, self.directory)

    async def start(self, **more: Any) -> Conversation:
        """A new conversation."""
        self.conversation = await Conversation.start_new(await self.parts(**more))
        return self.conversation

    def prepare_when_due(self) -> None:
        """Do as the app does: write each summary that is due beside the turns."""

        def listen(event: Event) -> None:
            if isinstance(event, SummaryDue):
                self.beside.append(asyncio.ensure_future(self.conversation.prepare()))

        self.listeners.append(listen)

    def said(self, kind: type[Any]) -> list[Any]:
        """The events of one kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, condition: Callable[[], Any], seconds: float = 20.0) -> None:
        """Wait for a condition on what was published."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._arrived.clear()
                await self._arrived.wait()

    async def talk_until(self, condition: Callable[[], Any], says: Callable[[int], str]) -> None:
        """Send what SAYS(n) says until CONDITION holds.

        Raises:
            AssertionError: it does not after `MOST_SENT` messages (a context that is compressed on the way reaches no size).
        """
        for n in range(MOST_SENT):
            if condition():
                return
            await self.conversation.send(says(n))
        raise AssertionError(f"what was talked for did not come in {MOST_SENT} messages: {self.conversation.size}")

    async def filled(self, share: float, says: Callable[[int], str]) -> None:
        """Talk until the size has reached SHARE of the threshold, without compressing on the way."""
        at = self.conversation  # whose threshold may change on the way, when the server states its window
        await self.talk_until(lambda: at.budgets is None or at.size.tokens >= share * at.budgets.threshold, says)

    async def close(self) -> None:
        """End what runs and close the database."""
        if self.conversation is not None:
            await self.conversation.close()
        for task in self.beside:
            task.cancel()
        await asyncio.gather(*self.beside, return_exceptions=True)
        await self.provider.close()
        self.store.close()


def sent_and_logged(store: Store, chain: str, fake: FakeApi) -> None:
    """What the store says was sent is what arrived: as a multiset, and in order within a purpose."""
    from hermes_tui.chat.requests import sent_bodies

    sent = [(purpose, canonical(body)) for _, purpose, _, body in sent_bodies(store, chain)]
    logged = [canonical(body) for body in fake.bodies()]
    assert sorted(body for _, body in sent) == sorted(logged)
    for purpose in {purpose for purpose, _ in sent}:
        bodies = [body for of, body in sent if of == purpose]
        own = set(bodies)
        assert bodies == [body for body in logged if body in own]


def canonical(body: Any) -> str:
    """BODY as parsed JSON compares."""
    return json.dumps(body, sort_keys=True)
