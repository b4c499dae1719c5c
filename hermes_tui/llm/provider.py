"""The provider protocol: one request in, typed events out, typed errors instead of status codes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import Block

COMPACTION_BETA: Final = "compact-2026-09-04"
"""The beta that compaction on demand needs: where it is asked for, on every request that carries its block, and for the Models
API to tell which models have it (anthropic SDK 2.15, AnthropicBetaParam)."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One HTTP attempt: exactly the JSON body that is posted (``stream`` included), and beta names for the header."""

    body: Mapping[str, Any]
    betas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockStarted:
    """A content block began; ``block`` is its first form (a tool_use has its id and name already)."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class TextGrew:
    """Text was added to the text block at ``index``."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingGrew:
    """Text was added to the thinking block at ``index``."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class InputGrew:
    """JSON text was added to the input of the tool_use block at ``index``."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class BlockEnded:
    """The block at ``index`` is whole (thinking with its signature, a tool_use with its parsed input)."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The reply is whole. A call cut off by max_tokens is not in ``content``."""

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage
    raw_usage: Mapping[str, Any] = field(default_factory=dict)


StreamEvent = BlockStarted | TextGrew | ThinkingGrew | InputGrew | BlockEnded | ReplyEnded


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a provider says of a model; None where it does not say. ``source`` names who said it.

    Attributes:
        thinking: the least it can be told to think: ``none`` (it never thinks), ``off``, ``between_tools`` or ``always``.
        thinking_types: the ``thinking.type`` values that a request may hold.
        efforts: the ``output_config.effort`` values that a request may hold, from the least on.
        prompt_caching: whether cache_control marks in a request are understood.
        compaction: whether the provider compacts a conversation with it by itself, on demand.
    """

    id: str
    name: str = ""
    window: int | None = None
    max_output: int | None = None
    thinking: str | None = None
    tools: bool = True
    source: str = "models API"
    thinking_types: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    prompt_caching: bool = True
    compaction: bool = False


class ProviderError(Exception):
    """A request failed. ``sentence`` is what the user reads; ``retry_after`` seconds where the server named them."""

    retryable = False

    def __init__(self, sentence: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status
        self.retry_after = retry_after


class Overflowed(ProviderError):
    """The prompt is over the window. ``stated_window`` and ``stated_tokens`` where the error names them."""

    def __init__(
        self, sentence: str, *, stated_window: int | None = None, stated_tokens: int | None = None, status: int | None = None
    ) -> None:
        super().__init__(sentence, status=status)
        self.stated_window = stated_window
        self.stated_tokens = stated_tokens


class Unauthorised(ProviderError):
    """The key is missing or wrong."""


class RequestRefused(ProviderError):
    """The server refuses the request itself (400, 404, 422); sending it again cannot help."""


class CompactionRefused(RequestRefused):
    """The server refuses to compact, or refuses a block that a compaction made; sending the same again cannot help."""


class Busy(ProviderError):
    """Rate limited or overloaded (429, 529, 503); a retry may help."""

    retryable = True


class ServerFailed(ProviderError):
    """The server failed (5xx) or answered nonsense."""

    retryable = True


class Unreachable(ProviderError):
    """No connection, or none in time."""

    retryable = True


class StreamBroken(ProviderError):
    """The reply broke off; what came before it was yielded already."""

    retryable = True


class Provider(Protocol):
    """A model behind the Messages API."""

    name: str
    """anthropic, compatible, embedded or recorded."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Send REQUEST; yields events, `ReplyEnded` last. Closing the iterator (``aclose``) frees the connection at once.

        Raises:
            ProviderError: one of the classes above.
        """

    async def count_tokens(self, body: Mapping[str, Any]) -> int | None:
        """The server's own count of a body's prompt, None where it has no such endpoint."""

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models on offer.

        Raises:
            ProviderError: one of the classes above.
        """

    async def close(self) -> None:
        """Free connections and child processes."""
