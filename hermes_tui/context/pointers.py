"""Pointers: the placeholders of duplicates, which say where the same result stands in full.

A pointer holds only while its copy does. Whatever edit takes a copy away (pruned, clipped, summarised, dropped), the pointers
to it are worded anew in the same edit: to another copy further down, or as what they are, an old result that can be got back.
Which placeholders are pointers is told from the originals, never from their wording.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from hermes_tui.context.messages import Block, Message, result_text
from hermes_tui.context.placeholders import PRUNED_OVER
from hermes_tui.context.pruning import AGED, CALLED_AGAIN, CHANGED, READ_AGAIN, Pruner, pointer, standing
from hermes_tui.context.view import Change, ContextView, Entry, Treatment

_NO_POINTERS = (AGED, CHANGED, READ_AGAIN, CALLED_AGAIN)
"""Marks whose placeholders name no copy; whatever reads otherwise, in today's words or those of an earlier version, may."""


def resolved(view: ContextView, change: Change, pruner: Pruner | None = None) -> Change:
    """CHANGE, and with it every pointer to a copy that it takes away worded anew; CHANGE itself where there is none.

    Args:
        view: the context as it stands.
        change: any edit of it.
        pruner: words the placeholders; None for one that knows no declarations.
    """
    new = reworded(view, change, pruner or Pruner())
    if not new:
        return change
    positions = {e.position for e in new}
    kept = tuple(e for e in change.opened if e.position not in positions)
    return Change((*change.closed, *sorted(positions - set(change.closed))), (*kept, *new))


def reworded(view: ContextView, change: Change, pruner: Pruner) -> tuple[Entry, ...]:
    """The pruned entries of VIEW after CHANGE whose copy does not stand where they say, as they must be worded then."""
    opened, closed = {e.position: e for e in change.opened}, set(change.closed)
    doubtful: list[tuple[int, Entry, Entry]] = []
    for at, entry in enumerate(view.entries):
        new = opened.get(entry.position, None if entry.position in closed else entry)
        if new is not None and new.treatment is Treatment.PRUNED and new.message is not None and new.message.origin == "tool":
            doubtful.append((at, entry, new))
    if not doubtful:
        return ()
    gone: dict[str, int] = {}  # text that stands in full no longer somewhere -> the last place where it did
    for entry in view.entries:
        if entry.position in closed and entry.message is not None and entry.message.origin == "tool":
            new = opened.get(entry.position)
            lost = set(_standing(entry)).difference(() if new is None else _standing(new))
            gone.update((text, entry.position) for text in lost if len(text) > PRUNED_OVER)
    for _, old, new in doubtful:
        if old.treatment is Treatment.DROPPED:  # sent again: its copy may have gone meanwhile
            gone.update((text, view.entries[-1].position) for text in _pruned_texts(new))
    doubtful = [(at, old, new) for at, old, new in doubtful if _may_point(old, new, gone)]
    copies = _copies(view, opened, closed) if doubtful else {}
    found: list[Entry] = []
    for at, old, new in doubtful:
        calls, results = view.entries[at - 1].message, new.message
        if calls is not None and results is not None:
            sent = _worded(calls, results, old, new, gone, copies, pruner)
            if sent != new.content:
                found.append(replace(new, sent=sent))
    return tuple(found)


def _may_point(old: Entry, new: Entry, gone: Mapping[str, int]) -> bool:
    """Whether a placeholder in NEW may name a copy that is GONE: further down, or in itself where OLD held placeholders too."""
    last = new.position - (old.sent is not None)
    return any(gone.get(text, -1) > last for text in _pruned_texts(new))


def _standing(entry: Entry) -> Iterator[str]:
    """The results in ENTRY that are sent in full: also of a message others of whose results are pruned or clipped."""
    if entry.message is not None and entry.treatment is not Treatment.DROPPED:
        for original, whole in zip(entry.message.content, standing(entry), strict=True):
            if whole and original.get("type") == "tool_result":
                yield result_text(original)


def _pruned_texts(entry: Entry) -> Iterator[str]:
    """The originals of the results in ENTRY that gave way to placeholders."""
    if entry.message is not None:
        for original, whole in zip(entry.message.content, standing(entry), strict=True):
            if not whole and original.get("type") == "tool_result":
                yield result_text(original)


def _copies(view: ContextView, opened: Mapping[int, Entry], closed: Collection[int]) -> dict[str, tuple[int, str]]:
    """Text of a result -> (position, message id) of the newest that stands in full after a change."""
    found: dict[str, tuple[int, str]] = {}
    for entry in view.entries:
        now = opened.get(entry.position, None if entry.position in closed else entry)
        if now is not None and now.message is not None and now.message.origin == "tool":
            found.update((text, (now.position, now.message.id)) for text in _standing(now))
    return found


def _worded(
    calls: Message,
    results: Message,
    old: Entry,
    new: Entry,
    gone: Mapping[str, int],
    copies: Mapping[str, tuple[int, str]],
    pruner: Pruner,
) -> tuple[Block, ...]:
    """The content of NEW with the placeholders of results that are GONE further down worded anew; OLD is what it was."""
    kept: list[Block] = []
    acts = pruner.read(calls, results).acts
    for original, before, now, act in zip(results.content, old.content, new.content, acts, strict=True):
        if original.get("type") == "tool_result" and now != original:
            # What is pruned just now stood in full itself until here, and points to nothing that goes with it.
            last = gone.get(act.output, -1)
            lost = last > new.position or (last == new.position and now == before)
            if lost and now not in [pruner.result(original, act, results.id, mark.reason) for mark in _NO_POINTERS]:
                position, copy = copies.get(act.output, (-1, ""))
                mark = pointer(copy) if position > new.position else AGED
                now = pruner.result(original, act, results.id, mark.reason) or now
        kept.append(now)
    return tuple(kept)
