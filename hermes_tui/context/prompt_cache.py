"""The prompt cache, simulated: what a request reads from a warm cache, and what it has to write.

A server caches prompts by their exact beginning. What two requests in a row have in common from the start, system and tools
first and then row by row, is read; everything behind the first difference is written anew, because the newest rows always
carry a breakpoint. Assumed: the cache never goes cold between two requests, and every earlier end of a row can be read from.
Least sizes and the server's limited look-back are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import ContextView


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of one request.

    Attributes:
        parts: what is sent, in order: system and tools together, then each row; compared by equality.
        tokens: of each part.
        size: of the whole, as the gauge shows it.
    """

    parts: tuple[object, ...]
    tokens: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What a request read from the cache and wrote to it, in tokens; ``broken`` where the one before was not read whole."""

    read: int
    written: int
    broken: bool


def prompt_of(view: ContextView, size: int, scale: float, meter: Meter) -> Prompt:
    """The prompt of SIZE tokens that VIEW is sent as; what the rows do not account for is the system's share.

    Args:
        view: what is sent.
        size: the size of the request, as the gauge shows it.
        scale: real tokens per estimated token.
        meter: the estimates.
    """
    rows = sent_rows(view)
    tokens = [round(scale * meter.row(row)) for row in rows]
    parts = ((view.model, view.system, view.tools), *((row.role, row.content) for row in rows))
    return Prompt(parts, (max(0, size - sum(tokens)), *tokens), size)


def cache_use(before: Prompt | None, now: Prompt) -> CacheUse:
    """What NOW finds in the cache that BEFORE, the request before it, left (None: there was none)."""
    if before is None:
        return CacheUse(0, now.size, broken=False)
    common = 0
    for old, new in zip(before.parts, now.parts, strict=False):
        if old is not new and old != new:
            break
        common += 1
    written = min(now.size, sum(now.tokens[common:]))
    return CacheUse(now.size - written if common else 0, written if common else now.size, broken=common < len(before.parts))
