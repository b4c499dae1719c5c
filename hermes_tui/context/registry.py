"""The registry of context engines: the built-in ones, and how an engine is made from what others registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hermes_tui.context.compressor import CompressorOptions, ContextCompressor
from hermes_tui.context.engine import ContextEngine, Count
from hermes_tui.context.recall import RecallCompressor

ENTRY_POINTS: Final = "hermes_tui.context_engines"
"""The entry-point group of third-party engines; each names a factory (count, new_id, options) -> ContextEngine."""

Factory = Callable[[Count, Callable[[], str], CompressorOptions], ContextEngine]
Found = Mapping[str, Callable[[], Any]]
"""What others registered: the name of an engine -> what loads its factory."""
BUILT_IN: Final[Mapping[str, Factory]] = {engine.name: engine for engine in (ContextCompressor, RecallCompressor)}


class UnknownEngine(LookupError):
    """There is no engine of that name, or it cannot be loaded; the message says so, and which there are."""


def engine_named(name: str, found: Found, count: Count, new_id: Callable[[], str], options: CompressorOptions) -> ContextEngine:
    """The engine called NAME: a built-in one, else one that was FOUND.

    Raises:
        UnknownEngine: there is none, or it cannot be loaded.
    """
    if name in BUILT_IN:
        return BUILT_IN[name](count, new_id, options)
    if name not in found:
        raise UnknownEngine(unknown(name, (*BUILT_IN, *sorted(found))))
    try:
        engine = found[name]()(count, new_id, options)
    except Exception as problem:
        raise UnknownEngine(f"The context engine {name!r} cannot be loaded: {type(problem).__name__}: {problem}.") from problem
    if not isinstance(engine, ContextEngine):
        raise UnknownEngine(f"The context engine {name!r} cannot be loaded: what it registers makes no ContextEngine.")
    return engine


def unknown(name: str, names: Sequence[str]) -> str:
    """That there is no engine NAME, and the NAMES of those that there are."""
    return f"There is no context engine {name!r}. On offer: {', '.join(names)}."
