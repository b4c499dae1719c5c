"""Limits: the budgets in force for a conversation, from the settings, what is known of the model, and what errors taught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_tui.chat.facts import ModelFacts
from hermes_tui.context.budgets import DEFAULT_RESERVED, Budgets, Share, Sourced, budgets_for
from hermes_tui.context.engine import EngineState

if TYPE_CHECKING:
    from hermes_tui.config import Settings

EMBEDDED_RESERVED: Final = 2_048
"""Tokens of a reply of the embedded model: a quarter of its 8 K window."""


def compacts_by_itself(settings: Settings, facts: ModelFacts) -> bool:
    """Whether the provider is to compact by itself: the user wants it, and the model has it."""
    return settings.summary.engine == "api" and facts.info.compaction


def budgets_in_force(
    settings: Settings, facts: ModelFacts, state: EngineState, floor: int, *, embedded: bool = False
) -> Budgets:
    """All budgets for the model that FACTS tell of.

    Args:
        settings: the user's own values.
        facts: window, longest reply and price step of the model, each with its source.
        state: windows learned from overflow errors; they only ever lower the number.
        floor: scaled tokens of system and tools.
        embedded: the model runs in the child process of this program.

    Raises:
        ImpossibleBudget: the window is too small, or the floor leaves no room.
    """
    model, window = facts.info.id, facts.window
    learned = state.window_learned.get(model)
    if learned is not None and learned < window.value:
        window = Sourced(learned, "learned from an error")
    wanted = settings.effective("max_tokens", model)
    if wanted.value is not None:
        most = Sourced(int(wanted.value), wanted.source)
    else:
        most = Sourced(EMBEDDED_RESERVED if embedded else DEFAULT_RESERVED, "default")
        if facts.max_output is not None and facts.max_output.value < most.value:
            most = facts.max_output
    percent = settings.effective("threshold_percent", model)
    cap = settings.effective("threshold_tokens", model)
    summary = settings.effective("summary_max_tokens", model)
    return budgets_for(
        window,
        floor,
        max_tokens=most,
        threshold_percent=Share(float(percent.value), percent.source),
        absolute_cap=None if cap.value is None else Sourced(int(cap.value), cap.source),
        price_step=facts.price_step,
        summary_most=None if summary.value is None else Sourced(int(summary.value), summary.source),
        protect_last_n=settings.context.protect_last_n,
        summary_target_ratio=settings.context.summary_target_ratio,
        # A provider's block has to come first of all messages, so the head goes into it.
        protect_first_n=1 if compacts_by_itself(settings, facts) else settings.context.protect_first_n,
    )
