"""Planning: a view in, a plan out. What would be pruned, summarised, clipped and kept if one compressed now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import EngineState, Plan, Prune, Refusal
from hermes_tui.context.groups import UnpairedCalls
from hermes_tui.context.messages import Message, result_text, results_of
from hermes_tui.context.pruning import clipped_results, prune_reasons, pruned_call, pruned_results
from hermes_tui.context.regions import Cut, Region, Regions, Span, cut_view, spans_of
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import Change, ContextView, Entry, Treatment

GAIN: Final = 0.9
"""A compression leaves at most this share of what was there, or it is a no-op (design: gain)."""
NOTE_TOKENS: Final = 20
"""A note beside the new summary, with its frame."""
LEAST_SUMMARY: Final = 120
"""Tokens; a summary smaller than this could hold little more than its frame."""
LEAST_CLIP: Final = 60


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a plan would change, before it is decided whether it may."""

    closed: tuple[Entry, ...]
    prunes: tuple[Prune, ...]

    @property
    def change(self) -> Change:
        """The change without the summary, for sizing."""
        positions = [*(e.position for e in self.closed), *(p.entry.position for p in self.prunes)]
        return Change(tuple(positions), tuple(p.entry for p in self.prunes))


class Planner:
    """Plans for one view. Everything it computes is a function of its arguments.

    Args:
        view: the context as it stands.
        state: anchor and scale.
        budgets: the numbers in force.
        meter: the token estimates.
        protect_first_n: messages of the head, the system prompt counted.
        declared: tool name -> its main argument, for placeholders.
    """

    def __init__(
        self,
        view: ContextView,
        state: EngineState,
        budgets: Budgets,
        meter: Meter,
        *,
        protect_first_n: int = 3,
        declared: Mapping[str, str] | None = None,
    ) -> None:
        self.view, self.state, self.budgets, self.meter = view, state, budgets, meter
        self.protect_first_n = protect_first_n
        self.declared = declared
        self.scale = meter.scale(view, state)
        self.estimate = meter.estimate(view)
        self.tokens_before = meter.size(view, state).tokens
        self._tokens = {r.entry.position: round(self.scale * meter.row(r)) for r in sent_rows(view) if r.entry is not None}

    def plan(self, focus: str | None = None) -> Plan:
        """The plan if one compressed now; ``focus`` is None for an automatic run, "" for one by hand without a topic."""
        if self.view.has_open_call:
            return self._refused(Regions(), Refusal("open_call", "A tool call is not answered yet."))
        try:
            spans = spans_of(self.view, lambda e: self._tokens.get(e.position, 0))
        except UnpairedCalls as broken:
            return self._refused(Regions(), Refusal("nothing_eligible", f"The context is not a valid conversation: {broken}."))
        cut = cut_view(spans, self.budgets, protect_first_n=self.protect_first_n)
        if cut.anchor is None:
            return self._refused(self._regions(cut), Refusal("nothing_eligible", "There is no user message yet."))
        pruned = self._prunes(spans, (i for i in cut.middle))
        if focus is None:
            alone = self._prune_alone(cut, pruned)
            if alone is not None:
                return alone
        return self._summarise(spans, cut, focus)

    # -- layer 1 alone -------------------------------------------------------------------------------------------

    def _prune_alone(self, cut: Cut, prunes: tuple[Prune, ...]) -> Plan | None:
        """A plan that only prunes, where that suffices: it reaches the prune target and is worth a cache break."""
        if not prunes:
            return None
        after = self._size_with(_Parts((), prunes))
        if self.tokens_before - after < self.budgets.prune_batch or after > self.budgets.prune_target:
            return None
        if after > GAIN * self.tokens_before:
            return None
        return replace(self._base(self._regions(cut)), kind="prune", prunes=prunes, tokens_after=after)

    def _prunes(self, spans: tuple[Span, ...], wanted: Iterable[int]) -> tuple[Prune, ...]:
        """The entries of the WANTED spans whose content would give way to placeholders."""
        wanted = tuple(wanted)
        reasons = prune_reasons(spans, frozenset(range(len(spans))) - frozenset(wanted))
        found: list[Prune] = []
        for i in wanted:
            span = spans[i]
            if span.group.kind != "calls" or span.is_pinned:
                continue
            call, results = span.entries
            if call.message is None or results.message is None:
                continue
            named = reasons.get(results.message.id, {})
            if call.treatment is Treatment.VERBATIM:
                found += self._prune(call, pruned_call(call.content), "old call")
            if results.treatment in (Treatment.VERBATIM, Treatment.CLIPPED):
                sent = pruned_results(call.message.content, results.message.content, named, self.declared)
                why = next(iter(named.values()), "old output")
                found += self._prune(results, sent, why)
        return tuple(found)

    def _prune(self, entry: Entry, sent: tuple[Mapping[str, object], ...] | None, reason: str) -> list[Prune]:
        if sent is None:
            return []
        new = replace(entry, treatment=Treatment.PRUNED, sent=sent)
        return [Prune(new, reason, self._tokens.get(entry.position, 0), round(self.scale * self.meter.entry(new)))]

    # -- the summary ---------------------------------------------------------------------------------------------

    def _summarise(self, spans: tuple[Span, ...], cut: Cut, focus: str | None) -> Plan:
        """A plan that tells the middle again as a summary; the head yields first, then the tail, until it fits."""
        plan = self._summarise_cut(spans, cut, focus)
        if plan.kind is None or plan.tokens_after <= self.budgets.threshold:
            return plan
        if cut.head:
            plan = self._better(plan, self._summarise_cut(spans, cut_view(spans, self.budgets, protect_first_n=1), focus))
        if plan.tokens_after > self.budgets.threshold:
            over = plan.tokens_after - self.budgets.threshold
            tail = dict(plan.regions.tokens).get("tail", 0)
            shorter = cut_view(spans, self.budgets, protect_first_n=1, tail_limit=max(0, tail - over))
            plan = self._better(plan, self._summarise_cut(spans, shorter, focus))
        return plan

    @staticmethod
    def _better(old: Plan, new: Plan) -> Plan:
        return new if new.kind is not None and new.tokens_after <= old.tokens_after else old

    def _summarise_cut(self, spans: tuple[Span, ...], cut: Cut, focus: str | None) -> Plan:
        spared = self._run_pruned(spans, cut)
        if spared is not None:
            cut, run_prunes = spared
        else:
            run_prunes = ()
        regions = self._regions(cut)
        middle = [spans[i] for i in cut.middle if not spans[i].is_pinned]
        closed = [e for span in middle for e in span.entries]
        sources = tuple(m for span in middle for m in span.group.messages)
        if not sources:
            return self._clipped_only(spans, regions)
        previous = self.view.summary
        closed_all = tuple(sorted((*closed, *(e for e in self.view.entries if e.summary)), key=lambda e: e.position))
        parts = _Parts(closed_all, run_prunes)
        note = round(self.scale * NOTE_TOKENS)
        base = self._size_with(parts) + note
        if base + self._summary_cap(sources) > self.budgets.usable:
            clips = self._clips(spans[-1], base + self._summary_cap(sources))
            if clips:
                parts = _Parts(closed_all, (*run_prunes, *clips))
                base = self._size_with(parts) + note
        # Where what is replaced is small by now (its results are pruned already), the summary is kept small enough to gain.
        cap = min(self._summary_cap(sources), int(GAIN * self.tokens_before) - base)
        after = base + cap
        if cap < round(self.scale * LEAST_SUMMARY):
            clipped = self._clipped_only(spans, regions)
            return clipped if clipped.kind else self._refused(regions, self._no_gain(spans, regions, base))
        last_head = cut.spans[cut.head - 1].group.messages[-1].sequence if cut.head else -1
        return replace(
            self._base(regions),
            kind="summarise",
            prunes=parts.prunes,
            summarised=closed_all,
            sources=sources,
            previous=previous,
            summary_position=2 * last_head + 1,
            summary_cap=cap,
            for_anchor=regions.for_anchor,
            focus=focus,
            tokens_after=after,
        )

    def _summary_cap(self, sources: tuple[Message, ...]) -> int:
        """Scaled tokens the summary may take: the budget, and less than half of what it newly tells and updates."""
        told = sum(self.meter.content(m.content) for m in sources)
        before = self.meter.content(self.view.summary.content) if self.view.summary else 0
        return min(self.budgets.summary_cap, round(self.scale * (told + before)) // 2)

    def _run_pruned(self, spans: tuple[Span, ...], cut: Cut) -> tuple[Cut, tuple[Prune, ...]] | None:
        """Inside an open tool loop: the cut whose tail is the whole turn, its older groups pruned, if that fits the bound."""
        anchor = cut.anchor
        if anchor is None or not self._in_loop or not any(cut.head <= i < anchor for i in cut.middle):
            return None
        older = [i for i in cut.middle if i > anchor]
        if not older:
            return None
        prunes = self._prunes(spans, older)
        saved = sum(p.tokens_before - p.tokens_after for p in prunes)
        if sum(s.tokens for s in spans[anchor:]) - saved > self.budgets.tail_bound:
            return None
        return replace(cut, tail=tuple(range(anchor, len(spans)))), prunes

    @property
    def _in_loop(self) -> bool:
        last = self.view.last_message
        return bool(last and results_of(last))

    # -- clipping ------------------------------------------------------------------------------------------------

    def _clipped_only(self, spans: tuple[Span, ...], regions: Regions) -> Plan:
        """Nothing to summarise: clip a newest group that would exceed the window, else say what does not fit."""
        if self.tokens_before > self.budgets.usable:
            clips = self._clips(spans[-1], self.tokens_before)
            after = self._size_with(_Parts((), clips)) if clips else self.tokens_before
            if clips and after <= GAIN * self.tokens_before:
                return replace(self._base(regions), kind="prune", prunes=clips, tokens_after=after)
        if self.tokens_before > self.budgets.threshold:
            return self._refused(regions, self._incompressible(regions))
        return self._refused(
            regions, Refusal("nothing_eligible", "Everything stands in head and tail; there is no middle yet.")
        )

    def _clips(self, newest: Span, after: int) -> tuple[Prune, ...]:
        """The newest group's results cut down so that a request of AFTER tokens comes to the in-loop trigger."""
        if newest.group.kind != "calls" or newest.is_pinned:
            return ()
        results = newest.entries[-1]
        if results.message is None:
            return ()
        tokens = self._tokens.get(results.position, 0)
        budget = tokens - (after - self.budgets.in_loop)
        if budget < round(self.scale * LEAST_CLIP):
            return ()
        chars = sum(len(result_text(b)) for b in results.content)
        sent = clipped_results(results.content, budget, results.message.id, chars / max(1, tokens))
        new = replace(results, treatment=Treatment.CLIPPED, sent=sent)
        return (Prune(new, "larger than what is left of the window", tokens, round(self.scale * self.meter.entry(new))),)

    # -- sizes, regions, outcomes --------------------------------------------------------------------------------

    def _size_with(self, parts: _Parts) -> int:
        """The size of the next request with PARTS made, the new summary aside."""
        after = self.meter.estimate(self.view.apply(parts.change)) if parts.change.closed else self.estimate
        return max(1, self.tokens_before + round(self.scale * (after - self.estimate)))

    def _regions(self, cut: Cut) -> Regions:
        reasons: list[tuple[int, str]] = []
        where: dict[Region, list[int]] = {"head": [], "middle": [], "pinned": [], "tail": []}
        tail = set(cut.tail)
        for i, span in enumerate(cut.spans):
            region: Region
            if i in tail:
                region, why = "tail", "the message to answer" if i == cut.anchor else "newest, kept word for word"
            elif i < cut.head:
                region, why = "head", "sets the task"
            elif span.is_pinned:
                region, why = "pinned", "pinned by you"
            else:
                region, why = "middle", "older than the tail: would be summarised"
            where[region] += span.positions
            reasons += [(p, why) for p in span.positions]
        for entry in self.view.entries:
            if entry.summary is not None:
                reasons.append((entry.position, f"tells {len(entry.summary.covered)} messages again"))
            elif entry.treatment is Treatment.DROPPED:
                reasons.append((entry.position, "dropped by you: not sent"))
        anchor = None if cut.anchor is None else cut.spans[cut.anchor].entries[0].position
        found = Regions(
            head=tuple(where["head"]),
            middle=tuple(where["middle"]),
            pinned=tuple(where["pinned"]),
            tail=tuple(where["tail"]),
            anchor=anchor,
            reasons=tuple(sorted(reasons)),
            for_anchor=anchor is not None and any(p > anchor for p in where["middle"]),
        )
        return self._measured(found)

    def _measured(self, regions: Regions) -> Regions:
        """REGIONS with their sizes, which add up to the size of the next request.

        What a measurement found beyond the estimates is what the server puts around a conversation: the system's share.
        """
        system = round(self.scale * self.meter.floor(self.view))
        left = self.tokens_before - system - sum(self._tokens.values())
        tokens: dict[Region, int] = {"system": max(0, system + left)}
        short = min(0, system + left)  # measured to be less than all estimates: the largest entry bears it
        largest = max(self._tokens, key=lambda position: self._tokens[position], default=None)
        shares = {p: t + (short if p == largest else 0) for p, t in self._tokens.items()}
        for position, share in shares.items():
            region = regions.region_of(position)
            tokens[region] = tokens.get(region, 0) + share
        return replace(regions, tokens=tuple(tokens.items()), entries=tuple(shares.items()))

    def _no_gain(self, spans: tuple[Span, ...], regions: Regions, after: int) -> Refusal:
        if self.tokens_before > self.budgets.threshold and max(after, self._least(spans)) > self.budgets.threshold:
            return self._incompressible(regions)
        return Refusal(
            "no_gain",
            f"The middle is too small to be worth it: {after:,} of {self.tokens_before:,} tokens would stay in any case.",
            counts=True,
        )

    def _least(self, spans: tuple[Span, ...]) -> int:
        """What stays whatever is compressed: floor, pins, a whole summary, the newest user message and the newest group."""
        anchor = max(i for i, span in enumerate(spans) if span.group.is_real_user)
        kept = {anchor, len(spans) - 1} | {i for i, span in enumerate(spans) if span.is_pinned}
        return self.budgets.floor + self.budgets.summary_cap + sum(spans[i].tokens for i in kept)

    def _incompressible(self, regions: Regions) -> Refusal:
        sizes = dict(regions.tokens)
        names: dict[Region, str] = {
            "system": "the system prompt and the tools",
            "pinned": "the pinned messages",
            "tail": "the newest message and what answers it",
            "head": "the head",
            "summary": "the summary",
            "middle": "the middle",
        }
        part: Region = max(sizes, key=lambda region: sizes[region], default="tail")
        return Refusal(
            "incompressible",
            f"Cannot be compressed: {names[part]} alone takes {sizes.get(part, 0):,} of the threshold's "
            f"{self.budgets.threshold:,} tokens.",
            counts=True,
        )

    def _refused(self, regions: Regions, refusal: Refusal) -> Plan:
        return replace(self._base(regions), refusal=refusal, tokens_after=self.tokens_before)

    def _base(self, regions: Regions) -> Plan:
        """A plan for this view that does nothing yet."""
        last = self.view.last_message
        return Plan(
            chain=self.view.chain,
            generation=self.view.generation,
            last_message=last.id if last else "",
            kind=None,
            regions=regions,
            tokens_before=self.tokens_before,
            scale=self.scale,
            view=self.view,
        )
