"""Gain: a compression leaves at most nine tenths of what was there, measured alike on both sides; anything else is a no-op."""

from __future__ import annotations

from typing import Final

from hermes_tui.context.engine import Refusal

GAIN: Final = 0.9
"""The largest share of the size before that a compression may leave (design, Gain)."""


def gains(before: int, after: int) -> bool:
    """Whether a compression from BEFORE to AFTER tokens is one."""
    return after <= GAIN * before


def no_gain(before: int, after: int) -> Refusal:
    """The refusal of a compression whose result was measured: AFTER tokens would be left of BEFORE."""
    return Refusal("no_gain", f"No gain: {before:,} tokens would have become {after:,}; nothing changed.", counts=True)
