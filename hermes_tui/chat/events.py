"""What happens in a conversation, as small past-tense events: the TUI, replay and the tests listen to the same ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_tui.context.editing import EditKind
from hermes_tui.context.engine import Compression, Kind, Plan, Refusal, Trigger, Usage
from hermes_tui.context.messages import Block, Message


@dataclass(frozen=True, slots=True)
class MessageStored:
    """A message is in the database (a person's, a model's finished or cut-off reply, or tool results)."""

    message: Message


@dataclass(frozen=True, slots=True)
class MessageQueued:
    """A message was typed ahead and waits for the turn to end."""

    text: str
    waiting: int


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn began for this user message."""

    message: Message


@dataclass(frozen=True, slots=True)
class RequestStarted:
    """A request goes out; the size of the prompt as the gauge knows it."""

    request: str
    tokens: int


@dataclass(frozen=True, slots=True)
class BlockOpened:
    """A block of the reply began to stream (text, thinking or tool_use)."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class BlockGrew:
    """Text was added to the streaming block at ``index`` (for a tool_use: JSON of its input)."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class BlockClosed:
    """The streaming block at ``index`` is whole."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool runs for this call."""

    call: Block


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool gave this result."""

    call: Block
    result: Block


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """A request failed in a way that a retry may mend; it is sent again after ``seconds``.

    What had streamed of the reply is given up: its blocks go when the next `RequestStarted` comes. They are kept only if no
    retry succeeds or the user stops waiting, and then come again as a `MessageStored`.
    """

    reason: str
    seconds: float
    attempt: int


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The provider measured a response."""

    usage: Usage
    cost: float | None
    purpose: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn ended: end_turn, cancelled, max_tokens, refusal, iterations or failed; ``sentence`` says why, for the user."""

    reason: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class ContextChanged:
    """The view, the state or the budgets changed: whatever draws them draws anew."""


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """The warm mark is passed and no summary is being prepared: whoever owns the tasks runs ``Conversation.prepare``."""


@dataclass(frozen=True, slots=True)
class CountDue:
    """Nothing runs, and the size is not measured as it stands: whoever owns the tasks runs ``Conversation.count``."""


@dataclass(frozen=True, slots=True)
class CompressionStarted:
    """A compression began (in the background when ``background``)."""

    plan: Plan
    trigger: Trigger
    background: bool


@dataclass(frozen=True, slots=True)
class SummaryAwaited:
    """A turn waits for its summary from now on, until `Compressed`, `NothingCompressed` or `TurnEnded`; Esc takes the summary
    that is written without a model."""

    trigger: Trigger


@dataclass(frozen=True, slots=True)
class SummaryGrew:
    """The summariser streamed more of the summary; ``text`` is all of this call so far."""

    text: str
    call: int


@dataclass(frozen=True, slots=True)
class SummaryPrepared:
    """The summary is ready in memory and waits for a boundary."""

    compression: Compression


@dataclass(frozen=True, slots=True)
class Compressed:
    """A compression was applied, and for a summarise the session was split."""

    compression: Compression
    kind: Kind
    trigger: Trigger
    edit: str
    session: str
    parent: str | None
    ordinal: int
    tokens_before: int
    tokens_after: int
    plan_ms: float


@dataclass(frozen=True, slots=True)
class NothingCompressed:
    """A compression that was asked for or due did nothing; nothing changed."""

    refusal: Refusal
    trigger: Trigger


@dataclass(frozen=True, slots=True)
class CompressionStopped:
    """A running compression was cancelled; nothing changed. One that ``yielded`` to a message is taken up again later."""

    yielded: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """An undo, redo, pin (an unpin too) or drop (a restore too) was applied; ``target`` is the edit it takes back.

    ``counts`` are messages pinned, unpinned, dropped or restored; for an undo or redo, the edits it takes back by their kind.
    """

    kind: EditKind
    edit: str
    target: str | None
    counts: Mapping[str, int]
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class NothingEdited:
    """An undo, redo, pin or drop that was asked for could not be made; nothing changed. ``sentence`` says why, for the user."""

    kind: EditKind
    refusal: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TipAdopted:
    """Another process moved the chain on; this conversation follows it."""

    session: str


@dataclass(frozen=True, slots=True)
class NoticeRaised:
    """Something the user should know, as designed text: what happened, what is kept, what to press."""

    text: str
    severity: str = "information"
    details: Mapping[str, Any] = field(default_factory=dict)


Event = (
    MessageStored | MessageQueued | TurnStarted | RequestStarted | BlockOpened | BlockGrew | BlockClosed | ToolStarted
    | ToolEnded | RetryScheduled | UsageReported | TurnEnded | ContextChanged | SummaryDue | CountDue | CompressionStarted
    | SummaryAwaited | SummaryGrew | SummaryPrepared | Compressed | NothingCompressed | CompressionStopped
    | Edited | NothingEdited | TipAdopted | NoticeRaised
)  # fmt: skip
Publish = Callable[[Event], None]
