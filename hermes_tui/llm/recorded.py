"""A provider that answers from a recording: nothing is sent anywhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import Block
from hermes_tui.llm.provider import (
    BlockEnded,
    BlockStarted,
    InputGrew,
    ModelInfo,
    ModelRequest,
    ProviderError,
    ReplyEnded,
    StreamEvent,
    TextGrew,
    ThinkingGrew,
)

CHUNK: Final = 24
"""Characters to an event: about what a provider sends at a time."""


_GROWN: Final[Mapping[str, tuple[str, type[TextGrew | ThinkingGrew | InputGrew]]]] = {
    "text": ("text", TextGrew),
    "thinking": ("thinking", ThinkingGrew),
    "tool_use": ("input", InputGrew),
}


class RecordingEnded(ProviderError):
    """Every recorded reply was given."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """One reply of a transcript. Without usage nothing is measured (all zero), and no anchor is to be made of it."""

    content: tuple[Block, ...]
    usage: Usage = field(default_factory=Usage)
    stop_reason: str = ""
    raw_usage: Mapping[str, Any] = field(default_factory=dict)


class RecordedProvider:
    """Answers the n-th request with the n-th recorded reply, as a stream.

    Args:
        replies: the assistant messages of a transcript, in order.
        pace: awaited before each event with the number of characters that it brings; None streams at once.
        model: the model's name in `models`.
    """

    name = "recorded"
    tools = True
    breaks_control_tokens = False
    request_extras: Mapping[str, Any] = {}

    def __init__(
        self,
        replies: Sequence[RecordedReply | Sequence[Block]],
        pace: Callable[[int], Awaitable[None]] | None = None,
        model: str = "recorded",
    ) -> None:
        self._replies = [r if isinstance(r, RecordedReply) else RecordedReply(tuple(r)) for r in replies]
        self._next = 0
        self._pace = pace
        self._model = model

    @property
    def left(self) -> int:
        """Replies not given yet."""
        return len(self._replies) - self._next

    def skip_to(self, reply: int) -> None:
        """Go on with the reply of that number, from 0: what a turn that ended early left over is not given to the next."""
        self._next = reply

    def describe(self) -> str:
        """Where the replies come from, for the status line."""
        return "recorded"

    async def warm(self) -> None:
        """Nothing to load."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The next recorded reply, whatever REQUEST asks.

        Raises:
            RecordingEnded: there is none left.
        """
        if self._next >= len(self._replies):
            raise RecordingEnded("The recording has no further reply.")
        reply = self._replies[self._next]
        self._next += 1
        for index, block in enumerate(reply.content):
            async for event in self._block(index, block):
                yield event
        calls = any(block.get("type") == "tool_use" for block in reply.content)
        stop = reply.stop_reason or ("tool_use" if calls else "end_turn")
        yield ReplyEnded(reply.content, stop, reply.usage, dict(reply.raw_usage))

    async def _block(self, index: int, block: Block) -> AsyncIterator[StreamEvent]:
        kind = block.get("type")
        key, grew = _GROWN.get(str(kind), ("", None))
        empty: Any = {} if kind == "tool_use" else ""
        yield BlockStarted(index, {**block, key: empty} if key else block)
        if grew is not None:
            whole = block.get(key, empty)
            text = whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False)
            for at in range(0, len(text), CHUNK):
                piece = text[at : at + CHUNK]
                if self._pace is not None:
                    await self._pace(len(piece))
                yield grew(index, piece)
        yield BlockEnded(index, block)

    async def count_tokens(self, body: Mapping[str, Any]) -> int | None:
        """A recording counts nothing."""
        return None

    async def models(self) -> tuple[ModelInfo, ...]:
        """The one model."""
        return (ModelInfo(self._model, source="recording"),)

    async def close(self) -> None:
        """Nothing to free."""
