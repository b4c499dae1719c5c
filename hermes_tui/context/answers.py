"""What an engine answers, held against what it was asked for, before anything else looks at it.

An engine may be anybody's: each of these passes an answer on, or raises, and then the engine is set aside. What the answer
would do to the context is for `check.violations`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from hermes_tui.context.engine import Compression, Decision, EngineState, Plan
from hermes_tui.context.view import ContextView

_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def sound(state: EngineState) -> EngineState:
    """STATE as an engine gave it, if it is one that can be stored.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(state, EngineState):
        raise TypeError(f"it gave {type(state).__name__} for the state of the conversation")
    json.dumps(dict(state.extra))
    return state


def sound_decision(decision: Decision, view: ContextView) -> Decision:
    """DECISION about VIEW as an engine gave it, if it is one.

    Raises:
        TypeError: it is none, or what it would carry out is no plan.
        ValueError: what it would carry out is a plan for another context.
    """
    if not isinstance(decision, Decision):
        raise TypeError(f"it gave {type(decision).__name__} for a decision")
    if decision.plan is not None:
        sound_plan(decision.plan, view)
    return decision


def sound_plan(plan: Plan, view: ContextView) -> Plan:
    """PLAN as an engine gave it, if it is one for VIEW.

    Raises:
        TypeError: it is no plan.
        ValueError: it is one for another context.
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"it gave {type(plan).__name__} for a plan")
    if (plan.chain, plan.generation) != (view.chain, view.generation):
        raise ValueError("its plan is for another context")
    return plan


def sound_compression(made: Compression, plan: Plan) -> Compression:
    """MADE as an engine gave it, if it is what came of PLAN.

    Raises:
        TypeError: it is no compression, or puts in what is no JSON.
        ValueError: it is one of another plan, does not split where it summarises, or holds lone surrogates.
    """
    if not isinstance(made, Compression):
        raise TypeError(f"it gave {type(made).__name__} for a compression")
    if (made.plan.chain, made.plan.generation) != (plan.chain, plan.generation):
        raise ValueError("what it made is of another plan")
    if made.change is not None:
        summarises = any(entry.summary is not None for entry in made.change.opened)
        if summarises != (made.plan.kind == "summarise"):
            raise ValueError("its change does not do what its plan says")
        for entry in made.change.opened:
            if entry.sent is not None or entry.summary is not None:
                json.dumps(entry.content, ensure_ascii=False).encode()
    return made


def sound_tools(schemas: Iterable[Mapping[str, Any]], taken: Iterable[str]) -> tuple[Mapping[str, Any], ...]:
    """SCHEMAS of an engine's own tools, if they can be sent beside tools whose names are TAKEN.

    Raises:
        TypeError: they are no schemas.
        ValueError: a name is taken, or none that the API takes.
    """
    names = set(taken)
    checked = tuple(schemas)
    for schema in checked:
        json.dumps(schema)
        name = schema["name"]
        if not (isinstance(name, str) and _TOOL_NAME.fullmatch(name)) or name in names:
            raise ValueError(f"it offers a tool by the name of {name!r}, which cannot be")
        if not isinstance(schema.get("input_schema"), Mapping):
            raise TypeError(f"its tool {name} has no schema")
        names.add(name)
    return checked
