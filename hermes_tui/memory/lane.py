"""A lane: one provider's calls, one after another in a daemon thread of its own.

What hangs there holds up nobody: callers wait for a result only as long as they choose, a call that has not begun by then is
never made, and while one hangs no other is taken. A daemon thread does not keep the program from ending either.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from hermes_tui.memory.provider import MemoryProvider

SECONDS: Final = 5.0
"""Time that a call has before the provider counts as hanging."""
WAITING: Final = 16
"""Calls that may wait for their turn: a turn makes one or two."""

Call = Callable[[MemoryProvider], object]


class Hanging(Exception):
    """The provider has not come back from an earlier call."""


class Failed(Exception):
    """The provider raised; the message is the name of what it raised. (A cancel of its own must not cancel who asked.)"""


class Lane:
    """The calls of PROVIDER.

    Attributes:
        name: the provider's, however it answers.
        told: a failure of it was said already.
    """

    def __init__(self, provider: MemoryProvider) -> None:
        self._provider = provider
        try:
            self.name = str(provider.name)[:60] or type(provider).__name__
        except Exception:
            self.name = type(provider).__name__
        self.told = False
        self._calls: queue.Queue[tuple[Call, Future[object]] | None] = queue.Queue(WAITING)
        self._since: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def provider(self) -> MemoryProvider:
        """Whose calls these are."""
        return self._provider

    def call(self, call: Call) -> Future[object]:
        """Let CALL be made when its turn comes; its result or `Failed` comes through the future.

        Raises:
            Hanging: the provider hangs, or more calls wait than it can answer.
        """
        since = self._since
        if since is not None and time.monotonic() - since > SECONDS:
            raise Hanging
        future: Future[object] = Future()
        try:
            self._calls.put_nowait((call, future))
        except queue.Full:
            raise Hanging from None
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"hermes-memory-{self.name}", daemon=True)
            self._thread.start()
        return future

    def end(self) -> None:
        """Close the provider after what waits; nothing is waited for."""
        try:
            self.call(lambda provider: provider.close())
            self._calls.put_nowait(None)
        except (Hanging, queue.Full):
            return

    def _work(self) -> None:
        while (waiting := self._calls.get()) is not None:
            call, future = waiting
            if not future.set_running_or_notify_cancel():
                continue
            self._since = time.monotonic()
            try:
                result = call(self._provider)
            except BaseException as problem:
                future.set_exception(Failed(type(problem).__name__))
            else:
                future.set_result(result)
            finally:
                self._since = None
