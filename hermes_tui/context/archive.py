"""The archive: everything that was ever said in a conversation, as an engine may look it up. The store is behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from hermes_tui.context.messages import Message

_TERM: Final = re.compile(r'"([^"]+)"|(\S+)')


def terms_in(query: str) -> list[str]:
    """The terms of QUERY: its words, and each phrase in double quotes as one."""
    return [quoted or plain for quoted, plain in _TERM.findall(query)]


@dataclass(frozen=True, slots=True)
class Archived:
    """A message that was found.

    Attributes:
        message: the message, as it was said.
        said: when, in seconds since the epoch.
        tools: names of the tools whose calls it makes or answers.
    """

    message: Message
    said: float
    tools: tuple[str, ...] = ()


class Archive(Protocol):
    """What can be looked up in a conversation. No answer ever holds a message of another one. Slow; safe from any thread."""

    def search(self, chain: str, query: str) -> Sequence[Archived]:
        """The messages of CHAIN that QUERY finds, the best first: those with all of its terms, else those with some."""

    def ending(self, chain: str, ending: str) -> Sequence[Archived]:
        """The messages of CHAIN whose ids end with ENDING, in any case, a few at most."""
