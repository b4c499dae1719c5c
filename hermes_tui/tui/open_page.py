"""The open chain on the page: its newest messages first, older ones on demand, its counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_tui.tui.aside import aside

if TYPE_CHECKING:
    from hermes_tui.tui.desk import Desk


class OpenPage:
    """Shows the chain that lies open on DESK from the store."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._first: int | None = None

    def clear(self) -> None:
        """Nothing of a chain is shown."""
        self._first = None

    async def show(self) -> None:
        """The newest page, the counters, the prompts, the inspector."""
        from hermes_tui.tui.pages import chain_facts, load_page

        desk, conversation, room = self._desk, self._desk.conversation, self._desk.room
        if conversation is None or room is None:
            return
        chain = conversation.chain
        edits = await aside(room.store.edits, chain)
        page = await aside(load_page, room.store, chain, edits=edits, measure=conversation.tokens_of)
        self._first = page.first
        desk.bridge.live.forget()
        desk.screen.transcript.set_blocks(page.blocks, earlier=page.earlier)
        desk.renamed()
        requests = await aside(room.store.requests, chain)
        turns = [r.usage for r in requests if r.purpose == "turn" and r.usage is not None and r.usage.prompt]
        desk.surveyor.begin(edits, tuple(usage.prompt for usage in turns))
        if turns:
            last = turns[-1]
            desk.bridge.count(prompt=last.prompt, reply=last.output, cached=last.cache_read)
        facts = await aside(chain_facts, room.store, chain)
        desk.bridge.count(turn=facts.turns, cost=conversation.totals.cost or None)
        desk.screen.composer.history_of_prompts.seed(list(facts.prompts))
        desk.refresh_soon()

    async def earlier(self) -> None:
        """Put the page before the first one shown on top."""
        from hermes_tui.tui.pages import load_page

        desk, conversation, room = self._desk, self._desk.conversation, self._desk.room
        if conversation is None or room is None or self._first is None:
            return
        page = await aside(
            load_page,
            room.store,
            conversation.chain,
            before=self._first,
            edits=desk.surveyor.edits,
            measure=conversation.tokens_of,
        )
        self._first = page.first if page.first is not None else self._first
        desk.screen.transcript.prepend(page.blocks, earlier=page.earlier)
