"""The seam for memory providers: something that remembers across conversations.

Others are installed as packages: an entry point of the group ``hermes_tui.memory_providers`` names a factory that takes
nothing and returns a `MemoryProvider`; the setting ``memory.providers`` names those that are used. Everything that a provider
returns is data from outside: bounded, redacted and escaped where it is used. One that raises, dawdles or returns rubbish is
left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from hermes_tui.context.messages import Message


class MemoryProvider(ABC):
    """Something that remembers across conversations.

    All hooks of one provider are called one after another, in a thread of its own. Only `on_pre_compress` has to be written.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What the provider is called on screen."""

    @abstractmethod
    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        """What the summariser should know of MESSAGES, which a summary is about to replace; "" for nothing.

        Called once for each summary that is written, also for one that is never applied; not for one that is only looked at.
        """

    def prefetch(self, directory: str | None) -> str:
        """What a new conversation that begins in DIRECTORY should know, what matters most first; "" for nothing.

        It becomes part of the conversation's system prompt and stays the same for all of its life. Also asked to show the size
        of a conversation that has not begun, so it may change nothing.
        """
        return ""

    def on_session_start(self, session: str) -> None:  # noqa: B027 - optional hooks do nothing
        """SESSION was opened, new or to go on with."""

    def on_session_switch(self, session: str, parent: str) -> None:  # noqa: B027 - optional, as above
        """The conversation goes on in SESSION after PARENT: a compression ended that, here or in another process."""

    def on_session_end(self, session: str) -> None:  # noqa: B027 - optional, as above
        """SESSION was closed."""

    def on_turn(self, session: str, messages: Sequence[Message]) -> str | None:
        """A turn ended in SESSION: MESSAGES are the user's message and what answered it, as they were said.

        Returns what the user should know of what was kept, in a sentence for the screen; None for nothing.
        """
        return None

    def close(self) -> None:  # noqa: B027 - optional, as above
        """Free what the provider holds; nothing is called after it."""
