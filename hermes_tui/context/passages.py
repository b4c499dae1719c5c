"""Passages: a text cut into the least pieces that a reader understands by themselves.

A sentence that leans on the one before it stays with it; the items of a list stand behind what they are items of; a statement
of code that runs over several lines is one piece; of JSON every object is a line, told without its signs.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hermes_tui.context.acts import one_line
from hermes_tui.context.facts import beginning, clip, plain_line, sentences

PASSAGE_LIMIT: Final = 240
"""Characters of a passage of prose: two or three sentences, or a list of a few items."""
LINE_LIMIT: Final = 140
"""Characters of a line of code or output; what stands much further apart is not read together."""
MAX_LINES: Final = 400
"""Lines of one result or argument that are looked at: its start and its end."""
_LEAD: Final = 72
"""Characters of what a list is about, where it stands before more than one piece of the list."""
_SHORT: Final = 28
"""Characters under which a sentence says nothing by itself."""
_MIN_JSON: Final = 100
"""Characters a line from which JSON is data rather than a file laid out for people, whose lines are kept as they are."""
_INLINE: Final = 6
"""Values of an object inside another that are still told in the same line."""
_STATEMENT: Final = 6
"""Lines that an open bracket holds together at most: it may as well be a text's."""
_MAX_DEPTH: Final = 12
"""Levels of JSON, and of lists in lists, that are told apart."""
_NUMBERED: Final = 0.8
"""Share of lines that begin with a number from which the numbers are a listing's, not the text's."""

_ITEM: Final = re.compile(r"^(\s*)(?:[-*•+]|(\d{1,2}[.)]))\s+(?=\S)")
_HEADING: Final = re.compile(r"^\s*(?:#{1,6}\s+\S.*|\*\*[^*]+\*\*\s*:?)\s*$")
_ROW: Final = re.compile(r"^\s*\|(.+)\|\s*$")
_RULE: Final = re.compile(r"^[\s|:*_=-]+$")
_CODE_FENCE: Final = re.compile(r"^\s*(?:```|~~~)")
_LEANING: Final = re.compile(
    r"(?:it|its|it['’]s|this|that|that['’]s|these|those|they|he|she|so|but|and|then|because|which|however|also|therefore|otherwise"
    r"|instead|das|dies\w*|es|sie|aber|und|dann|also|deshalb|eso|esto|estos|pero|y|entonces|así|cela|ça|mais|donc)\b"
    r"|这|那|它|但|所以|因此|而且|然后",
    re.I,
)
"""How a sentence begins that is only understood after the one before it."""

_OPEN_END: Final = re.compile(r"(?:[(\[=+\\?]|&&|\|\||=>|\b(?:return|and|or|not|in|is|extends|implements))$")
_OPEN_START: Final = re.compile(r"(?:[)\].?]|&&|\|\||[+*] |\|(?!.*\|$))")
_HASHES: Final = re.compile(r"^#{2,6} ")
"""Before a heading of a page in Markdown."""
_SAMPLE: Final = 20
"""Lines from which it is told whether a listing numbers them."""
_LISTED: Final = re.compile(r"^\s*\d+(?:\t|→|[|:] ?)")


@dataclass(slots=True)
class _Item:
    """An item of a list and those below it; ``number`` as it was counted, "" where it was not."""

    text: str
    indent: int = 0
    number: str = ""
    items: list[_Item] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of code or output as it is told, and the lines it was made of, each as one line."""

    text: str
    lines: tuple[str, ...]


def passages(text: str) -> Iterator[str]:
    """The prose of TEXT as passages of at most PASSAGE_LIMIT characters, each on one line, without the signs of a layout."""
    lead = ""
    for line, items in _blocks(text):
        if items:
            yield from _told(lead, _nested(items))
            lead = ""
        elif _HEADING.match(line):
            if lead:
                yield clip(f"{lead}:", PASSAGE_LIMIT)
            lead = plain_line(line).rstrip(":：")
        else:
            found = _joined(list(sentences(line)))
            if lead and found:
                found[0] = _headed(lead, found[0])
            lead = found.pop().rstrip(":：") if found and found[-1].endswith((":", "：")) else ""
            yield from (clip(passage, PASSAGE_LIMIT) for passage in found)
    if lead:
        yield clip(f"{lead}:", PASSAGE_LIMIT)


def _blocks(text: str) -> Iterator[tuple[str, list[_Item]]]:
    """TEXT cut into lines of prose, each with no items, and lists, tables and code, each as the items that it holds."""
    items: list[_Item] = []
    code: list[str] | None = None
    kind = ""
    for line in text.splitlines():
        if _CODE_FENCE.match(line):
            if code is None:
                code = []
                continue
            was, kind = kind, "code"
            found = [_Item(piece.text) for piece in pieces("\n".join(code))]
            code = None
        elif code is not None:
            code.append(line)
            continue
        elif not line.strip() or _RULE.match(line):
            continue
        elif item := _ITEM.match(line):
            was, kind = kind, "list"
            plain = plain_line(line[item.end() :])
            found = [_Item(plain, len(item[1].expandtabs()), f"{item[2]} " if item[2] else "")] if plain else []
        elif row := _ROW.match(line):
            was, kind = kind, "table"
            plain = plain_line(", ".join(cell.strip() for cell in row[1].split("|")))
            found = [_Item(plain)] if plain else []
        else:
            was, kind, found = kind, "", []
        if items and kind != was:
            yield "", items
            items = []
        if kind:
            items += found
        elif plain_line(line):
            yield line, []
    if code:
        items += [_Item(piece.text) for piece in pieces("\n".join(code))]
    if items:
        yield "", items


def _headed(lead: str, text: str) -> str:
    return f"{lead}: {text}" if len(lead) + len(text) + 2 <= PASSAGE_LIMIT else text


def _joined(found: Sequence[str]) -> list[str]:
    """Sentences, those that lean on another or say nothing alone joined to it."""
    out: list[str] = []
    for sentence in found:
        fits = out and len(out[-1]) + len(sentence) < PASSAGE_LIMIT
        if fits and (_LEANING.match(sentence) or len(out[-1]) < _SHORT or len(sentence) < _SHORT):
            out[-1] = f"{out[-1]} {sentence}"
        else:
            out.append(sentence)
    return out


def _nested(listed: Sequence[_Item]) -> list[_Item]:
    """The items of a list as a tree, by how far each is indented."""
    roots: list[_Item] = []
    above: list[_Item] = []
    for item in listed:
        while above and (above[-1].indent >= item.indent or len(above) > _MAX_DEPTH):
            above.pop()
        (above[-1].items if above else roots).append(item)
        above.append(item)
    return roots


def _whole(item: _Item) -> str:
    """ITEM with all below it in one line."""
    if not item.items:
        return item.text
    text = item.text.rstrip(":：")
    return f"{text}{' — ' if ':' in text else ': '}{', '.join(map(_whole, item.items))}"


def _told(lead: str, items: Sequence[_Item]) -> Iterator[str]:
    """A list as passages, each behind its LEAD; as few as hold it."""
    if not items:
        return
    head = f"{lead}: " if lead else ""
    if len(whole := head + "; ".join(item.number + _whole(item) for item in items)) <= PASSAGE_LIMIT:
        yield whole
        return
    head = f"{beginning(lead, _LEAD)}: " if lead else ""
    held: list[str] = []
    for item in items:
        text = _whole(item)
        if held and len(head) + sum(len(h) + 2 for h in held) + len(text) > PASSAGE_LIMIT:
            yield head + "; ".join(held)
            held = []
        if len(head) + len(text) <= PASSAGE_LIMIT:
            held.append(text)
        elif item.items:
            yield from _told(item.text.rstrip(":："), item.items)
        else:
            yield clip(head + text, PASSAGE_LIMIT)
    if held:
        yield head + "; ".join(held)


def pieces(text: str) -> list[Piece]:
    """TEXT as lines of code or output, each short enough to be read at a glance; of a long text its start and its end."""
    lines = text.splitlines()
    told = _json_lines(text) if text[:1] in ("{", "[") and len(text) > _MIN_JSON * len(lines) else None
    lines = told or lines
    if len(lines) > MAX_LINES:
        lines = lines[: MAX_LINES // 2] + lines[-MAX_LINES // 2 :]
    shown = lines[:_SAMPLE]
    if told is None and sum(1 for line in shown if _LISTED.match(line)) > _NUMBERED * len(shown):
        lines = [_LISTED.sub("", line) for line in lines]
    found: list[Piece] = []
    held: list[str] = []
    length = depth = 0
    for line in map(one_line, lines):
        if line.startswith("##"):
            line = _HASHES.sub("", line)
        if told is not None or len(line) > LINE_LIMIT:
            found += _piece(held)
            held, length, depth = [], 0, 0
            if told is not None or len(line) <= 2 * LINE_LIMIT or len(found) > MAX_LINES:
                found.append(Piece(clip(line, PASSAGE_LIMIT if told else LINE_LIMIT), (line,)))
            else:
                found += [Piece(part, (part,)) for part in textwrap.wrap(line, LINE_LIMIT, break_on_hyphens=False)[:MAX_LINES]]
            continue
        open_ = held and not held[-1].endswith("{") and len(held) < _STATEMENT and length + len(line) < LINE_LIMIT
        if not (open_ and (depth > 0 or _OPEN_END.search(held[-1]) or _OPEN_START.match(line))):
            found += _piece(held)
            held, length, depth = [], 0, 0
        if held or any(c.isalnum() for c in line):  # what only closes something says nothing where nothing was left open
            held.append(line)
            length += len(line) + 1
            depth += line.count("(") - line.count(")")
    return found + _piece(held)


def _piece(lines: Sequence[str]) -> list[Piece]:
    """LINES as one piece; none where they are blank."""
    text = " ".join(line for line in lines if line)
    return [Piece(text, tuple(lines))] if text else []


def _json_lines(text: str) -> list[str] | None:
    """JSON told without its signs: a line for every object, ``key: value, key: value``, after the path that leads to it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lines: list[str] = []

    def tell(item: Any, path: str, depth: int) -> None:
        if isinstance(item, dict) and depth < _MAX_DEPTH:
            inline = {key: inner for key, inner in item.items() if not isinstance(inner, list) and not _is_deep(inner)}
            lines.extend(_object_lines(path, [_pair(key, inner) for key, inner in inline.items()]))
            for key, inner in item.items():
                if key not in inline:
                    tell(inner, f"{path} {key}".strip(), depth + 1)
        elif isinstance(item, list) and any(isinstance(inner, dict | list) for inner in item) and depth < _MAX_DEPTH:
            for inner in item:
                tell(inner, path, depth + 1)
        else:
            told = ", ".join(map(str, item)) if isinstance(item, list) else str(item)
            lines.extend(f"{path}: {line}" if path else line for line in told.splitlines())

    tell(value, "", 0)
    return lines


def _is_deep(value: Any) -> bool:
    """Whether VALUE holds more than one object's worth of plain values, and is told by itself."""
    return isinstance(value, dict) and (len(value) > _INLINE or any(isinstance(inner, dict | list) for inner in value.values()))


def _pair(key: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"{key} ({', '.join(f'{name}: {inner}' for name, inner in value.items())})"
    return f"{key}: {value}"


def _object_lines(path: str, pairs: Sequence[str]) -> Iterator[str]:
    """An object as lines that a reader takes in; each further one begins with what the object begins with."""
    head = f"{path}: " if path else ""
    held: list[str] = []
    for pair in pairs:
        if len(held) > 1 and len(head) + sum(len(h) + 2 for h in held) + len(pair) > PASSAGE_LIMIT:
            yield head + ", ".join(held)
            held = held[:1]
        held.append(pair)
    if held:
        yield head + ", ".join(held)
