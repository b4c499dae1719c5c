"""Truncation: the oldest groups are left out."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import EngineState, Plan, Prune
from hermes_tui.context.policies.policy import Policy, anchor_of
from hermes_tui.context.regions import Regions
from hermes_tui.context.view import ContextView, Treatment


class TruncateOldest(Policy):
    """Leaves out the oldest groups at the threshold until half of the room is free again (it would cut at every request else).

    The newest user message and the newest group stay: a request without them asks for nothing.
    """

    name: ClassVar[str] = "truncate-oldest"

    def plan(self, view: ContextView, state: EngineState, budgets: Budgets, focus: str | None = None) -> Plan:
        """Leave out the oldest groups."""
        base = self.nothing(view, state, "There is nothing older than the newest message to leave out.")
        spans = self.spans(view, state)
        anchor = anchor_of(spans)
        if anchor is None:
            return base
        size, gone = base.tokens_before, []
        for i, span in enumerate(spans[:-1]):
            if size <= budgets.prune_target:
                break
            if i != anchor and not span.is_pinned:
                gone.append(i)
                size -= span.tokens
        if not gone:
            return base
        prunes = tuple(
            Prune(replace(entry, treatment=Treatment.DROPPED), "oldest", round(base.scale * self.meter.entry(entry)), 0)
            for i in gone
            for entry in spans[i].entries
        )
        left = [p for i, span in enumerate(spans) if i not in gone for p in span.positions]
        regions = Regions(tail=tuple(left), anchor=spans[anchor].positions[0])
        return replace(base, kind="prune", refusal=None, regions=regions, prunes=prunes, tokens_after=size)
