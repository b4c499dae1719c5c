"""The summarising model: what a context engine writes summaries with, over any provider.

Each call is a request of its own: recorded with its body before it is sent, streamed to whoever watches, without tools and
with the least thinking that the model allows. Failures to reach the model are retried here, and rest the model rungs after.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hermes_tui.chat.events import RetryScheduled, SummaryGrew, UsageReported
from hermes_tui.chat.facts import ModelFacts
from hermes_tui.chat.replies import CostOf, streamed
from hermes_tui.chat.requests import Requests, parameters_for, posted
from hermes_tui.chat.standing import Standing
from hermes_tui.chat.thinking import SUMMARY_EXTRA, least_thinking
from hermes_tui.context.compaction import compaction_body
from hermes_tui.context.engine import MOST_CALLS, CompactionPrompt, Summariser, SummariserFailed, SummaryPrompt
from hermes_tui.context.messages import plain_text
from hermes_tui.context.summaries import ProviderBlock
from hermes_tui.context.view import ContextView
from hermes_tui.llm.provider import COMPACTION_BETA, ModelRequest, ProviderError, ReplyEnded, StreamEvent, TextGrew

if TYPE_CHECKING:
    from hermes_tui.llm.choose import ChatProvider
    from hermes_tui.store.records import Purpose

T = TypeVar("T")

TIMEOUT: Final = 180.0
"""Seconds for one call: peers report summaries of 10-78 s (compression.md, E)."""
RETRIES: Final = 2
"""Of a call that failed on its way; after that the deterministic rung writes the summary."""
LONGEST_WAIT: Final = 30.0
"""A server that asks for a longer pause is not waited for: the deterministic rung writes the summary."""
REST_SECONDS: Final = 10 * 60.0
"""How long the model rungs rest in a chain after the model could not be reached."""
SHOW_SECONDS: Final = 0.05
"""Between two events of a growing summary."""
EMBEDDED_SOURCE: Final = 1_000
"""Tokens of source that the embedded model is given, in one call (design, Providers)."""


@dataclass(frozen=True, slots=True)
class SummaryModel:
    """The model that summarises, and what is known of it.

    Attributes:
        provider: where it is.
        facts: what is known of it.
        cost_of: the price of a call to it.
        embedded: it runs in this machine's child process, beside the conversation's own model.
    """

    provider: ChatProvider
    facts: ModelFacts
    cost_of: CostOf
    embedded: bool = False

    @property
    def model(self) -> str:
        """Its id."""
        return self.facts.info.id


class SummaryCalls:
    """The calls that one compression makes to the summarising model, for its summary or, beside it, for notes.

    Args:
        standing: where the conversation stands.
        requests: records each call.
        model: the model that summarises.
        view: the context that is compressed.
        cost_of: the price of a compaction, which the conversation's own model makes.
        delays: seconds before each retry.
        purpose: what for.
        compacts: whether the provider is asked to compact by itself.

    Attributes:
        cost: dollars that they cost, None while no price is known.
        unreachable: the model could not be reached, retries included.
        answered: calls that came to an end, and are paid for.
        compacted: those of them that had the provider compact by itself.
    """

    def __init__(
        self,
        standing: Standing,
        requests: Requests,
        model: SummaryModel,
        view: ContextView,
        cost_of: CostOf,
        delays: Sequence[float],
        purpose: Purpose = "summary",
        *,
        compacts: bool = False,
    ) -> None:
        self._at, self._requests, self._model, self._view = standing, requests, model, view
        self._cost_of, self._delays = cost_of, tuple(delays)[:RETRIES]
        self._purpose: Purpose = purpose
        self._compacts = compacts
        self._calls = 0
        self._running: set[asyncio.Task[Any]] = set()
        self.cost: float | None = None
        self.unreachable = False
        self.answered = 0
        self.compacted = 0

    def summariser(self, notes: str) -> Summariser:
        """What the engine is given; NOTES are the memory provider's."""
        return Summariser(
            model=self._model.model,
            window=self._model.facts.window.value,
            ask=self.ask,
            source_cap=EMBEDDED_SOURCE if self._model.embedded else None,
            calls=1 if self._model.embedded else MOST_CALLS,
            notes=notes,
            prompt=self._at.settings.summary.prompt,
            compact=self.compact if self._compacts else None,
        )

    async def ask(self, prompt: SummaryPrompt) -> str:
        """The model's answer to PROMPT.

        Raises:
            SummariserFailed: it could not be reached or took too long (transport), or it refused or cut the answer off.
        """
        self._begun()
        return await self._attempts(self._model.model, lambda: self._once(prompt))

    async def compact(self, prompt: CompactionPrompt) -> ProviderBlock:
        """What the provider's own compaction makes of what PROMPT shows.

        Raises:
            SummariserFailed: it could not be reached or took too long (transport), or it made nothing.
        """
        self._begun()
        return await self._attempts(prompt.view.model, lambda: self._compacted(prompt))

    def _begun(self) -> None:
        """One more call is under way, in the task that this is called in."""
        self._calls += 1
        task = asyncio.current_task()
        if task is not None:
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _attempts(self, model: str, once: Callable[[], Awaitable[T]]) -> T:
        """What ONCE brings, asked of MODEL again where it failed on its way."""
        for attempt in range(len(self._delays) + 1):
            try:
                async with asyncio.timeout(TIMEOUT):
                    return await once()
            except TimeoutError:
                self.unreachable = True
                raise SummariserFailed(f"{model} did not finish the summary within {TIMEOUT:.0f} s.") from None
            except ProviderError as problem:
                if not problem.retryable:
                    raise SummariserFailed(problem.sentence, transport=False) from problem
                left = self._delays[attempt:]
                pause = left[0] if left and problem.retry_after is None else problem.retry_after or 0.0
                if not left or pause > LONGEST_WAIT:
                    self.unreachable = True
                    raise SummariserFailed(problem.sentence) from problem
                self._at.publish(RetryScheduled(f"Summary: {problem.sentence}", pause, attempt + 1))
                await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def ended(self) -> None:
        """Wait until no call is under way any more: one that was stopped has written down how it ended."""
        if self._running:
            await asyncio.wait(set(self._running))

    async def _once(self, prompt: SummaryPrompt) -> str:
        """One attempt: a request row with its body, then the stream."""
        thinking = least_thinking(self._model.facts.info)
        body: dict[str, Any] = {
            "model": self._model.model,
            "max_tokens": prompt.max_tokens + (SUMMARY_EXTRA if thinking.thinks else 0),
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.text}],
        }
        if thinking.parameter is not None:
            body["thinking"] = dict(thinking.parameter)
        provider = self._model.provider
        body = {**body, **provider.request_extras, **thinking.extras}
        body = posted(body, breaks_control_tokens=provider.breaks_control_tokens, calls=provider.tools)
        row = await self._requests.record(self._view, self._purpose, self._model.model, {}, body, None)
        ended = await self._streamed(row, provider, ModelRequest(body), prompt.tokens)
        await self._account(row, ended, prompt.tokens, self._model.cost_of, self._model.model)
        if ended.stop_reason == "max_tokens":
            raise SummariserFailed(f"{self._model.model} was cut off before the summary's end.", transport=False)
        return plain_text(ended.content)

    async def _compacted(self, prompt: CompactionPrompt) -> ProviderBlock:
        """One attempt at a compaction: the conversation's own request up to where the tail begins, with another question."""
        at, provider = self._at, self._requests.provider
        if at.budgets is None:
            raise SummariserFailed(at.impossible, transport=False)
        parameters = parameters_for(prompt.view, at.budgets, at.settings, at.facts.info, provider)
        size = round(at.meter.scale(prompt.view, at.state) * prompt.tokens)
        parameters = replace(
            parameters,
            # All of the call, thinking before it writes included, and no more than the window has left.
            max_tokens=max(1, min(prompt.max_tokens + SUMMARY_EXTRA, at.budgets.window.value - size)),
            betas=tuple(dict.fromkeys((*parameters.betas, COMPACTION_BETA))),
        )
        body = await asyncio.to_thread(lambda: compaction_body(parameters.body(prompt.view), prompt, self._view))
        model = prompt.view.model
        row = await self._requests.record(self._view, "summary", model, {"betas": list(parameters.betas)}, body, None)
        ended = await self._streamed(row, provider, ModelRequest(body, parameters.betas), prompt.tokens)
        await self._account(row, ended, prompt.tokens, self._cost_of, model)
        self.compacted += 1
        block = next((b for b in ended.content if b.get("type") == "compaction"), None)
        if block is None:
            raise SummariserFailed(f"{model} compacted nothing ({ended.stop_reason}).", transport=False)
        return ProviderBlock(model, block)

    async def _streamed(self, row: str, provider: ChatProvider, request: ModelRequest, tokens: int) -> ReplyEnded:
        """The whole answer to REQUEST; where there is none, ROW says why."""
        try:
            return await streamed(provider, request, self._shown())
        except ProviderError as problem:
            await self._requests.finish(row, "failed", error=problem.sentence, estimate=tokens)
            raise
        except asyncio.CancelledError:
            await self._requests.finish(row, "cancelled")
            raise

    def _shown(self) -> Callable[[StreamEvent], None]:
        """A listener that publishes the text so far, a few times a second."""
        loop = asyncio.get_running_loop()
        parts: list[str] = []
        due, call = 0.0, self._calls

        def took(event: StreamEvent) -> None:
            nonlocal due
            if isinstance(event, TextGrew):
                parts.append(event.text)
                if loop.time() >= due and self._purpose == "summary":
                    due = loop.time() + SHOW_SECONDS
                    self._at.publish(SummaryGrew("".join(parts), call))
            elif isinstance(event, ReplyEnded) and self._purpose == "summary":
                self._at.publish(SummaryGrew(plain_text(event.content), call))

        return took

    async def _account(self, row: str, ended: ReplyEnded, estimate: int, cost_of: CostOf, model: str) -> None:
        at = self._at
        self.answered += 1
        cost = await at.off.stored(cost_of, ended.usage, model)
        await self._requests.finish(row, "done", usage=ended.usage, cost=cost, estimate=estimate)
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        at.totals = at.totals.plus(ended.usage, cost, "summary")
        at.publish(UsageReported(ended.usage, cost, "summary"))


def on_this_loop(summariser: Summariser) -> Summariser:
    """SUMMARISER for an engine that runs on another loop: its calls are made here, where its connections live.

    What a call publishes is heard in the context that this was called in, as everything else of the conversation is.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()

    async def ask(prompt: SummaryPrompt) -> str:
        return await here(summariser.ask(prompt))

    async def compact(prompt: CompactionPrompt) -> ProviderBlock:
        assert summariser.compact is not None
        return await here(summariser.compact(prompt))

    async def here(call: Awaitable[T]) -> T:
        made = context.copy().run(asyncio.run_coroutine_threadsafe, _awaited(call), loop)
        return await asyncio.wrap_future(made)

    return replace(summariser, ask=ask, compact=compact if summariser.compact is not None else None)


async def _awaited(call: Awaitable[T]) -> T:
    return await call
