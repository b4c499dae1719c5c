"""A small context engine as anybody may write one: the results of earlier turns are folded into one line each.

It summarises nothing, so no session ends by it. It counts the requests it has seen in the state that is kept for it, and offers
the model a tool that tells how many results are folded.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import (
    Compression,
    ContextEngine,
    Decision,
    EngineState,
    Plan,
    Prune,
    Refusal,
    Summariser,
    ToolCallRefused,
    Usage,
)
from hermes_tui.context.messages import result_text
from hermes_tui.context.regions import Regions
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import Change, ContextView, Entry, Treatment

TOOL = {
    "name": "count_folded",
    "description": "How many results of this conversation are folded.",
    "input_schema": {"type": "object", "properties": {}},
}


class FoldingEngine(ContextEngine):
    """Folds old results. Made by ``FoldingEngine(count, new_id, options)``, as every engine is."""

    name = "folding"

    def __init__(self, count: Any, new_id: Any, options: Any) -> None:
        self.meter = Meter(count)
        self.heard: list[str] = []

    def update_from_response(self, state: EngineState, view: ContextView, usage: Usage) -> EngineState:
        """Count the request."""
        return replace(state, extra={**state.extra, "requests": state.extra.get("requests", 0) + 1})

    def should_compress(self, view: ContextView, state: EngineState, budgets: Budgets, now: float) -> Decision:
        """At the threshold, while no call is open."""
        size = self.meter.size(view, state).tokens
        due = size >= budgets.threshold and not view.has_open_call
        return Decision("compress" if due else "rest", f"{size:,} of {budgets.threshold:,} tokens")

    def plan(self, view: ContextView, state: EngineState, budgets: Budgets, focus: str | None = None) -> Plan:
        """Fold every long result that stands before the newest message of the user."""
        asked = max((n for n, e in enumerate(view.entries) if e.message and e.message.is_real_user), default=0)
        scale, size = self.meter.scale(view, state), self.meter.size(view, state).tokens
        prunes = tuple(prune for entry in view.entries[:asked] if (prune := self._folded(entry, scale)) is not None)
        plan = Plan(
            chain=view.chain,
            generation=view.generation,
            last_message=view.last_message.id if view.last_message else "",
            kind="prune" if prunes else None,
            regions=Regions(
                middle=tuple(e.position for e in view.entries[:asked]),
                tail=tuple(e.position for e in view.entries[asked:]),
            ),
            prunes=prunes,
            tokens_before=size,
            tokens_after=size - sum(p.tokens_before - p.tokens_after for p in prunes),
            scale=scale,
            view=view,
        )
        return plan if prunes else replace(plan, refusal=Refusal("nothing_eligible", "There is nothing to fold."))

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        """Put the folded entries in the place of the others."""
        change = Change(tuple(p.entry.position for p in plan.prunes), tuple(p.entry for p in plan.prunes))
        return Compression(plan, change, tokens_before=plan.tokens_before, tokens_after=plan.tokens_after)

    def on_session_start(self, session: str) -> None:
        """Remember it."""
        self.heard.append(f"start {session}")

    def on_session_end(self, session: str) -> None:
        """Remember it."""
        self.heard.append(f"end {session}")

    def on_session_reset(self, session: str) -> None:
        """Remember it."""
        self.heard.append(f"reset {session}")

    def tool_schemas(self) -> tuple[Mapping[str, Any], ...]:
        """The one tool."""
        return (TOOL,)

    async def handle_tool_call(
        self, name: str, arguments: Mapping[str, Any], view: ContextView, budgets: Budgets | None
    ) -> str:
        """How many results are folded."""
        if arguments:
            raise ToolCallRefused("This tool takes no arguments.")
        return f"{sum(e.treatment is Treatment.PRUNED for e in view.entries)} results are folded in chain {view.chain}."

    def status(self, state: EngineState) -> str:
        """What it has seen."""
        return f"folding, {state.extra.get('requests', 0)} requests seen"

    def _folded(self, entry: Entry, scale: float) -> Prune | None:
        message = entry.message
        if message is None or message.origin != "tool" or entry.treatment is not Treatment.VERBATIM:
            return None
        sent = tuple({**b, "content": f"[folded: {len(result_text(b)):,} characters]"} for b in message.content)
        new = replace(entry, treatment=Treatment.PRUNED, sent=sent)
        before, after = (round(scale * self.meter.entry(e)) for e in (entry, new))
        return Prune(new, "of an earlier turn", before, after) if after < before else None
