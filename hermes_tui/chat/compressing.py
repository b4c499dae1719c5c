"""Compression at work: when it is due, prepared in the background or awaited, by hand, after an overflow.

The triggers, told once. Before a turn (preflight), after one (response) and, at the in-loop trigger, between two iterations
(in_turn) a compression is applied if the size has reached its limit. From the warm mark on its summary is prepared in the
background by whoever owns the tasks; with none ready the turn goes out as it is, until the size reaches 0.85 of usable: from
there the summary is awaited, and Esc takes the deterministic rung. In the foreground (replay, headless) it is awaited at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from hermes_tui.chat import breaker
from hermes_tui.chat.counting import Counting
from hermes_tui.chat.events import (
    CompressionStarted,
    CompressionStopped,
    NoticeRaised,
    SummaryAwaited,
    SummaryDue,
    SummaryPrepared,
)
from hermes_tui.chat.interrupt import Interrupt, Interrupted
from hermes_tui.chat.iterations import IterationBudget
from hermes_tui.chat.passes import Done, Passes, Planned
from hermes_tui.chat.prepared import Prepared, fitted
from hermes_tui.chat.standing import Standing
from hermes_tui.context.answers import sound_decision
from hermes_tui.context.engine import NONE_ACCEPTED, Decision, Plan, Refusal, Trigger, Usage
from hermes_tui.llm.provider import CompactionRefused, Overflowed, ProviderError

PASSES: Final = 3
"""Passes at one trigger, at most."""
AGAIN: Final = 0.20
"""Of the room: growth after a compression that lets the same turn be compressed once more."""
AWAITED: Final = 0.85
"""Of usable: from this size on a turn waits for its summary."""
WENT_ON: Final = ("gained", "moved")
"""Ends of a pass after which another one may be needed."""


class Compressing:
    """Decides when the context of one conversation is compressed, and sees it through.

    Args:
        standing: where the conversation stands.
        passes: plans, carries out and applies.
        counting: has the server count where an estimate is near a trigger.
        interrupt: Esc for what a turn waits for.
        boundary: held by a turn for all its time; whoever applies a compression between turns takes it.
        foreground: nothing is prepared, everything is awaited.

    Attributes:
        prepared: a compression that waits for a boundary.
    """

    def __init__(
        self,
        standing: Standing,
        passes: Passes,
        counting: Counting,
        interrupt: Interrupt,
        boundary: asyncio.Lock,
        *,
        foreground: bool,
    ) -> None:
        self._at, self._passes, self._interrupt, self._boundary_lock = standing, passes, interrupt, boundary
        self._foreground, self._counting = foreground, counting
        self._background = Interrupt()
        self._running: asyncio.Future[None] | None = None
        self._yields = False
        self._budget: IterationBudget | None = None
        self._compressed_at: int | None = None
        self.prepared: Prepared | None = None

    # -- what a turn calls ---------------------------------------------------------------------------------------

    def turn_begins(self, budget: IterationBudget) -> None:
        """A turn began; a split in the middle of it renews its BUDGET."""
        self._budget, self._compressed_at = budget, None
        if self._shares_model and self._background.running:
            self._yields = True
            self._background.stop()

    async def before_turn(self) -> None:
        """Preflight: the user's message is stored, nothing was sent yet."""
        await self._at_boundary("preflight")

    async def in_loop(self) -> None:
        """Between two iterations, all calls answered."""
        await self._at_boundary("in_turn")

    async def after_turn(self) -> None:
        """The reply is whole and measured."""
        self._budget = None
        await self._at_boundary("response")

    async def after_overflow(self, problem: ProviderError | None) -> bool:
        """The prompt is over the window: learn from PROBLEM what it states, and compress. Whether that brought it down.

        Runs whatever the breaker says, unless compression by itself is switched off.
        """
        at = self._at
        if isinstance(problem, Overflowed):
            await self._learn(problem)
        if not at.settings.context.auto:
            return False
        gained = False
        for _ in range(PASSES):
            if at.budgets is None or (gained and at.size.tokens < at.budgets.threshold):
                break
            if await self._pass("overflow") not in WENT_ON:
                break
            gained = True
        return gained

    async def after_refusal(self, problem: CompactionRefused) -> bool:
        """The server refuses the block of its own compaction: send what was written beside it. Whether there was one."""
        self.prepared = None
        return await self._passes.retell(problem)

    async def _learn(self, problem: Overflowed) -> None:
        """Take over a window that is smaller than the one in force, and the size that the server counted."""
        at = self._at
        model, known = at.view.model, at.budgets.window.value if at.budgets else None
        if problem.stated_window and (known is None or problem.stated_window < known):
            learned = {**at.state.window_learned, model: problem.stated_window}
            await at.keep(replace(at.state, window_learned=learned))
            at.publish(
                NoticeRaised(f"The window of {model} is {problem.stated_window:,} tokens: learned from the server's refusal.")
            )
        if problem.stated_tokens:
            await at.measured(at.view, Usage(input=problem.stated_tokens))
        await at.refresh()

    # -- at a boundary -------------------------------------------------------------------------------------------

    async def _at_boundary(self, trigger: Trigger) -> None:
        """Apply what waits or is due, in at most three passes."""
        if self.prepared is not None and self.prepared.by_hand:
            await self._apply_by_hand()
        if not self._grown_again():
            return
        if self._at.settings.context.auto:
            await self._counting.near_trigger()
        for _ in range(PASSES):
            due = await self._due(trigger)
            if due is None or await self._pass(trigger, due.plan) not in WENT_ON:
                return

    def _grown_again(self) -> bool:
        """Whether this turn was not compressed yet, or has grown enough since."""
        budgets = self._at.budgets
        return (
            budgets is None or self._compressed_at is None or self._at.size.tokens >= self._compressed_at + AGAIN * budgets.room
        )

    async def _due(self, trigger: Trigger) -> Decision | None:
        """Why a pass is due now, None where none is; where only its summary is, that is said."""
        at, now = self._at, self._at.clock()
        if at.budgets is None or not at.settings.context.auto or at.view.has_open_call:
            return None
        await at.keep(breaker.rearmed(at.state, at.size.tokens, at.budgets, now))
        if breaker.rests(at.state, at.size.tokens, at.budgets):
            return None
        view, state, budgets = at.view, at.state, at.budgets
        decision = await at.ask_engine(lambda engine: sound_decision(engine.should_compress(view, state, budgets, now), view))
        if decision.action == "prepare":
            self._announce(trigger)
        return decision if decision.action == "compress" else None

    def _announce(self, trigger: Trigger) -> None:
        """Say that the summary should be prepared, unless one is, or nothing can be done before the turn ends."""
        busy = self._running is not None or self.prepared is not None
        if self._foreground or busy or not self._passes.asks_model or (self._shares_model and trigger != "response"):
            return
        self._at.publish(SummaryDue())

    async def _pass(self, trigger: Trigger, plan: Plan | None = None) -> Done:
        """One pass at TRIGGER: PLAN if it is given, else the prepared summary where it fits, else afresh, awaited where it
        must be."""
        if plan is not None:
            return await self._applied(await self._written(Planned(plan, 0.0), trigger, by_code=True), trigger)
        ready = await self._ready()
        if ready is None:
            planned = await self._passes.plan()
            if planned.plan.kind is None or planned.plan.refusal is not None:
                return await self._passes.refused(_refusal(planned), trigger)
            slow = planned.plan.kind == "summarise" and self._passes.asks_model
            if slow and self._may_go_on(trigger):
                self._announce(trigger)
                return "waiting"
            if slow and self._running is not None:
                if await self._preparation_ends(trigger):
                    ready = await self._ready()
                else:
                    slow = False
            if ready is None:
                by_code = not slow or (self._shares_model and not self._foreground)
                ready = await self._written(planned, trigger, by_code=by_code)
        return await self._applied(ready, trigger)

    def _may_go_on(self, trigger: Trigger) -> bool:
        """Whether the turn need not wait for its summary yet."""
        at = self._at
        if self._foreground or trigger == "overflow" or at.budgets is None:
            return False
        return at.size.tokens < AWAITED * at.budgets.usable

    async def _ready(self) -> Prepared | None:
        """The prepared compression, made to fit the view as it stands; it is used up by asking."""
        at, prepared = self._at, self.prepared
        self.prepared = None
        if prepared is None:
            return None
        now = None
        if at.view.generation != prepared.compression.plan.generation:
            now = (await self._passes.plan()).plan
        view = at.view
        return await at.off.thought(fitted, prepared, view, now, at.size_of)

    async def _preparation_ends(self, trigger: Trigger) -> bool:
        """Wait for the summary that is being prepared; False where Esc ended it."""
        running = self._running
        if running is None:
            return True
        self._at.publish(SummaryAwaited(trigger))
        try:
            await self._interrupt.run(_ended(running))
        except Interrupted:
            self._interrupt.rearm()
            self._background.stop()
            await _ended(running)
            return False
        return True

    async def _written(self, planned: Planned, trigger: Trigger, *, by_code: bool) -> Prepared:
        """Carry a plan out while the turn waits; Esc takes the deterministic rung."""
        self._at.publish(CompressionStarted(planned.plan, trigger, background=False))
        if planned.plan.kind == "summarise" and not by_code:
            self._at.publish(SummaryAwaited(trigger))
        try:
            return await self._interrupt.run(self._passes.carry_out(planned, by_code=by_code))
        except Interrupted:
            self._interrupt.rearm()
            return await self._passes.carry_out(planned, by_code=True)

    async def _applied(self, ready: Prepared, trigger: Trigger) -> Done:
        done = await self._passes.apply(ready, trigger)
        if done == "gained":
            self._compressed_at = self._at.size.tokens
            if self._budget is not None and ready.compression.plan.kind == "summarise" and self._budget.taken:
                self._budget.renew()
        return done

    # -- in the background ---------------------------------------------------------------------------------------

    @property
    def preparing(self) -> bool:
        """Whether a summary is being written beside the turns."""
        return self._running is not None

    @property
    def _shares_model(self) -> bool:
        """Whether summaries come from the one small model that the conversation itself needs."""
        return self._passes.model is not None and self._passes.model.embedded

    def stop(self) -> bool:
        """Esc between turns: stop the summary that is being written; False where there is none."""
        if self._running is None:
            return False
        self._background.stop()
        return True

    def context_went_back(self) -> None:
        """The context was taken back to an earlier state: what was prepared for the later one is not needed."""
        self.prepared = None
        self.stop()

    async def prepare(self) -> None:
        """Write the summary that is due, beside the turns; applied the moment it is ready if none runs and the size is due."""
        at = self._at
        if self._foreground or self._running is not None or self.prepared is not None or at.budgets is None:
            return
        if at.view.has_open_call or not self._passes.asks_model:
            return
        with _Running(self):
            planned = await self._passes.plan()
            if planned.plan.kind != "summarise":
                return
            prepared = await self._write_beside(planned, "response", by_hand=False)
            self._yields = False
            if prepared is None:
                return
            if prepared.compression.change is None:
                await self._passes.refused(_refusal_of(prepared), "response", prepared)
                return
            self.prepared = prepared
            at.publish(SummaryPrepared(prepared.compression))
        if not self._boundary_lock.locked():
            async with self._boundary_lock:
                await self._at_boundary("response")

    async def by_hand(self, focus: str | None) -> None:
        """Compress now, whatever the size; waits for a turn that runs before it plans, and is applied at the next boundary."""
        at = self._at
        if self._running is not None:
            self._background.stop()
            await _ended(self._running)
        for _ in range(PASSES):
            async with self._boundary_lock:
                if at.budgets is None:
                    at.publish(NoticeRaised(at.impossible, severity="error"))
                    return
                ready = await self._ready() if not focus else None
                if ready is not None:
                    await self._passes.apply(ready, "manual")
                    return
                self.prepared = None
                await at.reload()
                await at.settle()
                planned = await self._passes.plan(focus or "")
                if planned.plan.kind is None or planned.plan.refusal is not None:
                    await self._passes.refused(_refusal(planned), "manual")
                    return
            with _Running(self):
                prepared = await self._write_beside(planned, "manual", by_hand=True)
            if prepared is not None and prepared.compression.change is None:
                await self._passes.refused(_refusal_of(prepared), "manual", prepared)
                return
            if prepared is not None:
                self.prepared = prepared
                if self._boundary_lock.locked():
                    return  # the turn that has begun meanwhile applies it at its next boundary
                async with self._boundary_lock:
                    if await self._apply_by_hand() != "moved":
                        return
            elif not self._yields:
                return
            self._yields = False

    async def _write_beside(self, planned: Planned, trigger: Trigger, *, by_hand: bool) -> Prepared | None:
        """Carry a plan out beside the turns; None where it was stopped, and then nothing has changed."""
        self._background.rearm()
        self._at.publish(CompressionStarted(planned.plan, trigger, background=not by_hand))
        try:
            return await self._background.run(self._passes.carry_out(planned, by_hand=by_hand))
        except Interrupted:
            self._at.publish(CompressionStopped(yielded=self._yields))
            return None
        except asyncio.CancelledError:
            self._at.publish(CompressionStopped())
            raise

    async def _apply_by_hand(self) -> Done:
        """Apply what was asked for by hand, if a turn has not compressed the same middle meanwhile."""
        ready = await self._ready()
        if ready is not None:
            return await self._applied(ready, "manual")
        meanwhile = Refusal("nothing_eligible", "The conversation was compressed meanwhile; this summary is not needed.")
        return await self._passes.refused(meanwhile, "manual")


class _Running:
    """While it is entered, a summary is being written beside the turns; whoever waits for its end can."""

    def __init__(self, of: Compressing) -> None:
        self._of = of
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __enter__(self) -> None:
        self._of._running = self._future

    def __exit__(self, *_: object) -> None:
        self._of._running = None
        self._future.set_result(None)


async def _ended(running: asyncio.Future[None]) -> None:
    await asyncio.shield(running)


def _refusal(planned: Planned) -> Refusal:
    return planned.plan.refusal or Refusal("nothing_eligible", "There is nothing to compress yet.")


def _refusal_of(prepared: Prepared) -> Refusal:
    return prepared.compression.refusal or NONE_ACCEPTED
