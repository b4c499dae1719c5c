"""Noting: the summarising model asked for notes about the user, beside the summary that it writes.

One call for a summary at most, which counts among the pass's. Whatever goes wrong with it, the compression goes on without.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final, TypeVar

from hermes_tui.chat.replies import CostOf
from hermes_tui.chat.requests import Requests
from hermes_tui.chat.standing import Standing
from hermes_tui.chat.summariser import SummaryCalls, SummaryModel
from hermes_tui.context.engine import Plan
from hermes_tui.memory.asking import believed, question
from hermes_tui.memory.notes import NotesProvider

T = TypeVar("T")
SECONDS: Final = 60.0
"""Time for the call: its answer is a third of a summary's."""
GRACE: Final = 5.0
"""Time that it has left once the summary is written; then it is stopped."""

_log = logging.getLogger(__name__)


class Noting:
    """The call for notes in what PLAN summarises, kept by NOTES."""

    def __init__(
        self, standing: Standing, requests: Requests, model: SummaryModel, notes: NotesProvider, plan: Plan, cost_of: CostOf
    ) -> None:
        self._at, self._model, self._notes, self._plan = standing, model, notes, plan
        self._calls = SummaryCalls(standing, requests, model, plan.view or standing.view, cost_of, (), "notes")

    @property
    def cost(self) -> float:
        """Dollars that it cost, as far as a price is known."""
        return self._calls.cost or 0.0

    async def beside(self, summary: Awaitable[T]) -> T:
        """What SUMMARY comes to; notes are asked for meanwhile. What ends the summary ends this too."""
        noting = asyncio.ensure_future(self._note())
        try:
            made = await summary
            await asyncio.wait({noting}, timeout=GRACE)
            return made
        finally:
            if not noting.done():
                noting.cancel()
                await asyncio.wait({noting})

    async def _note(self) -> None:
        at = self._at
        try:
            first = (await at.off.stored(at.store.sessions, at.chain))[0]
            if first.relation == "import":  # somebody else's words
                return
            asked = await asyncio.to_thread(question, self._plan.sources, self._model.facts.window.value, at.meter.count)
            if asked is None:
                return
            async with asyncio.timeout(SECONDS):
                answer = await self._calls.ask(asked.prompt)
            await at.off.stored(lambda: self._notes.learn(believed(answer, asked)))
        except Exception as problem:
            _log.warning("no notes from the summarising model: %s", type(problem).__name__)
