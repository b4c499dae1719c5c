"""What a conversation is put together from: made once by the app or a command, shared by every conversation it opens."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_tui.chat.archive import StoreArchive
from hermes_tui.chat.engines import installed_engine
from hermes_tui.chat.events import Publish
from hermes_tui.chat.facts import ModelFacts, facts_of
from hermes_tui.chat.iterations import ITERATIONS
from hermes_tui.chat.replies import DELAYS
from hermes_tui.chat.summariser import SummaryModel
from hermes_tui.context.compressor import CompressorOptions, ContextCompressor
from hermes_tui.context.engine import ContextEngine, Count, Usage
from hermes_tui.llm.provider import ModelInfo
from hermes_tui.memory.memory import Memory
from hermes_tui.tools.tools import ToolRunner

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.llm.choose import ChatProvider
    from hermes_tui.llm.models import Price
    from hermes_tui.store.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a conversation.

    Attributes:
        store: the open database.
        provider: who answers; closed by whoever made it.
        settings: the settings in force.
        model: the model that a new conversation talks to.
        tools: answers calls; None for a conversation without tools.
        count: counts the tokens of a text.
        publish: hears every event, on the loop.
        infos: what the provider says of its models, as far as it was asked.
        summary_provider: who summarises; None for the provider itself.
        summary_model: the model that summarises, "" for the settings' one.
        memory: what remembers across conversations; empty for a recording, which is somebody else's.
        directory: the working directory that a new conversation names.
        foreground: nothing is prepared beside the turns, every compression is awaited (replay, headless).
        engine: the context engine; None for the one that the settings name.
        clock: seconds since the epoch.
        trusts_usage: whether what the provider reports is a measurement of the request as it was sent, for this many edits of
            the context; None for always. A recording's usage measures what was sent before any edit: 0.
        iterations: model calls that one turn may take; a recording takes what it took.
        retry_delays: seconds before each retry of a reply, unless the server names its own; a summary has the first two.
    """

    store: Store
    provider: ChatProvider
    settings: Settings
    model: str
    count: Count
    publish: Publish
    tools: ToolRunner | None = None
    infos: tuple[ModelInfo, ...] = ()
    summary_provider: ChatProvider | None = None
    summary_model: str = ""
    memory: Memory = field(default_factory=Memory)
    directory: Path | None = None
    foreground: bool = False
    engine: ContextEngine | None = None
    clock: Callable[[], float] = time.time
    trusts_usage: int | None = None
    iterations: int = ITERATIONS
    retry_delays: tuple[float, ...] = DELAYS

    @property
    def embedded(self) -> bool:
        """Whether the embedded model answers."""
        return self.provider.name == "embedded"

    def facts(self, model: str) -> ModelFacts:
        """What is known of MODEL at the provider; slow the first time."""
        return _facts(self.provider, model, self, main=True)

    def summary(self) -> SummaryModel | None:
        """The summarising model, None where the settings want none; slow the first time.

        One that the provider does not have gives way to its nearest kin there; on a server of one's own, to the model that
        answers.
        """
        if self.settings.summary.engine == "deterministic":
            return None
        from hermes_tui.llm.models import nearest_kin

        provider = self.summary_provider or self.provider
        embedded = provider.name == "embedded"
        model = self.summary_model or (self.model if embedded else self.settings.summary.model)
        if provider is self.provider and self.infos and model not in {info.id for info in self.infos}:
            model = (nearest_kin(model, self.infos) if provider.name == "anthropic" else None) or self.model
        return SummaryModel(provider, _facts(provider, model, self, main=False), self.summary_cost, embedded)

    def cost(self, usage: Usage, model: str) -> float | None:
        """Dollars for USAGE on MODEL, None where nobody knows the price; slow the first time."""
        return self._cost_at(self.provider, usage, model)

    def price(self, model: str) -> Price | None:
        """What MODEL costs at the provider, None where nobody knows; slow the first time."""
        from hermes_tui.llm.models import price_of

        provider = self.provider
        return price_of(model, self.settings, kind=provider.name, base_url=getattr(provider, "base_url", None))

    def summary_cost(self, usage: Usage, model: str) -> float | None:
        """The same for a call to the summarising MODEL, at the prices of where that is."""
        return self._cost_at(self.summary_provider or self.provider, usage, model)

    def _cost_at(self, provider: ChatProvider, usage: Usage, model: str) -> float | None:
        from hermes_tui.llm.models import cost_of

        found = cost_of(usage, model, self.settings, kind=provider.name, base_url=getattr(provider, "base_url", None))
        return found[0] if found else None

    def new_engine(self) -> ContextEngine:
        """The engine of a conversation.

        Raises:
            UnknownEngine: the settings name one that is not installed, or cannot be loaded.
        """
        if self.engine is not None:
            return self.engine
        return installed_engine(self.settings.context.engine, self.count, _new_id(), self._options)

    def new_compressor(self) -> ContextCompressor:
        """The built-in engine, for where another one fails."""
        return ContextCompressor(self.count, _new_id(), self._options)

    @property
    def _options(self) -> CompressorOptions:
        declared = self.tools.declarations if self.tools is not None else {}
        return CompressorOptions(self.settings.context.protect_first_n, declared, StoreArchive(self.store))


def _facts(provider: Any, model: str, parts: Parts, *, main: bool) -> ModelFacts:
    base_url = getattr(provider, "base_url", None)
    return facts_of(model, parts.settings, parts.infos, kind=provider.name, base_url=base_url, main=main)


def _new_id() -> Callable[[], str]:
    from hermes_tui.store.ids import new_id

    return new_id
