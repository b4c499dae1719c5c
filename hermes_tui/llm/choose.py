"""Which provider answers: a server of one's own, Anthropic, or the embedded model on a machine that has neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hermes_tui.llm.keys import Keys
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
    address = settings.provider.base_url or _plain(keys.environment.get("ANTHROPIC_BASE_URL", ""))
    if kind == "embedded" or (kind == "auto" and not address and keys.find() is None):
        return _embedded(settings)
    if kind == "compatible" and not address:
        raise NoProvider('provider.kind is "compatible", but provider.base_url is not set: it needs the address of a server.')
    address = address or ANTHROPIC
    key = keys.find(address)
    source = key.source if key else ""
    if kind == "anthropic" or address == ANTHROPIC:
        key = key or keys.find()  # the user says that what answers at base_url is Anthropic
        if key is None:
            raise NoProvider("There is no key for Anthropic: set ANTHROPIC_API_KEY, or add one with /key.")
        provider, why = MessagesApi(address, key.value, stall_seconds=stall), f"Anthropic, key from {key.source}."
        source = key.source
    else:
        provider = MessagesApi(address, key.value if key else None, name="compatible", stall_seconds=stall)
        why = f"{provider.server}, {f'key from {source}' if key else 'without a key'}."
    return Choice(provider, settings.model.name, settings.summary.model, why, address, source)


def _embedded(settings: Settings) -> Choice:
    from hermes_tui.llm.embedded import EmbeddedModel

    path = settings.local.model_path
    model = EmbeddedModel(Path(path).expanduser() if path else None, settings.local.context)
    why = "The embedded model answers, as configured."
    if settings.provider.kind == "auto":
        why = "No key was found, so the embedded model answers. For another: /key, ANTHROPIC_API_KEY, or provider.base_url."
    return Choice(model, model.model, model.model, why)


def _plain(address: str) -> str:
    """ADDRESS as it is compared and used: without /v1 and slashes at the end."""
    return address.strip().rstrip("/").removesuffix("/v1")


def choose_provider(settings: Settings, keys: Keys | None = None) -> ChatProvider:
    """The provider of `choose`.

    Raises:
        NoProvider: as `choose`.
    """
    return choose(settings, keys).provider
