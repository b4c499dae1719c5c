"""Edits by hand: pins and drops as changes of a view, and the value that carries any edit but a compression to the store.

Each is a new generation of its own that can be undone. Pure: a view in, an `Edit` out, or `EditRefused` with the reason in
words, and then nothing has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.groups import groups_of
from hermes_tui.context.messages import Message
from hermes_tui.context.view import Change, ContextView, Entry, Treatment

EditKind = Literal["undo", "redo", "pin", "drop"]
Mark = Literal["pin", "unpin", "drop", "restore"]
"""What a person does to a group: never compress it, compress it again, do not send it, send it again."""

MARKED: Final[Mapping[Mark, EditKind]] = {"pin": "pin", "unpin": "pin", "drop": "drop", "restore": "drop"}
"""The kind of the edit that each mark makes."""


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit other than a compression, worked out for one generation of a chain's context.

    Attributes:
        chain, session, generation: what it was worked out for; where either has moved it is worked out afresh.
        kind: undo, redo, pin (an unpin too) or drop (a restore too).
        change: the entries closed and opened; only what differs.
        target: the generation that an undo or redo is about.
        undone: all generations whose edits it takes back, ascending: the target, and later ones that build on it.
        counts: messages pinned, unpinned, dropped or restored; for an undo or redo, how many edits in effect it takes back, by
            their kind.
        tokens_before, tokens_after: size of the next request; filled in by whoever can measure it.
    """

    chain: str
    session: str
    generation: int
    kind: EditKind
    change: Change
    target: int | None = None
    undone: tuple[int, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    tokens_before: int = 0
    tokens_after: int = 0


class EditRefused(ValueError):
    """An edit by hand cannot be made; nothing was changed.

    Attributes:
        kind: nothing (there is none to undo, or it is so already), open_call, protected, does_not_fit, unsound, moved.
        sentence: what the user reads.
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind, self.sentence = kind, sentence


_DONE: Final[Mapping[Mark, str]] = {
    "pin": "It is pinned already.",
    "unpin": "It is not pinned.",
    "drop": "It is dropped already.",
    "restore": "It is not dropped.",
}


def marked(view: ContextView, message: str, mark: Mark) -> Edit:
    """The edit that puts MARK on the group which MESSAGE (an id) belongs to: a pin or a drop always takes a whole group.

    Raises:
        EditRefused: the message is not an entry of VIEW (or is the summary's), it has the mark already, a call is open in the
            group, or it is the newest user message, which is always sent.
    """
    group = _group(view, message)
    if mark == "drop" and any(m.id == _newest_request(view) for m in group):
        raise EditRefused("protected", "This is the message to be answered: it is always sent, and cannot be dropped.")
    entries = {e.message.id: e for e in view.entries if e.message is not None}
    changed = [new for m in group if (new := _treated(entries[m.id], mark)) is not None]
    if not changed:
        raise EditRefused("nothing", _DONE[mark])
    done = {"pin": "pinned", "unpin": "unpinned", "drop": "dropped", "restore": "restored"}[mark]
    change = Change(tuple(e.position for e in changed), tuple(changed))
    return Edit(view.chain, view.session, view.generation, MARKED[mark], change, counts={done: len(changed)})


def _treated(entry: Entry, mark: Mark) -> Entry | None:
    """ENTRY with MARK on it; None where it has it already.

    A pin sends the message word for word. A dropped placeholder comes back as the placeholder; what was clipped for want of
    room, or pinned, comes back as the message it is.
    """
    treatment = entry.treatment
    if mark == "pin":
        return None if treatment is Treatment.PINNED else replace(entry, treatment=Treatment.PINNED, sent=None)
    if mark == "unpin":
        return replace(entry, treatment=Treatment.VERBATIM, sent=None) if treatment is Treatment.PINNED else None
    if mark == "drop":
        sent = entry.sent if treatment is Treatment.PRUNED else None
        return None if treatment is Treatment.DROPPED else replace(entry, treatment=Treatment.DROPPED, sent=sent)
    if treatment is not Treatment.DROPPED:
        return None
    return replace(entry, treatment=Treatment.VERBATIM if entry.sent is None else Treatment.PRUNED)


def _group(view: ContextView, message: str) -> tuple[Message, ...]:
    """The messages of the group that MESSAGE belongs to."""
    if view.has_open_call:
        raise EditRefused("open_call", "A tool is still running; pin and drop when it has answered.")
    standing = [e.message for e in view.entries if e.message is not None]
    for group in groups_of(standing):
        if any(m.id == message for m in group.messages):
            return group.messages
    raise EditRefused(
        "nothing", "This is not a message of the context as it is: only what stands in it can be pinned or dropped."
    )


def _newest_request(view: ContextView) -> str | None:
    return next((e.message.id for e in reversed(view.entries) if e.message is not None and e.message.is_real_user), None)


def check_fit(edit: Edit, budgets: Budgets) -> None:
    """See that what EDIT makes larger can still be sent.

    Raises:
        EditRefused: its size afterwards is over the usable window; the sentence holds the numbers.
    """
    if edit.tokens_after <= budgets.usable or edit.tokens_after <= edit.tokens_before:
        return
    doing = {"undo": "Undoing this", "redo": "Redoing this", "pin": "Pinning this", "drop": "Sending this again"}[edit.kind]
    raise EditRefused(
        "does_not_fit",
        f"{doing} would make the next request ~{edit.tokens_after:,} tokens, but only {budgets.usable:,} of the window's "
        f"{budgets.window.value:,} ({budgets.window.source}) are usable after {budgets.reserved.value:,} are reserved for the "
        "reply. Nothing was changed.",
    )
