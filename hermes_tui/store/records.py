"""What the store answers with: frozen values. Times are seconds since the epoch, sizes tokens. Importing it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_tui.context.engine import Usage
from hermes_tui.context.fidelity import Fidelity
from hermes_tui.context.messages import Block

Relation = Literal["root", "compression", "fork", "import"]
Purpose = Literal["turn", "summary", "title", "notes"]


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One link of a chain: a span of generations.

    Attributes:
        id: ULID.
        chain: id of the chain, which is the id of its first session.
        ordinal: 1 for the first; consecutive.
        parent: the session this one came from, None for a root.
        relation: how it came from there.
        first_generation, last_generation: its span; a tip's last is the chain's current generation.
        end_reason: "compression", or None while it is the tip.
        title: the chain's title, never changed by a compression.
        model: the model that the next request goes to.
        parameters: what else is sent with every request (thinking, max_tokens, …).
        cwd: the directory the conversation works in.
        created, ended: when; ended is None for the tip.
        tokens_before, tokens_after: sizes around the compression that ended it; None for the tip.
        summarised: messages that this compression summarised.
    """

    id: str
    chain: str
    ordinal: int
    parent: str | None
    relation: Relation
    first_generation: int
    last_generation: int
    end_reason: str | None
    title: str
    model: str
    parameters: Mapping[str, Any]
    cwd: str | None
    created: float
    ended: float | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    summarised: int | None = None

    @property
    def is_live(self) -> bool:
        """True for the tip: the only session that can be written to."""
        return self.end_reason is None


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """A conversation: its sessions by ordinal, how many messages were ever said in it, and when it last changed."""

    id: str
    title: str
    sessions: tuple[SessionRecord, ...]
    messages: int
    updated_at: float

    @property
    def tip(self) -> SessionRecord:
        """The newest session, where the conversation goes on."""
        return self.sessions[-1]


@dataclass(frozen=True, slots=True)
class EditRecord:
    """One edit of a chain's context, or an attempt that changed nothing.

    Attributes:
        generation: the one it made; None where nothing changed.
        kind: prune, summarise, undo, redo, pin (an unpin too) or drop (a restore too); None for an attempt that was refused
            before that was known.
        target: the edit that an undo or redo is about.
        undone: for an undo or redo, the generations whose edits it took back, the target's among them.
        trigger: preflight, in_turn, response, overflow, manual.
        first_position: the first position it changed.
        after_sequence: sequence of the newest message when it was made: its divider stands below that message.
        counts: messages pruned, summarised, in the head, in the tail and pinned; of an edit by hand, see `Edit`.
        outcome: "applied", or the kind of the refusal.
        summary: id of the summary that it put in.
        rung: which rung of the ladder wrote the summary; ``failures`` what failed before it.
        focus: the topic that was asked for, None for an automatic run.
    """

    id: str
    chain: str
    session: str
    generation: int | None
    kind: str | None
    target: str | None
    trigger: str
    first_position: int | None
    after_sequence: int | None
    tokens_before: int
    tokens_after: int
    counts: Mapping[str, int]
    duration_ms: float
    cost: float | None
    outcome: str
    reason: str
    created: float
    fidelity: Fidelity | None = None
    summary: str | None = None
    rung: str = ""
    failures: tuple[str, ...] = ()
    focus: str | None = None
    undone: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One HTTP attempt.

    Attributes:
        number: its place among all requests of the database; ascending.
        generation, last_message, renderer, model, parameters: what a turn's body is rendered from again.
        sha256: of the body as compact JSON in UTF-8, keys as sent.
        status: "sent" until it ends; then "done", "failed", "cancelled", or "interrupted" when its process died.
        estimate: our own size of its prompt.
        owner: the process that sent it (see ``processes``).
    """

    id: str
    number: int
    chain: str
    session: str
    generation: int
    last_message: str | None
    purpose: Purpose
    model: str
    parameters: Mapping[str, Any]
    renderer: int | None
    system: str | None
    tools: str | None
    sha256: str
    usage: Usage | None
    cost: float | None
    status: str
    error: str | None
    estimate: int | None
    created: float
    finished: float | None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """A reply as far as it has streamed, and the process that streams it."""

    request: str
    chain: str
    owner: str
    content: tuple[Block, ...]
    model: str | None
    created: float
    updated: float


@dataclass(frozen=True, slots=True)
class Applied:
    """An edit is in the database: the tip now, the session it ended (only a summary ends one), and the record of the edit."""

    session: SessionRecord
    parent: SessionRecord | None
    edit: EditRecord


@dataclass(frozen=True, slots=True)
class Moved:
    """The chain has moved on since the plan was made: nothing was written. The tip now, to be adopted."""

    tip: SessionRecord


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search found; the snippet is plain text and ``marks`` are (start, end) of the words found in it."""

    message: str
    chain: str
    snippet: str
    sequence: int = 0
    title: str = ""
    marks: tuple[tuple[int, int], ...] = field(default=())
