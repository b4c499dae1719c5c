"""A turn: one user message and all that answers it.

message stored -> preflight -> request -> reply -> its calls answered -> perhaps a compression of the run -> request -> … ->
the reply without calls -> post-response check. Whatever ends it is said in one `TurnEnded`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hermes_tui.chat.calls import Calls
from hermes_tui.chat.compressing import Compressing
from hermes_tui.chat.events import TurnEnded, TurnStarted
from hermes_tui.chat.interrupt import Interrupt
from hermes_tui.chat.iterations import ITERATIONS, IterationBudget
from hermes_tui.chat.replies import Replies, Reply, ReplyFailed, ReplyStopped
from hermes_tui.chat.standing import Standing
from hermes_tui.context.messages import Block, calls_of
from hermes_tui.llm.provider import CompactionRefused, Overflowed, ProviderError
from hermes_tui.store.errors import StoreError, Unpaired

OVERFLOWS: Final = 3
"""Overflows in a row that are answered by compressing; after that the turn ends."""

CUT: Final = "The reply was cut off at its limit of {limit:,} tokens. Send “continue”, or raise model.max_tokens."
FULL: Final = "The reply stopped where the model's window ended. It is kept; the conversation is compressed before it goes on."
REFUSED: Final = "The model declined to answer. Your message is kept; say it another way, or switch the model with /model."
SPENT: Final = "The turn took {taken} model calls, its most. What it did is kept: send “continue” to go on."
EMPTY: Final = "The model answered with nothing. Your message is kept; send it again or say more."
RUNNING: Final = (
    "Another process runs tools in this conversation. Your message is kept: send “continue” when they have ended there."
)
CANCELLED: Final = "Stopped. What had come of the reply is kept."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended: the reason and sentence of its `TurnEnded`."""

    reason: str
    sentence: str = ""


class Turn:
    """Runs turns, one at a time."""

    def __init__(
        self,
        standing: Standing,
        replies: Replies,
        calls: Calls,
        compressing: Compressing,
        interrupt: Interrupt,
        iterations: int = ITERATIONS,
    ) -> None:
        self._at, self._replies, self._calls = standing, replies, calls
        self._compressing, self._interrupt, self._iterations = compressing, interrupt, iterations

    async def run(self, content: Sequence[Block]) -> Outcome:
        """Store CONTENT as the user's message and answer it.

        Raises:
            StoreError: the database refused a write; the turn is over, and what was stored stays.
        """
        at = self._at
        self._interrupt.rearm()
        try:
            message = await at.append("user", content, "user")
        except Unpaired:
            await at.reload()
            if not await at.settle():
                raise
            message = await at.append("user", content, "user")
        at.publish(TurnStarted(message))
        try:
            outcome = await self._answered()
        except asyncio.CancelledError:
            await at.settle()
            at.publish(TurnEnded("cancelled", CANCELLED))
            raise
        except StoreError as problem:
            outcome = Outcome("failed", problem.sentence)
        at.publish(TurnEnded(outcome.reason, outcome.sentence))
        if outcome.reason not in ("cancelled", "failed"):
            await self._compressing.after_turn()
        return outcome

    async def _answered(self) -> Outcome:
        """Iterate until the model has answered without calls, or something ends the turn."""
        budget, overflows = IterationBudget(self._iterations), 0
        self._compressing.turn_begins(budget)
        await self._compressing.before_turn()
        while True:
            if not await self._at.settle():
                return Outcome("failed", RUNNING)
            if self._exceeds(usable=True) and not await self._compressing.after_overflow(None) and self._exceeds():
                return Outcome("failed", self._at.impossible or self._known_to_exceed())
            if budget.spent:
                return Outcome("iterations", SPENT.format(taken=budget.taken))
            try:
                reply = await self._replies.get()
            except CompactionRefused as problem:
                if not await self._compressing.after_refusal(problem):
                    return Outcome("failed", problem.sentence)
                continue
            except ProviderError as problem:  # an overflow, or a server that fails on a nearly full window
                overflows += 1
                if overflows > OVERFLOWS or not await self._compressing.after_overflow(problem):
                    return Outcome("failed", self._too_long(problem))
                continue
            except ReplyStopped:
                return await self._stopped()
            except ReplyFailed as problem:
                await self._at.settle()
                return Outcome("failed", problem.sentence)
            budget.take()
            overflows = 0
            outcome = await self._after(reply)
            if outcome is not None:
                return outcome

    async def _after(self, reply: Reply) -> Outcome | None:
        """What REPLY leads to: an end of the turn, or None for another iteration."""
        message = reply.message
        if message is not None and calls_of(message):
            if not await self._calls.answer(message) or self._interrupt.asked:
                return await self._stopped()
            await self._compressing.in_loop()
            return None
        if reply.stop_reason == "cancelled":
            return await self._stopped()
        if reply.stop_reason == "pause_turn" and message is not None:
            return None
        return self._end(reply)

    def _end(self, reply: Reply) -> Outcome:
        at = self._at
        if reply.stop_reason == "max_tokens":
            limit = at.budgets.reserved.value if at.budgets else 0
            return Outcome("max_tokens", CUT.format(limit=limit))
        if reply.stop_reason == "model_context_window_exceeded":
            return Outcome("max_tokens", FULL)
        if reply.stop_reason == "refusal":
            return Outcome("refusal", REFUSED)
        return Outcome("end_turn", "" if reply.message is not None else EMPTY)

    async def _stopped(self) -> Outcome:
        """The user stopped the turn: nothing is left open."""
        self._interrupt.rearm()
        await self._at.settle()
        return Outcome("cancelled", CANCELLED)

    def _exceeds(self, *, usable: bool = False) -> bool:
        """Whether the next request is known to exceed the window (with USABLE: to leave too little for the reply).

        Where nothing is known to tell it by, it is not sent either.
        """
        at = self._at
        return at.budgets is None or at.size.tokens > (at.budgets.usable if usable else at.budgets.window.value)

    def _known_to_exceed(self) -> str:
        at = self._at
        window = at.budgets.window if at.budgets else None
        if window is None:
            return at.impossible
        way = "compressing could not bring it down" if at.settings.context.auto else "compressing by itself is switched off"
        return (
            f"The request would take {at.size.mark}{at.size.tokens:,} tokens, but the window has {window.value:,} "
            f"({window.source}), and {way}. Your message is kept. Use /compress, say it shorter, or set model.window if that "
            "number is wrong."
        )

    def _too_long(self, problem: ProviderError) -> str:
        if not isinstance(problem, Overflowed):
            return problem.sentence
        if not self._at.settings.context.auto:
            return f"{problem.sentence} Your message is kept: use /compress, then send “continue”."
        return (
            f"{problem.sentence} Compressing could not bring it down far enough. Your message is kept: send a shorter one, "
            "or start afresh with /new."
        )
