"""What the policies share: a threshold, and nothing done before it."""

from __future__ import annotations

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import Decision, EngineState, Plan, Refusal
from hermes_tui.context.groups import UnpairedCalls
from hermes_tui.context.regions import Regions, Span, spans_of
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.view import ContextView


class Policy(ContextCompressor):
    """A policy: it measures as the compressor does, and compresses at its threshold wherever no call is open."""

    def threshold(self, budgets: Budgets) -> int:
        """The size at which it compresses, in tokens."""
        return budgets.threshold

    def should_compress(self, view: ContextView, state: EngineState, budgets: Budgets, now: float) -> Decision:
        """Compress at the threshold, inside a turn as well as between turns; prepare nothing."""
        if view.has_open_call:
            return Decision("rest", "a tool call is not answered yet")
        size, limit = self.meter.size(view, state).tokens, self.threshold(budgets)
        return Decision("compress" if size >= limit else "rest", f"{size:,} of {limit:,} tokens")

    def spans(self, view: ContextView, state: EngineState) -> tuple[Span, ...]:
        """The groups of VIEW with their scaled tokens; none where a call is open or was never answered."""
        scale = self.meter.scale(view, state)
        tokens = {r.entry.position: round(scale * self.meter.row(r)) for r in sent_rows(view) if r.entry is not None}
        try:
            return spans_of(view, lambda entry: tokens.get(entry.position, 0))
        except UnpairedCalls:
            return ()

    def nothing(self, view: ContextView, state: EngineState, reason: str) -> Plan:
        """A plan for VIEW that does nothing, and why; what plans are made from."""
        last = view.last_message
        size = self.meter.size(view, state).tokens
        return Plan(
            chain=view.chain,
            generation=view.generation,
            last_message=last.id if last else "",
            kind=None,
            regions=Regions(),
            refusal=Refusal("nothing_eligible", reason),
            tokens_before=size,
            tokens_after=size,
            scale=self.meter.scale(view, state),
            view=view,
        )


def anchor_of(spans: tuple[Span, ...]) -> int | None:
    """Index of the newest message that a person said: no request goes without it."""
    return max((i for i, span in enumerate(spans) if span.group.is_real_user), default=None)
