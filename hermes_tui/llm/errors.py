"""What a server's refusal means: statuses, wording and headers become the provider's typed errors, each a sentence to read."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from hermes_tui.llm.provider import (
    Busy,
    CompactionRefused,
    Overflowed,
    ProviderError,
    RequestRefused,
    ServerFailed,
    Unauthorised,
)

_N: Final = r"(\d[\d,_]*)"
OVERFLOW: Final = tuple(
    (re.compile(pattern, re.I | re.S), groups)
    for pattern, groups in (
        # (pattern, which group holds the prompt's tokens, which the window's); 0: the error does not say
        (rf"prompt is too long:\s*{_N}\s*tokens?\s*>\s*{_N}", (1, 2)),  # Anthropic
        (rf"input length and `?max_tokens`? exceed context limit:\s*{_N}\s*\+\s*{_N}\s*>\s*{_N}", (1, 3)),  # Anthropic
        (rf"request \({_N} tokens\) exceeds the available context size \({_N} tokens\)", (1, 2)),  # llama.cpp
        (rf"maximum context length is {_N} tokens.{{0,80}}?(?:resulted in|requested) {_N}", (2, 1)),  # OpenAI, vLLM
        (rf"input token count \({_N}\) exceeds the maximum number of tokens allowed \({_N}\)", (1, 2)),  # Gemini gateways
        (rf"first {_N} tokens when context.{{0,120}}?context length of only {_N}", (1, 2)),  # LM Studio
        (rf"input (?:length )?(?:of )?{_N} tokens? (?:exceeds|is longer than).{{0,80}}?{_N}", (1, 2)),
        (rf"context (?:length|window|size|limit)[^.]{{0,40}}?(?:of|is) {_N}", (0, 1)),
        (r"prompt is too long|context_length_exceeded|exceed_context_size_error|model_context_window_exceeded", (0, 0)),
        (r"exceed(?:s|ed|ing)? (?:the |its )?(?:model'?s? )?(?:maximum |max |available )?context", (0, 0)),
        (r"input is too long for (?:the )?requested model|input length exceeds|too many input tokens", (0, 0)),
        (r"context window (?:is )?full", (0, 0)),
    )
)
"""How servers say that a prompt is over the window, the most telling first."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds after which the server wants to be asked again, None where HEADERS name none."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    parsed = email.utils.parsedate_tz(value) if value else None
    return max(0.0, email.utils.mktime_tz(parsed) - time.time()) if parsed else None


def overflow_in(text: str) -> tuple[int | None, int | None] | None:
    """(prompt tokens, window) as far as TEXT states them, where it says that a prompt is too long; None where it does not."""
    for pattern, (tokens, window) in OVERFLOW:
        found = pattern.search(text)
        if found:
            return (_number(found, tokens), _number(found, window))
    return None


def message_in(payload: Any) -> tuple[str, str]:
    """(type, message) of an error payload, whatever shape the server gave it."""
    if isinstance(payload, Mapping):
        inner = payload.get("error", payload)
        if isinstance(inner, Mapping):
            kind = inner.get("type") or inner.get("code") or ""
            text = inner.get("message") or inner.get("detail") or payload.get("message") or payload.get("detail") or ""
            return str(kind), str(text)
        return str(payload.get("type", "")), str(inner)
    return "", str(payload or "")


def error_for(status: int, payload: Any, headers: Mapping[str, str], *, server: str, model: str = "") -> ProviderError:
    """The typed error for a response of SERVER (its name in the sentence) with STATUS, decoded PAYLOAD and HEADERS."""
    kind, said = message_in(payload)
    after = retry_after(headers)
    overflow = overflow_of(status, payload, server)
    if overflow is not None:
        return overflow
    if 300 <= status < 400:
        where = headers.get("location") or "another address"
        return RequestRefused(
            f"{server} redirects to {where} ({status}); set provider.base_url to it if you trust it.", status=status
        )
    if status == 401 or kind == "authentication_error":
        return Unauthorised(
            f"{server} refused the key ({status}). Set a valid one with /key, or in ANTHROPIC_API_KEY (for another server: "
            "HERMES_TUI_API_KEY).",
            status=status,
        )
    if status == 403:
        return Unauthorised(f"{server} does not allow this with the key in use ({status}){_quoted(said)}", status=status)
    if status == 402 or kind == "billing_error":
        return RequestRefused(f"{server} asks for payment ({status}){_quoted(said)}", status=status)
    if status == 404:
        if model and ("model" in said.lower() or kind == "not_found_error"):
            return RequestRefused(
                f"{server} does not know the model {model!r} (404). Choose another with /model.", status=status
            )
        return RequestRefused(
            f"{server} has nothing at this address (404){_quoted(said)} Is it a server of the Anthropic Messages API?",
            status=status,
        )
    if status == 429:
        return Busy(f"{server} limits the rate of requests (429){_quoted(said)}", status=status, retry_after=after)
    if status in (503, 529) or kind == "overloaded_error":
        return Busy(f"{server} is overloaded ({status}).", status=status, retry_after=after)
    if status >= 500 or status in (408, 409):
        return ServerFailed(f"{server} failed ({status}){_quoted(said)}", status=status, retry_after=after)
    if _code(payload).startswith("compaction_") or (status == 400 and "compaction" in said):
        return CompactionRefused(f"{server} refused what its own compaction made ({status}){_quoted(said)}", status=status)
    lowered = said.lower()
    hint = " Set tools.enabled = false in the config for it." if "tool" in lowered and "support" in lowered else ""
    return RequestRefused(f"{server} refused the request ({status}){_quoted(said)}{hint}", status=status)


def _code(payload: Any) -> str:
    """The ``error_code`` in the details of an error, "" for none."""
    inner = payload.get("error") if isinstance(payload, Mapping) else None
    details = inner.get("details") if isinstance(inner, Mapping) else None
    return str(details.get("error_code") or "") if isinstance(details, Mapping) else ""


def overflow_of(status: int, payload: Any, server: str) -> Overflowed | None:
    """An `Overflowed` if STATUS and PAYLOAD say that the prompt is over the window; servers say it with 400, 413 and 5xx."""
    kind, said = message_in(payload)
    if status == 429:  # "too many tokens per minute" is a rate, not a window
        return None
    stated = overflow_in(f"{kind} {said}")
    if stated is None and status != 413:
        return None
    tokens, window = stated or (None, None)
    inner = payload.get("error") if isinstance(payload, Mapping) else None
    if isinstance(inner, Mapping):  # llama.cpp states both beside the message
        tokens = tokens or _whole(inner.get("n_prompt_tokens"))
        window = window or _whole(inner.get("n_ctx"))
    numbers = f": {tokens:,} tokens, {window:,} fit" if tokens and window else f": {window:,} tokens fit" if window else ""
    return Overflowed(
        f"The prompt is too long for the model{numbers} ({server}, {status}).",
        stated_window=window,
        stated_tokens=tokens,
        status=status,
    )


def error_in_stream(payload: Any, *, server: str) -> ProviderError:
    """The typed error for an ``error`` event in the middle of a reply."""
    kind, said = message_in(payload)
    status = {"overloaded_error": 529, "rate_limit_error": 429, "authentication_error": 401, "api_error": 500}.get(kind, 0)
    overflow = overflow_of(status or 400, payload, server)
    if overflow is not None:
        return overflow
    if kind in ("overloaded_error", "rate_limit_error"):
        why = "it is overloaded" if kind == "overloaded_error" else "the rate limit is reached"
        return Busy(f"{server} broke the reply off: {why}.", status=status)
    if kind == "invalid_request_error" and _code(payload).startswith("compaction_"):
        return CompactionRefused(f"{server} refused what its own compaction made{_quoted(said)}", status=400)
    if kind in ("invalid_request_error", "permission_error", "not_found_error"):
        return RequestRefused(f"{server} broke the reply off{_quoted(said)}", status=400)
    return ServerFailed(f"{server} broke the reply off{_quoted(said)}", status=status or None)


def _quoted(said: str) -> str:
    """The server's own words as the end of a sentence, on one line and bounded."""
    text = " ".join(said.split())
    if not text:
        return "."
    return f": {text if len(text) <= 300 else text[:299] + '…'}" + ("" if text.endswith((".", "!", "?")) else ".")


def _number(found: re.Match[str], group: int) -> int | None:
    return _whole(found.group(group).replace(",", "").replace("_", "")) if group else None


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if number > 0 else None
