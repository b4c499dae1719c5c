"""One pass of a compression: planned, carried out, checked, applied; or refused, and then nothing has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from hermes_tui.chat import breaker
from hermes_tui.chat.events import Compressed, NothingCompressed, NoticeRaised
from hermes_tui.chat.limits import compacts_by_itself
from hermes_tui.chat.noting import Noting
from hermes_tui.chat.prepared import Prepared
from hermes_tui.chat.remembering import Remembering
from hermes_tui.chat.replies import DELAYS, CostOf
from hermes_tui.chat.requests import Requests
from hermes_tui.chat.standing import Standing, failed
from hermes_tui.chat.summariser import REST_SECONDS, SummaryCalls, SummaryModel, on_this_loop
from hermes_tui.context.answers import sound_compression, sound_plan
from hermes_tui.context.check import violations
from hermes_tui.context.compaction import retold
from hermes_tui.context.engine import Compression, EngineState, Plan, Refusal, Summariser, Trigger
from hermes_tui.context.gain import gains, no_gain
from hermes_tui.context.messages import scrub
from hermes_tui.context.notes import fitted, notes_limit
from hermes_tui.context.tokens import Meter
from hermes_tui.llm.provider import CompactionRefused

REFUSED_AT_MOST: Final = 2
"""Passes in a row that may pay a model for nothing; then its rungs rest."""
Done = Literal["gained", "refused", "moved", "waiting"]
"""How a pass ended: applied; nothing changed; another process was first; or it waits for its summary."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the milliseconds that planning took."""

    plan: Plan
    ms: float


class Passes:
    """Makes the passes of one conversation.

    Args:
        standing: where the conversation stands.
        requests: records the summariser's calls.
        model: the model that summarises, None for the deterministic rung alone.
        remembering: asked for what a summary should know.
        cost_of: the price of a response.
        delays: seconds before each retry of a call to the model.
    """

    def __init__(
        self,
        standing: Standing,
        requests: Requests,
        model: SummaryModel | None,
        remembering: Remembering,
        cost_of: CostOf,
        delays: Sequence[float] = DELAYS,
    ) -> None:
        self._at, self._requests, self.model, self._remembering = standing, requests, model, remembering
        self._cost_of, self._delays = cost_of, delays
        self._told: tuple[int, str] | None = None

    @property
    def asks_model(self) -> bool:
        """Whether a summary would be asked of a model now: there is one, and its rungs do not rest."""
        return self.model is not None and self._at.clock() >= self._at.state.model_rests_until

    async def plan(self, focus: str | None = None) -> Planned:
        """What would be done now. The budgets must be in force."""
        at, started = self._at, time.perf_counter()
        view, state, budgets = at.view, at.state, at.budgets
        if budgets is None:
            raise ValueError(at.impossible)
        topic = None if focus is None else scrub(focus)
        plan = await at.ask_engine(lambda engine: sound_plan(engine.plan(view, state, budgets, topic), view))
        return Planned(plan, (time.perf_counter() - started) * 1000)

    async def draft(self, focus: str | None = None) -> Prepared:
        """What compressing now would come to: planned and written, nothing applied, and nothing remembered of it."""
        return await self.carry_out(await self.plan(focus), looking=True)

    # -- carrying out --------------------------------------------------------------------------------------------

    async def carry_out(
        self, planned: Planned, *, by_code: bool = False, by_hand: bool = False, looking: bool = False
    ) -> Prepared:
        """Write what the plan needs written; nothing is applied. BY_CODE takes the deterministic rung at once.

        LOOKING: it is only to be looked at, so memory providers, which may keep what they are shown, are not asked.
        """
        at, plan, started = self._at, planned.plan, time.perf_counter()
        calls = noting = None
        summariser: Summariser | None = None
        if plan.kind == "summarise":
            if self.model is not None and self.asks_model and not by_code:
                notes = "" if looking else await self._remembering.before(plan)
                view, compacts = plan.view or at.view, self._compacts
                calls = SummaryCalls(at, self._requests, self.model, view, self._cost_of, self._delays, compacts=compacts)
                limit = notes_limit(self.model.facts.window.value)
                given = calls.summariser(fitted(notes, limit, at.meter.count))
                keeper = None if looking or self.model.embedded else self._remembering.notes_by_model
                if keeper is not None:
                    noting = Noting(at, self._requests, self.model, keeper, plan, self._cost_of)
                    given = replace(given, calls=given.calls - 1)  # the call for notes is one of the pass's
                summariser = on_this_loop(given)
            elif not looking:
                self._remembering.show(plan)
        try:
            engine = at.engine
            written = at.off.beside(lambda: engine.compress(plan, summariser))
            made = sound_compression(await (written if noting is None else noting.beside(written)), plan)
        except asyncio.CancelledError:
            if calls is not None:
                await calls.ended()
            raise
        except Exception as problem:
            if not at.take_over(failed(problem)):
                raise
            return await self.carry_out(await self.plan(plan.focus), by_code=by_code, by_hand=by_hand, looking=looking)
        if calls is not None:
            await self._learn(calls, made)
        duration = (time.perf_counter() - started) * 1000 + planned.ms
        cost = calls.cost if calls else None
        if noting is not None and noting.cost:
            cost = (cost or 0.0) + noting.cost
        return Prepared(made, planned.ms, duration, cost, by_hand)

    async def _learn(self, calls: SummaryCalls, made: Compression) -> None:
        """Let the model rungs rest where they could not be reached, or were paid twice in a row for nothing."""
        at = self._at
        await at.keep(self._with_compactions(calls, made))
        if made.rung not in ("", "deterministic"):
            await at.keep(replace(at.state, answers_refused=0))
            return
        refused = at.state.answers_refused + bool(calls.answered)
        why = ""
        if calls.unreachable:
            why = "The summarising model could not be reached"
        elif refused >= REFUSED_AT_MOST:
            why, refused = "The summarising model's answers could not be used, twice in a row", 0
        rests = self._at.clock() + REST_SECONDS if why else at.state.model_rests_until
        await at.keep(replace(at.state, answers_refused=refused, model_rests_until=rests))
        if why:
            minutes = f"{REST_SECONDS / 60:.0f} minutes"
            at.publish(
                NoticeRaised(
                    f"{why}, so the summary was written without it. It is asked again in {minutes}.", severity="warning"
                )
            )

    def _with_compactions(self, calls: SummaryCalls, made: Compression) -> EngineState:
        """The state after the provider's own compaction was asked, where it was: paid twice in a row for nothing, it rests."""
        state = self._at.state
        if made.rung == "api":
            return replace(state, compactions_refused=0)
        if not calls.compacted:
            return state
        if state.compactions_refused + 1 < REFUSED_AT_MOST:
            return replace(state, compactions_refused=state.compactions_refused + 1)
        return replace(state, compactions_refused=0, compaction_rests_until=self._at.clock() + REST_SECONDS)

    @property
    def _compacts(self) -> bool:
        """Whether the provider is asked to compact by itself now."""
        at = self._at
        return compacts_by_itself(at.settings, at.facts) and self._at.clock() >= at.state.compaction_rests_until

    @property
    def writer(self) -> str:
        """Who writes summaries now."""
        if self.model is None or self.rests:
            return "code alone"
        return "the provider's own compaction" if self._compacts else self.model.model

    @property
    def not_compacting(self) -> str:
        """Why the provider does not compact by itself although the user wants it, "" where it does or need not."""
        at = self._at
        if at.settings.summary.engine != "api" or self._compacts:
            return ""
        writer = self.model.model if self.model else "code"
        if compacts_by_itself(at.settings, at.facts):
            until = time.strftime("%H:%M", time.localtime(at.state.compaction_rests_until))
            return f"the provider's compaction was of no use twice: {writer} summarises until {until}"
        return f"{at.facts.info.id} offers no compaction of its own: {writer} summarises"

    @property
    def rests(self) -> str:
        """Until when no model is asked for a summary, "" where nothing keeps it from being asked."""
        until = self._at.state.model_rests_until
        if self.model is None or self._at.clock() >= until:
            return ""
        return f"summaries are written without a model until {time.strftime('%H:%M', time.localtime(until))}"

    async def retell(self, problem: CompactionRefused) -> bool:
        """The provider refuses the block of its own compaction: the summary that code wrote beside it takes its place.

        Returns whether there was such a block.
        """
        from hermes_tui.store.ids import new_id

        at = self._at
        made = retold(at.view, new_id(), problem.sentence)
        if made is None or made.change is None:
            return False
        before, after = at.size.tokens, (await at.off.thought(at.after, made.change)).tokens
        scale, regions = at.meter.scale(at.view, at.state), at.regions or made.plan.regions
        plan = replace(made.plan, regions=regions, scale=scale, tokens_before=before, tokens_after=after)
        made = replace(made, plan=plan, tokens_before=before, tokens_after=after)
        return await self._apply(Prepared(made, 0.0, 0.0), "overflow", split=False) == "gained"

    # -- applying ------------------------------------------------------------------------------------------------

    async def apply(self, prepared: Prepared, trigger: Trigger) -> Done:
        """Apply what was carried out for the view as it stands; every way out is published and recorded."""
        at, made = self._at, prepared.compression
        if made.change is None:
            return await self.refused(made.refusal or Refusal("nothing_eligible", "Nothing was to be done."), trigger, prepared)
        view, wanted = at.view, made.change
        try:
            change = await at.ask_engine(lambda engine: engine.resolved(view, wanted))
            problems = await at.off.thought(violations, view, change)
        except Exception as problem:  # a change that cannot even be looked at
            if at.take_over(failed(problem)):
                return "moved"
            raise
        made = replace(made, change=change)
        if problems:
            sentence = f"The result of {at.engine.name} is not valid: {problems[0]} Nothing was changed."
            if at.take_over(f"its result was not valid ({problems[0]})"):
                return "moved"
            return await self.refused(Refusal("summary_refused", sentence, counts=True), trigger, prepared)
        before, alike = at.size.tokens, await at.off.thought(at.size_of, view.apply(change))
        if not gains(before, alike):
            return await self.refused(no_gain(before, alike), trigger, prepared)
        after = await at.off.thought(at.after, change)
        made = replace(made, tokens_before=before, tokens_after=after.tokens)
        return await self._apply(replace(prepared, compression=made), trigger)

    async def _apply(self, prepared: Prepared, trigger: Trigger, *, split: bool = True) -> Done:
        from hermes_tui.store.records import Moved

        at, made = self._at, prepared.compression
        plan = made.plan
        state = breaker.gained(at.state_after(plan.generation + 1))
        ended = at.session
        applied = await at.off.stored(
            at.store.apply,
            made,
            trigger=trigger,
            duration_ms=prepared.duration_ms,
            cost=prepared.cost,
            split=split and plan.kind == "summarise",
            parameters=None,
            state=state,
            summary_tokens=_summary_tokens(made, at.view.model, at.meter),
        )
        if isinstance(applied, Moved):
            await at.reload()
            await self.refused(
                Refusal("moved", "Another process compressed this conversation first; its context was taken over."), trigger
            )
            return "moved"
        assert made.change is not None
        self._told = None
        at.changed(applied.session, made.change, state)
        if applied.parent is not None:
            await at.session_ended(ended.id)
            await at.session_began()
        await at.refresh()
        at.publish(
            Compressed(
                compression=made,
                kind=plan.kind or "summarise",
                trigger=trigger,
                edit=applied.edit.id,
                session=applied.session.id,
                parent=applied.parent.id if applied.parent else None,
                ordinal=applied.session.ordinal,
                tokens_before=made.tokens_before,
                tokens_after=at.size.tokens,
                plan_ms=prepared.plan_ms,
            )
        )
        return "gained"

    async def refused(self, refusal: Refusal, trigger: Trigger, prepared: Prepared | None = None) -> Done:
        """Nothing changed, for this reason: count it, and say so, once for each reason until something changes.

        PREPARED is what was carried out in vain, where it came to that.
        """
        at = self._at
        if refusal.counts and trigger != "manual":
            stopped = at.state.stopped_at is not None
            await at.keep(breaker.struck(at.state, at.size.tokens, self._at.clock()))
            if not stopped and at.state.stopped_at is not None:
                at.publish(NoticeRaised(STOPPED, severity="warning"))
        if trigger == "manual" or self._told != (at.view.generation, refusal.kind):
            self._told = (at.view.generation, refusal.kind)
            made = prepared.compression if prepared else None
            await at.off.stored(
                at.store.record_noop,
                at.chain,
                refusal,
                trigger,
                kind=made.plan.kind if made else None,
                tokens=at.size.tokens,
                duration_ms=prepared.duration_ms if prepared else 0.0,
                cost=prepared.cost if prepared else None,
                failures=made.failures if made else (),
                focus=made.plan.focus if made else None,
            )
            at.publish(NothingCompressed(refusal, trigger))
        return "refused"


def _summary_tokens(made: Compression, model: str, meter: Meter) -> int | None:
    """Scaled tokens of the new summary as MODEL is sent it."""
    if made.summary is None:
        return None
    return round(made.plan.scale * meter.content(made.summary.sent_to(model)))


STOPPED = (
    "Automatic compression has stopped for this conversation: two passes in a row gained nothing. Nothing was changed. "
    "It starts again when the conversation has grown or in 30 minutes; /compress works at any time."
)
