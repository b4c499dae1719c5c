"""A summary prepared in the background: whether it still fits the context at a boundary, and what it has become by then.

What was said since its plan joins the tail. Where the context was edited meanwhile, the summary is used all the same if every
message it tells is still in the middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hermes_tui.context.check import violations
from hermes_tui.context.engine import Compression, Plan
from hermes_tui.context.gain import gains
from hermes_tui.context.view import Change, ContextView, Treatment


@dataclass(frozen=True, slots=True)
class Prepared:
    """A compression that waits for a boundary.

    Attributes:
        compression: what was prepared, for the view of its plan.
        plan_ms: what planning took, in milliseconds.
        duration_ms: what all of it took.
        cost: dollars that its summary cost, None where no price is known.
        by_hand: the user asked for it, so it is applied whatever the size is.
    """

    compression: Compression
    plan_ms: float
    duration_ms: float
    cost: float | None = None
    by_hand: bool = False


def fitted(prepared: Prepared, view: ContextView, now: Plan | None, size: Callable[[ContextView], int]) -> Prepared | None:
    """PREPARED as a compression of VIEW, None where it does not fit any more.

    Args:
        prepared: what was prepared for an earlier view of the same chain.
        view: the context as it stands.
        now: a plan for VIEW; needed where the generation has moved since.
        size: the size of the next request for a view of this chain.
    """
    made, plan = prepared.compression, prepared.compression.plan
    if made.change is None or plan.chain != view.chain:
        return None
    last = view.last_message
    if view.generation == plan.generation and last is not None and last.id == plan.last_message:
        return prepared
    if view.generation == plan.generation:
        change: Change | None = made.change
    else:
        change = _moved(made.change, plan, view, now)
    if change is None or violations(view, change):
        return None
    before, after = size(view), size(view.apply(change))
    if not gains(before, after):
        return None
    fresh = replace(
        plan,
        generation=view.generation,
        last_message=last.id if last else "",
        tokens_before=before,
        tokens_after=after,
        view=view,
    )
    return replace(prepared, compression=replace(made, plan=fresh, change=change, tokens_before=before, tokens_after=after))


def _moved(change: Change, plan: Plan, view: ContextView, now: Plan | None) -> Change | None:
    """CHANGE for a VIEW that was edited since, None where a message that the summary tells has left the middle."""
    if now is None or plan.kind != "summarise":
        return None
    previous = view.summary
    if (previous.id if previous else None) != (plan.previous.id if plan.previous else None):
        return None
    told = {e.position for e in plan.summarised if e.message is not None}
    if not told <= set(now.regions.middle):
        return None
    replaced = {e.position for e in plan.summarised}
    untouched = {e.position for e in view.entries if e.treatment is Treatment.VERBATIM and e.sent is None}
    stays = {p.entry.position for p in plan.prunes} - untouched
    return Change(
        tuple(p for p in change.closed if p in replaced or p not in stays),
        tuple(e for e in change.opened if e.summary is not None or e.position not in stays),
    )
