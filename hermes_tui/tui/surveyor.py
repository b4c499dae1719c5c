"""The surveyor: draws the inspector anew whenever the context has changed, off the loop and not too often."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from hermes_tui.tui.aside import aside

if TYPE_CHECKING:
    from hermes_tui.chat.conversation import Conversation
    from hermes_tui.store.records import EditRecord
    from hermes_tui.tui.desk import Desk

REFRESH_SECONDS: Final = 0.1
"""Between two surveys."""
REQUESTS_SHOWN: Final = 400
"""Requests whose sizes are kept for the sparkline: more than the widest screen has cells."""


class Surveyor:
    """Keeps what the inspector shows true to the conversation on DESK.

    Attributes:
        edits: the edits of the open chain, which hold the fidelity of its summaries.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.edits: tuple[EditRecord, ...] = ()
        self._sizes: list[int] = []
        self._refreshing = False
        self._again = False
        self._seen: tuple[str, int, int, int] | None = None

    def begin(self, edits: tuple[EditRecord, ...] = (), sizes: tuple[int, ...] = ()) -> None:
        """Another chain lies open, with these EDITS and requests of these SIZES."""
        self.edits, self._sizes = edits, list(sizes[-REQUESTS_SHOWN:])

    def measured(self, prompt: int) -> None:
        """A request of PROMPT tokens was measured."""
        if prompt:
            self._sizes = [*self._sizes[-REQUESTS_SHOWN + 1 :], prompt]

    async def read_edits(self) -> None:
        """Read the edits of the open chain anew."""
        conversation, room = self._desk.conversation, self._desk.room
        if conversation is not None and room is not None:
            self.edits = await aside(room.store.edits, conversation.chain)
            self.refresh_soon()

    def refresh_soon(self) -> None:
        """Survey within a tenth of a second or so; while one is made, another is made after it."""
        if self._refreshing:
            self._again = True
        elif not self._desk.closed:
            self._refreshing = True
            self._desk.work(self._refresh(), "inspector", "inspector")

    async def _refresh(self) -> None:
        from hermes_tui.tui.surveys import context_reading, usage_reading

        try:
            await asyncio.sleep(REFRESH_SECONDS)
            self._again = True
            while self._again:
                self._again = False
                conversation = self._desk.conversation
                if conversation is None:
                    return
                await self._survey(conversation)
                reading = await aside(
                    context_reading,
                    conversation.view,
                    conversation.state,
                    conversation.budgets,
                    conversation.size,
                    conversation.regions,
                    conversation.meter,
                    edits=self.edits,
                    sizes=tuple(self._sizes),
                    usage=usage_reading(conversation.cache, conversation.totals),
                    remark=conversation.impossible or conversation.engine_status,
                )
                if conversation is self._desk.conversation:
                    self._desk.screen.show_context(reading)
        finally:
            self._refreshing = False

    async def _survey(self, conversation: Conversation) -> None:
        """Have the regions worked out anew for every new state of the context: they are those of a plan made now."""
        view = conversation.view
        moment = (view.chain, view.generation, len(view.entries), conversation.size.tokens)
        if moment != self._seen and not view.has_open_call:
            self._seen = moment
            with contextlib.suppress(RuntimeError):  # the replay has ended meanwhile, and its threads with it
                await conversation.survey()
