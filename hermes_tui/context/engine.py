"""The seam for context engines: what an engine is given, and what it must answer.

The conversation faces only this interface; `context.engine` in the settings names the engine, third parties register theirs
under the entry-point group ``hermes_tui.context_engines``. An engine is stateless: what it has to remember lives in an
`EngineState`, frozen and stored per chain, so that conversations never mix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.fidelity import Fidelity
from hermes_tui.context.messages import Message
from hermes_tui.context.regions import Regions
from hermes_tui.context.summaries import ProviderBlock, Summary
from hermes_tui.context.view import Change, ContextView, Entry

Trigger = Literal["preflight", "in_turn", "response", "overflow", "manual"]
Kind = Literal["prune", "summarise"]
Rung = Literal["", "api", "model", "tighter", "deterministic"]
"""Which rung of the ladder wrote a summary: the provider's own compaction, a model, the model once more, or code."""


MOST_CALLS: Final = 8
"""Calls to a summariser in a pass, the tighter rung included (design, Layer 3)."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider reported for one response, in tokens.

    Attributes:
        input: prompt tokens outside the cache.
        output: tokens of the reply.
        cache_read, cache_write: prompt tokens read from the cache, and written to it.
        missed: prompt tokens that were sent before and were not read from the cache; worked out, no provider reports it.
        beside: what the server used beside this response (its own compactions): billed, and no part of the prompt.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    missed: int = 0
    beside: tuple[Usage, ...] = ()

    @property
    def prompt(self) -> int:
        """The true size of the prompt: the cache's share is part of it."""
        return self.input + self.cache_read + self.cache_write

    @property
    def billed(self) -> tuple[Usage, ...]:
        """Everything that is paid for, each with its own prompt (a price may step with its size)."""
        return (self, *self.beside)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The last measured request: its size as the provider reported it, and our own unscaled estimate of the same request."""

    tokens: int
    estimate: int
    generation: int


@dataclass(frozen=True, slots=True)
class EngineState:
    """Everything an engine remembers of one chain. Times are seconds since the epoch, passed in by the conversation.

    Attributes:
        anchor: the last measured request, None before the first.
        scales: real tokens per estimated token, by model, learned from responses.
        evidence: estimated tokens that each scale was learned from in this chain, by model.
        beside: tokens that a server puts around this chain without our seeing them (a system prompt, tools), at most, by model.
        strikes: passes without gain in a row; two stop automatic runs.
        stopped_at: when, and at which size, automatic runs were stopped (None: they are not).
        model_rests_until: until when model rungs rest after a transport failure, or answers refused in a row (0: they do not).
        answers_refused: passes in a row whose model was paid for answers of which none was accepted.
        compactions_refused: the same of the provider's own compaction, and
        compaction_rests_until: until when it rests for that (0: it does not).
        window_learned: a window that an overflow error stated, by model; it only ever goes down.
        rest_until_size: after an undo, automatic runs rest until the size reaches this (0: no rest).
        last_request: when the last answered request went out, where the provider was seen to cache prompts (0: it was not).
        extra: whatever a third-party engine keeps, JSON-shaped.
    """

    anchor: Anchor | None = None
    scales: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, int] = field(default_factory=dict)
    beside: Mapping[str, int] = field(default_factory=dict)
    strikes: int = 0
    stopped_at: tuple[float, int] | None = None
    model_rests_until: float = 0.0
    answers_refused: int = 0
    compactions_refused: int = 0
    compaction_rests_until: float = 0.0
    window_learned: Mapping[str, int] = field(default_factory=dict)
    rest_until_size: int = 0
    last_request: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to compress now.

    Attributes:
        action: ``compress`` at the threshold, ``prepare`` from the warm mark on, else ``rest``.
        reason: why, in a few words.
        plan: with ``compress``, the plan to carry out; None for what `ContextEngine.plan` says.
    """

    action: Literal["rest", "prepare", "compress"]
    reason: str
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a plan does nothing. ``counts`` tells whether it is a strike ("nothing eligible" never is)."""

    kind: Literal["nothing_eligible", "no_gain", "incompressible", "open_call", "summary_refused", "moved"]
    reason: str
    counts: bool = False


NONE_ACCEPTED: Final = Refusal("summary_refused", "No summary was accepted; nothing changed.", counts=True)
"""Every rung of the ladder was refused."""


@dataclass(frozen=True, slots=True)
class Prune:
    """One entry whose content gives way to a placeholder, and why (one word or two for the inspector)."""

    entry: Entry
    reason: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a compression would do, worked out by pure code: context in, plan out.

    Attributes:
        chain, generation, last_message: what the plan was made for; where the generation has moved it is made afresh.
        kind: prune, summarise (which may prune as well), or None for a no-op.
        refusal: why it is a no-op.
        regions: head, middle, pinned and tail at the time of planning.
        prunes: entries replaced, the clipped ones included.
        summarised: the entries that the summary replaces, oldest first, the previous summary's among them.
        sources: the messages newly told by the summary, originals, oldest first.
        previous: the summary that is updated.
        summary_position: where the new summary stands.
        summary_cap: tokens that prose, ledger and frame may take together.
        for_anchor: the work summarised was done for the user message after the summary.
        focus: the topic asked for ("" for a run by hand without one, None for an automatic run).
        why: why it is made, where that is not the size ("the prompt cache is cold").
        tokens_before, tokens_after: size of the next request now, and as projected.
        scale: real tokens per estimated token at planning.
    """

    chain: str
    generation: int
    last_message: str
    kind: Kind | None
    regions: Regions
    refusal: Refusal | None = None
    prunes: tuple[Prune, ...] = ()
    summarised: tuple[Entry, ...] = ()
    sources: tuple[Message, ...] = ()
    previous: Summary | None = None
    summary_position: int = 0
    summary_cap: int = 0
    for_anchor: bool = False
    focus: str | None = None
    why: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    scale: float = 1.0
    view: ContextView | None = None


@dataclass(frozen=True, slots=True)
class Compression:
    """The outcome of carrying a plan out: a change to apply, or a refusal and nothing changed (then change is None)."""

    plan: Plan
    change: Change | None = None
    summary: Summary | None = None
    rung: Rung = ""
    failures: tuple[str, ...] = ()
    refusal: Refusal | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    fidelity: Fidelity | None = None


@dataclass(frozen=True, slots=True)
class SummaryPrompt:
    """One call to a summariser: redacted text only, no tools, no thinking. ``tokens`` is our estimate of its size."""

    system: str
    text: str
    max_tokens: int
    tokens: int


@dataclass(frozen=True, slots=True)
class CompactionPrompt:
    """One request to a provider to compact messages by itself.

    Attributes:
        view: what is compacted, and nothing else: the entries that the summary replaces.
        instructions: replaces the provider's own words for what to do, "" leaves them.
        max_tokens: most tokens of what it makes.
        tokens: our estimate of the request's size.
    """

    view: ContextView
    instructions: str
    max_tokens: int
    tokens: int


class SummariserFailed(Exception):
    """The summariser could not be reached or gave up; ``transport`` failures rest the model rungs for ten minutes."""

    def __init__(self, reason: str, *, transport: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.transport = transport


@dataclass(frozen=True, slots=True)
class Summariser:
    """What a summary is written with: an async call that answers a prompt with text.

    Attributes:
        model: the model's id, for the record.
        window: tokens that a prompt and its answer may take together.
        ask: sends one prompt and returns the text; raises `SummariserFailed`.
        source_cap: most tokens of source it should be given in a call (the embedded model takes 1,000), None for the window's.
        calls: most calls in a pass (the tighter rung included).
        notes: what memory providers returned from ``on_pre_compress``.
        prompt: the user's own instructions for the summary, "" for none.
        compact: has the provider compact by itself; None where it does not offer that, or is not asked to.
    """

    model: str
    window: int
    ask: Callable[[SummaryPrompt], Awaitable[str]]
    source_cap: int | None = None
    calls: int = MOST_CALLS
    notes: str = ""
    prompt: str = ""
    compact: Callable[[CompactionPrompt], Awaitable[ProviderBlock]] | None = None


Count = Callable[[str], int]
"""Counts the tokens of a text with the bundled vocabulary; cached by content by whoever provides it."""


class ToolCallRefused(Exception):
    """A call of an engine's own tool cannot be answered. The message says why, to the model: no failure of the engine."""


class ContextEngine(ABC):
    """Manages what of a conversation is sent.

    Its methods are called off the UI loop. One that raises, or answers with something else than is asked for, is set aside for
    the conversation, and the built-in engine takes over.
    """

    name: ClassVar[str]

    @abstractmethod
    def update_from_response(self, state: EngineState, view: ContextView, usage: Usage) -> EngineState:
        """The state after a response to the request that VIEW was rendered into."""

    @abstractmethod
    def should_compress(self, view: ContextView, state: EngineState, budgets: Budgets, now: float) -> Decision:
        """Whether VIEW should be compressed at this boundary."""

    @abstractmethod
    def plan(self, view: ContextView, state: EngineState, budgets: Budgets, focus: str | None = None) -> Plan:
        """What would be done. Pure: the same arguments, the same plan; opening a preview is calling this."""

    @abstractmethod
    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        """Carry PLAN out. Without a summariser the deterministic rung writes the summary."""

    def resolved(self, view: ContextView, change: Change) -> Change:
        """CHANGE of VIEW, whoever made it, and with it what of the engine's own must follow: no placeholder may go on saying
        that a result stands elsewhere when CHANGE takes it away."""
        from hermes_tui.context.pointers import resolved

        return resolved(view, change)

    def on_session_start(self, session: str) -> None:  # noqa: B027 - optional hooks do nothing
        """A session began, or a conversation was opened at SESSION, its tip."""

    def on_session_end(self, session: str) -> None:  # noqa: B027 - optional, as above
        """A session ended, or the conversation that it is the tip of was closed."""

    def on_session_reset(self, session: str) -> None:  # noqa: B027 - optional, as above
        """A conversation was started afresh, and SESSION is its first; `on_session_start` follows."""

    def update_model(self, state: EngineState, model: str) -> EngineState:
        """The state after a switch to MODEL: nothing measured with another model stays an anchor."""
        return replace(state, anchor=None)

    def tool_schemas(self) -> tuple[Mapping[str, Any], ...]:
        """Tools the engine offers to the model, in the API's shape."""
        return ()

    async def handle_tool_call(
        self, name: str, arguments: Mapping[str, Any], view: ContextView, budgets: Budgets | None
    ) -> str:
        """The result of a call of one of the engine's own tools, in the conversation that VIEW is the context of.

        Raises:
            ToolCallRefused: it cannot be answered; the model reads why, as a failed result.
        """
        raise ToolCallRefused(f"There is no tool {name!r}.")

    def status(self, state: EngineState) -> str:
        """One line for the inspector; empty when there is nothing to say."""
        return ""
