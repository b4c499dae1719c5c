"""Budgets: every number that the compressor steers by, and where each came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIN_WINDOW: Final = 2_048
"""Windows below this are refused: no request shape fits."""
DEFAULT_RESERVED: Final = 8_192
MAX_SUMMARY_CAP: Final = 12_000
"""Tokens, unless the user says otherwise: a longer summary dilutes what it holds."""
LEAST_ROOM: Final = 2_048
"""Tokens beside system and tools below which a cap in tokens does not bring the threshold: head, summary and tail need them. A
quarter of what the floor leaves would lift any cap of a large window (a price step at 100,000 of 1,000,000 tokens)."""
MIN_SUMMARY_CAP: Final = 256
SUMMARY_SHARE: Final = 0.60
"""Most of the room that a summary takes, in small windows; that a tenth is gained is seen to when one plans."""
SUMMARY_RETURNS: Final = 198.0
SUMMARY_POWER: Final = 0.35
"""cap = SUMMARY_RETURNS x room ^ SUMMARY_POWER. What a summary keeps grows ever more slowly with its length: of the names
needed later on in a recorded session of 110 K tokens it held 61 % in 1,000 tokens, 75 % in 2,000, 80 % in 3,000, 87 % in 4,500,
92 % in 7,000, 95 % in 10,000. A cap in proportion to the room starves small windows and wastes the tokens of large ones."""


class ImpossibleBudget(ValueError):
    """The window is too small, or the floor leaves no room; the message names the numbers."""


@dataclass(frozen=True, slots=True)
class Sourced:
    """A number and where it came from: "config", "models API", "learned from an error", "default", …"""

    value: int
    source: str


@dataclass(frozen=True, slots=True)
class Share:
    """A ratio and where it came from."""

    value: float
    source: str


@dataclass(frozen=True, slots=True)
class Budgets:
    """The numbers in force for one model and one floor, all in tokens.

    Attributes:
        window: the model's limit.
        reserved: what is sent as max_tokens, at most a quarter of the window.
        usable: window - reserved.
        floor: system and tools.
        threshold: the size at which a compression is due.
        threshold_percent: the ratio that the threshold was made from.
        threshold_rule: which rule set the threshold, in a few words.
        room: threshold - floor.
        prune_target: pruning alone suffices if it reaches this.
        warm_mark: from here on the summary is prepared.
        in_loop: the size up to which an open tool loop may grow before the run itself is compressed.
        summary_cap: most tokens of a summary, prose, ledger and frame together.
        summary_rule: which rule set that, in a few words.
        head_cap: most tokens of the head.
        tail_budget: tokens that the tail takes before it stops at protect_last_n or 1.5 x itself.
        tail_bound: 1.5 x that: what a fresh tail never exceeds, unless it is the anchor and the newest group alone.
        protect_last_n: messages the tail goes on to.
        prune_batch: a prune that reclaims less is never made alone.
    """

    window: Sourced
    reserved: Sourced
    usable: int
    floor: int
    threshold: int
    threshold_percent: Share
    threshold_rule: str
    room: int
    prune_target: int
    warm_mark: int
    in_loop: int
    summary_cap: int
    summary_rule: str
    head_cap: int
    tail_budget: int
    tail_bound: int
    protect_last_n: int
    prune_batch: int


def summary_cap_of(room: int) -> tuple[int, str]:
    """Most tokens of a summary (prose, ledger and frame together) in ROOM tokens, and which rule set it."""
    share, returns = round(SUMMARY_SHARE * room), round(SUMMARY_RETURNS * room**SUMMARY_POWER)
    if max(MIN_SUMMARY_CAP, share) <= returns:
        return max(MIN_SUMMARY_CAP, share), f"{SUMMARY_SHARE:.2f} of the room"
    return max(MIN_SUMMARY_CAP, returns), "grows more slowly than the room"


def budgets_for(
    window: Sourced,
    floor: int,
    *,
    max_tokens: Sourced | None = None,
    threshold_percent: Share | None = None,
    absolute_cap: Sourced | None = None,
    price_step: Sourced | None = None,
    summary_most: Sourced | None = None,
    protect_last_n: int = 20,
    summary_target_ratio: float = 0.20,
    protect_first_n: int = 3,
) -> Budgets:
    """All budgets for WINDOW and FLOOR (tokens of system and tools).

    Raises:
        ImpossibleBudget: for a window under 2,048, or a floor that fills the usable window.
    """
    asked = max_tokens or Sourced(DEFAULT_RESERVED, "default")
    percent = threshold_percent or Share(0.50, "default")
    if window.value < MIN_WINDOW:
        raise ImpossibleBudget(
            f"A window of {window.value:,} tokens ({window.source}) is too small: {MIN_WINDOW:,} is the least that works."
        )
    quarter = window.value // 4
    reserved = (
        asked if asked.value <= quarter else Sourced(quarter, f"a quarter of the window ({asked.value:,} · {asked.source})")
    )
    usable = window.value - reserved.value
    if floor >= usable:
        raise ImpossibleBudget(
            f"The system prompt and the tools take {floor:,} tokens, but only {usable:,} of the window's {window.value:,} "
            f"({window.source}) are usable after {reserved.value:,} are reserved for the reply."
        )
    ratio = min(0.90, max(0.05, percent.value))
    threshold, rule = int(ratio * usable), f"{ratio:.2f} of usable · {percent.source}"
    left = (usable - floor) // 4
    if threshold < floor + left:
        threshold, rule = floor + left, "a quarter of what the floor leaves"
    least = floor + min(left, LEAST_ROOM)
    for cap, name in ((absolute_cap, "absolute cap"), (price_step, "price step")):
        if cap is None or cap.value >= threshold:
            continue
        threshold, rule = cap.value, f"{name} {cap.value:,} · {cap.source}"
        if threshold < least:
            threshold, rule = least, f"the least room beside system and tools ({rule})"
    threshold = max(1, min(threshold, usable - 1))
    room = threshold - floor
    summary_cap, summary_rule = summary_cap_of(room)
    most = summary_most or Sourced(MAX_SUMMARY_CAP, "default")
    if most.value < summary_cap:
        summary_cap, summary_rule = most.value, most.source
    return Budgets(
        window=window,
        reserved=reserved,
        usable=usable,
        floor=floor,
        threshold=threshold,
        threshold_percent=Share(ratio, percent.source),
        threshold_rule=rule,
        room=room,
        prune_target=floor + room // 2,
        warm_mark=floor + round(0.85 * room),
        in_loop=max(threshold, round(0.85 * usable)),
        summary_cap=summary_cap,
        summary_rule=summary_rule,
        head_cap=round(0.10 * room) if protect_first_n > 1 else 0,
        tail_budget=round(summary_target_ratio * room),
        tail_bound=round(1.5 * summary_target_ratio * room),
        protect_last_n=protect_last_n,
        prune_batch=min(20_000, window.value // 10),
    )
