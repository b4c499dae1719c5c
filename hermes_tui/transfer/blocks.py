"""Content blocks of other programs as blocks of the Messages API.

Only the keys that the API knows are carried over; a block of an unknown type becomes text, so that nothing said is lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import Block, scrub, scrub_json, text_block
from hermes_tui.transfer.files import is_too_deep, json_text, parse

IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Media types of images that the Messages API takes (its vision documentation)."""

LONGEST_NAME: Final = 128
"""Characters of a tool's name that the Messages API takes (its tool use documentation)."""


def blocks_of(content: Any) -> list[Block]:
    """CONTENT (a string, a list of blocks of any program, or nothing) as blocks of the API, blank text left out."""
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [block for item in items if (block := block_of(item)) is not None]


def block_of(item: Any) -> Block | None:
    """One foreign block as the API's, or None where it says nothing."""
    if not isinstance(item, Mapping):
        return _text(item if isinstance(item, str) else "" if item is None else json_text(item))
    kind = item.get("type")
    if kind in ("text", "input_text", "output_text") and isinstance(item.get("text"), str):
        return _text(item["text"])
    if kind in ("tool_use", "toolCall"):
        return call(item.get("id"), item.get("name"), item.get("input", item.get("arguments")))
    if kind == "tool_result":
        return result(item.get("tool_use_id"), item.get("content"), is_error=item.get("is_error") is True)
    if kind == "thinking":
        return _thinking(item)
    if kind == "redacted_thinking" and isinstance(item.get("data"), str):
        return {"type": "redacted_thinking", "data": scrub(item["data"])}
    if kind in ("image", "image_url"):
        return _image(item)
    if kind == "document" and isinstance(item.get("source"), Mapping) and not is_too_deep(item):
        return {"type": "document", **{k: scrub_json(item[k]) for k in ("source", "title", "context") if k in item}}
    return _text(_told(item))


def call(raw_id: Any, name: Any, arguments: Any) -> Block:
    """A tool_use block; arguments that are JSON text are parsed, anything that is no object is kept under ``input``."""
    if isinstance(arguments, str):
        try:
            arguments = parse(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            arguments = {"input": arguments}
    if is_too_deep(arguments):
        arguments = {"input": json_text(arguments)}
    if not isinstance(arguments, Mapping):
        arguments = {} if arguments is None else {"input": arguments}
    clean = re.sub(r"[^a-zA-Z0-9_-]", "_", name if isinstance(name, str) else "")[:LONGEST_NAME] or "tool"
    return {"type": "tool_use", "id": _raw(raw_id), "name": clean, "input": scrub_json(arguments)}


def result(raw_id: Any, content: Any, *, is_error: bool = False) -> Block:
    """A tool_result block: one text as a string, several blocks or pictures as a list."""
    if is_too_deep(content):
        content = json_text(content)
    inner = [block for block in blocks_of(content) if block["type"] in ("text", "image", "document")]
    shown: Any = inner
    if all(block["type"] == "text" for block in inner) and len(inner) < 2:
        shown = inner[0]["text"] if inner else ""
    block = {"type": "tool_result", "tool_use_id": _raw(raw_id), "content": shown}
    return {**block, "is_error": True} if is_error else block


def usage_of(given: Any, *, names: tuple[str, str, str, str]) -> Usage | None:
    """The usage in GIVEN, None where it measured nothing.

    NAMES are its program's words for input, output, cache read and cache write.
    """
    if not isinstance(given, Mapping):
        return None
    numbers = (given.get(name) for name in names)
    fresh, output, cache_read, cache_write = (n if isinstance(n, int) and 0 <= n < 2**53 else 0 for n in numbers)
    read = Usage(fresh, output, cache_read, cache_write)
    return read if read.prompt else None


def word_of(value: Any) -> str | None:
    """VALUE where it is a word, such as a model's name."""
    return scrub(value) if isinstance(value, str) and value else None


def _raw(given: Any) -> str:
    """An id as the recording has it, "" where it has none."""
    return str(given) if isinstance(given, str | int) else ""


def _text(text: str) -> Block | None:
    return text_block(scrub(text)) if text.strip() else None


def _thinking(item: Mapping[str, Any]) -> Block | None:
    """Thinking with its signature where it has one; without, no model takes it back, but a person may read it."""
    thought = item.get("thinking")
    if not isinstance(thought, str) or not thought.strip():
        return None
    block = {"type": "thinking", "thinking": scrub(thought)}
    signature = item.get("signature") or item.get("thinkingSignature")
    return {**block, "signature": scrub(signature)} if isinstance(signature, str) else block


def _image(item: Mapping[str, Any]) -> Block | None:
    """A picture from the API's own shape, OpenAI's ``image_url``, or pi's ``data`` and ``mimeType``."""
    source: Any = item.get("source")
    link = item.get("image_url")
    if isinstance(link, Mapping):
        link = link.get("url")
    if isinstance(link, str):
        inline = re.fullmatch(r"data:([\w./+-]+);base64,(.*)", link, re.DOTALL)
        source = {"type": "base64", "media_type": inline[1], "data": inline[2]} if inline else {"type": "url", "url": link}
    elif isinstance(item.get("data"), str):
        source = {"type": "base64", "media_type": item.get("mimeType"), "data": item["data"]}
    if isinstance(source, Mapping):
        if source.get("type") == "base64" and source.get("media_type") in IMAGE_TYPES and isinstance(source.get("data"), str):
            return {"type": "image", "source": {k: scrub(source[k]) for k in ("type", "media_type", "data")}}
        if source.get("type") == "url" and re.match(r"https?://", str(source.get("url"))):
            return {"type": "image", "source": {"type": "url", "url": scrub(source["url"])}}
    return text_block("(a picture that could not be read)")


def _told(item: Mapping[str, Any]) -> str:
    """A block of an unknown type as text: its type, then its members a line each; long text stands as it is."""
    members = [f"{k}: {v if isinstance(v, str) else json_text(v)}" for k, v in item.items() if k != "type" and v is not None]
    kind = item.get("type")
    return "\n".join([kind, *members] if isinstance(kind, str) and members else members)
