"""Numbers and switches that a turn goes by: limits with their sources, thinking, the breaker, iterations."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_tui.chat import breaker
from hermes_tui.chat.facts import ModelFacts
from hermes_tui.chat.iterations import IterationBudget
from hermes_tui.chat.limits import budgets_in_force
from hermes_tui.chat.thinking import BINDING_BETA, thinking_for
from hermes_tui.config import load_settings
from hermes_tui.context.budgets import ImpossibleBudget, Sourced
from hermes_tui.context.engine import EngineState
from hermes_tui.llm.provider import ModelInfo


def facts(window: int = 100_000, **more: Any) -> ModelFacts:
    return ModelFacts(ModelInfo("m"), Sourced(window, "models API"), **more)


def configured(**overrides: Any) -> Any:
    return load_settings(None, environment={}, overrides={k.replace("__", "."): v for k, v in overrides.items()})


def test_every_limit_knows_where_it_comes_from() -> None:
    found = budgets_in_force(configured(), facts(), EngineState(), 500)
    assert (found.window, found.reserved) == (Sourced(100_000, "models API"), Sourced(8_192, "default"))
    assert found.threshold == (100_000 - 8_192) // 2
    set_by_user = budgets_in_force(configured(model__max_tokens=4_000), facts(), EngineState(), 500)
    assert set_by_user.reserved == Sourced(4_000, "command line")


def test_a_window_learned_from_an_error_only_ever_lowers_the_limit() -> None:
    for learned, expected in ((40_000, Sourced(40_000, "learned from an error")), (400_000, Sourced(100_000, "models API"))):
        state = EngineState(window_learned={"m": learned})
        assert budgets_in_force(configured(), facts(), state, 500).window == expected
    other = EngineState(window_learned={"another": 4_000})
    assert budgets_in_force(configured(), facts(), other, 500).window.value == 100_000


def test_a_price_step_and_an_absolute_cap_bound_the_threshold() -> None:
    stepped = budgets_in_force(configured(), facts(300_000, price_step=Sourced(100_000, "prices")), EngineState(), 500)
    assert stepped.threshold == 100_000
    capped = budgets_in_force(configured(context__threshold_tokens=30_000), facts(), EngineState(), 500)
    assert capped.threshold == 30_000


def test_a_short_longest_reply_and_the_embedded_model_reserve_less() -> None:
    short = budgets_in_force(configured(), facts(max_output=Sourced(4_096, "models API")), EngineState(), 500)
    assert short.reserved == Sourced(4_096, "models API")
    assert budgets_in_force(configured(), facts(8_192), EngineState(), 64, embedded=True).reserved.value == 2_048


def test_windows_and_floors_that_cannot_work_are_refused_with_the_numbers() -> None:
    with pytest.raises(ImpossibleBudget, match="2,047"):
        budgets_in_force(configured(), facts(2_047), EngineState(), 100)
    with pytest.raises(ImpossibleBudget, match="9,000"):
        budgets_in_force(configured(), facts(8_192), EngineState(), 9_000)


def test_thinking_is_asked_for_only_where_the_model_is_known_to_take_it() -> None:
    def asked(model: str, setting: str = "auto", *, edited: bool = False, **info: Any) -> Any:
        return thinking_for(setting, ModelInfo(model, **info), max_tokens=8_192, loop_edited=edited)

    assert asked("claude-sonnet-5-5").parameter == {"type": "adaptive"}
    assert asked("claude-haiku-4-5").parameter is None
    assert asked("qwen3").parameter is None
    assert asked("mine", thinking_types=("adaptive", "disabled"), thinking="off").parameter == {"type": "adaptive"}
    assert asked("claude-sonnet-5-5", "off").parameter == {"type": "between_tools"}
    assert asked("qwen3", "off").parameter is None


def test_after_an_edit_in_the_open_loop_the_rest_of_the_turn_goes_without_thinking() -> None:
    edited = thinking_for("auto", ModelInfo("claude-sonnet-5-5"), max_tokens=8_192, loop_edited=True)
    assert edited.parameter == {"type": "between_tools"}
    always = thinking_for("auto", ModelInfo("claude-opus-5-5"), max_tokens=8_192, loop_edited=True)
    assert always.parameter == {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert always.betas == (BINDING_BETA,)


def test_the_breaker_stops_at_two_strikes_and_starts_again_with_growth_or_time() -> None:
    budgets = budgets_in_force(configured(), facts(), EngineState(), 500)
    once = breaker.struck(EngineState(), 50_000, 0.0)
    assert not breaker.rests(once, 50_000, budgets)
    twice = breaker.struck(once, 50_000, 10.0)
    assert breaker.rests(twice, 50_000, budgets)
    assert breaker.rearmed(twice, 50_000, budgets, 10.0 + 29 * 60) == twice
    assert breaker.rearmed(twice, 50_000, budgets, 10.0 + 30 * 60).stopped_at is None
    grown = 50_000 + budgets.threshold // 5 + 1
    assert breaker.rearmed(twice, grown, budgets, 20.0).strikes == 0
    assert breaker.gained(twice) == EngineState()
    resting = EngineState(rest_until_size=60_000)
    assert breaker.rests(resting, 59_999, budgets)
    assert not breaker.rests(resting, 60_000, budgets)


def test_a_split_in_mid_turn_gives_new_iterations_twice_and_no_more() -> None:
    budget = IterationBudget(2)
    for _ in range(3):
        budget.take()
        budget.take()
        assert budget.spent
        budget.renew()
    assert budget.spent
    assert budget.taken == 6
