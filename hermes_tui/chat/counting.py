"""Counting by the server: the true size of the next request where an estimate will not do.

The Messages API counts a request for nothing, under a limit of its own. It is asked when a size that is only estimated lies so
near a trigger that the estimate may fall on the wrong side of it, and when nothing runs after an edit or a change of the model.
What it answers is an anchor like any measurement. No failure is told: the estimate stands.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat.events import CountDue
from hermes_tui.chat.requests import Parameters, Requests
from hermes_tui.chat.standing import Standing
from hermes_tui.context.tokens import MESSAGE_FRAME
from hermes_tui.context.view import ContextView
from hermes_tui.llm.provider import ProviderError

if TYPE_CHECKING:
    from hermes_tui.llm.choose import ChatProvider

NEAR: Final = 0.05
"""Of a trigger: an estimate that is no farther from it is counted (previews are within 7 %, next requests within 1 %)."""
WAIT_SECONDS: Final = 1.0
"""That a turn waits for a count, at most."""
IDLE_SECONDS: Final = 20.0
"""That a count may take while nothing runs."""
REST_SECONDS: Final = 60.0
"""After a failure: the limit is the server's own, and by the minute."""
OPENING: Final = "."
"""A request ends with a user's message. Where the context does not, this stands for the next one, and is taken off again."""


class Counting:
    """Has the server count for one conversation.

    Args:
        standing: where the conversation stands.
        requests: renders what would be sent.
        provider: who counts.
        foreground: nothing runs beside the turns.
    """

    def __init__(self, standing: Standing, requests: Requests, provider: ChatProvider, *, foreground: bool) -> None:
        self._at, self._requests, self._provider = standing, requests, provider
        self._foreground = foreground
        self._rests_until = 0.0
        self._counts = standing.is_live
        self._asked: tuple[int, int] | None = None

    async def near_trigger(self) -> None:
        """Have the size counted if it is estimated and near a trigger; a turn waits a second for it, no longer."""
        budgets, size = self._at.budgets, self._at.size
        if budgets is None or size.kind == "measured":
            return
        if any(abs(size.tokens - limit) <= NEAR * limit for limit in (budgets.threshold, budgets.in_loop)):
            await self._count(WAIT_SECONDS)

    def idle(self) -> None:
        """Nothing runs now: where the size was never measured, or not since an edit, a count is due."""
        at = self._at
        moment = (at.view.generation, len(at.view.entries))
        unknown = at.size.kind == "stale" or (at.state.anchor is None and bool(at.view.entries))
        if unknown and self._may and not self._foreground and moment != self._asked:
            self._asked = moment
            at.publish(CountDue())

    async def count(self) -> None:
        """Have the size counted while nothing waits for it."""
        await self._count(IDLE_SECONDS)

    @property
    def _may(self) -> bool:
        at = self._at
        return self._counts and at.budgets is not None and not at.view.has_open_call and at.clock() >= self._rests_until

    async def _count(self, seconds: float) -> None:
        at = self._at
        if not self._may:
            return
        view, anchor = at.view, at.state.anchor
        body, opened = await at.off.thought(_countable, self._requests.parameters(), view)
        try:
            async with asyncio.timeout(seconds):
                tokens = await self._provider.count_tokens(body)
        except (ProviderError, TimeoutError):
            self._rests_until = at.clock() + REST_SECONDS
            return
        if tokens is None:
            self._counts = False
        elif at.state.anchor is anchor and at.view.model == view.model:  # nothing was measured meanwhile
            opening = round(at.meter.scale(view, at.state) * (MESSAGE_FRAME + at.meter.count(OPENING))) if opened else 0
            await at.counted(view, max(1, tokens - opening))


def _countable(parameters: Parameters, view: ContextView) -> tuple[dict[str, Any], bool]:
    """The next request for VIEW as the API counts one, and whether an opening had to be put at its end."""
    body = parameters.body(view)
    messages = body["messages"]
    if messages and messages[-1]["role"] == "user":
        return body, False
    return {**body, "messages": [*messages, {"role": "user", "content": [{"type": "text", "text": OPENING}]}]}, True
