"""A conversation at work: what the TUI, replay and headless commands hold. It offers coroutines and publishes events.

It starts no tasks of its own: whoever holds it runs its coroutines, and `cancel` stops what they are doing at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat import breaker
from hermes_tui.chat.cache import CacheAccount
from hermes_tui.chat.calls import Calls
from hermes_tui.chat.compressing import Compressing
from hermes_tui.chat.counting import Counting
from hermes_tui.chat.editing import Editing
from hermes_tui.chat.effective import Number, numbers
from hermes_tui.chat.events import ContextChanged, MessageQueued, NoticeRaised
from hermes_tui.chat.interrupt import Interrupt
from hermes_tui.chat.opening import Opened, begun, gone_on
from hermes_tui.chat.parts import Parts
from hermes_tui.chat.prepared import Prepared
from hermes_tui.chat.replies import Replies
from hermes_tui.chat.standing import Totals
from hermes_tui.chat.turn import Turn
from hermes_tui.context.budgets import Budgets
from hermes_tui.context.editing import Mark
from hermes_tui.context.engine import EngineState, Plan
from hermes_tui.context.messages import Block, Message, Origin, Role, plain_text, text_block
from hermes_tui.context.regions import Regions
from hermes_tui.context.tokens import Meter, Size
from hermes_tui.context.view import Change, ContextView
from hermes_tui.llm.provider import ModelInfo
from hermes_tui.store.errors import StoreError

if TYPE_CHECKING:
    from hermes_tui.store.records import Relation, SessionRecord

TITLE_LENGTH: Final = 80
"""Characters of a title made from the first message."""
CLOSING: Final = 0.6
"""Seconds that closing waits for what it stopped: leaving the app takes a second at most."""
HEARING: Final = 0.1
"""Seconds that memory providers have then to hear what they were told."""


ANOTHER_MODEL: Final = (
    "The summary of this conversation was compacted by the provider for {maker} alone. {model} is sent the one that was "
    "written beside it, from the ledger and the messages."
)


class Conversation:
    """One chain, talked to. Made by `open` or `start_new`.

    Attributes:
        parts: what it is put together from.
        queue: messages typed ahead, sent as turns of their own when the running one has ended.
    """

    def __init__(self, opened: Opened) -> None:
        parts, standing, passes, requests = opened.parts, opened.standing, opened.passes, opened.requests
        self.parts = parts
        self.queue: deque[tuple[Block, ...]] = deque()
        self._at, self._requests, self._passes, self._remembering = standing, requests, passes, opened.remembering
        self._interrupt = Interrupt()
        self._lock = asyncio.Lock()
        self._sending = False
        self._closed = False
        quiet = parts.foreground
        self._counting = Counting(standing, requests, parts.provider, foreground=quiet)
        self._compressing = Compressing(standing, passes, self._counting, self._interrupt, self._lock, foreground=quiet)
        self._editing = Editing(standing, self._compressing, self._lock)
        replies = Replies(standing, requests, parts.provider, self._interrupt, parts.cost, parts.retry_delays)
        calls = Calls(standing, parts.tools, self._interrupt)
        self._turn = Turn(standing, replies, calls, self._compressing, self._interrupt, parts.iterations)

    # -- coming and going ----------------------------------------------------------------------------------------

    @classmethod
    async def start_new(
        cls, parts: Parts, *, title: str = "", system: str | None = None, relation: Relation = "root"
    ) -> Conversation:
        """A new chain. Its system prompt and tools are made now and stay the same bytes for all of it.

        Args:
            parts: what it is put together from.
            title: its title; "" takes the first line of the first message.
            system: its system prompt; None for ours, with what memory providers know.
            relation: "import" for a recording that is played into the chain.

        Raises:
            StoreError: the database refused.
        """
        return cls(await begun(parts, title=title, system=system, relation=relation))

    @classmethod
    async def open(cls, parts: Parts, session_or_chain: str, *, model: str | None = None) -> Conversation:
        """The tip of the chain that a session (its id or a unique ending) or chain belongs to, to go on with.

        Args:
            parts: what it is put together from.
            session_or_chain: what to open.
            model: the model to go on with; None for the chain's own where the provider has it, else that of PARTS.

        Raises:
            SessionNotFound, SessionAmbiguous: in words.
        """
        return cls(await gone_on(parts, session_or_chain, model))

    async def close(self) -> None:
        """Stop what runs, keeping the partial reply, and let the threads go; at most a second."""
        self._closed = True
        self.queue.clear()
        self._interrupt.stop()
        self._compressing.stop()
        try:
            async with asyncio.timeout(CLOSING), self._lock:
                pass
        except TimeoutError:
            pass
        await self._at.engine_closed(HEARING)
        await self._remembering.ended(HEARING)
        self._at.off.close()

    # -- talking -------------------------------------------------------------------------------------------------

    async def send(self, text: str | Sequence[Block]) -> None:
        """Say TEXT (or content blocks) and have it answered: one whole turn, and those of messages typed ahead after it.

        A blank message is not sent. While a turn runs, the message is queued for the call that runs it, and this one returns
        at once. After a turn that failed, what is still queued waits for the next message.
        """
        content = (text_block(text),) if isinstance(text, str) else tuple(text)
        if not any(block.get("type") != "text" or str(block.get("text", "")).strip() for block in content):
            return
        self.queue.append(content)
        if self._sending:
            self.parts.publish(MessageQueued(plain_text(content), len(self.queue)))
            return
        self._sending = True
        try:
            while self.queue and not self._closed:
                content = self.queue.popleft()
                try:
                    async with self._lock:
                        await self._name_chain(content)
                        outcome = await self._turn.run(content)
                        self._remembering.turn_ended()
                except StoreError as problem:
                    self.parts.publish(
                        NoticeRaised(problem.sentence, severity="error", details={"unsent": plain_text(content)})
                    )
                    return
                await self._surveyed()
                if outcome.reason == "failed":
                    return
        finally:
            self._sending = False
            self.parts.publish(ContextChanged())

    async def _name_chain(self, content: Sequence[Block]) -> None:
        """Give a chain without a title its first line."""
        at = self._at
        if at.session.title or at.view.entries:
            return
        title = title_of(plain_text(content))
        if title:
            await at.off.stored(at.store.set_title, at.chain, title)

    async def _surveyed(self) -> None:
        if not self.parts.foreground and not self._closed:
            await self._at.survey()
            self._counting.idle()

    def cancel(self) -> None:
        """Esc: stop what runs now. A turn keeps the partial reply; one that waits for a summary takes the deterministic rung;
        a compression that is being written beside the turns changes nothing."""
        if self._lock.locked():
            self._interrupt.stop()
        else:
            self._compressing.stop()

    # -- compressing ---------------------------------------------------------------------------------------------

    async def compress(self, focus: str | None = None) -> None:
        """Compress by hand, with a topic to keep in FOCUS; a running turn ends first. `Compressed` or why not is published."""
        try:
            await self._compressing.by_hand(focus)
            self._remembering.moved()
        except StoreError as problem:
            self.parts.publish(NoticeRaised(problem.sentence, severity="error"))
        await self._surveyed()

    async def prepare(self) -> None:
        """Write the summary that `SummaryDue` asked for, beside the turns."""
        try:
            await self._compressing.prepare()
        except StoreError as problem:
            self.parts.publish(NoticeRaised(problem.sentence, severity="error"))
        await self._surveyed()

    # -- edits by hand -------------------------------------------------------------------------------------------

    async def undo(self, edit: str | None = None) -> None:
        """Undo the newest edit in effect, or the one of that id; a running turn ends first. `Edited` or why not is published.

        What was said since stays. The undo of an undo is its redo.
        """
        await self._edited(self._editing.take_back("undo", edit))

    async def redo(self, edit: str | None = None) -> None:
        """Redo the newest undo, or the one of that id; a running turn ends first. `Edited` or why not is published."""
        await self._edited(self._editing.take_back("redo", edit))

    async def mark(self, message: str, mark: Mark) -> None:
        """Pin, unpin, drop or restore the group of the message of that id. `Edited` or why not is published."""
        await self._edited(self._editing.mark(message, mark))

    async def fork(self, *, last_message: str | None = None, title: str | None = None) -> SessionRecord:
        """Start a chain that goes on from here, or from where LAST_MESSAGE (an id) was the newest; this one stays as it is.

        Raises:
            StoreError: the database refused, or there is no such message.
        """
        at = self._at
        async with self._lock:
            return await at.off.stored(at.store.fork, at.chain, last_message=last_message, title=title)

    async def _edited(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreError as problem:
            self.parts.publish(NoticeRaised(problem.sentence, severity="error"))
        await self._surveyed()

    async def count(self) -> None:
        """Have the server count the next request, as `CountDue` asked for. Where it cannot, the estimate stands."""
        try:
            await self._counting.count()
        except (RuntimeError, StoreError):
            if not self._closed:  # closed meanwhile, its threads have gone
                raise

    def preview(self, focus: str | None = None) -> Plan:
        """What compressing now would do: no writes, no calls, and what the real run then does. Slow on long contexts.

        Raises:
            ValueError: there are no budgets to plan by; the message says why.
        """
        at = self._at
        if at.budgets is None:
            raise ValueError(at.impossible)
        return at.plan_at_once(focus or "")

    async def survey(self) -> Regions | None:
        """The regions if one compressed now, worked out anew."""
        return await self._at.survey()

    def next_body(self) -> dict[str, Any]:
        """The body of the next request for an empty composer.

        Raises:
            ValueError: there are no budgets to take max_tokens from; the message says why.
        """
        return self.body_after(None)

    def body_after(self, change: Change | None) -> dict[str, Any]:
        """The body of the next request if CHANGE were made; None for as it is.

        Raises:
            ValueError: there are no budgets to take max_tokens from; the message says why.
        """
        view = self._at.view
        return self._requests.parameters().body(view if change is None else view.apply(change))

    async def draft(self, focus: str | None = None) -> Prepared:
        """What compressing now would come to, its summary written; nothing is applied.

        Raises:
            ValueError: there are no budgets to plan by; the message says why.
        """
        return await self._passes.draft(focus)

    async def record(self, said: Sequence[tuple[Role, Sequence[Block], Origin]]) -> None:
        """Store messages of somebody else's conversation as they are, without turns: (role, content, origin) of each."""
        at = self._at
        for role, content, origin in said:
            model = at.view.model if origin == "model" else None
            await at.off.stored(at.store.append, at.chain, role=role, content=tuple(content), origin=origin, model=model)
        await at.reload()

    # -- the model -----------------------------------------------------------------------------------------------

    async def switch_model(self, model: str, infos: Sequence[ModelInfo] | None = None) -> None:
        """Go on with MODEL from the next request on; INFOS is what the provider says of its models, where it was asked anew."""
        at = self._at
        if infos is not None:
            self.parts = replace(self.parts, infos=tuple(infos))
        await at.switch(await at.off.thought(self.parts.facts, model))
        summary = at.view.summary
        if summary is not None and summary.block is not None and summary.block.model != model:
            self.parts.publish(NoticeRaised(ANOTHER_MODEL.format(maker=summary.block.model, model=model)))
        await self._surveyed()

    # -- where it stands -----------------------------------------------------------------------------------------

    @property
    def chain(self) -> str:
        """The chain's id."""
        return self._at.chain

    @property
    def session(self) -> SessionRecord:
        """The tip session."""
        return self._at.session

    @property
    def view(self) -> ContextView:
        """The context as the next request renders it."""
        return self._at.view

    @property
    def state(self) -> EngineState:
        """What the engine remembers of the chain."""
        return self._at.state

    @property
    def budgets(self) -> Budgets | None:
        """The numbers in force; None while `impossible` says why there can be none."""
        return self._at.budgets

    @property
    def impossible(self) -> str:
        """Why there are no budgets: the window is too small, or system and tools fill it; "" where there are."""
        return self._at.impossible

    @property
    def size(self) -> Size:
        """The size of the next request for an empty composer: the gauge's number, the triggers' number."""
        return self._at.size

    @property
    def regions(self) -> Regions | None:
        """The regions of the plan if one compressed now, as last surveyed."""
        return self._at.regions

    @property
    def meter(self) -> Meter:
        """What estimates tokens, for whoever shows entries one by one."""
        return self._at.meter

    def tokens_of(self, block: Block) -> int:
        """Tokens of BLOCK as the inspector counts them: in real ones, as far as the scale is learned."""
        return self._at.meter.scaled(block, self._at.view, self._at.state)

    @property
    def totals(self) -> Totals:
        """What all requests of the chain used and cost; it never decreases."""
        return self._at.totals

    def numbers(self) -> tuple[Number, ...]:
        """Engine and numbers in force with where they came from; none while `impossible` says why. Slow the first time."""
        at = self._at
        if at.budgets is None:
            return ()
        price, writer = self.parts.price(at.view.model), self._passes.writer
        source = "in place of the one that was set aside" if at.set_aside else at.settings.source_of("context.engine")
        engine = Number("engine", at.engine.name, source)
        return (engine, *numbers(at.budgets, at.facts, at.settings, at.state, price, writer))

    @property
    def cache(self) -> CacheAccount:
        """What the chain's requests did with the prompt cache."""
        return self._at.cache

    @property
    def engine_status(self) -> str:
        """The engine's own line for the inspector, and why it, its summaries or automatic runs are not as the settings say."""
        at = self._at
        said = (at.engine_status, breaker.told(at.state), self._passes.rests, self._passes.not_compacting)
        return "; ".join(part for part in said if part)

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._sending

    @property
    def closed(self) -> bool:
        """Whether it was closed, and takes nothing any more."""
        return self._closed

    @property
    def preparing(self) -> bool:
        """Whether a summary is being written beside the turns."""
        return self._compressing.preparing

    @property
    def prepared(self) -> Prepared | None:
        """The compression that waits for a boundary."""
        return self._compressing.prepared

    async def messages(self, *, before: int | None = None, limit: int | None = None) -> tuple[Message, ...]:
        """The transcript across all sessions, ascending: the LIMIT newest with a sequence under BEFORE."""
        at = self._at
        return await at.off.stored(at.store.messages, at.chain, before=before, limit=limit)


def title_of(text: str) -> str:
    """The first line of TEXT that says something, cut at a word."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= TITLE_LENGTH:
        return line
    return line[:TITLE_LENGTH].rsplit(" ", 1)[0] + " …"
