"""Work off the event loop: threads for the database, for planning and for summarising, owned by one conversation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class OffLoop:
    """One thread for each kind of work: writes keep their order, and a long plan never holds up a write.

    They are small executors of the conversation's own, because the loop's default pool is shared with rendering.
    """

    def __init__(self) -> None:
        self._database = ThreadPoolExecutor(1, thread_name_prefix="hermes-store")
        self._planning = ThreadPoolExecutor(1, thread_name_prefix="hermes-plan")
        # One that was stopped may still compute for a moment when the next one begins.
        self._summarising = ThreadPoolExecutor(2, thread_name_prefix="hermes-summary")

    async def stored(self, call: Callable[..., T], *args: Any, **named: Any) -> T:
        """CALL in the database's thread; what it raises is raised here."""
        return await _finished(self._database, partial(call, *args, **named))

    async def stored_or_undone(self, undo: Callable[[T], object], call: Callable[..., T], *args: Any, **named: Any) -> T:
        """CALL in the database's thread. If the task is cancelled meanwhile, UNDO is given its result, which nobody learns."""
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._database, partial(call, *args, **named))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})
            if future.exception() is None:
                await asyncio.wait({loop.run_in_executor(self._database, undo, future.result())})
            raise

    async def thought(self, call: Callable[..., T], *args: Any, **named: Any) -> T:
        """CALL, pure code, in the planning thread; what it raises is raised here."""
        return await _finished(self._planning, partial(call, *args, **named))

    async def beside(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The coroutine of WORK, which computes a lot between its awaits, on a loop of its own in the summarising thread."""
        own = _OwnLoop(work)
        future = asyncio.get_running_loop().run_in_executor(self._summarising, own.run)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            own.cancel()
            await asyncio.wait({future})
            future.exception()  # taken, so that nobody is told of a cancellation that was wanted
            raise

    def close(self) -> None:
        """Let what runs end, take nothing new."""
        self._database.shutdown(wait=False)
        self._planning.shutdown(wait=False, cancel_futures=True)
        self._summarising.shutdown(wait=False, cancel_futures=True)


class _OwnLoop(Generic[T]):
    """A coroutine on a loop of its own, which can be cancelled from another thread."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._work = work
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[T] | None = None
        self._cancelled = False

    def run(self) -> T:
        """Run it to its end, in the thread that this is called in."""
        try:
            self._task = self._loop.create_task(self._work())
            if self._cancelled:
                self._task.cancel()
            return self._loop.run_until_complete(self._task)
        finally:
            self._loop.close()

    def cancel(self) -> None:
        """Cancel it, from any thread."""
        self._cancelled = True
        if self._task is not None:
            with contextlib.suppress(RuntimeError):  # its loop has just ended
                self._loop.call_soon_threadsafe(self._task.cancel)


async def _finished(executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    """The result of CALL. A cancelled task still waits for it: a write is never left half known."""
    future = asyncio.get_running_loop().run_in_executor(executor, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        raise
