"""Histories: contexts as they are after some talking, some compressions, and a pin or a drop in between."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import NamedTuple

from hypothesis import strategies as st

from hermes_tui.context.budgets import Budgets, Sourced, budgets_for
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.editing import EditRefused, marked
from hermes_tui.context.engine import Compression, EngineState, Plan, SummaryPrompt
from hermes_tui.context.gain import GAIN
from hermes_tui.context.ledger import Fact, Ledger
from hermes_tui.context.rendering import SentRow, sent_rows
from hermes_tui.context.summarising import SummaryWork, Written, summary_of
from hermes_tui.context.view import Change, ContextView, Entry
from tests.strategies import BEHAVIOURS, SEEDS, TURNS, conversation, count, finished, said, summariser, view_of

WINDOWS = (2_048, 2_400, 4_000, 8_192)
BLANK = EngineState()
ANY = st.sampled_from([*BEHAVIOURS, "none"])
"""How the summariser behaves; "none" is the deterministic rung alone."""


class Grown(NamedTuple):
    """A context and the window of its model."""

    view: ContextView
    window: int


def engine() -> ContextCompressor:
    """The built-in engine, with ids that are the same in every run."""
    ids = itertools.count()
    return ContextCompressor(count, lambda: f"summary{next(ids)}")


def budgets_of(view: ContextView, window: int, state: EngineState = BLANK) -> Budgets:
    """The budgets of VIEW in WINDOW."""
    return budgets_for(Sourced(window, "test"), engine().meter.scaled_floor(view, state))


def planned(grown: Grown, focus: str | None = None) -> Plan:
    """What would be done: by hand with a FOCUS, "" for none; automatically with None."""
    return engine().plan(grown.view, BLANK, budgets_of(*grown), focus)


def compressed(
    grown: Grown, behaviour: str = "none", focus: str | None = None, calls: list[SummaryPrompt] | None = None
) -> Compression:
    """What comes of compressing with a summariser of BEHAVIOUR."""
    heart = engine()
    return finished(heart.compress(heart.plan(grown.view, BLANK, budgets_of(*grown), focus), summariser(behaviour, calls)))


def carried(grown: Grown, focus: str | None = None, summary_id: str = "") -> Compression:
    """The same plan with a summary that costs nothing to write: for whatever does not depend on its words."""
    plan = planned(grown, focus)
    done = Compression(plan, refusal=plan.refusal, tokens_before=plan.tokens_before, tokens_after=plan.tokens_after)
    pruned, positions = tuple(p.entry for p in plan.prunes), tuple(p.entry.position for p in plan.prunes)
    if plan.kind == "prune":
        return replace(done, change=Change(positions, pruned))
    if plan.kind is None:
        return done
    work = SummaryWork(plan.sources, plan.previous, plan.summary_cap, for_anchor=plan.for_anchor)
    rule = Ledger((("rules", (Fact("never touch the schema", plan.sources[0].id),)),))
    version = plan.previous.version if plan.previous else 0
    written = Written((("Goal", f"make it resumable, {version}"),), rule)
    summary = summary_of(written, work, summary_id or f"told{grown.view.generation}")
    closed = (*(e.position for e in plan.summarised), *positions)
    change = Change(closed, (Entry(plan.summary_position, summary=summary), *pruned))
    return replace(done, change=change, summary=summary, rung="deterministic")


def told(grown: Grown, focus: str | None = None) -> tuple[Plan, Change | None]:
    """Plan and change of `carried`."""
    done = carried(grown, focus)
    return done.plan, done.change


def after(grown: Grown, change: Change | None) -> ContextView:
    """The context once CHANGE is made; as it is where there is none."""
    return grown.view if change is None else grown.view.apply(change)


def rows_of(view: ContextView) -> dict[int, SentRow]:
    """The rows of the next request that an entry stands behind, by its position."""
    return {row.entry.position: row for row in sent_rows(view) if row.entry is not None}


def history(dice: random.Random, turns: int, compressions: int, window: int) -> Grown:
    """A conversation of TURNS turns, compressed so many times in WINDOW while it went on, with pins and drops in between."""
    system = dice.choice(("", "Answer briefly."))
    view = view_of(conversation(dice, turns), system)
    for _ in range(compressions):
        grown = Grown(view, window)
        change = compressed(grown, dice.choice([*BEHAVIOURS, "none"])).change if dice.random() < 0.05 else told(grown)[1]
        view = after(grown, change)
        if dice.random() < 0.2:
            view = _marked(dice, view)
        view = said(view, conversation(dice, dice.randint(1, 4), view.entries[-1].message.sequence + 1))
    if dice.random() < 0.2:
        view = _marked(dice, view)
    if dice.random() < 0.5:  # a window of which this context fills a fair part, whatever its length
        window = max(WINDOWS[0], int(engine().meter.estimate(view) / dice.uniform(0.25, 0.7)))
    return Grown(view, window)


def _marked(dice: random.Random, view: ContextView) -> ContextView:
    """VIEW after a person has pinned or dropped one of its groups, where that may be done."""
    message = dice.choice([e.message.id for e in view.entries if e.message])
    try:
        change = marked(view, message, dice.choice(("pin", "drop"))).change
    except EditRefused:
        return view
    return view.apply(engine().resolved(view, change))


def histories() -> st.SearchStrategy[Grown]:
    """Contexts of every age: up to two hundred turns, none to five compressions with growth in between."""
    return st.builds(
        lambda seed, turns, times, window: history(random.Random(seed), turns, times, window),
        SEEDS,
        TURNS,
        st.sampled_from((0, 0, 1, 1, 1, 2, 2, 3, 5)),
        st.sampled_from(WINDOWS),
    )


GROWN = histories()


def newest_request(view: ContextView) -> Entry:
    """The entry of the newest message that a person said."""
    return [e for e in view.entries if e.message and e.message.is_real_user][-1]


def gains(grown: Grown, change: Change) -> bool:
    """Whether CHANGE leaves at most nine tenths, measured alike on both sides."""
    meter = engine().meter
    return meter.estimate(grown.view.apply(change)) <= GAIN * meter.estimate(grown.view)
