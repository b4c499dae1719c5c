"""Work off the loop that nobody waits for on leaving: each piece in a daemon thread of its own.

A pool's threads are joined at exit, and importing an SDK takes a second or two.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Aside(ThreadPoolExecutor):
    """Runs each piece of work in a daemon thread of its own; shutting down waits for none of them."""

    def __init__(self) -> None:
        super().__init__(1)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """FN in a thread; its result or exception comes through the future."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=work, name="aside", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is waited for."""


_aside = Aside()


def use_aside() -> None:
    """Let everything that is handed to the running loop's default pool go aside too."""
    asyncio.get_running_loop().set_default_executor(_aside)


async def aside(call: Callable[..., T], *args: Any, **named: Any) -> T:
    """CALL off the loop; what it raises is raised here."""
    return await asyncio.wrap_future(_aside.submit(call, *args, **named))
