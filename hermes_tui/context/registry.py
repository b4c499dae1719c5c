"""The registry of context engines: the built-in ones, and those that other packages offer as entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from hermes_tui.context.compressor import CompressorOptions, ContextCompressor
from hermes_tui.context.engine import ContextEngine, Count

ENTRY_POINTS = "hermes_tui.context_engines"
"""The entry-point group of third-party engines; each names a factory (count, new_id, options) -> ContextEngine."""

Factory = Callable[[Count, Callable[[], str], CompressorOptions], ContextEngine]
BUILT_IN: Mapping[str, Factory] = {ContextCompressor.name: ContextCompressor}


class UnknownEngine(LookupError):
    """No engine of that name is installed; the message lists those that are."""


def engine_names() -> tuple[str, ...]:
    """The names of all engines on offer, built-in ones first."""
    return (*BUILT_IN, *sorted(e.name for e in entry_points(group=ENTRY_POINTS) if e.name not in BUILT_IN))


def engine_named(name: str, count: Count, new_id: Callable[[], str], options: CompressorOptions) -> ContextEngine:
    """The engine called NAME.

    Raises:
        UnknownEngine: when there is none, or it cannot be loaded.
    """
    factory = BUILT_IN.get(name)
    if factory is None:
        found = next((e for e in entry_points(group=ENTRY_POINTS) if e.name == name), None)
        if found is None:
            raise UnknownEngine(f"There is no context engine {name!r}. On offer: {', '.join(engine_names())}.")
        try:
            factory = found.load()
        except Exception as problem:
            raise UnknownEngine(f"The context engine {name!r} cannot be loaded: {problem}.") from problem
    return factory(count, new_id, options)
