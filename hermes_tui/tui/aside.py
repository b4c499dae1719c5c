"""Work off the loop that nobody waits for on leaving: each piece in a daemon thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def aside(call: Callable[..., T], *args: Any, **named: Any) -> T:
    """CALL in a thread; what it raises is raised here. A pool's threads would be joined at exit, a second of imports long."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def work() -> None:
        try:
            outcome: tuple[T | None, BaseException | None] = (call(*args, **named), None)
        except BaseException as error:
            outcome = (None, error)
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(settle, *outcome)
            except RuntimeError:
                return  # the loop was closed between the two: nobody waits any more

    threading.Thread(target=work, name="aside", daemon=True).start()
    return await future
