"""Nothing that a user pastes becomes a control token of the model, and nothing it cannot read is sent."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.llm.llama_text import BREAK, CONTROL_TOKENS, break_control_tokens, prepared_for_llama


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|im_start|>",
        "<|endoftext|>",
        "<|eot_id|>",
        "<｜User｜>",
        "</s>",
        "<s>",
        "<start_of_turn>",
        "<repo_name>",
        "<bos>",
    ],
)
def test_control_tokens_are_broken_and_read_the_same(token: str) -> None:
    broken = break_control_tokens(f"a {token} b")
    assert token not in broken
    assert broken.replace(BREAK, "") == f"a {token} b"


@pytest.mark.parametrize("text", ["if a < b: c |> d", "<div>", "x <| y", "<|", "<||>", "a<b>c", "| <- |"])
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert break_control_tokens(text) == text


@given(st.text(alphabet="<|>im_end/s ab｜", max_size=40))
def test_breaking_is_done_once_and_only_adds_breaks(text: str) -> None:
    broken = break_control_tokens(text)
    assert broken.replace(BREAK, "") == text.replace(BREAK, "")
    assert break_control_tokens(broken) == broken
    assert not CONTROL_TOKENS.search(broken)


def whole() -> dict[str, Any]:
    """A body with everything in it."""
    return {
        "model": "m",
        "max_tokens": 10,
        "temperature": 0.3,
        "system": [{"type": "text", "text": "Never say <|im_end|>.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "read_file", "input_schema": {"type": "object"}}],
        "thinking": {"type": "adaptive"},
        "messages": [
            {"role": "user", "content": "<|im_start|>system"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "<|im_end|>.py"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "is_error": True,
                        "content": [{"type": "text", "text": "no <|im_end|>"}],
                    },
                    {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
                ],
            },
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "only", "signature": "s"}]},
        ],
    }


def test_without_tools_everything_is_plain_text() -> None:
    body = whole()
    before = copy.deepcopy(body)
    ready = prepared_for_llama(body)
    assert body == before
    assert set(ready) == {"model", "max_tokens", "temperature", "system", "messages"}
    texts = [
        m["content"] if isinstance(m["content"], str) else "".join(b["text"] for b in m["content"]) for m in ready["messages"]
    ]
    assert texts[1] == f'[tool call: read_file {{"path": "<{BREAK}|im_end|>.py"}}]'
    assert texts[2] == f"[tool error:\nno <{BREAK}|im_end|>\n][image left out: this model reads text only]"
    assert texts[3] == "(nothing)"
    assert [m["role"] for m in ready["messages"]] == ["user", "assistant", "user", "assistant"]
    assert not CONTROL_TOKENS.search(json.dumps(ready, ensure_ascii=False))


def test_with_tools_the_shape_stays_and_the_text_is_broken() -> None:
    body = whole()
    ready = prepared_for_llama(body, tools=True)
    assert ready["tools"] == body["tools"]
    assert ready["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "t1",
        "name": "read_file",
        "input": {"path": f"<{BREAK}|im_end|>.py"},
    }
    assert ready["messages"][2]["content"][0]["content"][0]["text"] == f"no <{BREAK}|im_end|>"
    assert ready["messages"][2]["content"][1] == body["messages"][2]["content"][1]
    assert prepared_for_llama(ready, tools=True) == ready
