"""Where a conversation stands: session, view, engine state, budgets and size, and the moves that keep them true to the store.

Everything that a turn or a compression changes goes through here, so there is one account of the context, and one place where
another process's moves are noticed and adopted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from hermes_tui.chat.cache import CacheAccount
from hermes_tui.chat.events import ContextChanged, MessageStored, NoticeRaised, Publish, TipAdopted
from hermes_tui.chat.facts import ModelFacts
from hermes_tui.chat.limits import budgets_in_force
from hermes_tui.chat.offloop import OffLoop
from hermes_tui.context.acts import one_line
from hermes_tui.context.answers import sound, sound_plan
from hermes_tui.context.budgets import Budgets, ImpossibleBudget
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import ContextEngine, EngineState, Plan, Usage
from hermes_tui.context.messages import Block, Message, Origin, Role, scrub
from hermes_tui.context.regions import Regions
from hermes_tui.context.tokens import Meter, Size
from hermes_tui.context.view import Change, ContextView

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.store.records import SessionRecord
    from hermes_tui.store.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Totals:
    """All that a chain's requests used, summaries included; it only grows.

    Attributes:
        cost: dollars, of what has a known price.
        summaries: the part of these dollars that summaries cost.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    missed: int = 0
    cost: float = 0.0
    summaries: float = 0.0
    requests: int = 0

    def plus(self, usage: Usage, cost: float | None, purpose: str = "turn") -> Totals:
        """These totals with one more response to a request of PURPOSE."""
        return Totals(
            self.input + sum(each.input for each in usage.billed),
            self.output + sum(each.output for each in usage.billed),
            self.cache_read + sum(each.cache_read for each in usage.billed),
            self.cache_write + sum(each.cache_write for each in usage.billed),
            self.missed + usage.missed,
            self.cost + (cost or 0.0),
            self.summaries + (cost or 0.0 if purpose == "summary" else 0.0),
            self.requests + 1,
        )


class Standing:
    """The state of one conversation, as last read from or written to the store.

    Attributes:
        chain: the chain's id.
        session: the tip session.
        view: the context as the next request would render it.
        state: what the engine remembers of the chain.
        budgets: the numbers in force; None while `impossible` says why there can be none.
        size: the size of the next request for an empty composer.
        regions: those of the plan if one compressed now, as last surveyed.
        facts: what is known of the model.
        totals: what all requests of the chain used.
        clock: seconds since the epoch.
        cache: what they did with the prompt cache.
        set_aside: why another engine than the one asked for works here, "" where it does not.
    """

    def __init__(
        self,
        *,
        store: Store,
        engine: ContextEngine,
        set_aside: str,
        fallback: Callable[[], ContextCompressor],
        meter: Meter,
        settings: Settings,
        off: OffLoop,
        publish: Publish,
        session: SessionRecord,
        view: ContextView,
        state: EngineState,
        facts: ModelFacts,
        totals: Totals,
        cache: CacheAccount,
        embedded: bool,
        trusts_usage: int | None,
        clock: Callable[[], float],
    ) -> None:
        self.store, self.engine, self.meter, self.settings = store, engine, meter, settings
        self.off, self.publish = off, publish
        self.chain = view.chain
        self.session, self.view, self.state, self.facts, self.totals = session, view, state, facts, totals
        self.cache = cache
        self.embedded, self._trusts_usage, self.clock = embedded, trusts_usage, clock
        self.budgets: Budgets | None = None
        self.impossible = ""
        self.size = Size(0, "estimated")
        self.regions: Regions | None = None
        self.set_aside = set_aside
        self._fallback = fallback

    # -- the store -----------------------------------------------------------------------------------------------

    async def reload(self) -> None:
        """Read the tip anew. Where another process moved the chain on, say so and follow it."""
        known = (self.session.id, self.view.generation, _last(self.view))
        session, view, state = await self.off.stored(self._read)
        self.session, self.view, self.state = session, view, state
        if known != (session.id, view.generation, _last(view)):
            self.publish(TipAdopted(session.id))
        if known[0] != session.id:
            await self.session_ended(known[0])
            await self.session_began()
        await self.refresh()

    def _read(self) -> tuple[SessionRecord, ContextView, EngineState]:
        view = self.store.view(self.chain, model=self.view.model)
        return self.store.tip(self.chain), view, self.store.load_state(self.chain)

    async def append(
        self,
        role: Role,
        content: Sequence[Block],
        origin: Origin,
        *,
        model: str | None = None,
        request: str | None = None,
    ) -> Message:
        """Store a message at the tip, whatever that is by now, and take it into the view.

        Raises:
            StoreError: it could not be stored, or it would part calls from their results.
        """
        message, session = await self.off.stored(
            self.store.append, self.chain, role=role, content=tuple(content), origin=origin, model=model, request=request
        )
        await self.took(message, session)
        return message

    async def took(self, message: Message, session: SessionRecord) -> None:
        """Take a message that was stored in SESSION into the view, and publish it."""
        last = self.view.last_message
        follows = message.sequence == (last.sequence + 1 if last else 0)
        if session.id == self.session.id and session.last_generation == self.view.generation and follows:
            self.session = session
            self.view = self.view.append(message)
            self.publish(MessageStored(message))
            await self.refresh()
        else:
            self.publish(MessageStored(message))
            await self.reload()

    async def settle(self) -> bool:
        """Answer calls that were left open (a crash, a cancel) as interrupted; False where another living process runs them."""
        if not self.view.has_open_call:
            return True
        if await self.off.stored(_runs_elsewhere, self.store, self.chain):
            return False
        await self.off.stored(self.store.answer_open_calls, self.chain)
        await self.reload()
        return True

    async def keep(self, state: EngineState) -> None:
        """Make STATE the engine's, and store it."""
        if state == self.state:
            return
        self.state = state
        await self.off.stored(self.store.save_state, self.chain, state)

    def changed(self, session: SessionRecord, change: Change, state: EngineState) -> None:
        """A change, by an engine or by hand, was applied in the store: the view one generation on, in what is the tip now."""
        self.session, self.state = session, state
        self.view = replace(self.view.apply(change), session=session.id)

    def size_of(self, view: ContextView) -> int:
        """Tokens of the next request for VIEW, another context of this chain, by what is measured and learned now."""
        return self.meter.size(view, self.state).tokens

    def after(self, change: Change) -> Size:
        """The size of the next request if CHANGE were applied."""
        return self.meter.size(self.view.apply(change), self.state_after(self.view.generation + 1))

    def state_after(self, generation: int) -> EngineState:
        """The state once the context is at GENERATION: a recording measured nothing that was edited, so its anchor goes."""
        trusted = self._trusts_usage is None or generation <= self._trusts_usage
        return self.state if trusted else replace(self.state, anchor=None)

    # -- measuring -----------------------------------------------------------------------------------------------

    async def measured(self, view: ContextView, usage: Usage, sent: float | None = None) -> None:
        """Anchor the size on what the provider measured for the request that VIEW was rendered into.

        SENT is when that went out: from then on it stands in the provider's cache, where one was ever seen at work. A recording
        is in none.
        """
        trusted = self._trusts_usage is None or view.generation <= self._trusts_usage
        if usage.prompt <= 0 or not trusted:
            return
        before = self.state
        state = await self.ask_engine(lambda engine: sound(engine.update_from_response(before, view, usage)))
        if state.anchor == before.anchor:  # an engine need not measure: gauge and triggers read this one meter
            state = await self.off.thought(self.meter.measured, state, view, usage)
        if sent is not None and self._trusts_usage is None and self.cache.known:
            state = replace(state, last_request=sent)
        await self.keep(state)
        await self.refresh()

    @property
    def is_live(self) -> bool:
        """Whether a provider answers, not a recording."""
        return self._trusts_usage is None

    async def counted(self, view: ContextView, tokens: int) -> None:
        """Anchor the size on what the provider counted for the request that VIEW is rendered into; none was sent."""
        await self.keep(await self.off.thought(self.meter.measured, self.state, view, Usage(input=tokens)))
        await self.refresh()

    async def cached(self, view: ContextView, usage: Usage) -> Usage:
        """USAGE of the request that VIEW was rendered into with what it missed of the cache, taken into the account."""
        if self._trusts_usage is not None:  # a recording's numbers are of requests that were not ours
            return usage
        missed = await self.off.thought(self.cache.missed, view, self.state, usage, self.meter)
        usage = replace(usage, missed=missed)
        self.cache = self.cache.plus(view.generation, view.entries[-1].position if view.entries else 0, usage)
        return usage

    async def refresh(self) -> None:
        """Work out floor, budgets and size anew, off the loop, and say that they changed."""
        await self.off.thought(self._resize)
        self.publish(ContextChanged())

    def _resize(self) -> None:
        view, state = self.view, self.state
        floor = self.meter.scaled_floor(view, state)
        try:
            self.budgets = budgets_in_force(self.settings, self.facts, state, floor, embedded=self.embedded)
            self.impossible = ""
        except ImpossibleBudget as refusal:
            self.budgets, self.impossible = None, str(refusal)
        self.size = self.meter.size(view, state)

    async def survey(self) -> Regions | None:
        """The regions of the plan if one compressed now; the last ones while a call is unanswered."""
        if self.budgets is not None and not self.view.has_open_call:
            view, state, budgets = self.view, self.state, self.budgets
            plan = await self.ask_engine(lambda engine: sound_plan(engine.plan(view, state, budgets), view))
            self.regions = plan.regions
            self.publish(ContextChanged())
        return self.regions

    async def switch(self, facts: ModelFacts) -> None:
        """Make the model of FACTS the one that the next request goes to: all budgets anew, nothing measured stays an anchor."""
        changed, self.facts = facts.info.id != self.view.model, facts
        if changed:
            model = facts.info.id
            self.session = await self.off.stored(self.store.set_model, self.chain, model)
            self.view = replace(self.view, model=model)
            await self.keep(await self.ask_engine(lambda engine: sound(engine.update_model(self.state, model))))
        await self.refresh()

    # -- the engine ----------------------------------------------------------------------------------------------

    async def ask_engine(self, question: Callable[[ContextEngine], T]) -> T:
        """What the engine answers to a pure QUESTION, off the loop; the built-in one takes over where it fails."""
        try:
            return await self.off.thought(question, self.engine)
        except Exception as problem:
            if not self.take_over(failed(problem)):
                raise
            return await self.off.thought(question, self.engine)

    async def session_began(self) -> None:
        """The conversation goes on in another session: the engine is told."""
        session = self.session.id
        await self.ask_engine(lambda engine: engine.on_session_start(session))

    async def session_ended(self, session: str) -> None:
        """SESSION ended by a split: the engine is told."""
        await self.ask_engine(lambda engine: engine.on_session_end(session))

    async def engine_closed(self, seconds: float) -> None:
        """The conversation is closed: the engine is told, and has SECONDS to hear it; whatever it does, nobody is kept."""
        heard = asyncio.get_running_loop().run_in_executor(None, self.engine.on_session_end, self.session.id)
        done, _ = await asyncio.wait({heard}, timeout=seconds)
        for each in done:
            each.exception()

    def plan_at_once(self, focus: str | None) -> Plan:
        """The engine's plan as it stands, in the thread that this is called in. The budgets must be in force."""
        if self.budgets is None:
            raise ValueError(self.impossible)
        focus = None if focus is None else scrub(focus)
        try:
            return sound_plan(self.engine.plan(self.view, self.state, self.budgets, focus), self.view)
        except Exception as problem:
            if not self.take_over(failed(problem)):
                raise
            return self.engine.plan(self.view, self.state, self.budgets, focus)

    @property
    def engine_status(self) -> str:
        """The engine's own line for the inspector, and why it is not the one that was asked for."""
        try:
            said = str(self.engine.status(self.state))
        except Exception as problem:
            said = "" if self.take_over(failed(problem)) else failed(problem)
        return "; ".join(part for part in (self.set_aside, said) if part)

    def take_over(self, why: str) -> bool:
        """Let the built-in engine take the place of another one, visibly; False where it is the built-in one already."""
        if type(self.engine) is ContextCompressor:
            return False
        self.set_aside = set_aside(self.engine.name, why)
        self.publish(NoticeRaised(taken_over(self.set_aside), severity="warning"))
        self.engine = self._fallback()
        return True


MOST_WHY: Final = 300
"""Characters of what an engine says for itself when it fails."""


def taken_over(why: str) -> str:
    """The notice that the built-in engine took over, and WHY."""
    return f"The {why}. The built-in compressor has taken over for this conversation; nothing was changed by the other."


def set_aside(name: str, why: str) -> str:
    """That the engine NAME does not work here, and WHY, on one line."""
    return f"engine {name} is set aside: {one_line(why.rstrip('.'))[:MOST_WHY]}"


def failed(problem: Exception) -> str:
    """What an engine did wrong, in a few words."""
    return f"it failed ({type(problem).__name__}: {problem})"


def _last(view: ContextView) -> str:
    last = view.last_message
    return last.id if last else ""


def _runs_elsewhere(store: Store, chain: str) -> bool:
    """Whether the open calls of CHAIN were made by another process that still lives: their results are on the way."""
    from hermes_tui.store.processes import is_alive, this_process

    asked = store.last_reply_owner(chain)
    if asked is None or asked[0] == this_process():
        return False
    owner, since = asked
    return is_alive(owner, time.time() - since)
