"""The context engines on offer: the built-in ones, and those that installed packages register as entry points."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from hermes_tui.context.compressor import CompressorOptions
from hermes_tui.context.engine import ContextEngine, Count
from hermes_tui.context.registry import BUILT_IN, ENTRY_POINTS, Found, UnknownEngine, engine_named, unknown


def engine_names() -> tuple[str, ...]:
    """The names of all engines on offer, built-in ones first."""
    return (*BUILT_IN, *sorted(name for name in registered() if name not in BUILT_IN))


def known_engine(name: str) -> None:
    """Make sure that an engine is called NAME, without loading it.

    Raises:
        UnknownEngine: none is.
    """
    if name not in (names := engine_names()):
        raise UnknownEngine(unknown(name, names))


def registered() -> Found:
    """What installed packages registered, by name; loading one imports its package."""
    return {entry.name: entry.load for entry in entry_points(group=ENTRY_POINTS)}


def installed_engine(name: str, count: Count, new_id: Callable[[], str], options: CompressorOptions) -> ContextEngine:
    """The engine called NAME. The packages are looked through only for one that is not built in.

    Raises:
        UnknownEngine: there is none, or it cannot be loaded.
    """
    return engine_named(name, {} if name in BUILT_IN else registered(), count, new_id, options)
