"""What is known of the model that a conversation talks to: its limits, its thinking, its price step, each with its source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_tui.context.budgets import Sourced
from hermes_tui.llm.provider import ModelInfo

if TYPE_CHECKING:
    from hermes_tui.config import Settings


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model as far as it is known.

    Attributes:
        info: what the provider says of it.
        window: its limit in tokens.
        max_output: what to send as max_tokens where the user set it, or the model's own limit; None where nobody says.
        price_step: prompt tokens from which a whole request costs more; None where there is no such step.
    """

    info: ModelInfo
    window: Sourced
    max_output: Sourced | None = None
    price_step: Sourced | None = None


def facts_of(
    model: str, settings: Settings, infos: Iterable[ModelInfo], *, kind: str, base_url: str | None, main: bool = True
) -> ModelFacts:
    """What is known of MODEL at a provider of KIND; INFOS is what that says of its models. MAIN: it is the one that answers.

    Slow the first time (the price list is loaded): call it off the loop.
    """
    from hermes_tui.llm.models import max_output_of, price_step_of, window_of

    known = tuple(infos)
    return ModelFacts(
        info=next((info for info in known if info.id == model), ModelInfo(model, source="unknown")),
        window=window_of(model, settings, known, kind=kind, main=main),
        max_output=max_output_of(model, settings, known, kind=kind, main=main),
        price_step=None if _own_price(model, settings) else price_step_of(model, kind=kind, base_url=base_url),
    )


def _own_price(model: str, settings: Settings) -> bool:
    """Whether the user says what MODEL costs: then no step of a price list is meant."""
    override = settings.models.get(model)
    return override is not None and override.price is not None
