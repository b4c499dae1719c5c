"""Fidelity: how many facts of what an edit replaced still stand in the new context, by an extractor of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LostFact:
    """A fact that no longer stands in the context, and the message that held it."""

    kind: str
    text: str
    message: str


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Kept and total facts by class ((kind, kept, total), …) and the lost ones by importance."""

    classes: tuple[tuple[str, int, int], ...] = ()
    lost: tuple[LostFact, ...] = ()

    @property
    def kept(self) -> int:
        """Facts that still stand."""
        return sum(kept for _, kept, _ in self.classes)

    @property
    def total(self) -> int:
        """Facts that stood in what was replaced."""
        return sum(total for _, _, total in self.classes)
