"""Layer 1, pruning: old tool results and long call arguments give way to one-line placeholders. No model is asked.

What goes first is what nothing is lost with: a read of a file that was read again or changed later, a call that was made again,
a result that stands in full further down. Such a duplicate points to its copy, the newest of them (see `pointers`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

from hermes_tui.context.acts import NO_DECLARATION, Act, Declarations, act_of
from hermes_tui.context.messages import ID_SHOWN, THINKING, Block, Message, calls_of, result_text
from hermes_tui.context.placeholders import (
    MEDIA,
    PRUNED_OVER,
    Origin,
    argument_placeholder,
    media_note,
    result_placeholder,
    without_secrets,
)
from hermes_tui.context.redaction import without_named_secrets
from hermes_tui.context.regions import Span
from hermes_tui.context.tokens import compact_json
from hermes_tui.context.view import Entry

_UNKNOWN: Final = act_of({}, None)


def standing(entry: Entry) -> tuple[bool, ...]:
    """For each block of ENTRY's message, whether it is sent word for word where the entry is sent at all."""
    content = entry.message.content if entry.message else ()
    if entry.sent is None:
        return (True,) * len(content)
    return tuple(now is original or now == original for original, now in zip_longest(content, entry.sent[: len(content)]))


@dataclass(frozen=True, slots=True)
class Mark:
    """Why one result may go: ``reason`` in a few words; ``dead`` where nothing is lost with it."""

    reason: str
    dead: bool = True


AGED: Final = Mark("", dead=False)
"""The mark of a result that goes for its age alone."""
CHANGED: Final = Mark("changed later")
READ_AGAIN: Final = Mark("read again later")
CALLED_AGAIN: Final = Mark("called again later")


@dataclass(frozen=True, slots=True)
class Key:
    """What tells whether a later call makes an earlier one idle.

    Attributes:
        call: equal for two calls that are the same.
        path: the file that it read or changed, "" for none.
        stretch: which part of the file it asked for, "" for all of it.
        changes: whether it changed the file.
    """

    call: tuple[str, str] = ("", "")
    path: str = ""
    stretch: str = ""
    changes: bool = False


def key_of(act: Act) -> Key:
    """The key of ACT; calls are the same if name and arguments are, and whatever else the read of a file is given beside its
    path says which part of it was asked for."""
    call = (act.name, compact_json(act.arguments))
    if act.path is None or act.verb not in ("read", "edited", "wrote"):
        return Key(call)
    rest = {name: value for name, value in act.arguments.items() if value != act.path} if act.verb == "read" else {}
    return Key(call, posixpath.normpath(act.path), compact_json(rest) if rest else "", act.verb != "read")


@dataclass(slots=True)
class Read:
    """What was read of one call group; messages never change, so it is read once.

    Attributes:
        content: the results, as they were said.
        acts: what each block of them is the result of.
        keys: for each, what tells whether a later call makes it idle.
        slim: the calls with long arguments pruned, None where there are none.
        sent: the results as pruned for some reasons, by these.
    """

    content: tuple[Block, ...]
    acts: tuple[Act, ...]
    keys: tuple[Key, ...]
    slim: tuple[Block, ...] | None
    sent: dict[tuple[str, ...], tuple[Block, ...] | None] = field(default_factory=dict)


class Pruner:
    """Works out what pruned messages become. It remembers what it has read by message; its answers depend on nothing else.

    Args:
        declarations: what the tools declare about their calls and results.
        reopening: the name of the engine's own tool that reopens a message by its id, "" where it offers none.
    """

    def __init__(self, declarations: Declarations | None = None, reopening: str = "") -> None:
        self._declarations, self.reopening = declarations or {}, reopening
        self._groups: dict[str, Read] = {}
        self._media: dict[str, tuple[tuple[Block, ...], tuple[Block, ...] | None]] = {}

    # -- one message ---------------------------------------------------------------------------------------------

    def call(self, calls: Message, results: Message) -> tuple[Block, ...] | None:
        """The content of CALLS with long arguments pruned, None where there are none.

        Thinking goes: it was written for the arguments as they were.
        """
        return self.read(calls, results).slim

    def results(
        self, calls: Message, results: Message, marks: Sequence[Mark | None], sent: Sequence[Block] | None = None
    ) -> tuple[Block, ...] | None:
        """The content of RESULTS with long ones pruned, None where nothing more can be.

        Args:
            calls: the message that made the calls.
            results: the message that holds their results.
            marks: by block, why it goes; None keeps it as it is sent.
            sent: what of it is sent now, block for block; one that was pruned before stays as it is. Where another engine sends
                other blocks than there were, what was said is pruned afresh.
        """
        known = self.read(calls, results)
        if sent is None or len(sent) != len(results.content):
            wanted = tuple("" if mark is None else mark.reason or "-" for mark in marks)
            if wanted not in known.sent:
                known.sent[wanted] = self._pruned(known, results, marks, results.content)
            return known.sent[wanted]
        return self._pruned(known, results, marks, sent)

    def _pruned(
        self, known: Read, results: Message, marks: Sequence[Mark | None], sent: Sequence[Block]
    ) -> tuple[Block, ...] | None:
        found = False
        kept: list[Block] = []
        for original, now, act, mark in zip(results.content, sent, known.acts, marks, strict=True):
            if mark is not None and (now is original or now == original):
                pruned = self.result(original, act, results.id, mark.reason)
                if pruned is not None:
                    now, found = pruned, True
            kept.append(now)
        return tuple(kept) if found else None

    def result(self, block: Block, act: Act, message: str, reason: str = "") -> Block | None:
        """A result that gave way to its placeholder, None for one that is short enough to stay."""
        if block.get("type") != "tool_result":
            return None
        media, text = media_in(block), act.output
        origin = Origin(message, self.reopening)
        if media and len(text) <= PRUNED_OVER:
            inner = [media_note(b, origin) if b.get("type") in MEDIA else _kept(b) for b in block["content"]]
            if len(result_text({"content": inner})) <= PRUNED_OVER:
                return {**block, "content": inner}
        line = result_placeholder(act, media, origin, reason)
        if not media and (len(text) <= PRUNED_OVER or len(line) >= len(text)):
            return None
        return {**block, "content": line}

    def said(self, message: Message) -> tuple[Block, ...] | None:
        """The content of a user's message with notes for images and documents, None where there are none."""
        known = self._media.get(message.id)
        if known is None or known[0] is not message.content:
            pruned = pruned_media(message.content, Origin(message.id, self.reopening))
            known = self._media[message.id] = (message.content, pruned)
        return known[1]

    def read(self, calls: Message, results: Message) -> Read:
        """What CALLS did and RESULTS say."""
        known = self._groups.get(results.id)
        if known is None or known.content is not results.content:
            known = self._groups[results.id] = self._reading(calls, results)
        return known

    def _reading(self, calls: Message, results: Message) -> Read:
        made = {str(b.get("id")): b for b in calls_of(calls)}
        acts: list[Act] = []
        for block in results.content:
            call = made.get(str(block.get("tool_use_id"))) if block.get("type") == "tool_result" else None
            if call is None:
                acts.append(_UNKNOWN)
                continue
            declaration = self._declarations.get(str(call.get("name", "")), NO_DECLARATION)
            acts.append(act_of(call, block, calls.id, results.id, declaration))
        keys = tuple(Key() if act is _UNKNOWN else key_of(act) for act in acts)
        slim = pruned_call(calls.content, Origin(calls.id, self.reopening))
        return Read(results.content, tuple(acts), keys, slim)

    def forget(self, spans: Sequence[Span]) -> None:
        """Let go of what was read of messages that are in none of SPANS, once that is more than half of it."""
        for known in (self._groups, self._media):
            if len(known) > 2 * len(spans) + 64:
                alive = {span.group.messages[-1].id for span in spans}
                for gone in [message for message in known if message not in alive]:
                    del known[gone]

    # -- a whole context -----------------------------------------------------------------------------------------

    def marks(self, spans: Sequence[Span], stays: Callable[[int, Mark], bool]) -> dict[str, tuple[Mark, ...]]:
        """Message id of results -> for each of its blocks, why it would go.

        Args:
            spans: the view's groups, all of them.
            stays: whether the result of the span with that index, which would go for that mark, stays in full all the same;
                only what stays is pointed to.
        """
        found: dict[str, tuple[Mark, ...]] = {}
        seen = _Seen()
        for i in range(len(spans) - 1, -1, -1):
            span = spans[i]
            if span.group.kind != "calls":
                continue
            calls, results = span.group.messages
            known, entry = self.read(calls, results), span.entries[-1]
            stands = standing(entry)
            marks = [AGED] * len(known.acts)
            for k in range(len(known.acts) - 1, -1, -1):
                act, key = known.acts[k], known.keys[k]
                if act is not _UNKNOWN:
                    marks[k] = seen.mark(act, key)
                    seen.add(act, key, results.id if stands[k] and stays(i, marks[k]) else "")
            found[results.id] = tuple(marks)
        return found


class _Seen:
    """What was met so far, going from the newest call to the oldest."""

    def __init__(self) -> None:
        self._copies: dict[str, str] = {}
        self._changed: set[str] = set()
        self._read: set[str] = set()
        self._stretches: set[tuple[str, str]] = set()
        self._calls: set[tuple[str, str]] = set()

    def mark(self, act: Act, key: Key) -> Mark:
        """Why the result of ACT may go, as things stand."""
        copy = self._copies.get(act.output) if len(act.output) > PRUNED_OVER else None
        if copy is not None:
            return pointer(copy)
        if key.path and not key.changes:
            if key.path in self._changed:
                return CHANGED
            if key.path in self._read or (key.path, key.stretch) in self._stretches:
                return READ_AGAIN
        return CALLED_AGAIN if key.call in self._calls else AGED

    def add(self, act: Act, key: Key, copy: str) -> None:
        """Take ACT in; COPY is the id of the message where its result stands in full, "" where it does not."""
        if copy and len(act.output) > PRUNED_OVER:
            self._copies.setdefault(act.output, copy)
        if act.failed:
            return
        self._calls.add(key.call)
        if not key.path:
            return
        if key.changes:
            self._changed.add(key.path)
        elif key.stretch:
            self._stretches.add((key.path, key.stretch))
        else:
            self._read.add(key.path)


def pointer(copy: str) -> Mark:
    """The mark of a result that stands again, in full and later, in the message with the id COPY."""
    return Mark(f"the same result stands in full further down ({copy[-ID_SHOWN:]})")


# -- contents ----------------------------------------------------------------------------------------------------


def pruned_input(value: Any, origin: Origin) -> Any:
    """A call's input with its long strings pruned: still JSON, with the same keys; VALUE itself where there are none.

    What is written anew holds no secret, in the short strings beside the long ones neither.
    """
    return _shortened(without_named_secrets(value), origin) if _has_long(value) else value


def _has_long(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) > PRUNED_OVER
    if isinstance(value, Mapping):
        return any(_has_long(item) for item in value.values())
    return isinstance(value, list | tuple) and any(_has_long(item) for item in value)


def _shortened(value: Any, origin: Origin) -> Any:
    if isinstance(value, str):
        short = without_secrets(value) if len(value) <= PRUNED_OVER else value
        return short if len(short) <= PRUNED_OVER else argument_placeholder(value, origin)
    if isinstance(value, Mapping):
        return {key: _shortened(item, origin) for key, item in value.items()}
    return [_shortened(item, origin) for item in value] if isinstance(value, list | tuple) else value


def pruned_call(content: Sequence[Block], origin: Origin) -> tuple[Block, ...] | None:
    """An assistant message's content with long arguments pruned and without thinking, None where there are none."""
    found = False
    kept: list[Block] = []
    for block in content:
        if block.get("type") == "tool_use":
            given = block.get("input", {})
            slim = pruned_input(given, origin)
            if slim is not given:
                block, found = {**block, "input": slim}, True
        elif block.get("type") in THINKING:
            continue
        kept.append(block)
    return tuple(kept) if found else None


def pruned_media(content: Sequence[Block], origin: Origin) -> tuple[Block, ...] | None:
    """CONTENT with a note in place of each image and document, None where there are none."""
    if not any(block.get("type") in MEDIA for block in content):
        return None
    return tuple(media_note(block, origin) if block.get("type") in MEDIA else block for block in content)


def _kept(block: Block) -> Block:
    """A block that stays in a result which is written anew."""
    return {**block, "text": without_secrets(block["text"])} if block.get("type") == "text" else block


def media_in(result: Block) -> tuple[Block, ...]:
    """The images and documents in a result."""
    inner = result.get("content", "")
    return () if isinstance(inner, str) else tuple(b for b in inner or () if b.get("type") in MEDIA)
