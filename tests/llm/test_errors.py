"""However a server says it, the user reads what happened, and the conversation knows what to do."""

import email.utils
import time
from typing import Any

import pytest

from hermes_tui.llm.errors import error_for, error_in_stream, overflow_in, retry_after
from hermes_tui.llm.provider import (
    Busy,
    CompactionRefused,
    Overflowed,
    ProviderError,
    RequestRefused,
    ServerFailed,
    Unauthorised,
)
from tests.growth import growth


def said(message: str, kind: str = "invalid_request_error", **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **more}}


@pytest.mark.parametrize(
    ("status", "payload", "tokens", "window"),
    [
        (400, said("prompt is too long: 215000 tokens > 200000 maximum"), 215_000, 200_000),
        (400, said("Prompt is too long: 1,215,000 tokens > 1,000,000 maximum"), 1_215_000, 1_000_000),
        (
            400,
            said("input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input length"),
            195_000,
            200_000,
        ),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "request (18031 tokens) exceeds the available context size (8192 tokens), try increasing it",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 18031,
                    "n_ctx": 8192,
                }
            },
            18_031,
            8_192,
        ),
        (
            400,
            {"error": {"message": "too long", "type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}},
            900,
            512,
        ),
        (
            400,
            {
                "error": {
                    "message": "This model's maximum context length is 8192 tokens. However, you resulted in 9000 tokens.",
                    "code": "context_length_exceeded",
                }
            },
            9_000,
            8_192,
        ),
        (
            400,
            {"message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"},
            5_000,
            4_096,
        ),
        (
            500,
            said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "api_error"),
            1_200_000,
            1_048_576,
        ),
        (
            400,
            said(
                "Trying to keep the first 5006 tokens when context the overflows. It has a context length of only 4096 tokens"
            ),
            5_006,
            4_096,
        ),
        (502, said("upstream: context_length_exceeded", "api_error"), None, None),
        (400, said("the request exceeds the maximum context length"), None, None),
        (400, said("Input is too long for requested model."), None, None),
        (413, said("Request exceeds the maximum size", "request_too_large"), None, None),
        (413, "", None, None),
        (413, None, None, None),
    ],
)
def test_an_overflow_is_recognised_with_the_numbers_it_states(
    status: int, payload: Any, tokens: int | None, window: int | None
) -> None:
    error = error_for(status, payload, {}, server="s")
    assert isinstance(error, Overflowed)
    assert (error.stated_tokens, error.stated_window, error.status) == (tokens, window, status)
    assert error.sentence.startswith("The prompt is too long")


@pytest.mark.parametrize(
    ("status", "payload"),
    [
        (429, said("This request would exceed your rate limit of 400,000 input tokens per minute", "rate_limit_error")),
        (429, said("too many input tokens", "rate_limit_error")),
        (400, said("max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens")),
        (400, said("messages.3.content: thinking block does not match the conversation prefix")),
        (500, said("internal error", "api_error")),
    ],
)
def test_what_is_no_overflow_is_not_taken_for_one(status: int, payload: Any) -> None:
    assert not isinstance(error_for(status, payload, {}, server="s"), Overflowed)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, RequestRefused, False),
        (401, Unauthorised, False),
        (402, RequestRefused, False),
        (403, Unauthorised, False),
        (404, RequestRefused, False),
        (408, ServerFailed, True),
        (409, ServerFailed, True),
        (422, RequestRefused, False),
        (429, Busy, True),
        (500, ServerFailed, True),
        (502, ServerFailed, True),
        (503, Busy, True),
        (504, ServerFailed, True),
        (529, Busy, True),
    ],
)
@pytest.mark.parametrize("payload", [None, "", "<html>Bad gateway</html>", {"error": "no"}, {"error": None}, [], said("no")])
def test_every_status_has_its_kind_whatever_the_body(
    status: int, kind: type[ProviderError], retryable: bool, payload: Any
) -> None:
    error = error_for(status, payload, {}, server="example.org", model="m")
    assert type(error) is kind
    assert error.retryable is retryable
    assert error.sentence.startswith("example.org")
    assert "\n" not in error.sentence
    assert error.sentence.endswith((".", "?"))


def test_a_long_answer_is_quoted_in_part() -> None:
    error = error_for(400, said("x\n" * 5_000), {}, server="s")
    assert len(error.sentence) < 400


def test_a_model_that_is_gone_is_named() -> None:
    error = error_for(404, said("model: claude-old", "not_found_error"), {}, server="s", model="claude-old")
    assert "'claude-old'" in error.sentence
    assert "/model" in error.sentence


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ],
)
def test_the_wait_a_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_the_wait_may_be_a_date() -> None:
    wait = retry_after({"retry-after": email.utils.formatdate(time.time() + 60, usegmt=True)})
    assert wait is not None
    assert 55 < wait <= 60


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (said("Overloaded", "overloaded_error"), Busy),
        (said("slow down", "rate_limit_error"), Busy),
        (said("oops", "api_error"), ServerFailed),
        (said("bad", "invalid_request_error"), RequestRefused),
        (said("prompt is too long: 10 tokens > 5 maximum", "invalid_request_error"), Overflowed),
        ({}, ServerFailed),
    ],
)
def test_an_error_in_the_middle_of_a_reply_has_its_kind_too(payload: Any, kind: type[ProviderError]) -> None:
    assert type(error_in_stream(payload, server="s")) is kind


def test_searching_a_hostile_message_for_an_overflow_is_quick() -> None:
    for piece in ("maximum context length is ", "first 1 tokens when context", "input ", "9" * 10):
        assert growth(overflow_in, piece * 1_000, piece * 10_000) < 40, piece


@pytest.mark.parametrize(
    "code", ["block_misplaced", "block_ambiguous", "content_mismatch", "signature_invalid", "tool_changes_mismatch"]
)
def test_a_refused_compaction_is_told_apart_so_that_another_summary_can_take_its_place(code: str) -> None:
    payload = said("the block cannot be taken", details={"error_code": f"compaction_{code}"})
    assert type(error_for(400, payload, {}, server="s")) is CompactionRefused
    assert type(error_in_stream(payload, server="s")) is CompactionRefused
    no_beta = said("messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags")
    assert type(error_for(400, no_beta, {}, server="s")) is CompactionRefused
    assert type(error_for(400, said("messages: roles must alternate"), {}, server="s")) is RequestRefused


def test_a_compaction_that_is_not_to_be_had_just_now_is_asked_for_again() -> None:
    busy = said("Overloaded", "overloaded_error", details={"error_code": "compaction_unavailable"})
    assert type(error_for(529, busy, {}, server="s")) is Busy
    assert error_for(529, busy, {}, server="s").retryable
