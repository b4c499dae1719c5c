"""Extracts: the lines of a conversation that will be needed again, chosen by code.

No model is asked. How likely a name, path or number is to be needed again follows from its past uses: the odds rise with how
often and fall with how long ago it was used, as a power of the time (J. R. Anderson and L. J. Schooler, 1991, found it so for
headlines, speech and mail; in recorded working sessions it holds as well), and they are higher for what stood beside the
matter at hand. A line is worth the names that it adds and the pairs that it is the first to hold together; lines are taken
by worth per token until the budget is spent (greedy maximum coverage).

They are shown as a log of what was said and run, and then file by file, each with the lines that mattered, as they stand now: a
line that a later edit took out is left out.
"""

from __future__ import annotations

import heapq
import json
import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hermes_tui.context.acts import Act, acts_of, changes_in, one_line, strings_in
from hermes_tui.context.facts import clip, literals, sentences, words
from hermes_tui.context.messages import Message, plain_text
from hermes_tui.context.redaction import redact

LINE_LIMIT: Final = 140
"""Characters of an extracted line; what stands much further apart is not read together."""
MAX_LINES: Final = 400
"""Lines of one result or argument that are looked at: its start and its end."""
_MIN_LINE: Final = 6
"""Characters; a shorter line tells nothing by itself."""

_MIN_WORDS: Final = 4
"""Longer words that a sentence without a name must hold: shorter ones are courtesies."""

_SAID, _DONE, _ASKED, _SHOWN, _KEPT = 1.0, 1.5, 1.5, 0.3, 2.0
"""What one use counts: in the model's words, in a call's arguments, in a person's words, in a result, in the summary before."""
_POWER: Final = 0.6
_EVEN: Final = 0.55
"""odds = _EVEN x (sum of uses / age in messages) ^ _POWER x e ^ (_KINSHIP x kinship); fitted on recorded sessions."""
_KINSHIP: Final = 3.0
"""How much standing beside the matter at hand raises the odds (kinship: the share of its message's names that are at hand)."""
_WORD: Final = 0.04
"""Chance of a plain word as a share of a name's: every sentence holds some, so they only decide where there are no names."""
_MIN_JSON: Final = 100
"""Characters a line from which JSON is data rather than a file laid out for people, whose lines are kept as they are."""
_MAX_DEPTH: Final = 12
"""Levels of JSON that are told apart."""
_PAIRED: Final = 12
"""Names of a line that are looked at in pairs."""
_TOGETHER: Final = 0.3
"""Worth of holding two names together for the first time, as a share of the lesser one's chance."""
_TELLING: Final = 1.2
"""Bonus of a line that the model wrote, and of one that defines something: it says what the thing is."""
_LEADING: Final = 0.5
"""The same for one that only leads over to something else (it ends in a colon)."""
_WORTHLESS: Final = 0.0005
"""Worth per token from which a line is not worth its place, however much room there is: small talk."""
_FOCUSED: Final = 2.0
"""Worth that a line has by speaking of the topic asked for, whatever it names."""

_DEFINES: Final = re.compile(
    r"^(?:export |default |public |private |protected |static |async |abstract |final |pub |@)*"
    r"(?:def|class|function|func|fn|interface|type|enum|struct|trait|impl|const|let|var|import|from|use|module|package|CREATE)\b"
)
_HEADED: Final = re.compile(r"^([^\s-].*):$")


@dataclass(slots=True)
class _Group:
    """Lines under one heading.

    Attributes:
        section: the section of the prose it is shown in.
        heading: what it is about; "" for lines that stand for themselves.
        names: the literals of the heading.
        last: index of the message that touched it last.
        lines: numbers of its lines.
    """

    section: str
    heading: str
    names: tuple[str, ...] = ()
    last: int = -1
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Line:
    """A candidate: one line in one group.

    Attributes:
        text, names: the line and its names, plain words among them.
        group: number of its group.
        at: index of its message.
        message: id of its message.
        bonus: factor on its worth.
        focused: it speaks of the topic asked for.
        gone: an edit took it out.
    """

    text: str
    names: tuple[str, ...]
    group: int
    at: int
    message: str
    bonus: float
    focused: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Extract:
    """The lines chosen, by section; ``told`` holds the ids of the messages that at least one of them was taken from."""

    prose: tuple[tuple[str, str], ...] = ()
    told: frozenset[str] = frozenset()


class Extractor:
    """SOURCES read once; `choose` then picks lines for any budget.

    EARLIER is the prose of the summary that is updated, PATHS the files its ledger names. BESIDE are the messages that stay
    verbatim: the matter at hand; what stands in them need not be told. FOCUS is the topic asked for.
    """

    def __init__(
        self,
        sources: Sequence[Message],
        *,
        earlier: Iterable[tuple[str, str]] = (),
        paths: Mapping[str, str] | None = None,
        beside: Sequence[Message] = (),
        focus: str = "",
    ) -> None:
        self._groups: list[_Group] = []
        self._lines: list[_Line] = []
        self._group_of: dict[tuple[str, str], int] = {}
        self._line_of: dict[tuple[int, str], int] = {}
        self._uses: defaultdict[str, float] = defaultdict(float)
        self._kin: dict[str, float] = {}
        self._focus = [word for word in focus.casefold().split() if len(word) > 1]
        self._beside = [literals(line) for message in beside for text in _texts(message) for line in text.splitlines()]
        self._at_hand = {name for names in self._beside for name in names}
        self._end = len(sources) + len(beside)
        self._recall(earlier, {short: path for path, short in (paths or {}).items()})
        acts: defaultdict[int, list[Act]] = defaultdict(list)
        for at, act in acts_of(sources):
            acts[at].append(act)
        for at, message in enumerate(sources):
            if message.origin != "tool":
                self._said(message, at)
            for act in acts.get(at, ()):
                self._done(act, at)
        self._chances = {name: self._chance(name) for name in self._uses}

    # Reading

    def _chance(self, name: str) -> float:
        odds = _EVEN * math.pow(self._uses[name], _POWER) * math.exp(_KINSHIP * self._kin.get(name, 0.0))
        return odds / (1 + odds) * (_WORD if name.startswith("\0") else 1.0)

    def _use(self, names: Iterable[str], at: int, amount: float) -> None:
        names = dict.fromkeys(names)
        share = amount / max(1, self._end - at)
        kin = sum([name in self._at_hand for name in names]) / (len(names) + 5)
        for name in names:
            self._uses[name] += share
            self._kin[name] = kin

    def _group(self, section: str, heading: str, at: int) -> int:
        found = self._group_of.get((section, heading))
        if found is None:
            found = self._group_of[section, heading] = len(self._groups)
            self._groups.append(_Group(section, heading, tuple(literals(heading))))
        self._groups[found].last = at
        return found

    def _recall(self, earlier: Iterable[tuple[str, str]], paths: Mapping[str, str]) -> None:
        """The lines of the summary before, under the headings they stood under."""
        for section, text in earlier:
            plain = under = self._group(section, "", -1)
            for line in text.splitlines():
                if headed := _HEADED.match(line):
                    under = self._group(section, paths.get(headed[1], headed[1]), -1)
                    continue
                if not line.startswith(" "):
                    under = plain
                line = line.strip().removeprefix("- ")
                names = [*literals(line), *_marked(words(line))]
                self._use(names, 0, _KEPT)
                self._add(line, names, under, -1, "", _bonus(line, told=True))

    def _said(self, message: Message, at: int) -> None:
        text = redact(plain_text(message.content))
        if message.is_real_user:
            self._use([*literals(text), *_marked(words(text))], at, _ASKED)
            return
        group = self._group("Done", "", at)
        used: list[str] = []
        for sentence in sentences(text):
            line = clip(sentence, LINE_LIMIT)
            names = [*literals(line), *_marked(words(line))]
            used += names if line is sentence else [*literals(sentence), *_marked(words(sentence))]
            # A question without a name was answered since, or stands among the ledger's open ones.
            if not line.endswith(("?", "？")) or not names or not names[0].startswith("\0"):
                self._add(line, names, group, at, message.id, _bonus(line, told=True))
        self._use(used, at, _SAID)

    def _done(self, act: Act, at: int) -> None:
        target = clip(redact(act.target), 120)
        if act.path is not None:
            group = self._group("State", target, at)
        else:
            outcome = f" → exit {act.exit_code}" if act.exit_code else " → failed" if act.failed else ""
            name = f"{act.name} " if act.verb == "called" else ""
            group = self._group("Done", f"{act.verb} {name}{target}{outcome}", at)
        removed, given = changes_in(act.arguments)
        if not act.failed:
            kept = {line for text in given for line in _lines(redact(text))}
            for line in {line for text in removed for line in _lines(redact(text))} - kept:
                self._remove(line, group)
        used = list(self._groups[group].names)
        for text in given:
            used += self._read(redact(text), group, at, act.message, told=True, skip=act.target)
        for text in removed:
            used += literals(redact(text))
        self._use(used, at, _DONE)
        self._use(self._read(redact(act.output), group, at, act.result_message, told=False), at + 1, _SHOWN)

    def _read(self, text: str, group: int, at: int, message: str, *, told: bool, skip: str = "") -> list[str]:
        """Take the lines of TEXT as candidates; the names in them."""
        used: list[str] = []
        for line in _lines(text):
            names = literals(line)
            used += names
            if not skip or line not in skip:
                self._add(line, names, group, at, message, _bonus(line, told=told))
        return used

    def _add(self, text: str, names: Sequence[str], group: int, at: int, message: str, bonus: float) -> None:
        focused = bool(self._focus) and any(word in text.casefold() for word in self._focus)
        telling = bool(names) and (len(names) >= _MIN_WORDS or not names[0].startswith("\0"))
        if len(text) < _MIN_LINE or not (telling or focused):
            return
        known = self._line_of.get((group, text))
        if known is not None:
            line = self._lines[known]
            line.gone, line.at, line.message = False, at, message
            return
        self._line_of[group, text] = len(self._lines)
        self._groups[group].lines.append(len(self._lines))
        self._lines.append(_Line(text, tuple(names), group, at, message, bonus, focused))

    def _remove(self, text: str, group: int) -> None:
        known = self._line_of.get((group, text))
        if known is not None:
            self._lines[known].gone = True

    # Choosing

    def choose(
        self, budget: int, cost: Callable[[str], int], *, known: Iterable[str] = (), short: Mapping[str, str] | None = None
    ) -> Extract:
        """The lines most worth keeping in BUDGET tokens.

        KNOWN are the lines that stand beside them; COST estimates the tokens of a line; SHORT gives headings a shorter wording.
        """
        choice = _Choice(self._groups, self._lines, self._chances, (*self._beside, *map(literals, known)), cost, short or {})
        chosen = choice.within(budget)
        return Extract(self._laid_out(chosen, short or {}), frozenset(m for i in chosen if (m := self._lines[i].message)))

    def _laid_out(self, chosen: set[int], short: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        parts: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for group in self._groups:
            lines = [i for i in group.lines if i in chosen]
            if lines and group.heading:
                heading = short.get(group.heading, group.heading)
                text = "\n".join((f"{heading}:", *(f"  {self._lines[i].text}" for i in lines)))
                parts[group.section].append((group.last, lines[0], text))
            elif lines:
                parts[group.section] += [(self._lines[i].at, i, f"- {self._lines[i].text}") for i in lines]
        return tuple((section, "\n".join(text for _, _, text in sorted(texts))) for section, texts in parts.items())


class _Choice:
    """Greedy maximum coverage over the candidate lines, lazily: a line's rate only ever falls, until its heading stands."""

    def __init__(
        self,
        groups: Sequence[_Group],
        lines: Sequence[_Line],
        chances: Mapping[str, float],
        known: Iterable[Sequence[str]],
        cost: Callable[[str], int],
        short: Mapping[str, str],
    ) -> None:
        self._groups, self._lines, self._chances = groups, lines, chances
        self._told: set[str] = set()
        self._together: set[tuple[str, str]] = set()
        for names in known:
            self._tell(names)
        self._opened = {number for number, group in enumerate(groups) if not group.heading}
        self._headings = [cost(short.get(g.heading, g.heading)) + 2 for g in groups]
        self._costs = [cost(line.text) + 2 for line in lines]

    def _tell(self, names: Sequence[str]) -> None:
        self._told.update(names)
        self._together.update(_pairs(names))

    def _worth(self, names: Sequence[str]) -> float:
        chances = self._chances
        value = sum([chances.get(name, 0.0) for name in names if name not in self._told])
        for pair in _pairs(names):
            if pair not in self._together:
                value += _TOGETHER * min(chances.get(pair[0], 0.0), chances.get(pair[1], 0.0))
        return value

    def _price(self, number: int) -> int:
        group = self._lines[number].group
        return self._costs[number] + (0 if group in self._opened else self._headings[group])

    def _rate(self, number: int) -> float:
        line = self._lines[number]
        value = line.bonus * self._worth(line.names) + (_FOCUSED if line.focused else 0.0)
        if line.group not in self._opened:
            value += self._worth(self._groups[line.group].names)
        return value / self._price(number)

    def within(self, budget: int) -> set[int]:
        """Numbers of the lines that BUDGET tokens are best spent on."""
        heap = [(-self._rate(number), number) for number, line in enumerate(self._lines) if not line.gone]
        heapq.heapify(heap)
        left, chosen = budget, set[int]()
        while heap and left > _MIN_LINE:
            noted, number = heapq.heappop(heap)
            if number in chosen:
                continue
            now = -self._rate(number)
            if now > noted and heap and now > heap[0][0]:
                heapq.heappush(heap, (now, number))
                continue
            price = self._price(number)
            if price > left or now > -_WORTHLESS:
                continue
            left -= price
            chosen.add(number)
            line = self._lines[number]
            self._tell(line.names)
            if line.group not in self._opened:
                self._opened.add(line.group)
                self._tell(self._groups[line.group].names)
                for other in self._groups[line.group].lines:
                    if other not in chosen and not self._lines[other].gone:
                        heapq.heappush(heap, (-self._rate(other), other))
        return chosen


def _bonus(text: str, *, told: bool) -> float:
    if text.endswith((":", "：")):
        return _LEADING
    return (_TELLING if told else 1.0) * (_TELLING if _DEFINES.match(text) else 1.0)


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Every two of the first names, plain words aside."""
    names = [name for name in names[:_PAIRED] if not name.startswith("\0")]
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def _marked(plain: Iterable[str]) -> list[str]:
    """Plain words, marked so that they are told from names."""
    return ["\0" + word for word in plain]


def _lines(text: str) -> list[str]:
    """The lines of TEXT, each short enough to be read at a glance; of a long text its start and its end; of JSON its parts."""
    lines = text.splitlines()
    told = _json_lines(text) if text[:1] in ("{", "[") and len(text) > _MIN_JSON * len(lines) else None
    lines = told or lines
    if len(lines) > MAX_LINES:
        lines = lines[: MAX_LINES // 2] + lines[-MAX_LINES // 2 :]
    found: list[str] = []
    for line in lines:
        line = one_line(line)
        if len(line) <= (LINE_LIMIT if told else 2 * LINE_LIMIT) or len(found) > MAX_LINES:
            found.append(clip(line, LINE_LIMIT))
        else:
            found += textwrap.wrap(line, LINE_LIMIT, break_on_hyphens=False)[:MAX_LINES]
    return found


def _json_lines(text: str) -> list[str] | None:
    """JSON told without its signs: a line for every object, ``key: value, key: value``, after the path that leads to it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lines: list[str] = []

    def tell(item: Any, path: str, depth: int) -> None:
        if isinstance(item, dict) and depth < _MAX_DEPTH:
            plain = [f"{key}: {inner}" for key, inner in item.items() if not isinstance(inner, dict | list)]
            if plain:
                lines.append(f"{path}: {', '.join(plain)}" if path else ", ".join(plain))
            for key, inner in item.items():
                if isinstance(inner, dict | list):
                    tell(inner, f"{path} {key}".strip(), depth + 1)
        elif isinstance(item, list) and any(isinstance(inner, dict | list) for inner in item) and depth < _MAX_DEPTH:
            for inner in item:
                tell(inner, path, depth + 1)
        else:
            told = ", ".join(map(str, item)) if isinstance(item, list) else str(item)
            lines.extend(f"{path}: {line}" if path else line for line in told.splitlines())

    tell(value, "", 0)
    return lines


def _texts(message: Message) -> Iterable[str]:
    """Everything that MESSAGE says, calls and shows."""
    for block in message.content:
        kind = block.get("type")
        if kind == "text":
            yield str(block.get("text", ""))
        elif kind == "tool_use":
            yield from strings_in(block.get("input"))
        elif kind == "tool_result":
            yield from strings_in(block.get("content"))
