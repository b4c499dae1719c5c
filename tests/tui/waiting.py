"""Waiting for what a test is about, never for time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot


async def until(pilot: Pilot[Any], condition: Callable[[], Any], seconds: float = 20.0) -> None:
    """Let the app run until CONDITION holds.

    Raises:
        AssertionError: it does not within SECONDS.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        await pilot.pause(0.01)


def shown(app: Any) -> str:
    """The screen as plain text, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips[: app.size.height])
