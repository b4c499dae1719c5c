"""The ledger: the facts kept by code beside the summary's prose.

Every compression reads the messages it newly summarises, and merges what it finds with the ledger before it. A fact that is
met again is young again; one that is not ages, and the old give way first when the budget is short, rules and decisions last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hermes_tui.context.acts import Act, Declarations, acts_of, one_line
from hermes_tui.context.facts import clip, literals, sentences
from hermes_tui.context.messages import Message, plain_text
from hermes_tui.context.redaction import redact


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the ledger.

    Attributes:
        text: the line, redacted, unescaped.
        source: id of the message it was taken from.
        weight: how much it deserves its place (higher stays longer).
        age: compressions it has survived without being met again.
        key: what the fact is about (a path, a command, the words of a rule): a later fact of the same key takes its place.
    """

    text: str
    source: str
    weight: float = 0.0
    age: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Facts by section, in the order they are shown; empty sections are left out.

    Sections: rules, decisions, requests (user messages of the middle, newest first), files, commands, errors, identifiers
    (lines that hold names and numbers), questions.
    """

    sections: tuple[tuple[str, tuple[Fact, ...]], ...] = ()

    def of(self, section: str) -> tuple[Fact, ...]:
        """The facts of SECTION, none where it is left out."""
        return next((facts for name, facts in self.sections if name == section), ())

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """(section, fact) for every fact."""
        return ((name, fact) for name, facts in self.sections for fact in facts)

    def with_section(self, section: str, facts: Sequence[Fact]) -> Ledger:
        """This ledger with FACTS as its SECTION, in the place where that is shown."""
        sections = {**dict(self.sections), section: tuple(facts)}
        return Ledger(tuple((name, sections[name]) for name in ORDER if sections.get(name)))


ORDER: Final = ("topic", "rules", "decisions", "requests", "files", "commands", "errors", "identifiers", "questions")
"""The sections in the order they are shown."""

AGEING: Final = {
    "rules": 0.98,
    "decisions": 0.97,
    "requests": 0.8,
    "files": 0.75,
    "commands": 0.6,
    "errors": 0.6,
    "identifiers": 0.75,
    "questions": 0.6,
}
"""What is left of a fact's weight after each compression in which it was not met again, by section."""

SHARES: Final = {
    "rules": 0.5,
    "decisions": 0.3,
    "requests": 0.4,
    "files": 0.3,
    "commands": 0.25,
    "errors": 0.2,
    "identifiers": 0.3,
    "questions": 0.1,
}
"""Most of the ledger's budget that a section may take while others still want some."""

REQUESTS: Final = 0.2
"""Share of the ledger's budget that what the user said has to itself, newest first: it is 1 to 2 % of a conversation's tokens
and carries what all the others were spent for."""

FIRM: Final = 8.0
"""Weight from which a rule or decision is firm: these are kept whatever the shares say."""

_FIRM_RULE: Final = re.compile(
    r"\b(?:never|always|must(?:n['’]?t)?|shall not|do not|don['’]t ever|cannot ever|forbidden|prohibited|under no circumstances"
    r"|hard rule|non-negotiable|not allowed|off[- ]limits|mandatory|critical|from now on|at all times|remember (?:that|to)"
    r"|no matter what"
    r"|nie(?:mals)?|immer|muss(?:t|en)?|müssen|darf(?:st)? (?:nicht|kein)|dürfen (?:nicht|kein)|verboten|unbedingt"
    r"|auf keinen fall|ab jetzt|ab sofort"
    r"|nunca|jamás|siempre|debes?|deben|tienes? que|hay que|prohibido|obligatorio|a partir de ahora|bajo ningun"
    r"|jamais|toujours|doi(?:t|s|vent)|interdit|il faut|sempre|deve|proibido|vietato)\b"
    r"|不要|不许|不准|不得|不可以|不能|别再|请勿|切勿|必须|务必|一定要|禁止|严禁|绝不|绝对|永远|始终|总是|只能|只用|今后|以后都"
    r"|必ず|絶対|しないで|してはいけ|常に|절대|반드시|항상|하지 ?마|никогда|всегда|нельзя|обязательно",
    re.I,
)
_SOFT_RULE: Final = re.compile(
    r"\b(?:(?<!there['’]s )(?<!there is )(?<!is )(?<!are )(?<!was )(?<!not )(?<!have )only"
    r"|make sure|be sure to|(?<!\bI )(?<!\bwe )(?<!they )(?<!you )don['’]?t|I don['’]?t (?:want|like|need)"
    r"|avoid|prefer(?:ably)?|no longer"
    r"|stick (?:to|with)|rather than|without|at most|at least|no more than"
    r"|nur|kein(?:e|en)?|bitte nicht|vermeide|lieber|höchstens|mindestens"
    r"|s[oó]lo|solamente|evita|prefiero|no (?:uses?|hagas|toques|cambies)|seulement|évite[rz]?|ne \w+ pas|evit[ae])\b"
    r"|只|避免|尽量|优先|最多|至少|だけ|避け|만 |только",
    re.I,
)
_DECISION: Final = re.compile(
    r"\b(?:let['’]?s|go(?:ing)? with|decided?|decision|agreed|scratch that|forget (?:about )?(?:the|what|[A-Z]\b)|never ?mind"
    r"|we(?:['’]ll| will| are going to) (?:use|go|keep|do)|we should(?! be\b)|use .{1,60} instead|instead use"
    r"|switch(?:ed)? to|chos(?:e|en)|approach (?:is|:)|plan is|goal (?:is|:)|off the table|settled on|locked in|final answer"
    r"|scrap|override|supersede[sd]?|replac(?:e|es|ed|ing) .{1,40} with|wir nehmen|entschieden|stattdessen|vamos a usar"
    r"|decidi(?:mos|do)|en su lugar|on utilise|décidé)\b|(?:goal|approach|decision|plan):"
    r"|决定|改用|就用|采用|换成|敲定|选用|にします|로 결정|решили",
    re.I,
)
_CHOSEN: Final = re.compile(
    r"\b(?:decided|decision|agreed|settled on|chose(?:n)?|went with|going with|will use|we use|approach is|plan is"
    r"|entschieden|gewählt|decidi(?:mos|do)|eleg(?:imos|ido)|décidé|choisi)\b|(?:decision|approach|plan):|决定|选用|采用|敲定",
    re.I,
)
"""The same in the words of the model, who says "let's" of every step."""
_LOOKS: Final = re.compile(
    r"(?:cd \S+ ?(?:&&|;) ?)?(?:ls|ll|dir|cat|head|tail|grep|rg|ag|find|fd|sed -n|awk|wc|pwd|which|echo|tree|stat|less|diff"
    r"|sleep|git (?:status|log|diff|show|branch))\b(?![^|;&]*>)"
)
"""A command that only looks: that it ran and went well tells nothing about how things stand."""
_BARE_COMMAND: Final = re.compile(r"/\w*")
_QUESTION: Final = re.compile(r"[?？]\W*$")

_PROPER: Final = re.compile(r"(?<=[a-z,:;] )[A-Z][a-z]+")
"""A word written large in the middle of a sentence: a name."""

_REQUEST_LIMITS: Final = (400, 240)
"""Characters of a user's message in the ledger: the three newest, and the others."""
_RULE_LIMIT: Final = 240
_COMMAND_LIMIT: Final = 140
_ERROR_LIMIT: Final = 180
_DONE: Final = {"edited": "edited", "wrote": "written", "read": "read"}


def ledger_of(sources: Sequence[Message], previous: Ledger | None = None, declarations: Declarations | None = None) -> Ledger:
    """The facts of SOURCES (originals, oldest first), their calls read as DECLARATIONS say, merged with PREVIOUS; not yet
    fitted to any budget."""
    earlier = previous.with_section("topic", ()) if previous else None  # a topic is asked for one compression only
    return _merged(_Reading(sources, declarations).found, earlier)


class _Reading:
    """What one reading of the sources finds, by section, oldest first. Weights grow with recency by up to a few points."""

    def __init__(self, sources: Sequence[Message], declarations: Declarations | None = None) -> None:
        self.found: dict[str, list[Fact]] = {name: [] for name in ORDER}
        self._count = max(1, len(sources))
        people = [at for at, message in enumerate(sources) if message.is_real_user]
        newest = set(people[-3:])
        for at, message in enumerate(sources):
            if message.is_real_user:
                self._asked(message, at, _REQUEST_LIMITS[0] if at in newest else _REQUEST_LIMITS[1])
            elif message.role == "assistant":
                self._answered(message, open_=not people or at > people[-1])
        self._done(sources, declarations)

    def _note(self, section: str, text: str, source: str, weight: float, key: str = "") -> None:
        self.found[section].append(Fact(text, source, round(weight, 2), key=key or text.casefold()))

    def _asked(self, message: Message, at: int, limit: int) -> None:
        """Rules, decisions and the message itself."""
        recency = (at + 1) / self._count
        text = redact(plain_text(message.content)).strip()
        if not any(c.isalnum() for c in text) or _BARE_COMMAND.fullmatch(text):
            return
        # A short message is kept whole: what it rules or decides is understood from its other sentences.
        whole = one_line(text)
        told = []
        for sentence in (whole,) if len(whole) <= _RULE_LIMIT else sentences(text):
            firm, decided = _FIRM_RULE.search(sentence), _DECISION.search(sentence)
            if _QUESTION.search(sentence) and not firm:
                continue
            line = clip(sentence, _RULE_LIMIT)
            if firm:
                self._note("rules", line, message.id, 10 + recency)
            elif decided:
                self._note("decisions", line, message.id, 8 + recency)
            elif len(sentence) <= _RULE_LIMIT and "?" not in sentence and _SOFT_RULE.search(sentence):
                self._note("rules", line, message.id, 3 + recency)
            else:
                continue
            told.append(line)
        names = len(literals(whole)) + len(_PROPER.findall(whole))
        if told != [whole] and (names or len(whole.split()) > 2 or not whole.isascii()):
            weight = 1 + 4 * recency + min(3.0, 0.7 * names) + (0 if _QUESTION.search(whole) else 1)
            self._note("requests", clip(whole, limit), message.id, weight)

    def _answered(self, message: Message, *, open_: bool) -> None:
        """Questions that nobody has answered, and decisions that the assistant stated with a name in them."""
        for sentence in sentences(redact(plain_text(message.content))):
            if _QUESTION.search(sentence):
                if open_:
                    self._note("questions", clip(sentence, _RULE_LIMIT), message.id, 4)
            elif len(sentence) < _RULE_LIMIT and sentence[-1] not in ":：" and _CHOSEN.search(sentence) and literals(sentence):
                self._note("decisions", sentence, message.id, 1.5)

    def _done(self, sources: Sequence[Message], declarations: Declarations | None) -> None:
        """Files with what was done to them, commands with how they ended, and errors that still stand."""
        files: dict[str, list[tuple[int, Act]]] = {}
        runs: dict[str, list[tuple[int, Act]]] = {}
        for at, act in acts_of(sources, declarations):
            if act.path is not None:
                files.setdefault(act.path, []).append((at, act))
            elif act.verb == "ran":
                runs.setdefault(act.target, []).append((at, act))
            elif act.failed and act.error:
                line = clip(redact(f"{act.name} {act.target}: {act.error}"), _ERROR_LIMIT)
                self._note("errors", line, act.result_message or act.message, 2 + 3 * (at + 1) / self._count)
        for path, acts in files.items():
            self._file(path, acts)
        for command, told in runs.items():
            self._run(command, told)

    def _file(self, path: str, acts: Sequence[tuple[int, Act]]) -> None:
        at, last = acts[-1]
        counts = Counter(act.verb for _, act in acts)
        done = [f"{_DONE[verb]}{f' ×{n}' if n > 1 else ''}" for verb, n in counts.items() if verb in _DONE]
        done.sort(key=lambda text: text.startswith("read"))
        failed = f"; failed last: {clip(redact(last.error), 100)}" if last.failed and last.error else ""
        if last.verb == "read" and len(done) > 1:
            done[-1] += " (last)"
        changed = counts["edited"] + counts["wrote"]
        weight = 1 + 4 * (at + 1) / self._count + min(3, changed) + 0.2 * min(5, len(acts))
        self._note("files", f"{redact(path)}: {', '.join(done)}{failed}", last.message, weight, key=redact(path))

    def _run(self, command: str, told: Sequence[tuple[int, Act]]) -> None:
        at, last = told[-1]
        safe = redact(command)
        recency = (at + 1) / self._count
        outcome = "ok" if last.exit_code in (None, 0) else f"exit {last.exit_code}"
        often = f" (×{len(told)})" if len(told) > 1 else ""
        weight = (0.5 + 3 * recency + min(2.0, 0.5 * (len(told) - 1))) * (0.4 if _LOOKS.match(safe) else 1.0)
        self._note("commands", f"`{clip(safe, _COMMAND_LIMIT)}` → {outcome}{often}", last.message, weight, key=safe)
        if last.failed and last.error:
            line = clip(f"{clip(safe, 60)}: {redact(last.error)}", _ERROR_LIMIT)
            self._note("errors", line, last.result_message or last.message, 1 + 4 * recency, key=safe)


def _merged(found: dict[str, list[Fact]], previous: Ledger | None) -> Ledger:
    """FOUND with PREVIOUS's facts under it: the same key is the same fact, and the newer wording counts."""
    asked = bool(found["requests"] or found["rules"] or found["decisions"])
    settled = {fact.key for fact in found["commands"]}
    sections: list[tuple[str, tuple[Fact, ...]]] = []
    for name in ORDER:
        facts: dict[str, Fact] = {}
        # Requests stand newest first; they are merged oldest first like the rest, so that a repeated one becomes the newest.
        before = previous.of(name) if previous else ()
        for old in reversed(before) if name == "requests" else before:
            if (name == "questions" and asked) or (name == "errors" and old.key in settled):
                continue
            facts[old.key] = replace(old, age=old.age + 1)
        for new in found[name]:
            known = facts.pop(new.key, None)
            facts[new.key] = new if known is None else replace(new, weight=max(new.weight, worth(name, known)))
        ordered = tuple(facts.values())
        if ordered:
            sections.append((name, ordered[::-1] if name == "requests" else ordered))
    return Ledger(tuple(sections))


def worth(section: str, fact: Fact) -> float:
    """What FACT of SECTION is worth now: its weight after ageing."""
    return fact.weight * float(AGEING.get(section, 0.8) ** fact.age)


def fitted(ledger: Ledger, budget: int, cost: Callable[[str], int]) -> Ledger:
    """LEDGER cut down to BUDGET tokens (COST counts a line's), the facts of least worth leaving first."""
    candidates = sorted(ledger.facts(), key=lambda c: (-worth(*c), ORDER.index(c[0])))
    prices = [cost(fact.text) + 2 for _, fact in candidates]
    kept: dict[str, set[Fact]] = {}
    spent: Counter[str] = Counter()
    left = budget
    for shares in ({"requests": REQUESTS}, SHARES, dict.fromkeys(ORDER, 1.0)):
        for (name, fact), price in zip(candidates, prices, strict=True):
            if fact in kept.get(name, ()):
                continue
            whole = price + (0 if name in kept else 6)
            firm = shares is SHARES and name in ("rules", "decisions") and fact.weight >= FIRM
            if whole > left or (not firm and spent[name] + whole > shares.get(name, 0.0) * budget):
                continue
            kept.setdefault(name, set()).add(fact)
            spent[name] += whole
            left -= whole
    return Ledger(tuple((n, tuple(f for f in facts if f in kept[n])) for n, facts in ledger.sections if n in kept))
