"""The seam for memory providers, and the one that ships: none.

A provider is asked when a summary is drafted, with the messages that the summary will replace. What it returns is given to the
summariser as notes. It is data from outside: bounded here, redacted and escaped where it is used, and a provider that fails
or dawdles is left out, never in the way.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from hermes_tui.context.messages import Message, scrub

NOTES_CHARS: Final = 4_000
"""Characters of notes that one provider may add: about a thousand tokens, a tenth of the largest summary."""
NOTES_SECONDS: Final = 5.0
"""Time that a provider has; after that the summary is written without it."""


_log = logging.getLogger(__name__)


class MemoryProvider(ABC):
    """Something that remembers across conversations."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the provider is called on screen."""

    @abstractmethod
    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        """What should be kept of MESSAGES, which a summary is about to replace; "" for nothing.

        Called in a thread of its own, once per drafted summary, also for one that is never applied.
        """

    def close(self) -> None:  # noqa: B027 - most providers hold nothing
        """Free what the provider holds."""


class NullMemory(MemoryProvider):
    """Remembers nothing."""

    @property
    def name(self) -> str:
        """Its name."""
        return "none"

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        """Nothing."""
        return ""


async def notes_of(provider: MemoryProvider, messages: Sequence[Message]) -> tuple[str, str]:
    """What PROVIDER has to add on MESSAGES, and why it has nothing where it failed ("" where it did not).

    The notes are scrubbed and cut at `NOTES_CHARS`; a provider that raises, returns no text or takes longer than
    `NOTES_SECONDS` adds nothing.
    """
    if isinstance(provider, NullMemory):
        return "", ""
    try:
        said = await asyncio.wait_for(_asked(provider, tuple(messages)), NOTES_SECONDS)
    except TimeoutError:
        return "", f"The memory provider {provider.name} did not answer within {NOTES_SECONDS:.0f} s; its notes are left out."
    except Exception as problem:
        _log.warning("memory provider %s failed: %s", provider.name, type(problem).__name__)
        return "", f"The memory provider {provider.name} failed ({type(problem).__name__}); its notes are left out."
    if not isinstance(said, str):
        return "", f"The memory provider {provider.name} returned no text; its notes are left out."
    return scrub(said)[:NOTES_CHARS], ""


async def _asked(provider: MemoryProvider, messages: tuple[Message, ...]) -> object:
    """What PROVIDER returns, from a daemon thread: one that never answers must not hold up the end of the program."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()

    def settle(value: object, problem: Exception | None) -> None:
        if answer.done():
            return
        if problem is None:
            answer.set_result(value)
        else:
            answer.set_exception(problem)

    def ask() -> None:
        value: object = None
        failed: Exception | None = None
        try:
            value = provider.on_pre_compress(messages)
        except Exception as problem:
            failed = problem
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, failed)

    threading.Thread(target=ask, name="hermes-memory", daemon=True).start()
    return await answer
