"""The summary: one typed record with its source ids, and the one fenced block it becomes in a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hermes_tui.context.ledger import Ledger
from hermes_tui.context.messages import Block, text_block

SECTIONS = ("Goal", "Constraints and preferences", "Decisions", "Done", "State", "Open questions", "Next")
"""The fixed sections of the prose, in order."""


@dataclass(frozen=True)
class Summary:
    """What the middle was told again as. Immutable; an update is a new version that names the one before.

    Attributes:
        id: ULID.
        version: 1 for a chain's first.
        prose: (section, text) pairs in the order of SECTIONS, empty ones left out; the text is unescaped and redacted.
        ledger: the facts kept by code.
        previous: id of the summary this one updated.
        added: ids of the messages newly told in this version.
        covered: ids of all messages told, the closure over ``previous``.
        model: the model that wrote the prose; None for the deterministic rung.
        for_anchor: the work told here was done for the user message that follows.
        omitted: messages told by neither prose nor a ledger line (they did not fit), for honesty's sake.
    """

    id: str
    version: int
    prose: tuple[tuple[str, str], ...]
    ledger: Ledger
    previous: str | None = None
    added: tuple[str, ...] = ()
    covered: frozenset[str] = field(default_factory=frozenset)
    model: str | None = None
    for_anchor: bool = False
    omitted: int = 0

    @cached_property
    def text(self) -> str:
        """The fenced block as sent: reference material that can neither close its fence nor pose as a turn."""
        raise NotImplementedError

    @cached_property
    def content(self) -> tuple[Block, ...]:
        """The content of the user message that carries it."""
        return (text_block(self.text),)
