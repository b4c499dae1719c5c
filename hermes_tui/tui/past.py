"""A moment of the past: the context and the transcript of a session as they stood when it ended. Read from the store only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hermes_tui.context.budgets import ImpossibleBudget
from hermes_tui.context.engine import EngineState
from hermes_tui.context.tokens import Meter, Size
from hermes_tui.context.view import ContextView
from hermes_tui.tui.pages import TranscriptPage, load_page
from hermes_tui.tui.readings import ContextReading
from hermes_tui.tui.surveys import context_reading

if TYPE_CHECKING:
    from hermes_tui.chat.parts import Parts
    from hermes_tui.context.summaries import Summary
    from hermes_tui.store.records import EditRecord, SessionRecord
    from hermes_tui.store.store import Store


@dataclass(frozen=True, slots=True)
class PastMoment:
    """What a past session shows.

    Attributes:
        view: the context as it was when the session ended, before the compression that ended it.
        page: the newest page of the transcript at that time.
        sessions: how many the chain has now.
    """

    chain: str
    view: ContextView
    page: TranscriptPage
    reading: ContextReading
    edits: tuple[EditRecord, ...]
    sessions: int


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended: the edit that ended it, and the summary that this edit put in. Both None for a tip without any."""

    edit: EditRecord | None
    summary: Summary | None
    edits: tuple[EditRecord, ...] = ()


def past_moment(parts: Parts, session: SessionRecord) -> PastMoment:
    """SESSION as it stood at its end. Reads the database and plans: call it off the loop."""
    from hermes_tui.chat.limits import budgets_in_force

    store = parts.store
    sessions = store.sessions(session.chain)
    edits = store.edits(session.chain)
    ended = _ending(session, sessions, edits)
    until = None if ended is None or ended.after_sequence is None else ended.after_sequence + 1
    newest = store.messages(session.chain, before=until, limit=1)
    view = store.view(
        session.chain, generation=session.last_generation, last_message=newest[-1].id if newest else None, model=session.model
    )
    meter = Meter(parts.count)
    state = EngineState(scales=store.learned_scales())
    size = Size(ended.tokens_before, "estimated") if ended is not None else meter.size(view, state)
    budgets = regions = None
    remark = ""
    try:
        floor = meter.scaled_floor(view, state)
        budgets = budgets_in_force(parts.settings, parts.facts(session.model), state, floor, embedded=parts.embedded)
        if not view.has_open_call:
            regions = parts.new_compressor().plan(view, state, budgets).regions
    except ImpossibleBudget as problem:
        remark = str(problem)
    reading = context_reading(view, state, budgets, size, regions, meter, edits=edits, remark=remark)
    page = load_page(store, session.chain, before=until, edits=edits, measure=partial(meter.scaled, view=view, state=state))
    return PastMoment(session.chain, view, page, reading, edits, len(sessions))


def earlier_page(parts: Parts, moment: PastMoment, before: int) -> TranscriptPage:
    """The page of MOMENT's transcript that ends under the sequence BEFORE."""
    state = EngineState(scales=parts.store.learned_scales())
    measure = partial(Meter(parts.count).scaled, view=moment.view, state=state)
    return load_page(parts.store, moment.chain, before=before, edits=moment.edits, measure=measure)


def session_end(store: Store, session: SessionRecord) -> SessionEnd:
    """What ended SESSION; for a tip, the summary that is in force. Reads the database: call it off the loop."""
    sessions = store.sessions(session.chain)
    edits = store.edits(session.chain)
    if session.is_live:
        return SessionEnd(None, store.view(session.chain).summary, edits)
    ended = _ending(session, sessions, edits)
    if ended is None or ended.generation is None:
        return SessionEnd(ended, None, edits)
    return SessionEnd(ended, store.view(session.chain, generation=ended.generation).summary, edits)


def _ending(session: SessionRecord, sessions: tuple[SessionRecord, ...], edits: tuple[EditRecord, ...]) -> EditRecord | None:
    """The edit that ended SESSION: the first of the session after it."""
    child = next((s for s in sessions if s.ordinal == session.ordinal + 1), None)
    if child is None:
        return None
    return next((e for e in edits if e.generation == child.first_generation), None)
