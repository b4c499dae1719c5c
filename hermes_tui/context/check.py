"""The checker: what an engine returns, or a person asks for, is held against the invariants before it is applied."""

from __future__ import annotations

from itertools import pairwise

from hermes_tui.context.groups import UnpairedCalls, groups_of
from hermes_tui.context.messages import calls_of, results_of
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.view import Change, ContextView, Treatment


def violations(view: ContextView, change: Change, *, by_hand: bool = False) -> tuple[str, ...]:
    """What would be wrong with VIEW after CHANGE, one sentence each; empty when nothing is.

    Args:
        view: a valid view without open calls.
        change: the edit that is to be applied.
        by_hand: it is an undo, a redo, a pin or a drop: a person may take back summaries, pins and drops, an engine may not.
    """
    if not change.closed and not change.opened:
        return ("The change is empty.",)
    known = {e.position for e in view.entries}
    if stray := sorted(set(change.closed) - known):
        return (f"It closes entries that are not there: positions {stray[:3]}.",)
    taken = known - set(change.closed)
    if twice := sorted(p for p in (e.position for e in change.opened) if p in taken):
        return (f"It opens entries where others stand: positions {twice[:3]}.",)
    after = view.apply(change)
    checks = _ALWAYS if by_hand else (*_ALWAYS, *_ENGINES)
    return tuple(problem for check in checks if (problem := check(view, after)))


def _originals(before: ContextView, after: ContextView) -> str:
    """What is opened names messages of this conversation, as they were said."""
    said = {e.message.id: e.message for e in before.entries if e.message}
    for entry in after.entries:
        if entry.message is not None and entry.message != said.get(entry.message.id):
            return f"It names a message that was not said so here: {entry.message.id}."
    return ""


def _pairs(before: ContextView, after: ContextView) -> str:
    """Every call group is followed at once by exactly its results (invariant 1), and no group is cut (5)."""
    try:
        groups_of([e.message for e in after.entries if e.message and e.treatment is not Treatment.DROPPED])
    except UnpairedCalls as problem:
        return f"A call group is cut: {problem}."
    pending: list[str] = []
    for row in sent_rows(after):
        given = [str(b.get("tool_use_id")) for b in row.content if b.get("type") == "tool_result"]
        if sorted(given) != sorted(pending):
            return "Calls and results as sent do not pair."
        pending = [str(b.get("id")) for b in row.content if b.get("type") == "tool_use"]
    return ""


def _shape(before: ContextView, after: ContextView) -> str:
    """Rows alternate and begin with a user row (2, 3)."""
    roles = [row.role for row in sent_rows(after)]
    if roles and roles[0] != "user":
        return "The first message is not the user's."
    return "Two messages of one role meet." if any(a == b for a, b in pairwise(roles)) else ""


def _last_request(before: ContextView, after: ContextView) -> str:
    """The newest real user message stands word for word after the summary (4)."""
    wanted = next((e.message for e in reversed(before.entries) if e.message and e.message.is_real_user), None)
    if wanted is None:
        return ""
    for at, entry in enumerate(after.entries):
        if entry.message is not None and entry.message.id == wanted.id:
            if entry.content != wanted.content or entry.treatment is Treatment.DROPPED:
                return "The newest user message is not word for word."
            if any(e.summary for e in after.entries[at:]):
                return "The newest user message stands before the summary."
            return ""
    return "The newest user message is gone."


def _one_summary(before: ContextView, after: ContextView) -> str:
    """At most one summary (6)."""
    return "There is more than one summary." if sum(e.summary is not None for e in after.entries) > 1 else ""


def _summary_kept(before: ContextView, after: ContextView) -> str:
    """A new summary updates the one before (6)."""
    old, new = before.summary, after.summary
    if old is not None and (new is None or not old.covered <= new.covered):
        return "The earlier summary's messages are no longer told."
    return ""


def _coverage(before: ContextView, after: ContextView) -> str:
    """Nothing vanishes and nothing stands twice (17); what survives keeps its order by position (7)."""
    ids = [e.message.id for e in after.entries if e.message]
    told = after.summary.covered if after.summary else frozenset()
    if len(ids) != len(set(ids)) or not told.isdisjoint(ids):
        return "A message stands twice."
    was = {e.message.id for e in before.entries if e.message}
    was |= before.summary.covered if before.summary else frozenset()
    if was != told | set(ids):
        return "A message vanished."
    moved = [e for e in after.entries if e.message and e.position != 2 * e.message.sequence]
    return "An entry does not stand at its message's place." if moved else ""


def _arguments(before: ContextView, after: ContextView) -> str:
    """Pruned calls keep name, id and keys; pruned results keep their ids (19)."""
    for entry in after.entries:
        if entry.message is None or entry.sent is None:
            continue
        was = [(b.get("name"), b.get("id"), sorted(b.get("input") or {})) for b in calls_of(entry.message)]
        now = [(b.get("name"), b.get("id"), sorted(b.get("input") or {})) for b in entry.sent if b.get("type") == "tool_use"]
        if was != now:
            return "A pruned call lost its name, its id or a key."
        kept = [b.get("tool_use_id") for b in entry.sent if b.get("type") == "tool_result"]
        if kept != [b.get("tool_use_id") for b in results_of(entry.message)]:
            return "A pruned result lost its id."
    return ""


def _verbatim(before: ContextView, after: ContextView) -> str:
    """What is pinned is sent word for word."""
    altered = [e for e in after.entries if e.treatment is Treatment.PINNED and (e.message is None or e.sent is not None)]
    return "A pinned message is not word for word." if altered else ""


def _marks_kept(before: ContextView, after: ContextView) -> str:
    """What a person pinned or dropped stays so."""
    for treatment, words in ((Treatment.PINNED, "pinned"), (Treatment.DROPPED, "dropped")):
        was = {e.message.id for e in before.entries if e.message and e.treatment is treatment}
        if not was <= {e.message.id for e in after.entries if e.message and e.treatment is treatment}:
            return f"A {words} message is no longer {words}."
    return ""


_ALWAYS = (_pairs, _shape, _last_request, _one_summary, _coverage, _arguments, _verbatim)
_ENGINES = (_originals, _summary_kept, _marks_kept)
"""What an engine owes besides: only a person takes back what was summarised, pinned or dropped."""
