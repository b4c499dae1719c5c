"""Memory: all providers of a conversation behind one object, which none of them can hold up or break.

A provider that raises, dawdles or returns what is no text is left out of that call, and the reason is said once. What several
return is put together in the order of the settings, each bounded.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, TypeVar

from hermes_tui.context.messages import Message, scrub
from hermes_tui.memory.lane import SECONDS, Call, Failed, Hanging, Lane
from hermes_tui.memory.provider import MemoryProvider

TEXT_CHARS: Final = 4_000
"""Characters that one provider may return: about a thousand tokens, a tenth of the largest summary."""
PREFETCH_SECONDS: Final = 2.0
"""Time that providers have for a new conversation: its first message waits for them."""

SENTENCE_CHARS: Final = 400
"""Characters of what a provider has to say of a turn."""

Tell = Callable[[str, str], None]
"""Says a sentence on the screen, and how bad it is; called on the loop."""
P = TypeVar("P", bound=MemoryProvider)

_log = logging.getLogger(__name__)


class Memory:
    """PROVIDERS at work; ABSENT says why others that the settings name are not among them.

    Made once for the app and shared by all its conversations. Without providers nothing is remembered, and nothing happens.
    """

    def __init__(self, providers: Sequence[MemoryProvider] = (), absent: Sequence[str] = ()) -> None:
        self._lanes = [Lane(provider) for provider in providers]
        self._absent = list(absent)

    @property
    def names(self) -> tuple[str, ...]:
        """The providers' names."""
        return tuple(lane.name for lane in self._lanes)

    def provider(self, kind: type[P]) -> P | None:
        """The provider of that KIND, None where it is not used."""
        return next((lane.provider for lane in self._lanes if isinstance(lane.provider, kind)), None)

    # -- what providers say ------------------------------------------------------------------------------------------

    async def prefetch(self, directory: str | None, tell: Tell) -> tuple[str, ...]:
        """What a new conversation in DIRECTORY should know, a text a provider."""
        return await self._asked(lambda provider: provider.prefetch(directory), PREFETCH_SECONDS, tell)

    async def on_pre_compress(self, messages: Sequence[Message], tell: Tell) -> str:
        """What the summariser should know of MESSAGES."""
        given = tuple(messages)
        return "\n\n".join(await self._asked(lambda provider: provider.on_pre_compress(given), SECONDS, tell))

    def show(self, messages: Sequence[Message], tell: Tell) -> None:
        """The same where no summariser wants to know: nobody waits for an answer."""
        given = tuple(messages)
        self._told(lambda provider: provider.on_pre_compress(given), tell)

    # -- what providers are told ---------------------------------------------------------------------------------------

    def on_session_start(self, session: str, tell: Tell) -> None:
        """SESSION was opened."""
        for sentence in self._absent:
            tell(sentence, "warning")
        self._absent.clear()
        self._told(lambda provider: provider.on_session_start(session), tell)

    def on_session_switch(self, session: str, parent: str, tell: Tell) -> None:
        """The conversation goes on in SESSION after PARENT."""
        self._told(lambda provider: provider.on_session_switch(session, parent), tell)

    def on_session_end(self, session: str, tell: Tell) -> None:
        """SESSION was closed."""
        self._told(lambda provider: provider.on_session_end(session), tell)

    def on_turn(self, session: str, messages: Sequence[Message], tell: Tell) -> None:
        """A turn of SESSION ended."""
        given = tuple(messages)
        self._told(lambda provider: provider.on_turn(session, given), tell, heard=True)

    async def settled(self, seconds: float) -> None:
        """Return when all that was told has been heard, after SECONDS at the latest."""
        waiting = [future for lane in self._lanes if (future := _sent(lane, lambda provider: None)) is not None]
        if waiting:
            await asyncio.wait([asyncio.wrap_future(future) for future in waiting], timeout=seconds)

    def close(self) -> None:
        """Let the providers close themselves after what they still have to do; nothing is waited for."""
        for lane in self._lanes:
            lane.end()

    # -- how -----------------------------------------------------------------------------------------------------------

    async def _asked(self, call: Call, seconds: float, tell: Tell) -> tuple[str, ...]:
        """The texts that the providers return, at the same time, those of them that do within SECONDS."""
        texts = await asyncio.gather(*(self._one(lane, call, seconds, tell) for lane in self._lanes))
        return tuple(text for text in texts if text.strip())

    async def _one(self, lane: Lane, call: Call, seconds: float, tell: Tell) -> str:
        try:
            said = await asyncio.wait_for(asyncio.wrap_future(lane.call(call)), seconds)
        except (TimeoutError, Hanging):
            _leave_out(lane, f"did not answer within {seconds:.0f} s", tell)
            return ""
        except Failed as problem:
            _leave_out(lane, f"failed ({problem})", tell)
            return ""
        if not isinstance(said, str):
            _leave_out(lane, "returned no text", tell)
            return ""
        return scrub(said)[:TEXT_CHARS]

    def _told(self, call: Call, tell: Tell, *, heard: bool = False) -> None:
        """Let CALL be made at every provider, and wait for none; with HEARD, say what they answer."""
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def over(lane: Lane, future: Future[object]) -> None:
            if future.cancelled() or loop.is_closed():
                return
            problem = future.exception()
            if problem is not None:
                loop.call_soon_threadsafe(_leave_out, lane, f"failed ({problem})", tell, context=context)
            elif heard and isinstance(said := future.result(), str) and said.strip():
                loop.call_soon_threadsafe(tell, scrub(said)[:SENTENCE_CHARS], "information", context=context)

        for lane in self._lanes:
            try:
                future = lane.call(call)
            except Hanging:
                _leave_out(lane, f"did not come back within {SECONDS:.0f} s", tell)
            else:
                future.add_done_callback(lambda done, lane=lane: over(lane, done))  # type: ignore[misc]  # bound now


def _sent(lane: Lane, call: Call) -> Future[object] | None:
    try:
        return lane.call(call)
    except Hanging:
        return None


def _leave_out(lane: Lane, what: str, tell: Tell) -> None:
    """Log that a provider failed, and say it the first time."""
    _log.warning("memory provider %s %s", lane.name, what)
    if not lane.told:
        lane.told = True
        left = "what it would have added is left out. Everything else goes on without it."
        tell(f"The memory provider {lane.name} {what}; {left}", "warning")
