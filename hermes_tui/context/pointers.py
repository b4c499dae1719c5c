"""Pointers: the placeholders of duplicates, which say where the same result stands in full.

A pointer holds only while its copy does. Whatever edit takes a copy away (pruned, clipped, summarised, dropped), the pointers
to it are worded anew in the same edit: to another copy further down, or as what they are, an old result that can be got back.
Which placeholders are pointers is told from the originals, never from their wording.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from hermes_tui.context.messages import Block, Message, result_text, results_of
from hermes_tui.context.placeholders import PRUNED_OVER
from hermes_tui.context.pruning import AGED, Pruner, pointer, stands_whole
from hermes_tui.context.view import Change, ContextView, Entry, Treatment


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
    doubtful: list[tuple[int, Entry]] = []
    gone: set[str] = set()
    for at, entry in enumerate(view.entries):
        if entry.treatment is Treatment.PRUNED and entry.position not in closed:
            doubtful.append((at, entry))
        elif entry.treatment is Treatment.DROPPED and entry.position in opened:
            new = opened[entry.position]
            if new.treatment is Treatment.PRUNED:
                doubtful.append((at, new))  # sent again: its copy may have gone meanwhile
                gone.update(_long_results(new.message))
    doubtful = [(at, e) for at, e in doubtful if e.message is not None and e.message.origin == "tool"]
    if not doubtful:
        return ()
    for entry in view.entries:
        if entry.position in closed and stands_whole(entry):
            after = opened.get(entry.position)
            if after is None or not stands_whole(after):
                gone.update(_long_results(entry.message))
    if not gone:
        return ()
    doubtful = [(at, entry) for at, entry in doubtful if not gone.isdisjoint(_pruned_texts(entry))]
    if not doubtful:
        return ()
    copies = _copies(view, opened, closed)
    found: list[Entry] = []
    for at, entry in doubtful:
        calls, results = view.entries[at - 1].message, entry.message
        if calls is not None and results is not None:
            sent = _worded(calls, results, entry, gone, copies, pruner)
            if sent != entry.content:
                found.append(replace(entry, sent=sent))
    return tuple(found)


def _long_results(message: Message | None) -> Iterator[str]:
    """The texts of results that a placeholder could stand for."""
    if message is not None and message.origin == "tool":
        yield from (text for block in results_of(message) if len(text := result_text(block)) > PRUNED_OVER)


def _pruned_texts(entry: Entry) -> Iterator[str]:
    """The originals of the results in ENTRY that gave way to placeholders."""
    if entry.message is not None:
        for original, now in zip(entry.message.content, entry.content, strict=False):
            if original.get("type") == "tool_result" and now != original:
                yield result_text(original)


def _copies(view: ContextView, opened: Mapping[int, Entry], closed: Collection[int]) -> dict[str, tuple[int, str]]:
    """Text of a result -> (position, message id) of the newest that stands in full after a change."""
    found: dict[str, tuple[int, str]] = {}
    for entry in view.entries:
        now = opened.get(entry.position, None if entry.position in closed else entry)
        if now is not None and now.message is not None and now.message.origin == "tool" and stands_whole(now):
            found.update((result_text(block), (now.position, now.message.id)) for block in results_of(now.message))
    return found


def _worded(
    calls: Message,
    results: Message,
    entry: Entry,
    gone: Collection[str],
    copies: Mapping[str, tuple[int, str]],
    pruner: Pruner,
) -> tuple[Block, ...]:
    """The content of ENTRY with the placeholders of results that are in GONE worded anew."""
    kept: list[Block] = []
    for original, now, act in zip(results.content, entry.content, pruner.read(calls, results).acts, strict=True):
        if original.get("type") == "tool_result" and now != original and act.output in gone:
            position, copy = copies.get(act.output, (-1, ""))
            mark = pointer(copy) if position > entry.position else AGED
            now = pruner.result(original, act, results.id, mark.reason) or now
        kept.append(now)
    return tuple(kept)
