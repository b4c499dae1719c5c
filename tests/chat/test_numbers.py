"""Numbers and switches that a turn goes by: limits with their sources, thinking, the breaker, iterations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.chat import breaker
from hermes_tui.chat.effective import numbers
from hermes_tui.chat.facts import ModelFacts, facts_of
from hermes_tui.chat.iterations import IterationBudget
from hermes_tui.chat.limits import budgets_in_force
from hermes_tui.chat.thinking import BINDING_BETA, thinking_for
from hermes_tui.config import load_settings
from hermes_tui.context.budgets import LEAST_ROOM, ImpossibleBudget, Sourced
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


def test_every_number_in_force_is_told_with_its_source() -> None:
    settings = configured(context__threshold_percent=0.4, summary__max_tokens=500)
    known = facts(1_000_000, price_step=Sourced(100_000, "genai-prices"))
    found = budgets_in_force(settings, known, EngineState(scales={"m": 1.3}), 2_000)
    told = {
        n.name: f"{n.value} · {n.source}" for n in numbers(found, known, settings, EngineState(scales={"m": 1.3}), None, "x")
    }
    assert told["window"] == "1,000,000 · models API"
    assert told["threshold_percent"] == "0.40 · command line"
    assert told["threshold"] == "100,000 · price step 100,000 · genai-prices"
    assert told["price step"] == "100,000 · genai-prices"
    assert told["reserved for the reply"] == "8,192 · default"
    assert told["summary"] == "at most 500 · command line"
    assert told["real tokens per counted one"] == "1.30 · learned from responses"
    assert "added by the server" not in told
    measured = numbers(found, known, settings, EngineState(beside={"m": 1_234}), None, "x")
    assert [n.value for n in measured if n.name == "added by the server"] == ["1,234"]


@given(
    window=st.integers(2_048, 2_000_000),
    floor=st.integers(0, 1_000),
    percent=st.one_of(st.none(), st.floats(0.05, 0.9)),
    cap=st.one_of(st.none(), st.integers(1, 2_000_000)),
    step=st.one_of(st.none(), st.integers(1, 500_000)),
    reply=st.one_of(st.none(), st.integers(1, 200_000)),
    most=st.one_of(st.none(), st.integers(256, 100_000)),
    learned=st.one_of(st.none(), st.integers(2_048, 2_000_000)),
)
def test_any_window_from_two_thousand_to_two_million_works(window, floor, percent, cap, step, reply, most, learned) -> None:
    keys = {
        "context__threshold_percent": percent,
        "context__threshold_tokens": cap,
        "model__max_tokens": reply,
        "summary__max_tokens": most,
    }
    settings = configured(**{k: v for k, v in keys.items() if v is not None})
    known = facts(window, price_step=None if step is None else Sourced(step, "prices"))
    state = EngineState(window_learned={} if learned is None else {"m": learned})
    b = budgets_in_force(settings, known, state, floor)
    assert b.window.value == min(window, learned or window)
    assert 0 < b.reserved.value <= b.window.value // 4 or b.reserved.value == reply
    assert b.floor < b.threshold < b.usable < b.window.value
    assert b.floor <= b.prune_target <= b.warm_mark <= b.threshold <= b.in_loop <= b.usable
    least = floor + min((b.usable - floor) // 4, LEAST_ROOM)
    for bound in (cap, step):
        if bound is not None:
            assert b.threshold <= max(bound, least)
    assert 0 < b.summary_cap <= max(256, b.room)
    assert most is None or b.summary_cap <= most
    told = numbers(b, known, settings, state, None, "x")
    assert all(n.value and n.source for n in told)


def test_a_price_of_ones_own_has_no_step() -> None:
    listed = facts_of("claude-haiku-5-5", configured(), (), kind="anthropic", base_url=None)
    assert listed.price_step == Sourced(100_000, "genai-prices")
    own = configured(**{"models": {"claude-haiku-5-5": {"price": {"input": 1.0, "output": 2.0}}}})
    assert facts_of("claude-haiku-5-5", own, (), kind="anthropic", base_url=None).price_step is None
