"""The built-in engine: layered compression. Prune what is old and cheap to lose, keep head and tail, tell the middle again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from hermes_tui.context.acts import Declarations
from hermes_tui.context.archive import Archive
from hermes_tui.context.budgets import Budgets
from hermes_tui.context.compaction import provider_block
from hermes_tui.context.engine import (
    NONE_ACCEPTED,
    Compression,
    ContextEngine,
    Count,
    Decision,
    EngineState,
    Plan,
    Refusal,
    Rung,
    Summariser,
    SummariserFailed,
    Usage,
)
from hermes_tui.context.fidelity import fidelity
from hermes_tui.context.gain import gains, no_gain
from hermes_tui.context.messages import Block, Message, result_text, results_of, text_block
from hermes_tui.context.planning import Planner
from hermes_tui.context.pointers import resolved
from hermes_tui.context.pruning import Pruner
from hermes_tui.context.rendering import CACHE_SECONDS, sent_rows
from hermes_tui.context.summaries import Summary
from hermes_tui.context.summarising import SummaryWork, summary_of, write_summary
from hermes_tui.context.tokens import MESSAGE_FRAME, Meter, compact_json
from hermes_tui.context.view import Change, ContextView, Entry, Treatment


@dataclass(frozen=True, slots=True)
class CompressorOptions:
    """What the settings say about the compressor.

    Attributes:
        protect_first_n: messages protected at the start, the system prompt counted as one.
        declarations: what the tools themselves declare about their calls and results, by name.
        archive: everything that was ever said, for an engine that lets the model look things up; None where there is none.
    """

    protect_first_n: int = 3
    declarations: Declarations | None = None
    archive: Archive | None = None


class ContextCompressor(ContextEngine):
    """Layered compression.

    Args:
        count: counts the tokens of a text.
        new_id: makes ids for summaries (ULIDs).
        options: from the settings.
    """

    name: ClassVar[str] = "compressor"

    def __init__(self, count: Count, new_id: Callable[[], str], options: CompressorOptions | None = None) -> None:
        self.meter = Meter(count)
        self._new_id = new_id
        self._options = options or CompressorOptions()
        self._pruners: dict[str, Pruner] = {}

    def reopening(self, view: ContextView) -> str:
        """The name of the tool that gives the model of VIEW a message back by its id; "" where it has none."""
        return ""

    def _pruner(self, view: ContextView) -> Pruner:
        reopening = self.reopening(view)
        if reopening not in self._pruners:
            self._pruners[reopening] = Pruner(self._options.declarations, reopening)
        return self._pruners[reopening]

    def update_from_response(self, state: EngineState, view: ContextView, usage: Usage) -> EngineState:
        """Anchor the size on what was measured for VIEW, and learn the model's scale from it."""
        return self.meter.measured(state, view, usage)

    def should_compress(self, view: ContextView, state: EngineState, budgets: Budgets, now: float) -> Decision:
        """Whether to compress at this boundary: at the threshold; inside an open tool loop only at the in-loop trigger.

        Before a turn whose prompt is in no cache any more, what may be pruned is pruned at once: it has to be written anew.
        """
        if view.has_open_call:
            return Decision("rest", "a tool call is not answered yet")
        size = self.meter.size(view, state).tokens
        last = view.last_message
        limit = budgets.in_loop if last is not None and results_of(last) else budgets.threshold
        if size >= limit:
            return Decision("compress", f"{size:,} of {limit:,} tokens")
        if last is not None and last.is_real_user and state.last_request and now - state.last_request > CACHE_SECONDS:
            plan = self._planner(view, state, budgets).cold()
            if plan is not None:
                return Decision("compress", plan.why, plan)
        if size >= budgets.warm_mark:
            return Decision("prepare", f"{size:,} tokens are past the warm mark of {budgets.warm_mark:,}")
        return Decision("rest", f"{size:,} tokens are below the warm mark of {budgets.warm_mark:,}")

    def plan(self, view: ContextView, state: EngineState, budgets: Budgets, focus: str | None = None) -> Plan:
        """What would be done if one compressed now."""
        return self._planner(view, state, budgets).plan(focus)

    def resolved(self, view: ContextView, change: Change) -> Change:
        """CHANGE of VIEW, with the pointers to what it takes away worded anew."""
        return resolved(view, change, self._pruner(view))

    def _planner(self, view: ContextView, state: EngineState, budgets: Budgets) -> Planner:
        return Planner(view, state, budgets, self.meter, self._pruner(view), protect_first_n=self._options.protect_first_n)

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        """Carry PLAN out: write the summary where it has one, and measure what the change would leave."""
        if plan.refusal is not None or plan.view is None:
            return self._refused(plan, plan.refusal or Refusal("nothing_eligible", "The plan names no view."))
        if plan.kind == "prune":
            positions = tuple(p.entry.position for p in plan.prunes)
            return self._measured(Compression(plan, Change(positions, tuple(p.entry for p in plan.prunes))))
        work = SummaryWork(
            sources=plan.sources,
            previous=plan.previous,
            cap=max(1, int(plan.summary_cap / plan.scale) - MESSAGE_FRAME),
            focus=plan.focus,
            for_anchor=plan.for_anchor,
            beside=staying(plan),
            declarations=self._options.declarations,
            reopening=self.reopening(plan.view),
        )
        compacted, failed = await self._compacted(plan, work, summariser)
        if compacted is not None:
            return self._with_summary(plan, compacted, "api", ())
        if failed is not None and summariser is not None:  # what was asked in vain is one of the pass's calls
            summariser = None if failed.transport else replace(summariser, calls=summariser.calls - 1)
        written = await write_summary(work, summariser, self.meter.count)
        failures = (*((failed.reason,) if failed else ()), *written.failures)
        if written.refused:
            return self._refused(plan, NONE_ACCEPTED, failures)
        return self._with_summary(plan, summary_of(written, work, self._new_id()), written.rung, failures)

    async def _compacted(
        self, plan: Plan, work: SummaryWork, summariser: Summariser | None
    ) -> tuple[Summary | None, SummariserFailed | None]:
        """The summary with the provider's own block, or why there is none; code writes what stands beside it first."""
        if summariser is None or summariser.compact is None:
            return None, None
        written = await write_summary(work, None, self.meter.count)
        if written.refused:
            return None, None
        told = summary_of(written, work, self._new_id())
        try:
            block = await provider_block(plan, told, summariser, self.meter, work.cap)
        except SummariserFailed as failed:
            return None, failed
        return replace(told, block=block, model=block.model), None

    def _with_summary(self, plan: Plan, summary: Summary, rung: Rung, failures: tuple[str, ...]) -> Compression:
        new = Entry(plan.summary_position, summary=summary)
        closed = (*(e.position for e in plan.summarised), *(p.entry.position for p in plan.prunes))
        change = Change(closed, (new, *(p.entry for p in plan.prunes)))
        return self._measured(Compression(plan, change, summary=summary, rung=rung, failures=failures))

    def _measured(self, made: Compression) -> Compression:
        """MADE with sizes and fidelity, or a refusal where it gains too little."""
        plan, view = made.plan, made.plan.view
        if view is None or made.change is None:
            return made
        after_view = view.apply(made.change)
        gone = round(plan.scale * (self.meter.estimate(view) - self.meter.estimate(after_view)))
        after = max(1, plan.tokens_before - gone)
        if not gains(plan.tokens_before, after):
            return self._refused(plan, no_gain(plan.tokens_before, after), made.failures)
        lost = fidelity(replaced(view, made.change), sent_text(after_view))
        return replace(made, tokens_before=plan.tokens_before, tokens_after=after, fidelity=lost)

    @staticmethod
    def _refused(plan: Plan, refusal: Refusal, failures: tuple[str, ...] = ()) -> Compression:
        size = plan.tokens_before
        return Compression(plan, failures=failures, refusal=refusal, tokens_before=size, tokens_after=size)


def staying(plan: Plan) -> tuple[Message, ...]:
    """The messages that PLAN leaves in the context, each as it will be sent: what a summary stands beside."""
    if plan.view is None:
        return ()
    closed = {e.position for e in plan.summarised}
    pruned = {p.entry.position: p.entry for p in plan.prunes}
    entries = (pruned.get(e.position, e) for e in plan.view.entries if e.position not in closed)
    return tuple(replace(e.message, content=e.content) for e in entries if e.message and e.treatment is not Treatment.DROPPED)


def replaced(view: ContextView, change: Change) -> tuple[Message, ...]:
    """What CHANGE closes, oldest first: messages, and an earlier summary as the message it was sent as."""
    closed = set(change.closed)
    found: list[Message] = []
    for entry in view.entries:
        if entry.position not in closed:
            continue
        if entry.message is not None:
            found.append(entry.message)
        elif entry.summary is not None:
            told = tuple(text_block(_block_text(block)) for block in entry.summary.sent_to(view.model))
            found.append(Message(entry.summary.id, entry.position, "user", told, "model"))
    return tuple(found)


def sent_text(view: ContextView) -> str:
    """All text of the next request's messages, as a reader would search it."""
    return "\n".join(_block_text(b) for row in sent_rows(view) for b in row.content)


def _block_text(block: Block) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "tool_use":
        return f"{block.get('name', '')} {compact_json(block.get('input', {}))}"
    if kind == "tool_result":
        return result_text(block)
    return str(block.get("content") or "") if kind == "compaction" else ""
