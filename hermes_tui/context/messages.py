"""Messages and their content blocks: what is said, once, and never changed.

A content block is kept in the Messages API's own JSON shape (``{"type": "text", "text": …}``), because the same value is
stored, counted, shown and sent. Nobody may mutate one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Block = Mapping[str, Any]
"""One content block in the Messages API's shape: text, thinking, redacted_thinking, tool_use, tool_result, image, document."""

THINKING: Final = ("thinking", "redacted_thinking")
"""The types of blocks that a model thinks in: they hold for the model that wrote them, on exactly what stood before them."""

ID_SHOWN: Final = 6
"""Characters at the end of an id that people and models are shown; any unique ending of so many or more names it (ids of one
hour share their beginning)."""

INTERRUPTED: Final = "interrupted; outcome unknown"
"""The result of a call that was stopped, never begun, or whose process died before there was one (design, The store)."""

Role = Literal["user", "assistant"]
Origin = Literal["user", "model", "tool"]
"""Who produced a message: a person, a model, or tools (the results of one call group). Stored; never guessed from wording."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chain, immutable from its first write on.

    Attributes:
        id: ULID, unique in the database.
        sequence: place in the chain it was written in, from 0; its entry stands at position 2 x sequence.
        role: the role it is sent with; tool results are sent as ``user``.
        content: the blocks, in order.
        origin: who produced it.
        model: id of the model that wrote it, None for people and tools.
    """

    id: str
    sequence: int
    role: Role
    content: tuple[Block, ...]
    origin: Origin
    model: str | None = None

    @property
    def is_real_user(self) -> bool:
        """True for what a person said: the only messages a turn may answer."""
        return self.origin == "user"


def text_block(text: str) -> Block:
    """A text block holding TEXT."""
    return {"type": "text", "text": text}


def calls_of(message: Message) -> tuple[Block, ...]:
    """The tool_use blocks of an assistant message."""
    return tuple(b for b in message.content if b.get("type") == "tool_use") if message.role == "assistant" else ()


def results_of(message: Message) -> tuple[Block, ...]:
    """The tool_result blocks of a message."""
    return tuple(b for b in message.content if b.get("type") == "tool_result")


def result_text(block: Block) -> str:
    """The text of a tool_result (or of any block's nested content); images and documents count for nothing."""
    inner = block.get("content", "")
    if isinstance(inner, str):
        return inner
    return "\n".join(str(b.get("text", "")) for b in inner or () if b.get("type") == "text")


def plain_text(content: Iterable[Block]) -> str:
    """What was said in text blocks, without thinking, calls and results."""
    return "\n".join(str(b.get("text", "")) for b in content if b.get("type") == "text")


def scrub(text: str) -> str:
    """TEXT with lone surrogates replaced by U+FFFD: done once, before the first write (no database or wire can carry them)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def scrub_json(value: Any) -> Any:
    """VALUE with every string in it scrubbed, keys included."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrub(str(k)): scrub_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_json(item) for item in value]
    return value
