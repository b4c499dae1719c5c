"""What a transcript is made of: frozen blocks, in the order they are read.

A block is data only. How it looks is in ``drawing``; whether it is folded, selected or streaming belongs to the widget.
Text in a block is as its author wrote it: it is cleaned when it is drawn or copied, never parsed as markup.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UserSaid:
    """Something the person said; shown as it was typed."""

    id: str
    text: str
    time: str = ""
    """When, as it should be shown ("10:42")."""


@dataclass(frozen=True, slots=True)
class ReplySaid:
    """Text of the model, in Markdown."""

    id: str
    text: str
    model: str = ""
    ending: str = ""
    """Why it is not whole ("stopped by you"), or nothing; shown under it."""


@dataclass(frozen=True, slots=True)
class Thought:
    """Thinking of the model: a card, folded until opened."""

    id: str
    text: str
    seconds: float | None = None
    """How long it took; None while it goes on or when unknown."""
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool call and its result: a card, folded until opened."""

    id: str
    name: str
    main_argument: str = ""
    input: str = ""
    """The arguments as text, JSON in most cases."""
    result: str | None = None
    """None until the tool has answered."""
    is_error: bool = False
    tokens: int | None = None
    """Of call and result together."""
    running: bool = False


@dataclass(frozen=True, slots=True)
class Divider:
    """The thin line where a compression happened."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know, in place: what happened, what is kept, what to press."""

    id: str
    text: str
    severity: str = "information"
    """``information``, ``warning`` or ``error``."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A message typed ahead; it waits for the turn to end and stands below everything else."""

    id: str
    text: str


Block = UserSaid | ReplySaid | Thought | ToolCard | Divider | Notice | Queued

Card = Thought | ToolCard
"""Blocks that fold."""

OF_HERMES = (ReplySaid, Thought, ToolCard)
"""Kinds that stand together under one heading ``hermes``."""


def is_card(block: Block) -> bool:
    """Whether the block folds."""
    return isinstance(block, Thought | ToolCard)


def written(block: Block) -> str:
    """The block's own text, whole and as its author wrote it: what copying the block gives."""
    if isinstance(block, ToolCard):
        parts = [f"{block.name} {block.input or block.main_argument}".strip()]
        if block.result is not None:
            parts.append(block.result)
        return "\n".join(parts)
    return block.text
