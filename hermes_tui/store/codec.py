"""Dataclasses to JSON text and back, by their type hints, so that a field added to one is stored without a word here."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def dumps(value: Any) -> str:
    """VALUE (JSON, dataclasses, tuples, sets, enums) as compact JSON text, keys in the order they came in, sets sorted."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def loads(text: str) -> Any:
    """What `dumps` wrote, as plain JSON values."""
    return json.loads(text)


def _plain(value: Any) -> Any:
    """What JSON itself has no form for."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode(kind: type[T], value: Any) -> T:
    """VALUE, plain JSON, as an instance of the dataclass KIND. Unknown keys are left out, missing ones take their defaults."""
    made: T = _decode(kind, value)
    return made


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind) if f.init}


def _decode(hint: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint(**{name: _decode(inner, value[name]) for name, inner in _hints(hint).items() if name in value})
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return _decode(next(a for a in arguments if a is not type(None)), value)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_decode(arguments[0], v) for v in value)
        return tuple(_decode(a, v) for a, v in zip(arguments, value, strict=False))
    if origin in (frozenset, set, list):
        return origin(_decode(arguments[0], v) for v in value)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {k: _decode(arguments[1], v) for k, v in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hint is float and isinstance(value, int):
        return float(value)
    return value
