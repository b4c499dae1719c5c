"""Layer 1: what a placeholder says, and what it may never lose."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.messages import result_text
from hermes_tui.context.pruning import (
    PRUNED_OVER,
    clipped_results,
    main_argument,
    pruned_call,
    pruned_input,
    pruned_results,
)

LONG = "a line of output\n" * 40


def call(name: str = "read_file", **arguments: object) -> dict[str, object]:
    return {"type": "tool_use", "id": "t1", "name": name, "input": arguments}


def result(text: object, **more: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "t1", "content": text, **more}


def placeholder(a_call: dict[str, object], a_result: dict[str, object], **options: object) -> str:
    sent = pruned_results([a_call], [a_result], {}, **options)
    assert sent is not None
    return str(sent[0]["content"])


def test_a_placeholder_says_what_it_was_how_large_and_how_to_get_it_back():
    line = placeholder(call(path="src/app.py"), result(LONG))
    assert line.count("\n") == 0
    for part in ("read_file", "src/app.py", f"{len(LONG):,} characters", "call it again"):
        assert part in line


def test_a_failed_command_keeps_its_exit_code_and_its_first_error_line():
    text = "collecting\n" * 40 + "Error: no such table: users\nmore\nCommand exited with code 3"
    line = placeholder(call("run", command="make test"), result(text, is_error=True))
    assert "exit 3" in line
    assert "Error: no such table: users" in line
    assert "make test" in line


def test_short_results_and_short_arguments_stay():
    assert pruned_results([call(path="a")], [result("x" * PRUNED_OVER)], {}) is None
    assert pruned_call([call(text="y" * PRUNED_OVER)]) is None


def test_an_image_in_a_result_gives_way_even_when_little_text_stands_beside_it():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    line = placeholder(call(path="shot.png"), result([{"type": "text", "text": "ok"}, image]))
    assert "shot.png" in line


def test_a_tool_that_declares_its_main_argument_is_named_by_it():
    a_call = call("deploy", region="eu", target="staging")
    assert main_argument(a_call, {"deploy": "target"}) == "staging"
    assert main_argument(a_call) == "eu"


def test_secrets_do_not_reach_a_placeholder():
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    line = placeholder(call("run", command=f"curl -H 'Authorization: token {secret}' x"), result(LONG))
    assert secret not in line
    assert secret not in json.dumps(pruned_input({"script": f"export GITHUB_TOKEN={secret}\n" + LONG}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_pruned_arguments_stay_json_with_the_same_keys_and_pruning_again_changes_nothing(arguments):
    once = pruned_input(arguments)
    json.dumps(once)

    def keys(value: object) -> object:
        if isinstance(value, dict):
            return {k: keys(v) for k, v in value.items()}
        return [keys(v) for v in value] if isinstance(value, list) else None

    assert keys(once) == keys(arguments)
    assert pruned_input(once) == once


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=4), st.integers(60, 4_000))
def test_clipped_results_come_to_their_budget_and_keep_start_and_end(lengths, budget):
    content = [result("S" + "x" * n + "E") for n in lengths]
    sent = clipped_results(content, budget, "0123456789", 4.0)
    assert sum(len(result_text(b)) for b in sent) <= max(budget * 4, 200) + 120 * len(content)
    for before, after in zip(content, sent, strict=True):
        if after != before:
            assert result_text(after).startswith("S")
            assert "456789" in result_text(after)
            assert f"{len(result_text(before)):,}" in result_text(after)
