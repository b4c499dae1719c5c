"""Tokens: one estimate for every part of a request, anchored on what the provider measured.

The size of a view is ``anchor + scale x (estimate of the view - estimate of the anchored request)``: what was measured stays
measured, only what came since is estimated, and an edit takes off what it closed and adds what it put in, by the same formula.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from hermes_tui.context.engine import Anchor, Count, EngineState, Usage
from hermes_tui.context.messages import Block, Message
from hermes_tui.context.rendering import SentRow, sent_rows
from hermes_tui.context.view import ContextView, Entry

MESSAGE_FRAME: Final = 4
"""Tokens around a message (compression.md, D: 6-7 scaled)."""
CALL_FRAME: Final = 30
RESULT_FRAME: Final = 30
"""Tokens around a call and around its result: 45-120 a pair on Claude, measured over 903 real turns (compression.md, D)."""
IMAGE_TOKENS: Final = 1_500
"""An image whose size is not known; 1024 x 1024 costs 1,446 on current models."""
PAGE_TOKENS: Final = 2_000
"""A page of a document, by its base64 size at about 60 kB a page."""

EVIDENCE: Final = 2_000
"""Estimated tokens: a reading over so many counts as much as all that was known of the scale before it."""
LEAST_EVIDENCE: Final = 100
"""Estimated tokens: over less, a reading says more about frames than about the scale."""
FORMS: Final = 3
"""Forms of one message whose count is remembered: as said, as pruned, and as pruned before."""
LEAST_SCALE: Final = 0.4
MOST_SCALE: Final = 3.0
"""Between these lies every tokenizer measured against ours (compression.md, D: 0.9-1.8); beyond them it is no reading."""

SizeKind = Literal["measured", "estimated", "stale"]


@dataclass(frozen=True, slots=True)
class Size:
    """A number of tokens and how it is known: measured; estimated; or stale (an edit was made since the measurement)."""

    tokens: int
    kind: SizeKind

    @property
    def mark(self) -> str:
        """ "~" before any number that is not measured."""
        return "" if self.kind == "measured" else "~"


def compact_json(value: Any) -> str:
    """VALUE as the JSON that is counted for a call's input or a tool's schema."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Meter:
    """Estimates the size of blocks, entries and views with a token counter; remembers what it counted by content."""

    def __init__(self, count: Count) -> None:
        self.count = count
        self._contents: dict[str, list[tuple[tuple[Block, ...], int]]] = {}
        self._floor: tuple[tuple[Mapping[str, Any], ...], str, int] = ((), "", 0)

    def block(self, block: Block) -> int:
        """Unscaled tokens of one content block."""
        kind = block.get("type")
        if kind == "text":
            return self.count(str(block.get("text", "")))
        if kind == "thinking":
            return self.count(str(block.get("thinking", "")))
        if kind == "compaction":
            return self.count(str(block.get("content") or ""))
        if kind == "tool_use":
            return CALL_FRAME + self.count(str(block.get("name", ""))) + self.count(compact_json(block.get("input", {})))
        if kind == "tool_result":
            inner = block.get("content", "")
            if isinstance(inner, str):
                return RESULT_FRAME + self.count(inner)
            return RESULT_FRAME + sum(self.block(b) for b in inner or ())
        if kind == "image":
            return IMAGE_TOKENS
        if kind == "document":
            source: Mapping[str, Any] = block.get("source") or {}
            data = str(source.get("data", ""))
            if source.get("type") == "text":
                return self.count(data)
            return max(1, -(-len(data) // 60_000)) * PAGE_TOKENS
        return self.count(compact_json(dict(block)))

    def content(self, content: Iterable[Block]) -> int:
        """Unscaled tokens of a message with these blocks."""
        return MESSAGE_FRAME + sum(self.block(b) for b in content)

    def entry(self, entry: Entry) -> int:
        """Unscaled tokens of an entry's content, thinking included."""
        return self.content(entry.content) if entry.message is None else self._remembered(entry.message.id, entry.content)

    def message(self, message: Message) -> int:
        """Unscaled tokens of MESSAGE as it was said."""
        return self._remembered(message.id, message.content)

    def row(self, row: SentRow) -> int:
        """Unscaled tokens of one row of a request."""
        entry = row.entry
        if entry is None or row.content is entry.content:
            return self.content(row.content) if entry is None else self.entry(entry)
        kept = {id(block) for block in row.content}
        return self.entry(entry) - sum(self.block(b) for b in entry.content if id(b) not in kept)

    def _remembered(self, message: str, content: tuple[Block, ...]) -> int:
        """What CONTENT counts, remembered for the newest forms in which a message was counted: as said, and as pruned."""
        known = self._contents.setdefault(message, [])
        for held, tokens in known:
            if held is content:
                return tokens
        tokens = self.content(content)
        known.append((content, tokens))
        del known[:-FORMS]
        return tokens

    def floor(self, view: ContextView) -> int:
        """Unscaled tokens of system and tools."""
        tools, system, tokens = self._floor
        if tools is not view.tools or system != view.system:
            tokens = sum(self.count(compact_json(dict(t))) + CALL_FRAME for t in view.tools)
            tokens += self.count(view.system) + MESSAGE_FRAME if view.system else 0
            self._floor = (view.tools, view.system, tokens)
        return tokens

    def scaled_floor(self, view: ContextView, state: EngineState) -> int:
        """The floor that budgets are made from: system and tools in real tokens, as far as the scale is learned."""
        return round(self.scale(view, state) * self.floor(view))

    def estimate(self, view: ContextView) -> int:
        """Unscaled tokens of the next request for an empty composer."""
        return self.floor(view) + sum(self.row(row) for row in sent_rows(view))

    def scale(self, view: ContextView, state: EngineState) -> float:
        """Real tokens per estimated token for the view's model, 1.0 until learned."""
        return state.scales.get(view.model, 1.0)

    def size(self, view: ContextView, state: EngineState) -> Size:
        """The one number of gauge, triggers and edits: the size of the next request for an empty composer."""
        return self.size_of(self.estimate(view), view, state)

    def size_of(self, estimate: int, view: ContextView, state: EngineState) -> Size:
        """The same, from the ESTIMATE of the next request for VIEW."""
        scale, anchor = self.scale(view, state), state.anchor
        if anchor is None:
            return Size(round(scale * estimate), "estimated")
        tokens = max(1, round(anchor.tokens + scale * (estimate - anchor.estimate)))
        if anchor.generation != view.generation:
            return Size(tokens, "stale")
        return Size(tokens, "measured" if estimate == anchor.estimate else "estimated")

    def measured(self, state: EngineState, view: ContextView, usage: Usage) -> EngineState:
        """STATE after the provider measured the request that VIEW was rendered into.

        The scale is learned from what was added between two measurements: what a server puts around a conversation (a system
        prompt or tools that we do not see) is in both, and so falls out.
        """
        if usage.prompt <= 0:
            return state
        estimate, known, anchor = self.estimate(view), self.scale(view, state), state.anchor
        scales = dict(state.scales)
        grown = estimate - anchor.estimate if anchor else 0
        if anchor is not None and abs(grown) >= LEAST_EVIDENCE:
            reading = min(MOST_SCALE, max(LEAST_SCALE, (usage.prompt - anchor.tokens) / grown))
            weight = abs(grown) / (abs(grown) + EVIDENCE)
            scales[view.model] = known + weight * (reading - known)
        return replace(state, anchor=Anchor(usage.prompt, estimate, view.generation), scales=scales)
