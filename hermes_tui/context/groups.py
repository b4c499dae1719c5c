"""Groups: the unit of every cut.

A group is a user message; an assistant message without calls; or an assistant message with calls together with the message
that holds all their results. Pairing goes by position, never by looking ids up elsewhere, since ids may be reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hermes_tui.context.messages import Message, calls_of, results_of


class UnpairedCalls(ValueError):
    """A call without its results right after it, or results without their calls: no valid conversation."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group; ``messages`` has two members exactly when kind is ``calls``."""

    kind: Literal["user", "reply", "calls"]
    messages: tuple[Message, ...]

    @property
    def is_real_user(self) -> bool:
        """True where a turn begins."""
        return self.kind == "user" and self.messages[0].is_real_user


def groups_of(messages: Sequence[Message]) -> tuple[Group, ...]:
    """MESSAGES cut into groups, all of them, in order.

    Raises:
        UnpairedCalls: where a call group is not followed at once by exactly its results.
    """
    found: list[Group] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        wanted = [str(b["id"]) for b in calls_of(message)]
        if wanted:
            results = messages[at + 1] if at + 1 < len(messages) else None
            given = [str(b.get("tool_use_id")) for b in results_of(results)] if results else []
            if results is None or results.role != "user" or sorted(given) != sorted(wanted):
                raise UnpairedCalls(f"the calls of message {message.id} are not followed by exactly their results")
            found.append(Group("calls", (message, results)))
            at += 2
        else:
            if results_of(message):
                raise UnpairedCalls(f"message {message.id} holds results of no call before it")
            found.append(Group("user" if message.role == "user" else "reply", (message,)))
            at += 1
    return tuple(found)
