"""A transcript as read from a file: conversations that somebody else recorded, brought into the shape of the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import Block, Origin, Role

READABLE = "Anthropic messages (JSON or JSONL), OpenAI messages (JSON), Claude Code JSONL and pi JSONL"
"""What the importers read, as their refusals say it."""


class ImportRefused(Exception):
    """A file cannot be read as a transcript. ``sentence`` says what it is not and what can be read."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """One message of a recorded conversation, valid to send as it stands.

    Attributes:
        role: the role it is sent with.
        content: blocks of the Messages API, never empty, without blank text.
        origin: a person, a model, or the tools that answered one call group.
        model: the model that wrote it, None where the recording does not say.
        usage: what the provider reported for it, in tokens; its prompt is the size of the request that it answers.
        stop_reason: how the recording says that it ended ("aborted" for a reply cut off), None where it does not.
    """

    role: Role
    content: tuple[Block, ...]
    origin: Origin
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """One conversation: every call of it is answered, and every result answers a call right before it.

    Attributes:
        title: the recording's own title, or the first line that a person said.
        system: the system prompt, "" for none.
        tools: the recording's own schemas, with minimal ones for tools that were called and not described.
        messages: in order.
    """

    title: str
    system: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    messages: tuple[RecordedMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a file holds. ``notes`` are sentences on what was damaged and left out, for the user."""

    conversations: tuple[RecordedConversation, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Said:
    """One message as a reader found it, before pairing: its blocks are the API's already, nothing else is checked yet.

    Results may stand in messages of the roles user and tool alike; pairing gathers those of one call group in one tool message.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: list[Block]
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None


@dataclass(slots=True)
class Found:
    """What a reader found in one conversation, in order, with what it says of itself."""

    said: list[Said]
    title: str = ""
    system: str = ""
    tools: list[Any] = field(default_factory=list)
