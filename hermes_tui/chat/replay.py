"""Replay: a recorded conversation played through a conversation of our own; nothing in it is executed, nothing is sent.

The same `Conversation`, engine and store as ever, with a provider and tools that answer from the recording. The recording's own
user messages drive it; a user message where a reply is due ends the turn as a cancel does. Recorded usage measures what was
sent then, so it anchors the size only until the first edit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat.conversation import Conversation
from hermes_tui.chat.events import Compressed, Event, MessageStored, Publish, RequestStarted
from hermes_tui.chat.parts import Parts
from hermes_tui.context.budgets import ImpossibleBudget
from hermes_tui.context.engine import Compression, ContextEngine, Usage
from hermes_tui.context.messages import Block
from hermes_tui.llm.recorded import RecordedProvider, RecordedReply
from hermes_tui.tools.recorded import RecordedTools
from hermes_tui.transfer.transcripts import RecordedConversation, RecordedMessage

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.context.engine import Count
    from hermes_tui.llm.choose import ChatProvider
    from hermes_tui.store.store import Store

SHRUNK: Final = 0.9
"""Of the largest prompt so far: a smaller one was compressed (caches and retries move sizes by less)."""
ENDS: tuple[str, ...] = ("max_tokens", "refusal")
"""Recorded stop reasons that mean something to a turn; others are told from the reply itself."""


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """What the app is to replay (``run_app(replay=…)``).

    Attributes:
        conversations: played one after another.
        settings: those of the run.
        keep: play into the user's own database, not a temporary one.
    """

    conversations: tuple[RecordedConversation, ...]
    settings: Settings
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay came to: messages played, compressions applied, sessions at the end, and the largest request in tokens."""

    messages: int
    compressions: int
    sessions: int
    peak_tokens: int


@dataclass(frozen=True, slots=True)
class Probed:
    """One context of a probe run.

    Attributes:
        cut: source messages it was made from.
        compression: what was done; its change is None for a no-op.
        plan_ms: milliseconds that planning took.
        body: the request that would be sent next.
    """

    cut: int
    compression: Compression
    plan_ms: float
    body: dict[str, Any]


class Replay:
    """One recorded conversation on its way through one of ours.

    Args:
        recorded: the recording.
        store: where it is played into.
        settings: the settings of the run (window, threshold, engine, who summarises).
        count: counts the tokens of a text.
        publish: hears every event of the conversation; `cut` is true to each.
        summary_provider: who summarises, where the settings want a model.
        summary_model: the model that does.
        pace: awaited before each piece of a reply with the number of its characters; None plays as fast as it goes.
        engine: the context engine; None for the one that the settings name.

    Attributes:
        cut: source messages played so far.
        conversation: ours; None until the run has begun.
    """

    def __init__(
        self,
        recorded: RecordedConversation,
        *,
        store: Store,
        settings: Settings,
        count: Count,
        publish: Publish,
        summary_provider: ChatProvider | None = None,
        summary_model: str = "",
        pace: Callable[[int], Awaitable[None]] | None = None,
        engine: ContextEngine | None = None,
    ) -> None:
        self.recorded, self._publish = recorded, publish
        self.cut = 0
        self.conversation: Conversation | None = None
        self._stopped = False
        self._peak = 0
        self._compressions = 0
        turns = tuple(turns_of(tuple(measured_as_sent(recorded.messages))))
        self._turns = turns
        model = model_of(recorded)
        self._provider = RecordedProvider([r for turn in turns for r in turn.replies], pace, model)
        settings = settings if summary_provider is not None else by_code(settings)
        self._tools = RecordedTools(list(results_in(recorded.messages)), recorded.tools)
        self._parts = Parts(
            store=store,
            provider=self._provider,
            settings=settings,
            model=model,
            count=count,
            publish=self._heard,
            tools=self._tools,
            summary_provider=summary_provider,
            summary_model=summary_model,
            foreground=True,
            engine=engine,
            trusts_usage=0,
            iterations=max((len(turn.replies) for turn in turns), default=0) + 1,
        )

    async def run(self) -> Replayed:
        """Play the recording to its end, or until `stop`.

        Raises:
            UnknownEngine: the settings name a context engine that is not installed.
            StoreError: the database refused.
        """
        conversation = await self._begun()
        try:
            await self._record(conversation, before_turns(self.recorded.messages))
            given = 0
            for turn in self._turns:
                given += len(turn.replies)
                if self._stopped:
                    break
                begun = self.cut
                await conversation.send(turn.asked)
                if rest := turn.messages[self.cut - begun :]:
                    await self._catch_up(conversation, rest, given)
            sessions = conversation.session.ordinal
        finally:
            await conversation.close()
        return Replayed(self.cut, self._compressions, sessions, self._peak)

    async def probe(self, every: int) -> AsyncIterator[Probed]:
        """In place of a run: at every EVERY messages, at the next place where no call is open, compress all messages so far
        afresh, as if the threshold were reached; nothing is applied.

        Raises:
            UnknownEngine: the settings name a context engine that is not installed.
            ImpossibleBudget: the window is too small for the recording's system prompt and tools.
        """
        conversation = await self._begun()
        messages = self.recorded.messages
        try:
            if conversation.budgets is None:
                raise ImpossibleBudget(conversation.impossible)
            for cut in probe_cuts(messages, every):
                await self._record(conversation, messages[self.cut : cut])
                made = await conversation.draft()
                yield Probed(cut, made.compression, made.plan_ms, conversation.body_after(made.compression.change))
        finally:
            await conversation.close()

    async def _begun(self) -> Conversation:
        """Our conversation. A replay that names an engine is about that engine: without it there is none."""
        self._parts.new_engine()
        self.conversation = await Conversation.start_new(
            self._parts, title=self.recorded.title, system=self.recorded.system, relation="import"
        )
        return self.conversation

    async def _catch_up(self, conversation: Conversation, rest: Sequence[RecordedMessage], given: int) -> None:
        """Take the REST of a turn that ended early (it would not have fitted the window) into the conversation as it stands;
        the next turn goes on with the reply after the GIVEN ones."""
        if self._stopped:
            return
        await self._record(conversation, rest)
        self._provider.skip_to(given)
        self._tools.skip_to(len(list(results_in(self.recorded.messages[: self.cut]))))

    async def _record(self, conversation: Conversation, messages: Sequence[RecordedMessage]) -> None:
        await conversation.record([(m.role, m.content, m.origin) for m in messages])
        self.cut += len(messages)

    def stop(self) -> None:
        """Esc: end the run; what was played stays."""
        self._stopped = True
        if self.conversation is not None:
            self.conversation.cancel()

    def _heard(self, event: Event) -> None:
        """Keep count, then pass EVENT on."""
        if isinstance(event, MessageStored):
            self.cut += 1
        elif isinstance(event, RequestStarted):
            self._peak = max(self._peak, event.tokens)
        elif isinstance(event, Compressed):
            self._compressions += 1
        self._publish(event)


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A user message of a recording and the replies it got; the last one is a cancel where a reply was due and none came."""

    messages: tuple[RecordedMessage, ...]
    replies: tuple[RecordedReply, ...]

    @property
    def asked(self) -> tuple[Block, ...]:
        """What the person said."""
        return self.messages[0].content


def measured_as_sent(messages: Sequence[RecordedMessage]) -> Iterator[RecordedMessage]:
    """MESSAGES with sizes as far as they measure all that was said before: a prompt that is smaller than an earlier one tells
    that the recording was compressed itself, and from there on its sizes are those of something else."""
    largest, compressed = 0, False
    for message in messages:
        usage = message.usage
        if usage is not None and usage.prompt > 0:
            compressed = compressed or usage.prompt < SHRUNK * largest
            largest = max(largest, usage.prompt)
            if compressed:
                message = replace(message, usage=replace(usage, input=0, cache_read=0, cache_write=0))
        yield message


def before_turns(messages: Sequence[RecordedMessage]) -> tuple[RecordedMessage, ...]:
    """What a recording holds before a person first says something."""
    first = next((at for at, m in enumerate(messages) if m.origin == "user"), len(messages))
    return tuple(messages[:first])


def turns_of(messages: Sequence[RecordedMessage]) -> Iterator[RecordedTurn]:
    """The turns of a recording, from its first user message on."""
    rest = messages[len(before_turns(messages)) :]
    starts = [at for at, m in enumerate(rest) if m.origin == "user"]
    for start, end in zip(starts, [*starts[1:], len(rest)], strict=False):
        turn = rest[start:end]
        said = [m for m in turn if m.origin == "model"]
        replies = [RecordedReply(m.content, m.usage or Usage(), _stop_reason(m, last=m is said[-1])) for m in said]
        if turn[-1].origin != "model":
            replies.append(RecordedReply((), stop_reason="cancelled"))
        yield RecordedTurn(tuple(turn), tuple(replies))


def _stop_reason(reply: RecordedMessage, *, last: bool) -> str:
    """How a recorded reply ends: as recorded where it is the LAST of its turn; one that another follows never ends the turn."""
    if last:
        return reply.stop_reason if reply.stop_reason in ENDS else ""
    return "" if any(b.get("type") == "tool_use" for b in reply.content) else "pause_turn"


def results_in(messages: Sequence[RecordedMessage]) -> Iterator[Block]:
    """The results of MESSAGES, in the order of their calls."""
    return (b for m in messages if m.origin == "tool" for b in m.content if b.get("type") == "tool_result")


def model_of(recorded: RecordedConversation) -> str:
    """The model that a recording was made with, as its first reply says."""
    return next((m.model for m in recorded.messages if m.model), "recorded")


def by_code(settings: Settings) -> Settings:
    """SETTINGS with summaries written without a model."""
    return settings.model_copy(update={"summary": settings.summary.model_copy(update={"engine": "deterministic"})})


def probe_cuts(messages: Sequence[RecordedMessage], every: int) -> Iterator[int]:
    """After every EVERY messages the next place where no call waits for its results."""
    due = every
    for cut in range(1, len(messages) + 1):
        last = messages[cut - 1]
        open_call = last.origin == "model" and any(b.get("type") == "tool_use" for b in last.content)
        if cut >= due and not open_call:
            yield cut
            due += every
