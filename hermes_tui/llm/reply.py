"""A reply as it arrives: server-sent events in, the provider's events out, at the end the blocks as they may be sent back."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import Block, scrub, scrub_json
from hermes_tui.llm.errors import error_in_stream
from hermes_tui.llm.provider import (
    BlockEnded,
    BlockStarted,
    InputGrew,
    ReplyEnded,
    ServerFailed,
    StreamBroken,
    StreamEvent,
    TextGrew,
    ThinkingGrew,
)

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("type", "text", "citations"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
    "tool_use": ("type", "id", "name", "input"),
    "compaction": (),
}
"""The documented fields of each block that a model writes, and nothing else: strict gateways refuse a request that gives
back a field they do not know (Mistral, Fireworks and Kimi do). Blocks of other types are not kept at all. A compaction is
kept whole: it goes back exactly as it came, to nobody but who made it."""
CUT_OFF: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons that end a reply in the middle of a block."""


class Reply:
    """Builds a reply from its events.

    Args:
        server: the server's name in sentences.
    """

    def __init__(self, server: str) -> None:
        self.ended = False
        self._server = server
        self._open: dict[int, dict[str, Any]] = {}
        self._json: dict[int, list[str]] = {}
        self._text: dict[int, list[str]] = {}
        self._done: dict[int, Block] = {}
        self._held: tuple[int, Block | None, str] | None = None  # a call whose end is told once the next event shows it whole
        self._ids: set[str] = set()
        self._usage: dict[str, Any] = {}
        self._stop = ""

    def feed(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """What EVENT, the decoded data of one server-sent event, adds.

        Raises:
            ProviderError: an error event, or one that makes no sense.
        """
        kind = event.get("type")
        try:
            if kind == "content_block_delta":
                yield from self._grow(int(event["index"]), event["delta"])
            elif kind == "content_block_start":
                yield from self._release()
                yield from self._start(int(event["index"]), event["content_block"])
            elif kind == "content_block_stop":
                yield from self._stop_block(int(event["index"]))
            elif kind == "message_start":
                self._merge(event["message"].get("usage"))
            elif kind == "message_delta":
                self._stop = event.get("delta", {}).get("stop_reason") or self._stop
                self._merge(event.get("usage"))
            elif kind == "message_stop":
                yield from self._finish()
            elif kind == "error":
                raise error_in_stream(event, server=self._server)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StreamBroken(f"{self._server} sent an event that makes no sense in a reply ({kind}): {error!r}.") from None

    def _start(self, index: int, block: Mapping[str, Any]) -> Iterator[StreamEvent]:
        kind = block["type"]
        if kind not in KEYS:
            return
        keys = KEYS[kind] or tuple(block)
        first = {key: scrub_json(block[key]) for key in keys if block.get(key) is not None or not KEYS[kind]}
        if kind == "tool_use":
            first["id"], first["name"] = self._id(str(block.get("id", ""))), str(block["name"])
            first["input"] = dict(block.get("input") or {})
            self._json[index] = []
        else:
            field = {"text": "text", "thinking": "thinking"}.get(kind)
            if field:
                first.setdefault(field, "")
                self._text[index] = [first[field]] if first[field] else []
        self._open[index] = first
        yield BlockStarted(index, dict(first))

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        block = self._open.get(index)
        if block is None:
            return
        match delta["type"]:
            case "text_delta":
                text = scrub(delta["text"])
                self._text[index].append(text)
                yield TextGrew(index, text)
            case "thinking_delta":
                text = scrub(delta["thinking"])
                self._text[index].append(text)
                yield ThinkingGrew(index, text)
            case "signature_delta":
                block["signature"] = block.get("signature", "") + delta["signature"]
            case "input_json_delta":
                text = scrub(delta["partial_json"])
                if text:
                    self._json[index].append(text)
                    yield InputGrew(index, text)
            case "compaction_delta":
                block.update({key: scrub_json(delta[key]) for key in ("content", "encrypted_content") if delta.get(key)})
            case "citations_delta":
                block.setdefault("citations", []).append(scrub_json(delta["citation"]))

    def _stop_block(self, index: int) -> Iterator[StreamEvent]:
        block = self._open.pop(index, None)
        if block is None:
            return
        if block["type"] == "tool_use":
            text = "".join(self._json.pop(index))
            parsed = _arguments(text) if text else block["input"]
            self._held = (index, {**block, "input": scrub_json(parsed)} if parsed is not None else None, block["name"])
            return
        yield from self._end(index, self._whole(index, block))

    def _end(self, index: int, block: Block) -> Iterator[StreamEvent]:
        self._done[index] = block
        yield BlockEnded(index, block)

    def _release(self) -> Iterator[StreamEvent]:
        """Tell the end of a held call: something came after it, so it was not what the reply was cut off in."""
        if self._held is None:
            return
        index, block, name = self._held
        self._held = None
        if block is None:
            raise ServerFailed(f"{self._server}: the model's call of {name} is no valid JSON.")
        yield from self._end(index, block)

    def _finish(self) -> Iterator[StreamEvent]:
        if self._stop in CUT_OFF:
            self._held = None
        else:
            yield from self._release()
        for index in sorted(self._open):  # a server that forgets the stop of a block
            block = self._open.pop(index)
            if block["type"] != "tool_use":
                yield from self._end(index, self._whole(index, block))
        self.ended = True
        content = tuple(block for _, block in sorted(self._done.items()) if not _is_empty(block))
        yield ReplyEnded(content, self._stop or "end_turn", usage_of(self._usage), dict(self._usage))

    def _whole(self, index: int, block: dict[str, Any]) -> Block:
        field = {"text": "text", "thinking": "thinking"}.get(block["type"])
        if field:
            block[field] = "".join(self._text.pop(index, ()))
        if not block.get("signature", "x"):
            del block["signature"]
        if not block.get("citations", ["x"]):
            del block["citations"]
        return block

    def _id(self, given: str) -> str:
        """GIVEN as an id that every server accepts back, unlike every other of this reply."""
        plain = re.sub(r"[^a-zA-Z0-9_-]", "_", given)
        if not plain or plain in self._ids:
            plain = f"{plain or 'toolu'}_{uuid.uuid4().hex[:16]}"
        self._ids.add(plain)
        return plain

    def _merge(self, usage: Mapping[str, Any] | None) -> None:
        for key, value in (usage or {}).items():
            if value is not None:
                self._usage[key] = value


def usage_of(raw: Mapping[str, Any]) -> Usage:
    """The numbers of a raw usage object; whatever is missing is 0.

    A ``compaction`` entry of ``iterations`` is not part of the top-level numbers, and says nothing of the prompt's size (SDK,
    BetaUsage.iterations); every other entry is part of them.
    """
    iterations = raw.get("iterations")
    beside = [e for e in iterations if isinstance(e, Mapping)] if isinstance(iterations, list) else []
    return replace(_counts(raw), beside=tuple(_counts(entry) for entry in beside if entry.get("type") == "compaction"))


def _counts(raw: Mapping[str, Any]) -> Usage:
    def number(key: str) -> int:
        value = raw.get(key)
        return max(0, int(value)) if isinstance(value, int | float) else 0

    return Usage(
        input=number("input_tokens"),
        output=number("output_tokens"),
        cache_read=number("cache_read_input_tokens"),
        cache_write=number("cache_creation_input_tokens"),
    )


def _arguments(text: str) -> dict[str, Any] | None:
    """The object that TEXT is the JSON of; None where it is something else or cut off."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _is_empty(block: Block) -> bool:
    """Text that holds nothing but space: the API starts one now and then, and refuses it when it is sent back."""
    return block["type"] == "text" and not str(block.get("text", "")).strip()
