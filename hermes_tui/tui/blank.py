"""The empty page: what a first start says, and what the inspector shows before anything was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_tui.tui.readings import ContextReading
from hermes_tui.tui.transcript import Block, Notice

if TYPE_CHECKING:
    from hermes_tui.chat.parts import Parts
    from hermes_tui.tui.room import Room


def welcome(room: Room) -> tuple[Block, ...]:
    """What stands on an empty page: who answers, what to try, where the keys are."""
    if room.embedded:
        size = room.answers().removeprefix("embedded, ")
        lines = [
            f"A very small model ({size}) answers here, on your own machine: quick, private, often wrong.",
            "/key adds a key for a better one; a server of your own goes into provider.base_url.",
        ]
    else:
        lines = [f"{room.model} answers, at {room.answers()}."]
    lines += [
        "",
        "Chat on, and watch what is sent: as it nears the threshold the middle is told again as a summary. A thin line "
        "stands where that happened, and nothing that was said is lost.",
        "",
        "F2 goes to what is sent · F3 walks back through it · /compress does it now · Ctrl+P finds every command",
    ]
    return (Notice("welcome", "\n".join(lines)),)


def blank_reading(parts: Parts, prompt: str) -> ContextReading:
    """The inspector for a conversation that has not begun: PROMPT and tools against the window. Slow the first time."""
    from hermes_tui.chat.limits import budgets_in_force
    from hermes_tui.context.budgets import ImpossibleBudget
    from hermes_tui.context.engine import EngineState
    from hermes_tui.context.tokens import Meter
    from hermes_tui.context.view import ContextView
    from hermes_tui.tui.surveys import context_reading

    tools = parts.tools.schemas if parts.tools is not None and parts.provider.tools else ()
    view = ContextView(chain="", session="", generation=0, model=parts.model, system=prompt, tools=tuple(tools))
    state = EngineState(scales=parts.store.learned_scales())
    meter = Meter(parts.count)
    floor = meter.scaled_floor(view, state)
    remark = ""
    try:
        budgets = budgets_in_force(parts.settings, parts.facts(parts.model), state, floor, embedded=parts.embedded)
    except ImpossibleBudget as problem:
        budgets, remark = None, str(problem)
    return context_reading(view, state, budgets, meter.size(view, state), None, meter, remark=remark)
