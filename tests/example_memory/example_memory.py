"""A third party's memory provider: a diary of what is said in each session."""

from collections.abc import Sequence

from hermes_tui.context.messages import Message, plain_text
from hermes_tui.memory.provider import MemoryProvider


class Diary(MemoryProvider):
    """Notes down every hook that it hears."""

    name = "diary"

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []

    def prefetch(self, directory: str | None) -> str:
        return "The diary is kept in blue ink."

    def on_session_start(self, session: str) -> None:
        self.heard.append(("start", session))

    def on_session_switch(self, session: str, parent: str) -> None:
        self.heard.append(("switch", session, parent))

    def on_session_end(self, session: str) -> None:
        self.heard.append(("end", session))

    def on_turn(self, session: str, messages: Sequence[Message]) -> None:
        self.heard.append(("turn", session, *(plain_text(m.content)[:40] for m in messages)))

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        self.heard.append(("compress", str(len(messages))))
        return "The diary has a page on this."

    def close(self) -> None:
        self.heard.append(("closed",))


def stranger() -> object:
    """No provider at all."""
    return object()
