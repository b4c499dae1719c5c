"""What a body must look like for a llama.cpp server: no text that its tokenizer takes for a control token, no block it drops.

Pure, and done when the body is built: the body that is stored is the body that is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

BREAK: Final = "\u200b"
"""Zero width space, put after the ``<``: the text reads the same, and no tokenizer knows it as a control token."""
CONTROL_TOKENS: Final = re.compile(
    r"<(?="
    r"[|｜][^<>\s]{1,60}[|｜]>"  # ChatML and its kin: <|im_end|>, <|endoftext|>, DeepSeek's full-width bars
    r"|/?s>|/?(?:bos|eos|pad|unk)>|(?:start|end)_of_turn>"  # Llama 2, Mistral, Gemma
    r"|(?:repo_?name|file_?name|file_sep|gh_stars|issue_(?:start|comment|closed)|jupyter_\w{1,12}|empty_output)>"  # SmolLM2
    r")"
)
_UNKNOWN: Final = frozenset({"tools", "tool_choice", "thinking", "output_config"})
"""Parameters that mean nothing to a model without tools."""
_KEPT: Final = frozenset({"type", "id", "tool_use_id", "name", "role", "cache_control", "source", "signature", "data"})
"""Keys whose values are names for machines, not text."""


def break_control_tokens(text: str) -> str:
    """TEXT with a zero width space in whatever a model of the llama.cpp world takes for a control token."""
    return CONTROL_TOKENS.sub("<" + BREAK, text)


def prepared_for_llama(body: Mapping[str, Any], *, tools: bool = False) -> dict[str, Any]:
    """BODY as a llama.cpp server can take it, BODY itself untouched.

    Control tokens in texts are broken. Without TOOLS (the embedded model: its template drops calls and results, and refuses
    nothing) calls, results and images become plain text, thinking goes, and neither ``tools`` nor ``thinking`` is sent.
    """
    ready = {key: value for key, value in body.items() if tools or key not in _UNKNOWN}
    if "system" in ready:
        ready["system"] = _broken(ready["system"])
    ready["messages"] = [_message(message, tools) for message in body.get("messages", ())]
    return ready


def _message(message: Mapping[str, Any], tools: bool) -> dict[str, Any]:
    content = message.get("content", "")
    if isinstance(content, str):
        return {**message, "content": break_control_tokens(content)}
    if tools:
        return {**message, "content": [_broken(block) for block in content]}
    blocks = [{"type": "text", "text": break_control_tokens(text)} for block in content if (text := as_text(block)).strip()]
    return {**message, "content": blocks or [{"type": "text", "text": "(nothing)"}]}


def as_text(block: Mapping[str, Any]) -> str:
    """A content block as the plain text that a model without tools and eyes can read; thinking is no text."""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "tool_use":
            arguments = json.dumps(block.get("input", {}), ensure_ascii=False)
            return f"[tool call: {block.get('name', '')} {arguments}]"
        case "tool_result":
            inner = block.get("content", "")
            text = inner if isinstance(inner, str) else "\n".join(as_text(part) for part in inner or ())
            return f"[{'tool error' if block.get('is_error') else 'tool result'}:\n{text}\n]"
        case "image" | "document" as kind:
            return f"[{kind} left out: this model reads text only]"
    return ""


def _broken(value: Any) -> Any:
    """VALUE with the control tokens broken in every text of it."""
    if isinstance(value, str):
        return break_control_tokens(value)
    if isinstance(value, Mapping):
        return {key: item if key in _KEPT else _broken(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_broken(item) for item in value]
    return value
