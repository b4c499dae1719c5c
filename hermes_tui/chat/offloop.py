"""Work off the event loop: one thread for the database, one for counting and planning, both owned by one conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class OffLoop:
    """Two single threads: writes keep their order, and a long plan never holds up a write.

    Both are small executors of the conversation's own, because the loop's default pool is shared with rendering.
    """

    def __init__(self) -> None:
        self._database = ThreadPoolExecutor(1, thread_name_prefix="hermes-store")
        self._planning = ThreadPoolExecutor(1, thread_name_prefix="hermes-plan")

    async def stored(self, call: Callable[..., T], *args: Any, **named: Any) -> T:
        """CALL in the database's thread; what it raises is raised here."""
        return await _finished(self._database, partial(call, *args, **named))

    async def thought(self, call: Callable[..., T], *args: Any, **named: Any) -> T:
        """CALL, pure code, in the planning thread; what it raises is raised here."""
        return await _finished(self._planning, partial(call, *args, **named))

    def close(self) -> None:
        """Let what runs end, take nothing new."""
        self._database.shutdown(wait=False)
        self._planning.shutdown(wait=False, cancel_futures=True)


async def _finished(executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    """The result of CALL. A cancelled task still waits for it: a write is never left half known."""
    future = asyncio.get_running_loop().run_in_executor(executor, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        raise
