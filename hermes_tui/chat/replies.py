"""One reply: a request sent, its blocks published as they come, the partial saved, failures retried, a cut-off one kept.

A reply that breaks off is asked for again from the start. What had come of it stays as a draft meanwhile: it gives way to the
reply of the attempt that succeeds, and becomes a message only if none does, or if the user stops waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from hermes_tui.chat.events import BlockClosed, BlockGrew, BlockOpened, RequestStarted, RetryScheduled, UsageReported
from hermes_tui.chat.interrupt import Interrupt, Interrupted
from hermes_tui.chat.partial_reply import PartialReply
from hermes_tui.chat.requests import UNSENT, Outgoing, Requests
from hermes_tui.chat.standing import Standing
from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import Block, Message
from hermes_tui.llm.provider import (
    BlockEnded,
    BlockStarted,
    Busy,
    CompactionRefused,
    ModelRequest,
    Overflowed,
    Provider,
    ProviderError,
    ReplyEnded,
    ServerFailed,
    StreamBroken,
    StreamEvent,
)

DELAYS: Final = (1.0, 4.0, 16.0)
"""Seconds before the first, second and third retry, unless the server names its own."""
LONGEST_WAIT: Final = 120.0
"""A server that asks for a longer pause than this is not waited for: the turn ends, and says when to come back."""
SAVE_SECONDS: Final = 0.5
"""Between two saves of a draft: at most a second of a reply may be lost, writing it included."""
NEARLY_FULL: Final = 0.9
"""Of the window: a server that fails over it is taken to overflow (E11: overflows also come as a 5xx without a body)."""

CostOf = Callable[[Usage, str], float | None]


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request was answered: the stored message (None for an empty reply), why it stopped, and the call blocks in it."""

    message: Message | None
    stop_reason: str


@dataclass(frozen=True, slots=True)
class _Broken:
    """What came of an attempt that broke off; it is the draft of REQUEST meanwhile."""

    request: str
    partial: PartialReply
    model: str


class ReplyFailed(Exception):
    """No attempt succeeded; ``sentence`` says why, ``partial`` is the stored message of what had come."""

    def __init__(self, sentence: str, partial: Message | None = None) -> None:
        super().__init__(sentence)
        self.sentence, self.partial = sentence, partial


class ReplyStopped(Exception):
    """The user stopped the reply; ``partial`` is the stored message of what had come."""

    def __init__(self, partial: Message | None) -> None:
        super().__init__("stopped")
        self.partial = partial


class Replies:
    """Gets replies from a provider, one at a time."""

    def __init__(
        self,
        standing: Standing,
        requests: Requests,
        provider: Provider,
        interrupt: Interrupt,
        cost_of: CostOf,
        delays: Sequence[float] = DELAYS,
    ) -> None:
        self._at, self._requests, self._provider = standing, requests, provider
        self._interrupt, self._cost_of, self._delays = interrupt, cost_of, delays
        self._broken: _Broken | None = None

    async def get(self) -> Reply:
        """The reply to the view as it stands, stored.

        Raises:
            Overflowed: the prompt is over the window; nothing was stored.
            ReplyFailed: it cannot be had, or not after all retries.
            ReplyStopped: the user stopped it.
        """
        self._broken = None
        for attempt in range(len(self._delays) + 1):
            if self._interrupt.asked:
                raise ReplyStopped(await self._keep_partial())
            try:
                return await self._attempt()
            except ProviderError as problem:
                if self._overflows(problem):
                    raise
                pause = self._pause(problem, attempt)
                if pause is None:
                    raise ReplyFailed(problem.sentence, await self._keep_partial()) from problem
                self._at.publish(RetryScheduled(problem.sentence, pause, attempt + 1))
            try:
                await self._interrupt.run(asyncio.sleep(pause))
            except Interrupted:
                raise ReplyStopped(await self._keep_partial()) from None
            except asyncio.CancelledError:
                await self._keep_partial()
                raise
        raise AssertionError("the last attempt has no pause")

    def _overflows(self, problem: ProviderError) -> bool:
        if isinstance(problem, Overflowed | CompactionRefused):
            return True
        budgets = self._at.budgets
        full = budgets is not None and self._at.size.tokens > NEARLY_FULL * budgets.window.value
        return full and isinstance(problem, ServerFailed) and not isinstance(problem, Busy)

    def _pause(self, problem: ProviderError, attempt: int) -> float | None:
        """Seconds to wait before the next attempt, None where there is none."""
        if not problem.retryable or attempt >= len(self._delays):
            return None
        pause = self._delays[attempt] if problem.retry_after is None else problem.retry_after
        return pause if pause <= LONGEST_WAIT else None

    # -- one attempt ---------------------------------------------------------------------------------------------

    async def _attempt(self) -> Reply:
        outgoing = await self._requests.begin()
        partial = PartialReply()
        if self._interrupt.asked:
            await self._requests.finish(outgoing.id, UNSENT)
            raise ReplyStopped(await self._keep_partial())
        self._at.publish(RequestStarted(outgoing.id, outgoing.tokens))
        try:
            ended = await self._interrupt.run(self._stream(outgoing, partial))
        except Interrupted:
            await self._requests.finish(outgoing.id, "cancelled")
            await self._hold(outgoing, partial)
            raise ReplyStopped(await self._keep_partial()) from None
        except asyncio.CancelledError:
            await self._requests.finish(outgoing.id, "cancelled")
            await self._hold(outgoing, partial)
            await self._keep_partial()
            raise
        except ProviderError as problem:
            await self._requests.finish(outgoing.id, "failed", error=problem.sentence, estimate=outgoing.tokens)
            await self._hold(outgoing, partial)
            raise
        return await self._whole(outgoing, ended)

    async def _stream(self, outgoing: Outgoing, partial: PartialReply) -> ReplyEnded:
        """Take the whole stream in, publishing and saving as it comes."""
        saving = asyncio.ensure_future(self._save(outgoing.id, partial))
        try:
            return await streamed(self._provider, outgoing.request, lambda event: self._took(event, partial))
        finally:
            saving.cancel()
            await asyncio.wait({saving})

    def _took(self, event: StreamEvent, partial: PartialReply) -> None:
        partial.take(event)
        if isinstance(event, BlockStarted):
            self._at.publish(BlockOpened(event.index, event.block))
        elif isinstance(event, BlockEnded):
            self._at.publish(BlockClosed(event.index, event.block))
        elif not isinstance(event, ReplyEnded):
            self._at.publish(BlockGrew(event.index, event.text))

    async def _save(self, request: str, partial: PartialReply) -> None:
        """Save the partial reply whenever it has grown; at most `SAVE_SECONDS` of it are unsaved."""
        saved = 0
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            content = partial.content
            if partial.grown != saved and content:
                saved = partial.grown
                await self._drop_broken(request)
                await self._at.off.stored(self._at.store.save_draft, self._at.chain, request, content)

    async def _whole(self, outgoing: Outgoing, ended: ReplyEnded) -> Reply:
        """Store a whole reply and what it used."""
        at = self._at
        usage = await at.cached(outgoing.view, ended.usage)
        cost = await at.off.stored(self._cost_of, usage, outgoing.view.model)
        await self._drop_broken(outgoing.id)
        message = await self._store(outgoing.id, ended.content, outgoing.view.model)
        await self._requests.finish(outgoing.id, "done", usage=usage, cost=cost, estimate=outgoing.tokens)
        at.totals = at.totals.plus(usage, cost)
        await at.measured(outgoing.view, usage, outgoing.sent)
        at.publish(UsageReported(usage, cost, "turn"))
        return Reply(message, ended.stop_reason)

    # -- partial replies -----------------------------------------------------------------------------------------

    async def _hold(self, outgoing: Outgoing, partial: PartialReply) -> None:
        """Keep what came of a broken attempt, in place of what came of an earlier one, unless nothing came."""
        if partial.content:
            await self._drop_broken(outgoing.id)
            await self._at.off.stored(self._at.store.save_draft, self._at.chain, outgoing.id, partial.content)
            self._broken = _Broken(outgoing.id, partial, outgoing.view.model)

    async def _drop_broken(self, request: str) -> None:
        """Let the draft of an earlier attempt than REQUEST go."""
        if self._broken is not None and self._broken.request != request:
            await self._at.off.stored(self._at.store.drop_draft, self._broken.request)
            self._broken = None

    async def _keep_partial(self) -> Message | None:
        """Make what had come of the last attempt that brought anything a message."""
        broken, self._broken = self._broken, None
        return None if broken is None else await self._store(broken.request, broken.partial.content, broken.model)

    async def _store(self, request: str, content: tuple[Block, ...], model: str) -> Message | None:
        """Store a reply in place of its draft; None for one that says nothing."""
        at = self._at
        stored = await at.off.stored(at.store.finish_draft, at.chain, request, content, model)
        if stored is None:
            return None
        await at.took(*stored)
        return stored[0]


async def streamed(provider: Provider, request: ModelRequest, took: Callable[[StreamEvent], None]) -> ReplyEnded:
    """Send REQUEST and hand every event to TOOK; the connection is free when this returns, however it ends.

    Raises:
        ProviderError: the request failed, or the reply broke off.
    """
    stream = cast("AsyncGenerator[StreamEvent, None]", provider.stream(request))
    try:
        async for event in stream:
            took(event)
            if isinstance(event, ReplyEnded):
                return event
    finally:
        await stream.aclose()
    raise StreamBroken("The reply broke off before its end.")
