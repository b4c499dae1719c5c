"""The numbers in force, each with where it came from: what is shown to whoever wonders why something happens when it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_tui.chat.facts import ModelFacts
from hermes_tui.chat.limits import compacts_by_itself
from hermes_tui.context.budgets import Budgets, Sourced
from hermes_tui.context.engine import EngineState

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.llm.models import Price


@dataclass(frozen=True, slots=True)
class Number:
    """One number in force, written out, and where it came from."""

    name: str
    value: str
    source: str


def numbers(
    budgets: Budgets, facts: ModelFacts, settings: Settings, state: EngineState, price: Price | None, summaries: str
) -> tuple[Number, ...]:
    """Every number that the conversation is steered by; SUMMARIES says who writes them."""
    model = facts.info.id
    percent, cap = settings.effective("threshold_percent", model), settings.effective("threshold_tokens", model)
    thinking = settings.effective("thinking", model)
    b = budgets
    found = [
        _sourced("window", b.window),
        _sourced("reserved for the reply", b.reserved),
        Number("usable", f"{b.usable:,}", "window − reserved"),
        Number("system and tools", f"{b.floor:,}", "counted"),
        *_beside(state, model),
        Number("threshold", f"{b.threshold:,}", b.threshold_rule),
        Number("threshold_percent", f"{b.threshold_percent.value:.2f}", percent.source),
        Number("threshold_tokens", "not set" if cap.value is None else f"{cap.value:,}", cap.source),
    ]
    if facts.price_step is not None:
        found.append(_sourced("price step", facts.price_step))
    found += [
        Number("room", f"{b.room:,}", "threshold − system and tools"),
        Number("warm mark", f"{b.warm_mark:,}", "0.85 of the room"),
        Number("in a tool loop", f"{b.in_loop:,}", "0.85 of usable, at least the threshold"),
        Number("pruning alone reaches", f"{b.prune_target:,}", "half of the room"),
        Number("least worth pruning", f"{b.prune_batch:,}", "20,000, or a tenth of the window"),
        _head(b, facts, settings),
        Number(
            "tail", f"{b.tail_budget:,} to {b.tail_bound:,}",
            f"summary_target_ratio {settings.context.summary_target_ratio:.2f} · "
            f"{settings.source_of('context.summary_target_ratio')}",
        ),
        Number("tail, messages", f"{b.protect_last_n}", f"protect_last_n · {settings.source_of('context.protect_last_n')}"),
        Number("summary", f"at most {b.summary_cap:,}", b.summary_rule),
        Number("summaries by", summaries, settings.source_of("summary.engine")),
        Number("thinking", str(thinking.value), thinking.source),
    ]  # fmt: skip
    if price is not None:
        found.append(Number("price of a million", f"${price.input:g} in, ${price.output:g} out", price.source))
    if model in state.scales:
        found.append(Number("real tokens per counted one", f"{state.scales[model]:.2f}", "learned from responses"))
    return tuple(found)


def _beside(state: EngineState, model: str) -> tuple[Number, ...]:
    """What the server adds to system and tools, where it was measured."""
    beside = state.beside.get(model, 0)
    return (Number("added by the server", f"{beside:,}", "measured beyond what was counted"),) if beside else ()


def _head(budgets: Budgets, facts: ModelFacts, settings: Settings) -> Number:
    if compacts_by_itself(settings, facts):
        return Number("head", "none", "the provider's own compaction comes first of all messages")
    return Number("head", f"at most {budgets.head_cap:,}", f"protect_first_n · {settings.source_of('context.protect_first_n')}")


def _sourced(name: str, number: Sourced) -> Number:
    return Number(name, f"{number.value:,}", number.source)
