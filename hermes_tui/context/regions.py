"""Regions: which entries are head, summary, middle, pinned and tail if one compressed now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.groups import Group, groups_of
from hermes_tui.context.view import ContextView, Entry, Treatment

Region = Literal["system", "head", "summary", "middle", "pinned", "tail"]


@dataclass(frozen=True, slots=True)
class Regions:
    """The regions of a view by position (each entry of a message is in exactly one, dropped ones aside).

    Attributes:
        head, middle, pinned, tail: positions, ascending. The summary's entry is in none of them.
        anchor: position of the newest real user message, None where there is none.
        reasons: position -> why the entry is where it is, a few words for the inspector.
        tokens: tokens of each region, system and summary included; together they are the size of the next request.
        entries: position -> tokens of each entry as sent; with the system's they too come to the size.
        for_anchor: the middle holds older work of the anchor's own turn.
    """

    head: tuple[int, ...] = ()
    middle: tuple[int, ...] = ()
    pinned: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    anchor: int | None = None
    reasons: tuple[tuple[int, str], ...] = ()
    tokens: tuple[tuple[Region, int], ...] = ()
    entries: tuple[tuple[int, int], ...] = ()
    for_anchor: bool = False

    @property
    def by_position(self) -> dict[int, Region]:
        """The region of each position that is in one of these; the summary's is in none."""
        named: tuple[tuple[Region, tuple[int, ...]], ...] = (
            ("head", self.head),
            ("middle", self.middle),
            ("pinned", self.pinned),
            ("tail", self.tail),
        )
        return {position: region for region, positions in named for position in positions}


@dataclass(frozen=True, slots=True)
class Span:
    """A group of a view with its entries and its scaled tokens: what heads and tails are cut from."""

    group: Group
    entries: tuple[Entry, ...]
    tokens: int

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of its entries."""
        return tuple(e.position for e in self.entries)

    @property
    def is_pinned(self) -> bool:
        """A pin on any of its messages holds the whole group."""
        return any(e.treatment is Treatment.PINNED for e in self.entries)


@dataclass(frozen=True, slots=True)
class Cut:
    """A view cut into spans: ``head`` of them at the start, ``tail`` (indices, ascending) at the end, the middle between."""

    spans: tuple[Span, ...]
    head: int
    tail: tuple[int, ...]
    anchor: int | None

    @property
    def middle(self) -> tuple[int, ...]:
        """Indices of the spans in neither, pinned ones included."""
        kept = set(self.tail)
        return tuple(i for i in range(self.head, len(self.spans)) if i not in kept)

    @property
    def tail_tokens(self) -> int:
        """Scaled tokens of the tail."""
        return sum(self.spans[i].tokens for i in self.tail)


def spans_of(view: ContextView, tokens_of: Callable[[Entry], int]) -> tuple[Span, ...]:
    """The groups of VIEW with their sizes, dropped entries left out.

    Raises:
        UnpairedCalls: where a call is not answered yet.
    """
    entries = [e for e in view.entries if e.message is not None and e.treatment is not Treatment.DROPPED]
    spans: list[Span] = []
    at = 0
    for group in groups_of([e.message for e in entries if e.message is not None]):
        mine = tuple(entries[at : at + len(group.messages)])
        at += len(mine)
        spans.append(Span(group, mine, sum(tokens_of(e) for e in mine)))
    return tuple(spans)


def cut_view(spans: Sequence[Span], budgets: Budgets, *, protect_first_n: int = 3, tail_limit: int | None = None) -> Cut:
    """SPANS cut into head, middle and tail by the budgets.

    Args:
        spans: the view's groups.
        budgets: head cap, tail budget and bound.
        protect_first_n: messages protected at the start, the system prompt counted as one; 0 or 1 protects none.
        tail_limit: a tighter bound than the budgets' for the tail, in tokens, for a view that is full of pins.
    """
    anchor = max((i for i, s in enumerate(spans) if s.group.is_real_user), default=None)
    if anchor is None:
        return Cut(tuple(spans), 0, tuple(range(len(spans))), None)
    bound = budgets.tail_bound if tail_limit is None else min(budgets.tail_bound, tail_limit)
    budget = min(budgets.tail_budget, bound)
    head = _head(spans, anchor, budgets.head_cap, protect_first_n)
    tail = _tail(spans, head, anchor, budget, bound, budgets.protect_last_n)
    return Cut(tuple(spans), head, tail, anchor)


def _tail(spans: Sequence[Span], head: int, anchor: int, budget: int, bound: int, protect_last_n: int) -> tuple[int, ...]:
    """The newest spans that the tail keeps, the anchor always among them."""
    start, tokens, messages = len(spans), 0, 0
    while start > head:
        span = spans[start - 1]
        grown = tokens + span.tokens
        if grown > bound or (grown > budget and messages >= protect_last_n):
            break
        start, tokens, messages = start - 1, grown, messages + len(span.entries)
    if start > anchor and sum(s.tokens for s in spans[anchor:]) <= bound:
        start = anchor
    if start <= anchor:
        while not _may_begin(spans, start):
            start += 1
        return tuple(range(start, len(spans)))
    # The anchor's turn alone is over the bound: its message, and the newest groups of its run.
    newest = len(spans) - 1
    left = bound - spans[anchor].tokens - spans[newest].tokens
    while newest - 1 > anchor and spans[newest - 1].tokens <= left:
        newest -= 1
        left -= spans[newest].tokens
    return (anchor, *range(max(newest, anchor + 1), len(spans)))


def _may_begin(spans: Sequence[Span], at: int) -> bool:
    """A tail begins with a real user message, or with a call group that is not the first of its run.

    Where older messages are gone already, an earlier cut fell there by this same rule.
    """
    group = spans[at].group
    if group.is_real_user:
        return True
    if group.kind != "calls":
        return False
    before = spans[at - 1].group.messages[-1].sequence if at > 0 else -1
    return group.messages[0].sequence > before + 1 or (at > 0 and spans[at - 1].group.kind == "calls")


def _head(spans: Sequence[Span], before: int, cap: int, protect_first_n: int) -> int:
    """How many spans at the start are the head: the chain's first user message, and its direct reply if that makes no calls."""
    most, count, tokens = protect_first_n - 1, 0, 0
    for span in spans[: max(0, min(before, most))]:
        if count == 0 and not (span.group.is_real_user and span.group.messages[0].sequence == 0):
            break
        if span.group.kind == "calls" or tokens + span.tokens > cap:
            break
        count, tokens = count + 1, tokens + span.tokens
    while count > 1 and spans[count - 1].group.kind == "user":
        count -= 1
    return count
