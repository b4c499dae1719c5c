"""Extracts: the lines of a conversation that will be needed again, chosen by code.

No model is asked. How likely a name, path or number is to be needed again follows from its past uses: the odds rise with how
often and fall with how long ago it was used, as a power of the time (J. R. Anderson and L. J. Schooler, 1991, found it so for
headlines, speech and mail; in recorded working sessions it holds as well), and they are higher for what stood beside the
matter at hand. What they are spent on, `coverage` decides.

They are shown as a log, request by request, of what was said and run, and then file by file, each with the lines that mattered,
as they stand now: a line that a later edit took out is left out.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import indent
from typing import Final

from hermes_tui.context.acts import Act, Declarations, acts_of, changes_in, one_line, strings_in
from hermes_tui.context.coverage import MIN_LINE, WORD_MARK, Coverage, Line, LineGroup, alike
from hermes_tui.context.facts import beginning, clip, literals, words
from hermes_tui.context.messages import Message, plain_text
from hermes_tui.context.passages import LINE_LIMIT, Piece, passages, pieces
from hermes_tui.context.redaction import redact

HEADING_LIMIT: Final = 48
"""Characters of a person's message where it heads what was done about it; the ledger holds more of it."""
_TARGET_LIMIT: Final = 120
"""Characters of a command or path in a heading."""
_MIN_WORDS: Final = 4
"""Longer words that a passage without a name must hold: shorter ones are courtesies."""
_TELLTALE: Final = 8
"""Characters from which a line is known again wherever it stands; shorter ones are brackets and the like."""

_SAID, _DONE, _ASKED, _SHOWN, _KEPT = 1.0, 1.5, 1.5, 0.3, 2.0
"""What one use counts: in the model's words, in a call's arguments, in a person's words, in a result, in the summary before."""
_POWER: Final = 0.6
_EVEN: Final = 0.55
"""odds = _EVEN x (sum of uses / age in messages) ^ _POWER x e ^ (_KINSHIP x kinship); fitted on recorded sessions."""
_KEPT_AGE: Final = 0.5
"""How old what the summary before held is, as a share of the messages that it told: its lines are from anywhere among them."""
_KINSHIP: Final = 3.0
"""How much standing beside the matter at hand raises the odds (kinship: the share of its message's names that are at hand)."""
_WORD: Final = 0.06
"""Chance of a plain word as a share of a name's: every sentence holds some, so they only decide where there are no names."""
_TELLING: Final = 1.2
"""Bonus of a line that the model wrote, and of one that defines something: it says what the thing is."""
_REPORT: Final = 1.3
"""Bonus of what the model said last in a turn: that is where it tells the person what came of it."""
_LOG: Final = 0.3
"""Share of the budget that what the model said has to itself: without the story the details are a heap of names."""
_LEADING: Final = 0.5
"""Factor of a line that only leads over to something else (it ends in a colon) or breaks off in the middle of something."""

_DEFINES: Final = re.compile(
    r"^(?:export |default |public |private |protected |static |async |abstract |final |pub |@)*"
    r"(?:def|class|function|func|fn|interface|type|enum|struct|trait|impl|const|let|var|import|from|use|module|package|CREATE)\b"
)
_BROKEN: Final = re.compile(r"^[)\]}.,?&|]|(?:[:：(\[=+?]|&&|\|\||=>)$")
_QUOTE: Final = "“"
"""How the heading of a turn begins: it quotes what the person asked."""
_SAID_IN: Final = "\0said"
_COURTESY: Final = re.compile(
    r"\b(?:let me know|feel free|happy to help|anything else|how (?:can|may) I (?:help|assist)|if you (?:have any|need)"
    r"|you['’]re welcome|bescheid|gern geschehen|kann ich (?:dir|ihnen) (?:sonst|noch)|avísame|en qué (?:más )?puedo"
    r"|si necesita|n['’]hésite)|请告诉我|还有什么|随时告诉|不客气",
    re.I,
)
"""What is said for politeness, and tells nothing where it names nothing."""


@dataclass(frozen=True, slots=True)
class Extract:
    """The lines chosen, by section; ``told`` holds the ids of the messages that at least one of them was taken from."""

    prose: tuple[tuple[str, str], ...] = ()
    told: frozenset[str] = frozenset()


class Extractor:
    """SOURCES read once; `choose` then picks lines for any budget.

    EARLIER is the prose of the summary that is updated, TOLD_BEFORE the number of messages that it told, PATHS the files that
    its ledger names. BESIDE are the messages that stay verbatim: the matter at hand; what stands in them need not be told.
    FOCUS is the topic asked for, DECLARATIONS are what tools declare about their calls.
    """

    def __init__(
        self,
        sources: Sequence[Message],
        *,
        earlier: Iterable[tuple[str, str]] = (),
        paths: Collection[str] = (),
        told_before: int = 0,
        beside: Sequence[Message] = (),
        focus: str = "",
        declarations: Declarations | None = None,
    ) -> None:
        self._groups: list[LineGroup] = []
        self._lines: list[Line] = []
        self._group_of: dict[tuple[str, str], int] = {}
        self._turns: list[str] = [""]
        self._turn_of: dict[int, int] = {}
        self._line_of: dict[tuple[int, str], int] = {}
        self._uses: defaultdict[str, float] = defaultdict(float)
        self._kin: dict[str, float] = {}
        self._focus = [word for word in focus.casefold().split() if len(word) > 1]
        self._beside = [literals(line) for message in beside for text in _texts(message) for line in text.splitlines()]
        self._at_hand = {name for names in self._beside for name in names}
        self._end = len(sources) + len(beside)
        self._before = round(_KEPT_AGE * told_before)
        self._asked = sorted((m for m in (*sources, *beside) if m.is_real_user), key=lambda m: m.sequence)
        self._asked_at = [message.sequence for message in self._asked]
        self._recall(earlier, paths)
        acts: defaultdict[int, list[Act]] = defaultdict(list)
        for at, act in acts_of(sources, declarations):
            acts[at].append(act)
        for at, message in enumerate(sources):
            if message.origin != "tool":
                ends = at + 1 == len(sources) or sources[at + 1].is_real_user
                self._said(message, at, _REPORT if ends else 1.0)
            for act in acts.get(at, ()):
                self._done(act, at, self._turn(message))
        self._chances = {name: self._chance(name) for name in self._uses}

    # Reading

    def _chance(self, name: str) -> float:
        odds = _EVEN * math.pow(self._uses[name], _POWER) * math.exp(_KINSHIP * self._kin.get(name, 0.0))
        return odds / (1 + odds) * (_WORD if name.startswith(WORD_MARK) else 1.0)

    def _use(self, names: Iterable[str], at: int, amount: float) -> None:
        names = dict.fromkeys(names)
        share = amount / max(1, self._end - at)
        kin = sum([name in self._at_hand for name in names]) / (len(names) + 5)
        for name in names:
            self._uses[name] += share
            self._kin[name] = kin

    def _group(self, section: str, heading: str, at: int, turn: int = 0) -> int:
        found = self._group_of.get((section, heading))
        if found is None:
            found = self._group_of[section, heading] = len(self._groups)
            self._groups.append(LineGroup(section, heading, tuple(literals(heading))))
        self._groups[found].last, self._groups[found].turn = at, turn
        return found

    def _said_in(self, turn: int, at: int) -> int:
        """The group of what the model said in TURN; its key cannot be a heading."""
        found = self._group_of.get((_SAID_IN, str(turn)))
        if found is None:
            found = self._group_of[_SAID_IN, str(turn)] = len(self._groups)
            heading = self._turns[turn]
            self._groups.append(LineGroup("Done", heading, tuple(literals(heading)), at, turn, is_said=True))
        return found

    def _turn(self, message: Message) -> int:
        """The number of the turn that MESSAGE belongs to; 0 where nobody knows what was asked."""
        asked = bisect_left(self._asked_at, message.sequence)
        if not asked:
            return 0
        if asked not in self._turn_of:
            text = beginning(one_line(redact(plain_text(self._asked[asked - 1].content))), HEADING_LIMIT)
            heading = f"{_QUOTE}{text}”" if text else ""
            if heading and heading == self._turns[-1]:  # an earlier compression cut through this turn
                self._turn_of[asked] = len(self._turns) - 1
            else:
                self._turn_of[asked] = len(self._turns)
                self._turns.append(heading)
        return self._turn_of[asked]

    def _recall(self, earlier: Iterable[tuple[str, str]], paths: Collection[str]) -> None:
        """The lines of the summary before, under the headings they stood under."""
        for section, text in earlier:
            turn = 0
            plain = self._said_in(0, -1) if section == "Done" else self._group(section, "", -1)
            under = over = plain
            lines = text.splitlines()
            for line, after in zip_longest(lines, lines[1:], fillvalue=""):
                depth = len(line) - len(line.lstrip())
                heads = line.endswith(":") and len(after) - len(after.lstrip()) > depth and not line.startswith("-")
                name = line.strip().removesuffix(":")
                if heads and not depth and section == "Done" and line.startswith(_QUOTE):
                    self._turns.append(name)
                    turn = len(self._turns) - 1
                    under = over = self._said_in(turn, -1)
                    continue
                if heads:
                    whole = [path for path in paths if path == name or path.endswith(f"/{name}")]
                    turn = turn if depth else 0
                    under = self._group(section, whole[0] if len(whole) == 1 else name, -1, turn)
                    continue
                if line.startswith("- "):
                    under = over = plain
                elif depth == 2 and turn:
                    under = over
                line = line.strip().removeprefix("- ")
                names = [*literals(line), *_marked(words(line))]
                self._use(names, -self._before, _KEPT)
                self._add(Piece(line, (line,)), names, under, -1, "", _bonus(line, told=True))

    def _said(self, message: Message, at: int, bonus: float) -> None:
        text = redact(plain_text(message.content))
        if message.is_real_user:
            self._use([*literals(text), *_marked(words(text))], at, _ASKED)
            return
        if not text.strip():
            return
        group = self._said_in(self._turn(message), at)
        used: list[str] = []
        for line in passages(text):
            names = [*literals(line), *_marked(words(line))]
            used += names
            # A question without a name was answered since, or stands among the ledger's open ones.
            named = bool(names) and not names[0].startswith(WORD_MARK)
            if named or not (line.endswith(("?", "？")) or _COURTESY.search(line)):
                self._add(Piece(line, (line,)), names, group, at, message.id, bonus * _bonus(line, told=True))
        self._use(used, at, _SAID)

    def _done(self, act: Act, at: int, turn: int) -> None:
        target = clip(redact(act.target), _TARGET_LIMIT)
        if act.path is not None:
            group = self._group("State", target, at)
        else:
            outcome = f" → exit {act.exit_code}" if act.exit_code else " → failed" if act.failed else ""
            name = f"{act.name} " if act.verb == "called" else ""
            group = self._group("Done", f"{act.verb} {name}{target}{outcome}", at, turn)
        removed, given = ([redact(text) for text in texts] for texts in changes_in(act.arguments))
        if not act.failed:
            kept = {line for text in given for line in _plain_lines(text)}
            for line in {line for text in removed for line in _plain_lines(text)} - kept:
                self._remove(line, group)
        used = list(self._groups[group].names)
        for text in given:
            used += self._read(text, group, at, act.message, told=True, skip=act.target)
        for text in removed:
            used += literals(text)
        self._use(used, at, _DONE)
        if act.failed or act.verb not in ("edited", "wrote"):  # that an edit succeeded is told by the ledger
            self._use(self._read(redact(act.output), group, at, act.result_message, told=False), at + 1, _SHOWN)

    def _read(self, text: str, group: int, at: int, message: str, *, told: bool, skip: str = "") -> list[str]:
        """Take the lines of TEXT as candidates; the names in them."""
        used: list[str] = []
        for piece in pieces(text):
            names = literals(piece.text)
            used += names
            if not skip or piece.text not in skip:
                self._add(piece, names, group, at, message, _bonus(piece.text, told=told))
        return used

    def _add(self, piece: Piece, names: Sequence[str], group: int, at: int, message: str, bonus: float) -> None:
        text = piece.text
        focused = bool(self._focus) and any(word in text.casefold() for word in self._focus)
        telling = bool(names) and (len(names) >= _MIN_WORDS or not names[0].startswith(WORD_MARK))
        if len(text) < MIN_LINE or not (telling or focused):
            return
        known = self._line_of.get((group, text))
        if known is not None and self._lines[known].text == text:
            line = self._lines[known]
            line.gone, line.at, line.message = False, at, message
            return
        number = len(self._lines)
        for part in {text, *(part for part in piece.lines if len(part) >= _TELLTALE)}:
            self._line_of[group, part] = number
        self._groups[group].lines.append(number)
        self._lines.append(Line(text, tuple(names), group, at, message, bonus, focused))

    def _remove(self, text: str, group: int) -> None:
        known = self._line_of.get((group, text))
        if known is not None:
            self._lines[known].gone = True

    @property
    def paths(self) -> list[str]:
        """The files that lines are from."""
        return [group.heading for group in self._groups if group.section == "State" and group.heading]

    # Choosing

    def choose(
        self, budget: int, cost: Callable[[str], int], *, known: Iterable[str] = (), short: Mapping[str, str] | None = None
    ) -> Extract:
        """The lines most worth keeping in BUDGET tokens.

        KNOWN are the lines that stand beside them; COST estimates the tokens of a line; SHORT gives headings a shorter wording.
        """
        beside = (*self._beside, *map(literals, known))
        coverage = Coverage(self._groups, self._lines, self._chances, beside, cost, short or {})
        share = int(_LOG * budget)
        left = coverage.take(share, [i for group in self._groups if group.is_said for i in group.lines])
        coverage.take(budget - share + left, range(len(self._lines)))
        chosen = coverage.chosen
        return Extract(self._laid_out(chosen, short or {}), frozenset(m for i in chosen if (m := self._lines[i].message)))

    def _laid_out(self, chosen: set[int], short: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        parts: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        log: defaultdict[int, list[tuple[int, int, str]]] = defaultdict(list)
        for group in self._groups:
            lines = [i for i in group.lines if i in chosen]
            if not lines:
                continue
            mark = "" if group.is_said and group.heading else "- "
            single = [(self._lines[i].at, i, f"{mark}{self._lines[i].text}") for i in lines]
            if group.is_said:
                log[group.turn] += single
            elif not group.heading:
                parts[group.section] += single
            else:
                heading = short.get(group.heading, group.heading)
                text = "\n".join((f"{heading}:", *(f"  {line}" for line in _folded([self._lines[i].text for i in lines]))))
                (log[group.turn] if group.section == "Done" else parts[group.section]).append((group.last, lines[0], text))
        for turn in sorted(log):
            told = "\n".join(text for _, _, text in sorted(log[turn]))
            heading = self._turns[turn]
            parts["Done"].append((turn, 0, f"{heading}:\n{indent(told, '  ')}" if heading else told))
        return tuple((section, "\n".join(text for _, _, text in sorted(texts))) for section, texts in parts.items())


def _folded(lines: Sequence[str]) -> list[str]:
    """LINES, those that say the same of different names (``a: Color``, ``b: Color``) as one: ``a, b: Color``."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for line in lines:
        if split := alike(line):
            names[split[1]].append(split[0])
    folded: list[str] = []
    for line in lines:
        split = alike(line)
        if split is None or len(names[split[1]]) < 2:
            folded.append(line)
            continue
        if split[0] != names[split[1]][0]:
            continue
        held: list[str] = []
        for name in names[split[1]]:
            if held and sum(len(h) + 2 for h in held) + len(name) + len(split[1]) > LINE_LIMIT:
                folded.append(", ".join(held) + split[1])
                held = []
            held.append(name)
        folded.append(", ".join(held) + split[1])
    return folded


def _bonus(text: str, *, told: bool) -> float:
    if _BROKEN.search(text) or text.count(")") > text.count("("):
        return _LEADING
    return (_TELLING if told else 1.0) * (_TELLING if _DEFINES.match(text) else 1.0)


def _marked(plain: Iterable[str]) -> list[str]:
    """Plain words, marked so that they are told from names."""
    return [WORD_MARK + word for word in plain]


def _plain_lines(text: str) -> Iterable[str]:
    """The lines of TEXT as they are compared."""
    return (line for raw in text.splitlines() if (line := one_line(raw)))


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
