"""Which provider answers: a server of one's own, Anthropic, or the embedded model on a machine that has neither."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hermes_tui.llm.keys import ANTHROPIC_ACCOUNT, Keys
from hermes_tui.llm.messages_api import ANTHROPIC, MessagesApi
from hermes_tui.llm.provider import Provider

if TYPE_CHECKING:
    from hermes_tui.config import Settings


class ChatProvider(Provider, Protocol):
    """A provider with what whoever builds its bodies and shows it must know."""

    tools: bool
    """Whether its models can call tools."""
    breaks_control_tokens: bool
    """Whether a body must go through `prepared_for_llama` before it is stored and sent."""
    request_extras: Mapping[str, Any]
    """Parameters to add to every body."""

    def describe(self) -> str:
        """Where the model is, for the status line."""

    async def warm(self) -> None:
        """Load what is slow to load, so that the first request is quick."""


class NoProvider(Exception):
    """The settings name a provider that cannot be used; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The provider in force.

    Attributes:
        provider: to be closed by whoever chose.
        model: the model to ask, as far as it is known without asking the server.
        summariser: the model that summarises at this provider.
        why: one line: what was chosen, and how to have another.
        base_url: the server's address, "" for the embedded one.
        key_source: where the key was found, "" for none.
    """

    provider: ChatProvider
    model: str
    summariser: str
    why: str
    base_url: str = ""
    key_source: str = ""


def choose(settings: Settings, keys: Keys | None = None) -> Choice:
    """The provider that SETTINGS and the keys at hand lead to. Slow at the keyring: call it off the UI loop.

    Raises:
        NoProvider: kind = "anthropic" without a key, or kind = "compatible" without a base_url.
    """
    keys = keys or Keys()
    kind, stall = settings.provider.kind, settings.provider.stall_seconds
    base_url = settings.provider.base_url or keys.environment.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/").removesuffix("/v1") or None
    model, summariser = settings.model.name, settings.summary.model
    if kind == "embedded" or (kind == "auto" and base_url is None and keys.find() is None):
        from hermes_tui.llm.embedded import EmbeddedModel

        embedded = EmbeddedModel(
            model_path=Path(os.path.expanduser(settings.local.model_path)) if settings.local.model_path else None,
            context=settings.local.context,
        )
        why = "No key was found, so the embedded model answers. Set ANTHROPIC_API_KEY, or provider.base_url in the config, for another."
        return Choice(embedded, embedded.model, embedded.model, why if kind == "auto" else "The embedded model answers, as configured.")
    if kind == "compatible" and base_url is None:
        raise NoProvider('provider.kind is "compatible", but provider.base_url is not set: it needs the address of a server.')
    if base_url is None or kind == "anthropic" or base_url == ANTHROPIC:
        address = base_url or ANTHROPIC
        key = keys.find(address) or keys.find(ANTHROPIC_ACCOUNT)
        if key is None:
            raise NoProvider(
                'provider.kind is "anthropic", but there is no key: set ANTHROPIC_API_KEY, or take the line out to use the embedded model.'
            )
        return Choice(
            MessagesApi(address, key.value, stall_seconds=stall), model, summariser, f"Anthropic, key from {key.source}.", address, key.source
        )
    key = keys.find(base_url)
    provider = MessagesApi(base_url, key.value if key else None, name="compatible", stall_seconds=stall)
    source = key.source if key else ""
    return Choice(provider, model, summariser, f"{provider.server}, {f'key from {source}' if key else 'without a key'}.", base_url, source)


def choose_provider(settings: Settings, keys: Keys | None = None) -> ChatProvider:
    """The provider of `choose`.

    Raises:
        NoProvider: as `choose`.
    """
    return choose(settings, keys).provider
