"""Summaries, states and facts come back as they were, also when a field was added to them or taken away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest

from hermes_tui.context.fidelity import Fidelity, LostFact
from hermes_tui.context.ledger import Fact, Ledger
from hermes_tui.store import codec


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    name: str
    weight: float = 0.0


@dataclass(frozen=True)
class Outer:
    inner: Inner
    many: tuple[Inner, ...] = ()
    pair: tuple[str, int] | None = None
    names: frozenset[str] = frozenset()
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    colour: Colour = Colour.RED
    kind: Literal["a", "b"] = "a"
    extra: Mapping[str, Any] = field(default_factory=dict)
    listed: list[int] = field(default_factory=list)


@pytest.mark.parametrize(
    "value",
    [
        Outer(Inner("x")),
        Outer(
            Inner("x", 1.5),
            (Inner("y", 2), Inner("z")),
            ("p", 3),
            frozenset({"b", "a"}),
            {"k": Inner("w")},
            Colour.RED,
            "b",
            {"a": [1, {"b": None}]},
            [3, 1],
        ),
        Ledger((("rules", (Fact("never", "m1", 1.0, 2),)), ("files", ()))),
        Fidelity((("file", 1, 2),), (LostFact("file", "a.py", "m"),)),
    ],
)
def test_a_value_comes_back_equal(value: Any) -> None:
    assert codec.decode(type(value), json.loads(codec.dumps(value))) == value


def test_the_text_is_always_the_same() -> None:
    assert codec.dumps({"s": frozenset({"b", "a"}), "t": (1, 2)}) == '{"s":["a","b"],"t":[1,2]}'


def test_unknown_fields_are_left_out_and_missing_ones_take_their_defaults() -> None:
    assert codec.decode(Inner, {"name": "x", "from_the_future": 1}) == Inner("x")


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        codec.dumps({"a": object()})
