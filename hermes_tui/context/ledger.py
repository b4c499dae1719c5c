"""The ledger: the facts kept by code beside the summary's prose.

Every compression reads the messages it newly summarises, and merges what it finds with the ledger before it. A fact that is met again
is young again; one that is not ages, and the old give way first when the budget is short: rules and decisions of the user last of all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hermes_tui.context.acts import Act, acts_of, one_line
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
        age: compressions it has survived.
        key: what the fact is about (a path, a command, the words of a rule): a later fact of the same key takes its place.
    """

    text: str
    source: str
    weight: float = 0.0
    age: int = 0
    key: str = ""

    @property
    def worth(self) -> float:
        """Weight after ageing."""
        return self.weight * _AGEING**self.age


@dataclass(frozen=True, slots=True)
class Ledger:
    """Facts by section, in the order they are shown; empty sections are left out.

    Sections: rules, decisions, requests (user messages of the middle, newest first), files, commands, errors, identifiers, questions.
    """

    sections: tuple[tuple[str, tuple[Fact, ...]], ...] = ()

    def of(self, section: str) -> tuple[Fact, ...]:
        """The facts of SECTION, none where it is left out."""
        return next((facts for name, facts in self.sections if name == section), ())

    @property
    def empty(self) -> bool:
        """True where nothing is kept."""
        return not any(facts for _, facts in self.sections)


ORDER: Final = ("rules", "decisions", "requests", "files", "commands", "errors", "identifiers", "questions")
"""The sections in the order they are shown."""

_AGEING: Final = 0.8
"""What is left of a weight after each compression in which the fact was not met again."""

_STRONG_RULE: Final = re.compile(
    r"\b(?:never|always|must(?:n'?t)?|shall not|do not|don'?t ever|forbidden|prohibited|under no circumstances|hard rule|non-negotiable"
    r"|not allowed|mandatory|critical|from now on|at all times|remember (?:that|to)|make sure|be sure to"
    r"|nie(?:mals)?|immer|muss(?:t|en)?|müssen|darf(?:st)? (?:nicht|kein)|dürfen (?:nicht|kein)|verboten|unbedingt|auf keinen fall|ab jetzt"
    r"|nunca|jamás|siempre|debes?|deben|tienes? que|hay que|prohibido|obligatorio|a partir de ahora"
    r"|jamais|toujours|doi(?:t|s|vent)|interdit|il faut|sempre|mai|deve|proibido|vietato)\b"
    r"|不要|不许|不准|不得|不可以|不能|别(?!的|人|处)|必须|务必|一定要|禁止|严禁|绝不|绝对|永远|始终|总是|只能|只用|今后|以后都"
    r"|必ず|絶対|しないで|してはいけ|禁止|常に|절대|반드시|항상|하지 ?마|никогда|всегда|нельзя|обязательно",
    re.I,
)
_RULE: Final = re.compile(
    r"\b(?:only|don'?t|avoid|prefer(?:ably)?|instead of|no longer|stick (?:to|with)|rather than|without|limit|at most|at least|no more than|keep"
    r"|nur|kein(?:e|en)?|bitte nicht|vermeide|lieber|höchstens|mindestens|s[oó]lo|solamente|evita|prefiero|no (?:uses?|hagas|toques|cambies)"
    r"|seulement|évite[rz]?|ne \w+ pas|solo|evit[ae])\b|只|避免|尽量|优先|最多|至少|だけ|避け|만 |только",
    re.I,
)
_DECISION: Final = re.compile(
    r"\b(?:let'?s (?:use|go|swap|switch|keep|stick|do|make|call|drop|not)|go(?:ing)? with|decided?|decision|agreed|we(?:'ll| will| are going to) (?:use|go|keep|do)"
    r"|use .{1,60} instead|instead use|switch(?:ed)? to|chos(?:e|en)|approach is|plan is|off the table|settled on|final answer|scrap"
    r"|override|supersede[sd]?|replac(?:e|es|ed|ing) .{1,40} with|wir nehmen|entschieden|stattdessen|vamos a usar|decidi(?:mos|do)|en su lugar)\b"
    r"|决定|改用|就用|采用|换成|敲定|選|にします|로 결정|решили",
    re.I,
)
_QUESTION: Final = re.compile(r"[?？]\s*$")

_REQUEST_LIMIT: Final = 400
_RULE_LIMIT: Final = 240
_COMMAND_LIMIT: Final = 160
_ERROR_LIMIT: Final = 200

_DONE: Final = {"edited": "edited", "wrote": "written", "read": "read"}


def ledger_of(sources: Sequence[Message], previous: Ledger | None = None) -> Ledger:
    """The facts of SOURCES (originals, oldest first), merged with PREVIOUS; not yet fitted to any budget."""
    found: dict[str, list[Fact]] = {name: [] for name in ORDER}
    count = max(1, len(sources))
    for at, message in enumerate(sources):
        if message.is_real_user:
            _from_user(found, message, (at + 1) / count)
        elif message.role == "assistant":
            _from_assistant(found, message, (at + 1) / count, last=at >= count - 2)
    _from_acts(found, sources, count)
    return _merged(found, previous)


def _from_user(found: dict[str, list[Fact]], message: Message, recency: float) -> None:
    text = redact(plain_text(message.content)).strip()
    if not any(c.isalnum() for c in text):
        return
    told: list[str] = []
    for sentence in sentences(text):
        strong, weak, decided = _STRONG_RULE.search(sentence), _RULE.search(sentence), _DECISION.search(sentence)
        if not strong and _QUESTION.search(sentence):
            continue
        line = clip(sentence, _RULE_LIMIT)
        if strong or decided or (weak and len(sentence) < _RULE_LIMIT):
            name = "decisions" if decided and not strong else "rules"
            weight = (10.0 if strong else 8.0 if decided else 4.0) + recency
            found[name].append(Fact(line, message.id, weight, key=line.casefold()))
            told.append(line)
    line = clip(one_line(text), _REQUEST_LIMIT)
    if told != [line]:
        worth = 2.0 + 4.0 * recency + min(2.0, 0.5 * len(literals(line)))
        found["requests"].append(Fact(line, message.id, worth, key=line.casefold()))


def _from_assistant(found: dict[str, list[Fact]], message: Message, recency: float, *, last: bool) -> None:
    text = redact(plain_text(message.content))
    for sentence in sentences(text):
        if _QUESTION.search(sentence) and last:
            line = clip(sentence, _RULE_LIMIT)
            found["questions"].append(Fact(line, message.id, 3.0 + recency, key=line.casefold()))


def _from_acts(found: dict[str, list[Fact]], sources: Sequence[Message], count: int) -> None:
    files: dict[str, list[tuple[int, Act]]] = {}
    runs: dict[str, list[tuple[int, Act]]] = {}
    for at, act in acts_of(sources):
        if act.path is not None:
            files.setdefault(act.path, []).append((at, act))
        elif act.verb == "ran":
            runs.setdefault(act.target, []).append((at, act))
        elif act.failed and act.error:
            line = clip(redact(f"{act.name} {act.target}: {one_line(act.error)}"), _ERROR_LIMIT)
            found["errors"].append(
                Fact(line, act.result_message or act.message, 2.0 + 3.0 * (at + 1) / count, key=line.casefold())
            )
    for path, acts in files.items():
        at, last = acts[-1]
        counts = Counter(act.verb for _, act in acts)
        done = [f"{_DONE[v]}{f' ×{n}' if n > 1 else ''}" for v, n in counts.items() if v in _DONE]
        done.sort(key=lambda d: d.startswith("read"))
        text = f"{path}: {', '.join(done)}" + (
            f"; last failed: {clip(one_line(last.error), 100)}" if last.failed and last.error else ""
        )
        changed = counts["edited"] + counts["wrote"]
        weight = 1.0 + 4.0 * (at + 1) / count + min(3.0, changed) + 0.2 * min(5, len(acts))
        found["files"].append(Fact(redact(text), last.message, weight, key=path))
    for command, told in runs.items():
        at, last = told[-1]
        outcome = f"exit {last.exit_code}" if last.exit_code is not None else "ok"
        line = redact(f"`{clip(command, _COMMAND_LIMIT)}` → {outcome}{f' (×{len(told)})' if len(told) > 1 else ''}")
        weight = 0.5 + 3.0 * (at + 1) / count + min(2.0, 0.5 * (len(told) - 1))
        found["commands"].append(Fact(line, last.message, weight, key=command))
        if last.failed and last.error:
            text = clip(redact(f"{clip(command, 60)}: {one_line(last.error)}"), _ERROR_LIMIT)
            found["errors"].append(Fact(text, last.result_message or last.message, 1.0 + 4.0 * (at + 1) / count, key=command))


def _merged(found: dict[str, list[Fact]], previous: Ledger | None) -> Ledger:
    """FOUND with PREVIOUS's facts under it: the same key is the same fact, and the newer wording counts."""
    sections: list[tuple[str, tuple[Fact, ...]]] = []
    for name in ORDER:
        facts: dict[str, Fact] = {}
        for old in previous.of(name) if previous else ():
            facts[old.key or old.text.casefold()] = replace(old, age=old.age + 1)
        for new in found[name]:
            before = facts.pop(new.key, None)
            facts[new.key] = new if before is None else replace(new, weight=max(new.weight, before.worth))
        ordered = list(facts.values())
        if name in ("requests",):
            ordered.reverse()
        if ordered:
            sections.append((name, tuple(ordered)))
    return Ledger(tuple(sections))


SHARES: Final = {
    "rules": 0.35, "decisions": 0.20, "requests": 0.40, "files": 0.30, "commands": 0.25, "errors": 0.15, "identifiers": 0.20, "questions": 0.10,
}  # fmt: skip
"""Most of the ledger's budget that a section may take while others still want some."""


def fitted(ledger: Ledger, budget: int, cost: Callable[[str], int]) -> Ledger:
    """LEDGER cut down to BUDGET tokens (COST counts a line's), the facts of least worth leaving first, rules and decisions last."""
    candidates = [(name, fact) for name, facts in ledger.sections for fact in facts]
    candidates.sort(key=lambda c: (-c[1].worth, ORDER.index(c[0])))
    kept: dict[str, set[Fact]] = {}
    spent: Counter[str] = Counter()
    left = budget
    for bounded in (True, False):
        for name, fact in candidates:
            if fact in kept.get(name, ()):
                continue
            price = cost(fact.text) + 2 + (0 if name in kept else 8)
            if price > left or (bounded and spent[name] + price > SHARES[name] * budget and name in kept):
                continue
            kept.setdefault(name, set()).add(fact)
            spent[name] += price
            left -= price
    return Ledger(tuple((n, tuple(f for f in facts if f in kept[n])) for n, facts in ledger.sections if n in kept))


def facts_in(ledger: Ledger) -> Iterable[tuple[str, Fact]]:
    """(section, fact) for every fact of LEDGER."""
    return ((name, fact) for name, facts in ledger.sections for fact in facts)
