"""The registry of memory providers: the built-in one, and those that other packages offer as entry points."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.memory.memory import Memory
from hermes_tui.memory.notes import NotesProvider, Shelf
from hermes_tui.memory.provider import MemoryProvider

ENTRY_POINTS = "hermes_tui.memory_providers"
"""The entry-point group of third-party providers; each names a factory () -> MemoryProvider."""
NOTES = "notes"
"""The built-in provider."""


def memory_of(names: Sequence[str], shelf: Shelf) -> Memory:
    """The providers that NAMES ask for, in that order, each once; notes are kept on SHELF.

    One that is not installed or cannot be made is left out, and `Memory` says why.
    """
    providers: list[MemoryProvider] = []
    absent: list[str] = []
    for name in dict.fromkeys(names):
        if name == NOTES:
            providers.append(NotesProvider(shelf))
            continue
        try:
            providers.append(_installed(name))
        except Exception as problem:
            absent.append(f"{problem} It is left out; memory.providers in the settings names it.")
    return Memory(providers, absent)


def provider_names() -> tuple[str, ...]:
    """The names of all providers on offer, the built-in one first."""
    from importlib.metadata import entry_points

    return (NOTES, *sorted(e.name for e in entry_points(group=ENTRY_POINTS) if e.name != NOTES))


def _installed(name: str) -> MemoryProvider:
    from importlib.metadata import entry_points

    found = next((e for e in entry_points(group=ENTRY_POINTS) if e.name == name), None)
    if found is None:
        raise LookupError(f"There is no memory provider {name!r}. On offer: {', '.join(provider_names())}.")
    try:
        provider = found.load()()
    except Exception as problem:
        raise LookupError(f"The memory provider {name!r} cannot be loaded ({type(problem).__name__}).") from problem
    if not isinstance(provider, MemoryProvider):
        raise LookupError(f"The memory provider {name!r} is not one: its factory returned a {type(provider).__name__}.")
    return provider
