"""The breaker: two passes without gain stop automatic compression of a chain until it has grown or half an hour has passed.

It lives in the chain's engine state, so it holds across splits and restarts. Runs by hand and passes that found nothing
eligible never count, and an overflow is always compressed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import EngineState

STRIKES: Final = 2
"""Passes without gain in a row that stop automatic runs."""
REARM_SECONDS: Final = 30 * 60
"""After the stop automatic runs are allowed again (design, Triggers)."""
REARM_GROWTH: Final = 0.20
"""Of the threshold: growth since the stop that re-arms automatic runs."""


def struck(state: EngineState, size: int, now: float) -> EngineState:
    """STATE after an automatic pass without gain at SIZE tokens."""
    strikes = state.strikes + 1
    return replace(state, strikes=strikes, stopped_at=(now, size) if strikes >= STRIKES else state.stopped_at)


def gained(state: EngineState) -> EngineState:
    """STATE after a pass with gain, by hand or not: everything counts anew."""
    if not state.strikes and state.stopped_at is None and not state.rest_until_size:
        return state
    return replace(state, strikes=0, stopped_at=None, rest_until_size=0)


def edited(state: EngineState, before: int, after: int, budgets: Budgets) -> EngineState:
    """STATE after an undo or redo: where it made the context larger, automatic runs rest until that has grown by a fifth of the
    threshold (or reaches the in-loop trigger, see `rests`), or the undo would be taken back at once; where smaller, no more."""
    if after == before:
        return state
    return replace(state, rest_until_size=after + round(REARM_GROWTH * budgets.threshold) if after > before else 0)


def rearmed(state: EngineState, size: int, budgets: Budgets, now: float) -> EngineState:
    """STATE with automatic runs allowed again, if the size has grown or the time has passed since they were stopped or rest."""
    if state.rest_until_size and not _undo_rests(state, size, budgets):
        state = replace(state, rest_until_size=0)
    if state.stopped_at is None:
        return state
    since, at_size = state.stopped_at
    if now - since < REARM_SECONDS and size < at_size + REARM_GROWTH * budgets.threshold:
        return state
    return replace(state, strikes=0, stopped_at=None)


def rests(state: EngineState, size: int, budgets: Budgets) -> bool:
    """Whether automatic runs rest."""
    return state.stopped_at is not None or _undo_rests(state, size, budgets)


def told(state: EngineState) -> str:
    """Why automatic runs rest, for the inspector, "" where they do not; whatever engine is at work."""
    if state.stopped_at is not None:
        return "automatic compression has stopped: two passes gained nothing"
    return "resting after an undo" if state.rest_until_size else ""


def _undo_rests(state: EngineState, size: int, budgets: Budgets) -> bool:
    return size < min(state.rest_until_size, budgets.in_loop)
