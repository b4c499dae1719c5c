"""From stored messages and edits to the blocks of a transcript. Pure: the same messages, the same blocks, at any time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.context.messages import Block, Message, calls_of, plain_text, result_text, results_of
from hermes_tui.context.placeholders import main_argument
from hermes_tui.tui.numbers import short
from hermes_tui.tui.transcript import Block as Shown
from hermes_tui.tui.transcript import Divider, ReplySaid, Thought, ToolCard, UserSaid

if TYPE_CHECKING:
    from hermes_tui.context.fidelity import Fidelity
    from hermes_tui.store.records import EditRecord

_CROCKFORD: Final = {letter: value for value, letter in enumerate("0123456789ABCDEFGHJKMNPQRSTVWXYZ")}
TAKEN_BACK: Final = ("undo", "redo")
DIVIDING: Final = ("prune", "summarise", *TAKEN_BACK)
"""Kinds of edits that leave a divider in the transcript; a pin or a drop shows at its entry."""
Measure = Callable[[Block], int]
"""Tokens of one content block."""


def said_at(identifier: str) -> float | None:
    """When the thing with this ULID was made, in seconds since the epoch; None for an id that is none."""
    number = 0
    for letter in identifier[:10].upper():
        if letter not in _CROCKFORD:
            return None
        number = number * 32 + _CROCKFORD[letter]
    return number / 1000 if len(identifier) == 26 else None


def clock_time(seconds: float | None) -> str:
    """The local time of day, "" where it is unknown."""
    return time.strftime("%H:%M", time.localtime(seconds)) if seconds is not None else ""


def when(seconds: float, now: float) -> str:
    """A moment as short as it is clear: the time today, with the weekday this week, else with the date."""
    then, today = time.localtime(seconds), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M", then)
    if now - seconds < 6 * 86_400:
        return time.strftime("%a %H:%M", then)
    return time.strftime("%d %b %H:%M" if then[0] == today[0] else "%d %b %Y", then)


def block_id(message: str, index: int) -> str:
    """The id in the transcript of block INDEX of a message."""
    return f"{message}:{index}"


def message_of(block: str) -> str:
    """The id of the message that a transcript block was made from."""
    return block.partition(":")[0]


def blocks_of(messages: Sequence[Message], edits: Iterable[EditRecord] = (), *, measure: Measure | None = None) -> list[Shown]:
    """The transcript of MESSAGES, with a divider under the message that was the newest when one was compressed or an
    edit was undone or redone.

    Args:
        messages: a stretch of a chain, ascending; results whose call is not among them are left out.
        edits: the chain's edits; those before and after the stretch are passed over.
        measure: what cards show as their tokens; without it they show none.
    """
    dividers: dict[int, list[EditRecord]] = {}
    for edit in edits:
        if edit.generation is not None and edit.after_sequence is not None and edit.kind in DIVIDING:
            dividers.setdefault(edit.after_sequence, []).append(edit)
    shown: list[Shown] = []
    for at, message in enumerate(messages):
        following = messages[at + 1] if at + 1 < len(messages) else None
        results = {str(b.get("tool_use_id")): b for b in results_of(following)} if following and calls_of(message) else {}
        shown += message_blocks(message, results, measure=measure)
        shown += [edit_divider(edit) for edit in dividers.get(message.sequence, ())]
    return shown


def message_blocks(
    message: Message, results: Mapping[str, Block] | None = None, *, measure: Measure | None = None
) -> list[Shown]:
    """The blocks of one MESSAGE; RESULTS are those of its calls by id. A message of results has none of its own."""
    if message.origin == "tool":
        return []
    if message.role == "user":
        return [UserSaid(message.id, user_text(message.content), clock_time(said_at(message.id)))]
    shown: list[Shown] = []
    for index, block in enumerate(message.content):
        made = reply_block(
            block_id(message.id, index), block, model=message.model or "", results=results or {}, measure=measure
        )
        if made is not None:
            shown.append(made)
    return shown


def reply_block(
    identifier: str,
    block: Block,
    *,
    model: str = "",
    results: Mapping[str, Block] | None = None,
    measure: Measure | None = None,
    seconds: float | None = None,
    running: bool = False,
) -> Shown | None:
    """One content block of a reply as the transcript shows it; None for one that holds nothing to show."""
    kind = block.get("type")
    if kind == "text":
        text = str(block.get("text", ""))
        return ReplySaid(identifier, text, model) if text.strip() else None
    if kind == "thinking":
        text = str(block.get("thinking", ""))
        return Thought(identifier, text, seconds, measure(block) if measure else None)
    if kind == "redacted_thinking":
        return Thought(identifier, "(kept back by the provider)", seconds)
    if kind == "tool_use":
        result = (results or {}).get(str(block.get("id")))
        tokens = None
        if measure is not None:
            tokens = measure(block) + (measure(result) if result is not None else 0)
        return ToolCard(
            identifier,
            str(block.get("name", "")),
            main_argument(block),
            pretty(block.get("input", {})),
            None if result is None else shown_result(result),
            bool(result is not None and result.get("is_error")),
            tokens,
            running,
        )
    return ReplySaid(identifier, f"[{kind}]", model)


def user_text(content: Sequence[Block]) -> str:
    """What a person said, attachments named."""
    attached = [f"[{b.get('type')}]" for b in content if b.get("type") in ("image", "document")]
    return "\n".join(part for part in (plain_text(content), *attached) if part)


def shown_result(result: Block) -> str:
    """The text of a tool's result, other kinds of content named."""
    inner = result.get("content", "")
    named = [] if isinstance(inner, str) else [f"[{b.get('type')}]" for b in inner or () if b.get("type") != "text"]
    return "\n".join(part for part in (result_text(result), *named) if part)


def pretty(value: Any) -> str:
    """A call's arguments as JSON for reading; "" for none."""
    return json.dumps(value, ensure_ascii=False, indent=2) if value else ""


def whole_text(content: Sequence[Block]) -> str:
    """Everything that CONTENT holds, as text for reading."""
    parts: list[str] = []
    for block in content:
        kind = block.get("type")
        if kind == "text":
            parts.append(str(block.get("text", "")))
        elif kind == "thinking":
            parts.append("thinking:\n" + str(block.get("thinking", "")))
        elif kind == "tool_use":
            parts.append(f"{block.get('name', '')}\n{pretty(block.get('input', {}))}".rstrip())
        elif kind == "tool_result":
            parts.append(shown_result(block))
        else:
            parts.append(f"[{kind}]")
    return "\n\n".join(part for part in parts if part)


def edit_divider(edit: EditRecord) -> Divider:
    """The thin line that an applied compression leaves, and one that was taken back or made again."""
    if edit.kind in TAKEN_BACK:
        text = taken_back_text(edit.kind or "", edit.tokens_before, edit.tokens_after, edit.counts)
        return Divider(f"edit:{edit.id}", text)
    return Divider(
        f"edit:{edit.id}",
        divider_text(edit.kind or "", edit.tokens_before, edit.tokens_after, edit.counts, edit.fidelity, edit.reason),
    )


def taken_back_text(kind: str, before: int, after: int, counts: Mapping[str, int]) -> str:
    """What an undo or redo did, in one line: sizes, and what was taken back where that is not one compression."""
    text = f"{'undone' if kind == 'undo' else 'redone'}: {short(before)} → {short(after)}"
    edits = {name: count for name, count in counts.items() if name not in TAKEN_BACK}
    if kind == "redo" or not edits:
        return text
    if sum(edits.values()) > 1:
        return f"{text} · {sum(edits.values())} edits"
    name = next(iter(edits))
    return f"{text} · the {name}" if name in ("pin", "drop") else text


def divider_text(
    kind: str, before: int, after: int, counts: Mapping[str, int], fidelity: Fidelity | None, why: str = ""
) -> str:
    """What a compression did, in one line: sizes, messages, facts kept, and WHY where that was not the size."""
    parts = [f"compressed {short(before)} → {short(after)}"]
    if kind == "summarise" and counts.get("summarised"):
        parts.append(f"{counts['summarised']} summarised")
    if counts.get("pruned"):
        parts.append(f"{counts['pruned']} pruned")
    if fidelity is not None and fidelity.total:
        parts.append(f"kept {fidelity.kept}/{fidelity.total}")
    if why:
        parts.append(why)
    return " · ".join(parts)
