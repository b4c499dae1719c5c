"""The iteration budget: how many model calls one turn may take."""

from __future__ import annotations

from typing import Final

ITERATIONS: Final = 90
"""Model calls in one turn (Hermes's own number)."""
RENEWALS: Final = 2
"""Splits in mid-turn that give a new budget, at most."""


class IterationBudget:
    """Counts the iterations of one turn."""

    def __init__(self, most: int = ITERATIONS) -> None:
        self._most = most
        self._left = most
        self._renewals = RENEWALS
        self.taken = 0

    @property
    def spent(self) -> bool:
        """Whether the turn has to end."""
        return self._left <= 0

    def take(self) -> None:
        """One more model call."""
        self._left -= 1
        self.taken += 1

    def renew(self) -> None:
        """A split in mid-turn began a new session with a budget of its own; at most twice a turn."""
        if self._renewals > 0:
            self._renewals -= 1
            self._left = self._most
