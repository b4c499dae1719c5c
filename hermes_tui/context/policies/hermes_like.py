"""Compression in the four steps, and with the constants, that Hermes was first described with.

1. Results over 200 characters that are older than the last 20 messages give way to a fixed placeholder. 2. The first three
messages (the system prompt counts as one) and a tail of 20 % of the threshold are protected, cuts moved so that no call is
parted from its results. 3. What lies between is told again as a structured summary, written from the pruned messages. 4. The
session is split.

No model is asked here: the summary is what can be written without one, user messages, calls and the newest words, each cut
short. The newest user message is kept beside the tail, which the original did not see to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import Compression, EngineState, Plan, Prune, Summariser
from hermes_tui.context.ledger import Ledger
from hermes_tui.context.messages import Block, Message, calls_of, plain_text, result_text
from hermes_tui.context.placeholders import main_argument
from hermes_tui.context.policies.policy import Policy, anchor_of
from hermes_tui.context.redaction import redact
from hermes_tui.context.regions import Regions, Span
from hermes_tui.context.summaries import Summary
from hermes_tui.context.tokens import MESSAGE_FRAME, compact_json
from hermes_tui.context.view import Change, ContextView, Entry, Treatment

PLACEHOLDER: Final = "[Tool result pruned — original too large]"
PRUNED_OVER: Final = 200
"""Characters of a result."""
PROTECT_FIRST: Final = 3
"""Messages of the head, the system prompt among them."""
PROTECT_LAST: Final = 20
"""Messages whose results are not pruned."""
TAIL_RATIO: Final = 0.20
"""Of the threshold, in tokens."""
TAIL_CEILING: Final = 1.5
"""Of that budget: a tail ends before the message that would go beyond it."""
CHARACTERS: Final = 4
"""To a token, as the tail is measured."""
LEAST_TAIL: Final = 3
"""Messages of the tail, however long they are."""
MESSAGE_KEPT: Final = 700
"""Characters of a message that the summary quotes."""
SUMMARY_KEPT: Final = 8_000
"""Characters of a summary that no model wrote: two pages, as much as the protected tail of a window of 20,000 tokens."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """Indices of the spans: HEAD of them at the start, the middle, the tail."""

    head: int
    middle: tuple[int, ...]
    tail: tuple[int, ...]
    anchor: int


class HermesLike(Policy):
    """Prune, protect, summarise, split."""

    name: ClassVar[str] = "hermes-like"

    def threshold(self, budgets: Budgets) -> int:
        """The share of the whole window: nothing is reserved for the reply."""
        return int(budgets.window.value * budgets.threshold_percent.value)

    def plan(self, view: ContextView, state: EngineState, budgets: Budgets, focus: str | None = None) -> Plan:
        """Prune old results, keep head and tail, tell the middle again."""
        base = self.nothing(view, state, "Everything stands in head and tail; there is no middle yet.")
        pruned = {p.entry.position: p for p in self._prunes(view, base.scale)}
        slim = replace(view, entries=tuple(pruned[e.position].entry if e.position in pruned else e for e in view.entries))
        spans = self.spans(slim, state)
        cut = self._cut(spans, bool(view.system), round(TAIL_CEILING * TAIL_RATIO * self.threshold(budgets)))
        if cut is None:
            return self._pruned_alone(base, tuple(pruned.values()))
        told = [spans[i] for i in cut.middle]
        gone = {p for span in told for p in span.positions}
        closed = [e for e in view.entries if e.position in gone or e.summary is not None]
        last_head = spans[cut.head - 1].group.messages[-1].sequence if cut.head else -1
        cap = round(base.scale * (self.meter.count("x " * (SUMMARY_KEPT // 8)) + MESSAGE_FRAME))
        after = base.tokens_before - sum(span.tokens for span in told) + cap
        return replace(
            base,
            kind="summarise",
            refusal=None,
            regions=_regions(spans, cut),
            prunes=tuple(p for position, p in pruned.items() if position not in gone),
            summarised=tuple(closed),
            sources=tuple(m for span in told for m in span.group.messages),
            previous=view.summary,
            summary_position=2 * last_head + 1,
            summary_cap=cap,
            for_anchor=any(i > cut.anchor for i in cut.middle),
            focus=focus,
            tokens_after=after,
        )

    async def compress(self, plan: Plan, summariser: Summariser | None) -> Compression:
        """Write the summary, without a model, and put it in the middle's place."""
        if plan.kind != "summarise" or plan.view is None:
            return await super().compress(plan, summariser)
        previous = plan.previous
        added = tuple(m.id for m in plan.sources)
        summary = Summary(
            id=self._new_id(),
            version=previous.version + 1 if previous else 1,
            prose=summary_prose(plan.sources, previous, pruned_before(plan.view)),
            ledger=Ledger(),
            previous=previous.id if previous else None,
            added=added,
            covered=frozenset(added) | (previous.covered if previous else frozenset()),
            for_anchor=plan.for_anchor,
        )
        closed = (*(e.position for e in plan.summarised), *(p.entry.position for p in plan.prunes))
        opened = (Entry(plan.summary_position, summary=summary), *(p.entry for p in plan.prunes))
        return self._measured(Compression(plan, Change(closed, opened), summary=summary, rung="deterministic"))

    @staticmethod
    def _pruned_alone(base: Plan, prunes: tuple[Prune, ...]) -> Plan:
        """Where pruning has left no middle it is all that is done."""
        if not prunes:
            return base
        gone = sum(p.tokens_before - p.tokens_after for p in prunes)
        return replace(base, kind="prune", refusal=None, prunes=prunes, tokens_after=base.tokens_before - gone)

    def _prunes(self, view: ContextView, scale: float) -> Iterator[Prune]:
        """Step 1: the results that give way to the placeholder."""
        old = pruned_before(view)
        for entry in view.entries:
            if entry.message is None or entry.message.sequence >= old or entry.treatment is not Treatment.VERBATIM:
                continue
            content = _pruned(entry.content)
            if content is not None:
                new = replace(entry, treatment=Treatment.PRUNED, sent=content)
                before, after = self.meter.content(entry.content), self.meter.content(content)
                yield Prune(new, "old output", round(scale * before), round(scale * after))

    @staticmethod
    def _cut(spans: Sequence[Span], has_system: bool, bound: int) -> _Cut | None:
        """Step 2: head, and a tail of at most BOUND tokens; None where nothing lies between."""
        anchor = anchor_of(tuple(spans))
        if anchor is None:
            return None
        head, messages = 0, 0
        while head < anchor and messages < PROTECT_FIRST - has_system:
            messages += len(spans[head].entries)
            head += 1
        start, tokens, messages = len(spans), 0, 0
        while start > head:
            span = spans[start - 1]
            size = sum(_characters(entry.content) for entry in span.entries) // CHARACTERS
            if tokens + size > bound and messages >= LEAST_TAIL:
                break
            start, tokens, messages = start - 1, tokens + size, messages + len(span.entries)
        middle = tuple(i for i in range(head, start) if i != anchor and not spans[i].is_pinned)
        if not middle:
            return None
        tail = tuple(i for i in range(head, len(spans)) if i >= start or i == anchor)
        return _Cut(head, middle, tail, anchor)


def pruned_before(view: ContextView) -> int:
    """The sequence before which results are pruned: that of the 20th newest message."""
    sequences = [e.message.sequence for e in view.entries if e.message is not None and e.treatment is not Treatment.DROPPED]
    return sequences[-PROTECT_LAST] if len(sequences) > PROTECT_LAST else 0


def summary_prose(sources: Sequence[Message], previous: Summary | None, old: int) -> tuple[tuple[str, str], ...]:
    """Step 3: the sections that can be written without a model, `SUMMARY_KEPT` characters together.

    Args:
        sources: the messages of the middle, oldest first.
        previous: the summary before; what it said comes last and is cut first.
        old: the sequence before which results were pruned, and are told by their placeholder.
    """
    asked = [_short(plain_text(m.content)) for m in sources if m.is_real_user]
    done = [f"{call.get('name', '')}({main_argument(call)})" for m in sources for call in calls_of(m)]
    last = [f"{m.origin}: {_short(_shown(m, old))}" for m in sources[-8:] if _shown(m, old).strip()]
    parts = [
        ("Goal", asked[-1] if asked else ""),
        ("State", "\n".join(last)),
        ("Done", "\n".join(f"- {line}" for line in done[-40:])),
        ("Constraints and preferences", "\n".join(f"- {text}" for text in asked[-6:-1])),
        ("Decisions", "\n".join(text for _, text in previous.prose) if previous else ""),
    ]
    left, prose = SUMMARY_KEPT, {}
    for section, text in parts:
        kept = redact(text)[:left].strip()
        if kept:
            prose[section] = kept
            left -= len(kept)
    order = ("Goal", "Constraints and preferences", "Decisions", "Done", "State")
    return tuple((section, prose[section]) for section in order if section in prose)


def _pruned(content: Sequence[Block]) -> tuple[Block, ...] | None:
    """CONTENT with its long results replaced, None where there are none."""
    found = [b.get("type") == "tool_result" and len(result_text(b)) > PRUNED_OVER for b in content]
    if not any(found):
        return None
    return tuple({**b, "content": PLACEHOLDER} if long else b for b, long in zip(content, found, strict=True))


def _characters(content: Sequence[Block]) -> int:
    """Characters of what is said, asked for and shown in CONTENT."""
    calls = (compact_json(b.get("input", {})) for b in content if b.get("type") == "tool_use")
    shown = (result_text(b) for b in content if b.get("type") == "tool_result")
    return len(plain_text(content)) + sum(map(len, (*calls, *shown)))


def _shown(message: Message, old: int) -> str:
    """What a summariser is shown of MESSAGE."""
    content = (_pruned(message.content) or message.content) if message.sequence < old else message.content
    results = [result_text(b) for b in content if b.get("type") == "tool_result"]
    calls = [f"{b.get('name', '')}({_arguments(b.get('input'))})" for b in calls_of(message)]
    return "\n".join(part for part in (plain_text(content), *calls, *results) if part.strip())


def _arguments(value: object) -> str:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, Mapping) else ""


def _short(text: str) -> str:
    return text if len(text) <= MESSAGE_KEPT else text[: MESSAGE_KEPT - 1].rstrip() + "…"


def _regions(spans: Sequence[Span], cut: _Cut) -> Regions:
    kept = {*cut.middle, *cut.tail}
    return Regions(
        head=tuple(p for span in spans[: cut.head] for p in span.positions),
        middle=tuple(p for i in cut.middle for p in spans[i].positions),
        pinned=tuple(p for i in range(cut.head, len(spans)) if i not in kept for p in spans[i].positions),
        tail=tuple(p for i in cut.tail for p in spans[i].positions),
        anchor=spans[cut.anchor].positions[0],
        for_anchor=any(i > cut.anchor for i in cut.middle),
    )
