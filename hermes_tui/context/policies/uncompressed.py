"""No compression at all: what a conversation costs as long as it fits the window."""

from __future__ import annotations

from typing import ClassVar

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import Decision, EngineState, Plan
from hermes_tui.context.policies.policy import Policy
from hermes_tui.context.view import ContextView


class Uncompressed(Policy):
    """Nothing is ever compressed."""

    name: ClassVar[str] = "none"

    def should_compress(self, view: ContextView, state: EngineState, budgets: Budgets, now: float) -> Decision:
        """Never."""
        return Decision("rest", "nothing is compressed")

    def plan(self, view: ContextView, state: EngineState, budgets: Budgets, focus: str | None = None) -> Plan:
        """Nothing."""
        return self.nothing(view, state, "Nothing is compressed.")
