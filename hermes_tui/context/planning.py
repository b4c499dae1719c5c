"""Planning: a view in, a plan out. What would be pruned, summarised, clipped and kept if one compressed now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import EngineState, Plan, Prune, Refusal
from hermes_tui.context.gain import GAIN, gains
from hermes_tui.context.groups import UnpairedCalls
from hermes_tui.context.messages import Block, Message, result_text, results_of
from hermes_tui.context.placeholders import Origin, clipped_results
from hermes_tui.context.pointers import reworded
from hermes_tui.context.pruning import Pruner
from hermes_tui.context.regions import Cut, Region, Regions, Span, cut_view, spans_of
from hermes_tui.context.sizing import Row, Sizing, row_of
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import Change, ContextView, Entry, Treatment

COLD: Final = "the prompt cache is cold"
"""Why a prune is made below the threshold."""
LEAST_SUMMARY: Final = 120
"""Tokens; a summary smaller than this could hold little more than its frame."""
LEAST_CLIP: Final = 60
"""Tokens; less of a result than this could say little beside the note of what was left out."""


class Planner:
    """Plans for one view. Everything it computes is a function of its arguments.

    Args:
        view: the context as it stands.
        state: anchor and scale.
        budgets: the numbers in force.
        meter: the token estimates.
        pruner: words the placeholders.
        protect_first_n: messages of the head, the system prompt counted.
    """

    def __init__(
        self,
        view: ContextView,
        state: EngineState,
        budgets: Budgets,
        meter: Meter,
        pruner: Pruner | None = None,
        *,
        protect_first_n: int = 3,
    ) -> None:
        self.view, self.state, self.budgets, self.meter = view, state, budgets, meter
        self.pruner = pruner or Pruner()
        self.protect_first_n = protect_first_n
        self.scale = meter.scale(view, state)
        self.sizing = Sizing(view, meter)
        self.tokens_before = meter.size_of(self.sizing.estimate, view, state).tokens
        self._pinned: frozenset[int] = frozenset()
        self._tokens = {position: round(self.scale * tokens) for position, tokens in self.sizing.tokens.items()}

    def plan(self, focus: str | None = None) -> Plan:
        """The plan if one compressed now; ``focus`` is None for an automatic run, "" for one by hand without a topic."""
        cut = self._cut()
        if isinstance(cut, Refusal):
            return self._refused(None, cut)
        old = self._before_run(cut)
        if focus is None and (alone := self._prune_alone(cut, old)) is not None:
            return alone
        plan = self._summarise(cut, focus)
        if plan.kind is None and focus is None and len(old) < len(cut.middle):
            plan = self._prune_alone(cut, cut.middle) or plan
        if plan.kind is None:
            plan = self._prune(cut, cut.middle) or plan
        return plan

    def cold(self) -> Plan | None:
        """While the prompt cache is cold an edit costs nothing: the plan that only prunes, if it gains; else None."""
        cut = self._cut()
        if isinstance(cut, Refusal):
            return None
        plan = self._prune(cut, cut.middle, least=0)
        return None if plan is None else replace(plan, why=COLD)

    def _cut(self) -> Cut | Refusal:
        """The view in head, middle and tail, or why it cannot be compressed at all."""
        if self.view.has_open_call:
            return Refusal("open_call", "A tool call is not answered yet.")
        try:
            spans = spans_of(self.view, lambda e: self._tokens.get(e.position, 0))
        except UnpairedCalls as broken:
            return Refusal("nothing_eligible", f"The context is not a valid conversation: {broken}.")
        self.pruner.forget(spans)
        self._pinned = frozenset(i for i, span in enumerate(spans) if span.is_pinned)
        cut = cut_view(spans, self.budgets, protect_first_n=self.protect_first_n)
        return cut if cut.anchor is not None else Refusal("nothing_eligible", "There is no user message yet.")

    # -- layer 1 alone -------------------------------------------------------------------------------------------

    def _before_run(self, cut: Cut) -> tuple[int, ...]:
        """What may be pruned without touching an open tool loop; all of the middle where that is nothing."""
        if not self._in_loop or cut.anchor is None:
            return cut.middle
        before = tuple(i for i in cut.middle if i < cut.anchor and i not in self._pinned)
        return before or cut.middle

    def _prune_alone(self, cut: Cut, old: Sequence[int]) -> Plan | None:
        """A plan that only prunes, where that suffices: it reaches the prune target. What nothing is lost with goes first."""
        target = self.budgets.prune_target
        every = self._prune(cut, old)
        if every is None or every.tokens_after > target:
            return None
        first = self._prune(cut, old, dead=True)
        return first if first is not None and first.tokens_after <= target else every

    def _prune(self, cut: Cut, old: Sequence[int], *, dead: bool = False, least: int | None = None) -> Plan | None:
        """A plan that prunes the OLD spans (with DEAD: what of them nothing is lost with) and is worth a cache break."""
        prunes = self._settled(self._prunes(cut.spans, old, dead=dead))
        if not prunes:
            return None
        after = self._size_with((), prunes)
        if self.tokens_before - after < (self.budgets.prune_batch if least is None else least):
            return None
        if not gains(self.tokens_before, after):
            return None
        return replace(self._base(), regions=self._regions(cut), kind="prune", prunes=prunes, tokens_after=after)

    def _prunes(self, spans: Sequence[Span], wanted: Iterable[int], *, dead: bool = False) -> tuple[Prune, ...]:
        """The entries of the WANTED spans whose content would give way to placeholders."""
        wanted = tuple(i for i in wanted if i not in self._pinned)
        going = frozenset(wanted)
        marks = self.pruner.marks(spans, lambda i, mark: i not in going or (dead and not mark.dead))
        found: list[Prune] = []
        for i in wanted:
            span = spans[i]
            if span.group.kind == "calls":
                call, results = span.entries
                made, answered = span.group.messages
                if call.treatment is Treatment.VERBATIM and not dead:
                    found += self._pruned(call, self.pruner.call(made, answered), "long arguments of an old call")
                reasons = [mark if mark.dead or not dead else None for mark in marks[answered.id]]
                sent = results.sent if results.treatment is Treatment.PRUNED else None
                why = next((mark.reason for mark in reasons if mark is not None and mark.reason), "old output")
                found += self._pruned(results, self.pruner.results(made, answered, reasons, sent), why)
            elif span.group.kind == "user" and not dead and span.entries[0].treatment is Treatment.VERBATIM:
                found += self._pruned(span.entries[0], self.pruner.said(span.group.messages[0]), "an old image or document")
        return tuple(found)

    def _pruned(self, entry: Entry, sent: tuple[Block, ...] | None, reason: str) -> list[Prune]:
        if sent is None:
            return []
        new = replace(entry, treatment=Treatment.PRUNED, sent=sent)
        return [Prune(new, reason, self._tokens.get(entry.position, 0), round(self.scale * self.meter.entry(new)))]

    def _settled(self, prunes: tuple[Prune, ...], closed: Sequence[Entry] = ()) -> tuple[Prune, ...]:
        """PRUNES, and with them the pointers whose copies they or the CLOSED entries take away, worded anew."""
        gone = (*(e.position for e in closed), *(p.entry.position for p in prunes))
        if not gone:
            return prunes
        new = reworded(self.view, Change(gone, tuple(p.entry for p in prunes)), self.pruner)
        if not new:
            return prunes
        kept = tuple(p for p in prunes if p.entry.position not in {e.position for e in new})
        return (*kept, *(p for e in new for p in self._pruned(e, e.sent, "the copy that it points to goes")))

    # -- the summary ---------------------------------------------------------------------------------------------

    def _summarise(self, cut: Cut, focus: str | None) -> Plan:
        """A plan that tells the middle again as a summary; the head yields first, then the tail, until it fits."""
        plan, cut = self._summarise_cut(cut, focus)
        if plan.kind is None:
            return plan
        if plan.tokens_after > self.budgets.threshold and cut.head:
            headless = cut_view(cut.spans, self.budgets, protect_first_n=1)
            plan, cut = self._better((plan, cut), self._summarise_cut(headless, focus))
        if plan.tokens_after > self.budgets.threshold:
            over = plan.tokens_after - self.budgets.threshold
            shorter = cut_view(cut.spans, self.budgets, protect_first_n=1, tail_limit=max(0, cut.tail_tokens - over))
            plan, cut = self._better((plan, cut), self._summarise_cut(shorter, focus))
        regions = self._regions(cut)
        return replace(plan, regions=regions, for_anchor=regions.for_anchor)

    @staticmethod
    def _better(old: tuple[Plan, Cut], new: tuple[Plan, Cut]) -> tuple[Plan, Cut]:
        return new if new[0].kind == "summarise" and new[0].tokens_after <= old[0].tokens_after else old

    def _summarise_cut(self, cut: Cut, focus: str | None) -> tuple[Plan, Cut]:
        """A plan that summarises the middle of CUT, its regions not told yet, and the cut that it was made for in the end."""
        cut, prunes = self._run_pruned(cut) or (cut, ())
        middle = [cut.spans[i] for i in cut.middle if i not in self._pinned]
        closed = [e for span in middle for e in span.entries]
        sources = tuple(m for span in middle for m in span.group.messages)
        if not sources:
            return self._clipped_only(cut), cut
        closed_all = tuple(sorted((*closed, *(e for e in self.view.entries if e.summary)), key=lambda e: e.position))
        last_head = cut.spans[cut.head - 1].group.messages[-1].sequence if cut.head else -1
        place = 2 * last_head + 1
        most = self._summary_cap(sources)
        prunes = self._settled(prunes, closed_all)
        base = self._size_with(closed_all, prunes, summary=place)
        if base + most > self.budgets.usable:
            clips = self._clips(cut.spans[-1], base + most)
            if clips:
                prunes = self._settled((*prunes, *clips), closed_all)
                base = self._size_with(closed_all, prunes, summary=place)
        # Where what is replaced is small by now (its results are pruned already), the summary is kept small enough to gain.
        cap = min(most, int(GAIN * self.tokens_before) - base)
        if cap < round(self.scale * LEAST_SUMMARY):
            clipped = self._clipped_only(cut)
            if clipped.kind is None:
                clipped = replace(clipped, refusal=self._no_gain(cut.spans, clipped.regions, base))
            return clipped, cut
        plan = replace(
            self._base(),
            kind="summarise",
            prunes=prunes,
            summarised=closed_all,
            sources=sources,
            previous=self.view.summary,
            summary_position=place,
            summary_cap=cap,
            focus=focus,
            tokens_after=base + cap,
        )
        return plan, cut

    def _summary_cap(self, sources: tuple[Message, ...]) -> int:
        """Scaled tokens the summary may take: the budget, and less than half of what it newly tells and updates."""
        told = sum(self.meter.message(m) for m in sources)
        before = self.meter.content(self.view.summary.sent_to(self.view.model)) if self.view.summary else 0
        return min(self.budgets.summary_cap, round(self.scale * (told + before)) // 2)

    def _run_pruned(self, cut: Cut) -> tuple[Cut, tuple[Prune, ...]] | None:
        """Inside an open tool loop: the cut whose tail is the whole turn, its older groups pruned, if that fits the bound."""
        anchor = cut.anchor
        if anchor is None or not self._in_loop or not any(cut.head <= i < anchor for i in cut.middle):
            return None
        older = [i for i in cut.middle if i > anchor]
        if not older:
            return None
        prunes = self._prunes(cut.spans, older)
        saved = sum(p.tokens_before - p.tokens_after for p in prunes)
        if sum(s.tokens for s in cut.spans[anchor:]) - saved > self.budgets.tail_bound:
            return None
        return replace(cut, tail=tuple(range(anchor, len(cut.spans)))), prunes

    @property
    def _in_loop(self) -> bool:
        last = self.view.last_message
        return bool(last and results_of(last))

    # -- clipping ------------------------------------------------------------------------------------------------

    def _clipped_only(self, cut: Cut) -> Plan:
        """Nothing to summarise: clip a newest group that would exceed the window, else say what does not fit."""
        if self.tokens_before > self.budgets.usable:
            clips = self._settled(self._clips(cut.spans[-1], self.tokens_before))
            after = self._size_with((), clips)
            if clips and gains(self.tokens_before, after):
                return replace(self._base(), regions=self._regions(cut), kind="prune", prunes=clips, tokens_after=after)
        plan = self._refused(cut, Refusal("nothing_eligible", "Everything stands in head and tail; there is no middle yet."))
        if self.tokens_before > self.budgets.threshold:
            return replace(plan, refusal=self._incompressible(plan.regions))
        return plan

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
        sent = clipped_results(
            results.content, budget, Origin(results.message.id, self.pruner.reopening), chars / max(1, tokens)
        )
        new = replace(results, treatment=Treatment.CLIPPED, sent=sent)
        return (Prune(new, "larger than what is left of the window", tokens, round(self.scale * self.meter.entry(new))),)

    # -- sizes, regions, outcomes --------------------------------------------------------------------------------

    def _size_with(self, closed: Sequence[Entry], prunes: Sequence[Prune], summary: int | None = None) -> int:
        """The size of the next request with the CLOSED entries gone and PRUNES made; a SUMMARY there takes nothing yet."""
        opened = [row_of(p.entry, self.meter) for p in prunes]
        positions = [*(e.position for e in closed), *(row.position for row in opened)]
        if summary is not None:
            opened.append(Row(summary, "user", 0, 0))
        after = self.sizing.after(positions, opened)
        return max(1, self.tokens_before + round(self.scale * (after - self.sizing.estimate)))

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
            elif i in self._pinned:
                region, why = "pinned", "pinned by you"
            else:
                region, why = "middle", "older than the tail: would be summarised"
            for entry in span.entries:
                where[region].append(entry.position)
                reasons.append((entry.position, why))
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

        System and tools keep what is counted for them, and have what the server puts around a conversation beside it. What else
        a measurement found, the estimates were wrong by: each entry bears its part of that.
        """
        system, known = round(self.scale * self.sizing.floor), sum(self._tokens.values())
        left = self.tokens_before - system - known
        system += left if not known else max(0, min(left, self.state.beside.get(self.view.model, left)))
        told = self.tokens_before - system
        if told < 0 or system < 0:  # measured to be less than system and tools alone are counted
            system, told = max(0, self.tokens_before), 0
        shares = {position: t * told // known if known else 0 for position, t in self._tokens.items()}
        if known:
            shares[max(self._tokens, key=lambda position: self._tokens[position])] += told - sum(shares.values())
        tokens: dict[Region, int] = {"system": system}
        places = regions.by_position
        for position, share in shares.items():
            region = places.get(position, "summary")
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
        verb = "takes" if part in ("head", "summary", "middle") else "take"
        return Refusal(
            "incompressible",
            f"Cannot be compressed: {names[part]} alone {verb} {sizes.get(part, 0):,} of the threshold's "
            f"{self.budgets.threshold:,} tokens.",
            counts=True,
        )

    def _refused(self, cut: Cut | None, refusal: Refusal) -> Plan:
        regions = Regions() if cut is None else self._regions(cut)
        return replace(self._base(), regions=regions, refusal=refusal, tokens_after=self.tokens_before)

    def _base(self) -> Plan:
        """A plan for this view that does nothing yet."""
        last = self.view.last_message
        return Plan(
            chain=self.view.chain,
            generation=self.view.generation,
            last_message=last.id if last else "",
            kind=None,
            regions=Regions(),
            tokens_before=self.tokens_before,
            scale=self.scale,
            view=self.view,
        )
