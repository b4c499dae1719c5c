"""Every number of a model knows who said it, and the user's own wins."""

from typing import Any

import pytest

from hermes_tui.chat.thinking import least_thinking
from hermes_tui.config import Settings, load_settings
from hermes_tui.context.budgets import Sourced
from hermes_tui.context.engine import Usage
from hermes_tui.llm.models import (
    GUESSED_WINDOW,
    cost_of,
    max_output_of,
    model_info,
    nearest_kin,
    price_of,
    price_step_of,
    thinking_body,
    window_of,
)
from hermes_tui.llm.provider import ModelInfo

DEFAULT_MODEL, DEFAULT_SUMMARISER = Settings().model.name, Settings().summary.model


def settings(**overrides: Any) -> Settings:
    return load_settings(None, environment={}, overrides={k.replace("__", "."): v for k, v in overrides.items()})


def with_own(model: str, **own: Any) -> Settings:
    return load_settings(None, environment={}, overrides={f"models.{model}.{k}": v for k, v in own.items()})


def test_the_windows_sources_come_in_their_order() -> None:
    said = (ModelInfo(DEFAULT_MODEL, window=400_000),)
    assert window_of(DEFAULT_MODEL, with_own(DEFAULT_MODEL, window=9_000), said) == Sourced(9_000, "command line")
    assert window_of(DEFAULT_MODEL, settings(model__window=60_000), said) == Sourced(60_000, "command line")
    assert window_of(DEFAULT_MODEL, settings(), said) == Sourced(400_000, "models API")
    assert window_of(DEFAULT_MODEL, settings()) == Sourced(1_000_000, "genai-prices")
    assert window_of("claude-sonnet-5-77", settings()).value == 1_000_000
    assert window_of("qwen", settings(), kind="compatible") == Sourced(GUESSED_WINDOW, "a guess: nobody says")


def test_a_window_set_for_the_main_model_is_not_the_summarisers() -> None:
    assert window_of(DEFAULT_SUMMARISER, settings(model__window=60_000), main=False) == Sourced(1_000_000, "genai-prices")


def test_the_longest_reply_has_a_source_too() -> None:
    said = (ModelInfo("m", max_output=4_096, source="server's word"),)
    assert max_output_of("m", settings(), said, kind="compatible") == Sourced(4_096, "server's word")
    assert max_output_of("m", settings(model__max_tokens=700), said, kind="compatible") == Sourced(700, "command line")
    assert max_output_of("m", settings(), (), kind="compatible") is None


@pytest.mark.parametrize(
    ("entry", "window", "source"),
    [
        ({"max_input_tokens": 1_000_000, "max_tokens": 128_000}, 1_000_000, "models API"),
        ({"meta": {"n_ctx": 4_096, "n_ctx_train": 32_768}}, 4_096, "server's n_ctx"),
        ({"max_model_len": 16_384}, 16_384, "server's max_model_len"),
        ({"loaded_context_length": 4_096, "max_context_length": 131_072}, 4_096, "server's loaded_context_length"),
        ({"context_length": 200_000}, 200_000, "server's context_length"),
        ({"meta": {"n_ctx_train": 32_768}}, 32_768, "server's n_ctx_train"),
        ({"max_input_tokens": 0, "meta": None}, None, "models API"),
        ({"meta": "odd", "max_tokens": "odd"}, None, "models API"),
    ],
)
def test_servers_of_all_makers_state_their_windows(entry: dict[str, Any], window: int | None, source: str) -> None:
    info = model_info({"id": "m", **entry})
    assert (info.window, info.source) == (window, source)


def test_what_a_model_takes_for_thinking_is_read_from_its_capabilities() -> None:
    yes, no = {"supported": True}, {"supported": False}
    types = {"adaptive": yes, "enabled": no, "between_tools": yes, "disabled": no}
    efforts = {"supported": True, "low": yes, "medium": yes, "high": yes, "max": no}
    info = model_info({"id": "m", "capabilities": {"thinking": {"supported": True, "types": types}, "effort": efforts}})
    assert (info.thinking, info.thinking_types, info.efforts) == (
        "between_tools",
        ("adaptive", "between_tools"),
        ("low", "medium", "high"),
    )
    assert least_thinking(info).parameter == {"type": "between_tools"}
    assert thinking_body("high", info, 8_192) == {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
    assert thinking_body("max", info, 8_192) == {"thinking": {"type": "adaptive"}}
    older = ModelInfo("o", thinking="off", thinking_types=("enabled", "disabled"))
    assert thinking_body("medium", older, 8_192) == {"thinking": {"type": "enabled", "budget_tokens": 4_096}}
    assert thinking_body("low", older, 2_048) == {}
    always = ModelInfo("a", thinking="always", thinking_types=("adaptive",), efforts=("low", "high"))
    assert (least_thinking(always).parameter, least_thinking(always).extras) == (None, {"output_config": {"effort": "low"}})
    assert model_info({"id": "m"}).thinking is None


def test_costs_follow_the_published_prices_cache_included() -> None:
    usage = Usage(input=1_000, output=2_000, cache_read=100_000, cache_write=10_000)
    found = cost_of(usage, DEFAULT_MODEL)
    assert found is not None
    price = price_of(DEFAULT_MODEL)
    assert price is not None
    assert (price.input, price.output, price.cache_write) == (2.0, 10.0, 2.5)
    assert found == (pytest.approx(price.cost(usage)), "genai-prices")


def test_a_price_step_is_counted_and_known() -> None:
    step = price_step_of(DEFAULT_SUMMARISER)
    assert step is not None
    below, above = (
        cost_of(Usage(input=step.value - 1), DEFAULT_SUMMARISER),
        cost_of(Usage(input=step.value + 1), DEFAULT_SUMMARISER),
    )
    assert below is not None
    assert above is not None
    assert above[0] > 3 * below[0]
    assert price_step_of(DEFAULT_MODEL) is None


def test_the_users_own_price_wins_and_a_server_of_ones_own_has_none() -> None:
    own = with_own("qwen", price={"input": 1.0, "output": 2.0})
    found = cost_of(Usage(input=1_000_000, cache_read=1_000_000), "qwen", own, kind="compatible")
    assert found == (pytest.approx(1.1), "command line")
    assert cost_of(Usage(input=1), "qwen", settings(), kind="compatible", base_url="http://localhost:1") is None
    assert cost_of(Usage(input=1), "smollm2-135m-instruct", kind="embedded") == (0.0, "runs on this machine")


@pytest.mark.parametrize(
    ("wanted", "offered", "kin"),
    [
        ("claude-sonnet-5-5", ["claude-opus-5-5", "claude-sonnet-5-5"], "claude-sonnet-5-5"),
        ("claude-sonnet-5-5", ["claude-opus-5-5", "claude-sonnet-6", "claude-sonnet-5"], "claude-sonnet-5"),
        ("claude-sonnet-5-5", ["claude-sonnet-5-4", "claude-sonnet-5-6"], "claude-sonnet-5-6"),
        ("claude-haiku-4-5", ["claude-opus-5-5", "claude-haiku-4-5-20251001"], "claude-haiku-4-5-20251001"),
        ("claude-haiku-5-5", ["claude-sonnet-6", "claude-haiku-6-5"], "claude-haiku-6-5"),
        ("claude-sonnet-5-5", ["qwen3-8b"], "qwen3-8b"),
        ("claude-sonnet-5-5", ["gpt-oss", "claude-instant"], "claude-instant"),
        ("anything", [], None),
    ],
)
def test_the_nearest_kin_of_a_model_that_is_gone(wanted: str, offered: list[str], kin: str | None) -> None:
    assert nearest_kin(wanted, [ModelInfo(i) for i in offered]) == kin
