"""Requests: from a view to exactly what is posted, a row in the store before it goes out, and any past one rendered again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat.standing import Standing
from hermes_tui.chat.thinking import thinking_for
from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import Usage
from hermes_tui.context.rendering import RENDERER, carries_block, open_loop_edited, render
from hermes_tui.context.view import ContextView
from hermes_tui.llm.provider import COMPACTION_BETA, ModelInfo, ModelRequest

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.llm.choose import ChatProvider
    from hermes_tui.store.records import Purpose
    from hermes_tui.store.store import Store


UNSENT: Final = "unsent"
"""The status of a request that was written down and stopped before it went out."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """All that a body holds beside what its view says; stored with the request, so that it can be rendered again."""

    max_tokens: int
    thinking: Mapping[str, Any] | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    cache: bool = True
    betas: tuple[str, ...] = ()
    breaks_control_tokens: bool = False
    calls: bool = True

    def stored(self) -> dict[str, Any]:
        """These parameters as JSON."""
        return {
            "max_tokens": self.max_tokens,
            "thinking": dict(self.thinking) if self.thinking is not None else None,
            "extras": dict(self.extras),
            "cache": self.cache,
            "betas": list(self.betas),
            "breaks_control_tokens": self.breaks_control_tokens,
            "calls": self.calls,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Parameters:
        """What `stored` wrote."""
        return cls(
            max_tokens=int(stored["max_tokens"]),
            thinking=stored.get("thinking"),
            extras=stored.get("extras") or {},
            cache=bool(stored.get("cache", True)),
            betas=tuple(stored.get("betas") or ()),
            breaks_control_tokens=bool(stored.get("breaks_control_tokens", False)),
            calls=bool(stored.get("calls", True)),
        )

    def body(self, view: ContextView, renderer: int = RENDERER) -> dict[str, Any]:
        """The body that is posted for VIEW."""
        body = render(
            view,
            max_tokens=self.max_tokens,
            thinking=self.thinking,
            extras=self.extras,
            cache=self.cache,
            renderer=renderer,
        )
        return posted(body, breaks_control_tokens=self.breaks_control_tokens, calls=self.calls)


def posted(body: Mapping[str, Any], *, breaks_control_tokens: bool, calls: bool) -> dict[str, Any]:
    """BODY as it is posted: streamed, and for a llama.cpp server with the model's control tokens broken in all text.

    CALLS: the model knows calls and results; for one that does not, such a server is given them as text.
    """
    if breaks_control_tokens:
        from hermes_tui.llm.llama_text import prepared_for_llama

        body = prepared_for_llama(body, tools=calls)
    return {**body, "stream": True}


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request whose row is written: its id there, what is posted, the view it was rendered from, and when it went out."""

    id: str
    request: ModelRequest
    view: ContextView
    tokens: int
    sent: float


def parameters_for(
    view: ContextView, budgets: Budgets, settings: Settings, info: ModelInfo, provider: ChatProvider
) -> Parameters:
    """The parameters of the next request for VIEW, as the user and the PROVIDER want them."""
    thinking = thinking_for(
        str(settings.effective("thinking", view.model).value),
        info,
        max_tokens=budgets.reserved.value,
        loop_edited=open_loop_edited(view),
    )
    return Parameters(
        max_tokens=budgets.reserved.value,
        thinking=thinking.parameter,
        extras={**provider.request_extras, **thinking.extras},
        cache=info.prompt_caching,
        betas=(*thinking.betas, *((COMPACTION_BETA,) if carries_block(view) else ())),
        breaks_control_tokens=provider.breaks_control_tokens,
        calls=provider.tools,
    )


class Requests:
    """Writes the rows of a conversation's requests, before and after each goes out."""

    def __init__(self, standing: Standing, provider: ChatProvider) -> None:
        self._standing, self.provider = standing, provider

    def parameters(self) -> Parameters:
        """The parameters of the next request.

        Raises:
            ValueError: there are no budgets to take them from.
        """
        at = self._standing
        if at.budgets is None:
            raise ValueError(at.impossible)
        return parameters_for(at.view, at.budgets, at.settings, at.facts.info, self.provider)

    async def begin(self) -> Outgoing:
        """The next request of the turn, rendered from the view as it stands, with its row written."""
        at = self._standing
        view, parameters = at.view, self.parameters()
        body = await at.off.thought(parameters.body, view)
        identifier = await self.record(view, "turn", view.model, parameters.stored(), body, RENDERER)
        return Outgoing(identifier, ModelRequest(body, parameters.betas), view, at.size.tokens, at.clock())

    async def record(
        self,
        view: ContextView,
        purpose: Purpose,
        model: str,
        parameters: Mapping[str, Any],
        body: Mapping[str, Any],
        renderer: int | None,
    ) -> str:
        """Write the row of a request about to go out; returns its id. One that is stopped meanwhile is marked unsent."""
        at, last = self._standing, view.last_message

        def unsent(identifier: str) -> None:
            at.store.finish_request(identifier, usage=None, cost=None, status=UNSENT)

        return await at.off.stored_or_undone(
            unsent,
            at.store.begin_request,
            chain=at.chain,
            session=view.session,
            generation=view.generation,
            last_message=last.id if last else None,
            purpose=purpose,
            model=model,
            parameters=parameters,
            renderer=renderer,
            body=body,
        )

    async def finish(
        self,
        identifier: str,
        status: str,
        *,
        usage: Usage | None = None,
        cost: float | None = None,
        error: str | None = None,
        estimate: int | None = None,
    ) -> None:
        """Write how the request ended: "done", "failed", "cancelled", or "unsent" where it was stopped before it went out."""
        at = self._standing
        await at.off.stored(
            at.store.finish_request, identifier, usage=usage, cost=cost, status=status, error=error, estimate=estimate
        )


def sent_bodies(store: Store, chain: str) -> Iterator[tuple[int, str, str, Mapping[str, Any]]]:
    """Every request that was sent in CHAIN, oldest first: its number from 1, purpose, sha256, and the body.

    The bodies of turns are rendered again from the store; those of summaries and titles were stored as they were.
    """
    sent = (record for record in store.requests(chain) if record.status != UNSENT)
    for number, record in enumerate(sent, 1):
        if record.purpose == "turn":
            view = store.view(record.chain, generation=record.generation, last_message=record.last_message, model=record.model)
            body: Mapping[str, Any] = Parameters.read(record.parameters).body(view, record.renderer or RENDERER)
        else:
            body = store.body(record.id)
        yield number, record.purpose, record.sha256, body
