"""How work grows with what it is given: two processor times of one run, compared. Seconds tell of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

TIMES = 3


def growth(work: Callable[[Any], object], small: Any, large: Any) -> float:
    """How many times as long WORK takes on LARGE as on SMALL; the best of a few runs of each."""
    return _best(work, large) / max(_best(work, small), 1e-6)


def _best(work: Callable[[Any], object], given: Any) -> float:
    times = []
    for _ in range(TIMES):
        started = time.thread_time()
        work(given)
        times.append(time.thread_time() - started)
    return min(times)
