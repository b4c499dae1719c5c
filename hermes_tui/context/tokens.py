"""Tokens: one estimate for every part of a request, anchored on what the provider measured.

The size of a view is ``anchor + scale x (estimate of the view - estimate of the anchored request)``: what was measured stays
measured, only what came since is estimated, and an edit takes off what it closed and adds what it put in, by the same formula.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from hermes_tui.context.engine import Anchor, Count, EngineState, Usage
from hermes_tui.context.media import document_tokens, image_tokens
from hermes_tui.context.messages import Block, Message
from hermes_tui.context.rendering import SentRow, sent_rows
from hermes_tui.context.view import ContextView, Entry

MESSAGE_FRAME: Final = 4
"""Tokens around a message (compression.md, D: 6-7 scaled)."""
CALL_FRAME: Final = 18
ARGUMENT_FRAME: Final = 9
RESULT_FRAME: Final = 8
"""Tokens around a call, around each of its arguments and around its result. Fitted to 424 requests of a real coding session
with Claude Sonnet 4.5, where a pair took 43 tokens and 12 more for each argument, at 1.27 real tokens to one of ours."""
PRICED_AT: Final = 1.5
"""Real tokens to one of ours on the models that images and pages were priced on: their prices are in real ones."""

FIRST_SCALES: Final = ((1.5, (4, 7)), (1.2, (0, 0)))
"""The scale that a Claude model starts with, by its version: a little under what was measured for code, over that for chats
(compression.md, D: 1.45-1.8 from 4.7 on, 1.06-1.29 before). Too little of it sends a compression late, too much early."""

EVIDENCE: Final = 10_000
"""Estimated tokens: a chain's first reading over so many counts as much as a scale that was learned or known before it."""
GUESSED_EVIDENCE: Final = 2_000
"""The same for a model of which nothing is known."""
MOST_EVIDENCE: Final = 200_000
"""Estimated tokens: what was read longer ago than so many fades. A long memory is worth more than a quick one: with 10,000 a
preview in a real coding session is three times as far off, since what an edit closes is old."""
LEAST_EVIDENCE: Final = 100
"""Estimated tokens: over less, a reading says more about frames than about the scale."""
FORMS: Final = 3
"""Forms of one message whose count is remembered: as said, as pruned, and as pruned before."""
LEAST_SCALE: Final = 0.4
MOST_SCALE: Final = 3.0
"""Between these lies every tokenizer measured against ours (compression.md, D: 0.9-1.8); beyond them it is no reading."""

_FAMILY: Final = r"(?:opus|sonnet|haiku|fable|mythos)"
_CLAUDE: Final = re.compile(
    rf"claude-(?:{_FAMILY}-(?P<major>\d{{1,2}})(?:-(?P<minor>\d{{1,2}}))?|(?P<older>\d)-(?:\d-)?{_FAMILY})(?![\d.])"
)

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


def first_scale(model: str) -> float | None:
    """Real tokens per estimated token of a MODEL that nothing was learned of yet; None where nothing is known of its kin."""
    found = _CLAUDE.match(model)
    if found is None:
        return None
    version = (int(found["major"] or found["older"]), int(found["minor"] or 0))
    return next(scale for scale, least in FIRST_SCALES if version >= least)


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
            return CALL_FRAME + self.count(str(block.get("name", ""))) + self._arguments(block.get("input"))
        if kind == "tool_result":
            inner = block.get("content", "")
            if isinstance(inner, str):
                return RESULT_FRAME + self.count(inner)
            return RESULT_FRAME + sum(self.block(b) for b in inner or ())
        if kind == "image":
            return round(image_tokens(block) / PRICED_AT)
        if kind == "document":
            return self._document(block.get("source") or {})
        return self.count(compact_json(dict(block)))

    def _document(self, source: Mapping[str, Any]) -> int:
        """Unscaled tokens of a document: its text, what it is made of, or its pages."""
        data = str(source.get("data", ""))
        if source.get("type") == "text":
            return self.count(data)
        if source.get("type") == "content":
            inner = source.get("content", "")
            return self.count(inner) if isinstance(inner, str) else sum(self.block(b) for b in inner)
        return round(document_tokens(data) / PRICED_AT)

    def _arguments(self, arguments: Any) -> int:
        """Unscaled tokens of a call's input. Models read arguments one by one, as plain text: in JSON the line breaks and
        quotes of a file that is written would count twice (a quarter too much in a real coding session)."""
        if not isinstance(arguments, Mapping):
            return self.count(compact_json(arguments))
        return sum(
            ARGUMENT_FRAME + self.count(str(name)) + self.count(value if isinstance(value, str) else compact_json(value))
            for name, value in arguments.items()
        )

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
        if entry is None or entry.message is None:  # a note; a summary, which depends on the model that it is sent to
            return self.content(row.content)
        if row.content is entry.content:
            return self.entry(entry)
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

    def scaled(self, block: Block, view: ContextView, state: EngineState) -> int:
        """Tokens of BLOCK in real ones, as far as the scale is learned."""
        return round(self.scale(view, state) * self.block(block))

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
        """Real tokens per estimated token for the view's model: as learned, else as known of its kin, else 1.0."""
        return state.scales.get(view.model) or first_scale(view.model) or 1.0

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
        prompt or tools that we do not see) is in both, and so falls out. It is no more than the least by which a request was
        larger than its estimate: what is over that is an error of the estimates.
        """
        if usage.prompt <= 0:
            return state
        estimate, known, anchor = self.estimate(view), self.scale(view, state), state.anchor
        scales, evidence = dict(state.scales), dict(state.evidence)
        grown = estimate - anchor.estimate if anchor else 0
        if anchor is not None and abs(grown) >= LEAST_EVIDENCE:
            reading = min(MOST_SCALE, max(LEAST_SCALE, (usage.prompt - anchor.tokens) / grown))
            is_known = view.model in scales or first_scale(view.model) is not None
            seen = evidence.get(view.model, EVIDENCE if is_known else GUESSED_EVIDENCE)
            weight = abs(grown) / (abs(grown) + seen)
            scales[view.model] = known + weight * (reading - known)
            evidence[view.model] = min(MOST_EVIDENCE, seen + abs(grown))
        over = max(0, usage.prompt - round(scales.get(view.model, known) * estimate))
        beside = {**state.beside, view.model: min(over, state.beside.get(view.model, over))}
        anchor = Anchor(usage.prompt, estimate, view.generation)
        return replace(state, anchor=anchor, scales=scales, evidence=evidence, beside=beside)
