"""Esc: the one way to stop what waits for somebody else, at once and from anywhere on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

GRACE: Final = 0.2
"""Seconds that stopped work gets to free its connection before it is left behind: Esc has to work within 0.3 s."""


class Interrupted(Exception):
    """The user stopped the work."""


class Interrupt:
    """Runs one piece of work at a time and can stop it.

    Only waiting for others (a provider, a tool, a countdown) is run through it; what the conversation itself writes is short
    and always ends. A stop that comes between two pieces of work meets the next one.
    """

    def __init__(self) -> None:
        self.asked = False
        self._stop: asyncio.Future[None] | None = None

    @property
    def running(self) -> bool:
        """Whether something runs that could be stopped."""
        return self._stop is not None

    def stop(self) -> None:
        """Stop what runs, or the next piece of work."""
        self.asked = True
        if self._stop is not None and not self._stop.done():
            self._stop.set_result(None)

    def rearm(self) -> None:
        """Forget a stop that was asked for: a new turn, or another way taken instead."""
        self.asked = False

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of WORK.

        Raises:
            Interrupted: it was stopped; WORK was cancelled, and waited for up to `GRACE`.
        """
        if self.asked:
            work.close()
            raise Interrupted
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(work)
        task.add_done_callback(_forget_failure)
        self._stop = stop
        try:
            waited: set[asyncio.Future[Any]] = {task, stop}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise Interrupted
        finally:
            self._stop = None
            stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=GRACE)


def _forget_failure(task: asyncio.Future[Any]) -> None:
    """Take the exception of work that was left behind, which nobody awaits any more."""
    if not task.cancelled():
        task.exception()
