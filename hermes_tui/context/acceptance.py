"""Acceptance: what a model's answer must be before it may stand for messages.

Summarisers of every size answer, down to 135 million parameters: an answer may be empty, only thinking, an echo of what it
was given, a loop, or made up. Each is a refusal with a reason, never a summary.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from hermes_tui.context.facts import literals
from hermes_tui.context.redaction import SENTINEL, redact
from hermes_tui.context.summaries import SECTIONS

Prose = tuple[tuple[str, str], ...]

_THINKING: Final = re.compile(r"<(think(?:ing)?|thought|reasoning|reflection|scratchpad)>.*?(?:</\1>|\Z)", re.S | re.I)
_ORPHAN_END: Final = re.compile(r"\A.*?</(?:think(?:ing)?|thought|reasoning|reflection|scratchpad)>", re.S | re.I)
_FENCED: Final = re.compile(r"\A\s*```\w*\n(.*?)\n?```\s*\Z", re.S)
_MARKS: Final = re.compile(r"^[\s#>*_=\-–—\d.)(\[\]]+|[\s#*_=:：\])]+$")
_INLINE: Final = re.compile(r"^[\s#>*_\-\d.)]*([A-Za-z][A-Za-z &]{2,40}?)\s*[*_]*\s*[:：]\s*[*_]*\s*(\S.*)$")
_NOTHING: Final = re.compile(
    r"[\s\-*•.(\[]*(?:none|n/?a|nothing|no(?:ne)? (?:yet|open questions|so far|known)|not (?:applicable|specified)"
    r"|keine?|nichts|ninguna?|nada|无|沒有|没有|なし|없음|-+)[\s.)\]。]*",
    re.I,
)
_MIN_SECTIONS: Final = 2
"""Sections an answer needs to be read as one; a single heading is found in any text by chance."""
_MAX_ECHO: Final = 0.5
"""Share of an answer's lines that may stand word for word in what it was given."""
_MIN_DISTINCT: Final = 0.45
"""Share of an answer's runs of four words that must differ from one another; a loop falls far below, prose lies above 0.9."""
_MAX_INVENTED: Final = 0.5
"""Share of an answer's names and numbers that may stand nowhere in what it was given."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A judged answer: prose, or the reason why it was refused (then prose is empty)."""

    prose: Prose = ()
    refusal: str = ""


_KEYS: Final = {re.sub(r"\W", "", name).casefold().replace("and", ""): name for name in SECTIONS} | {
    "constraints": SECTIONS[1],
    "preferences": SECTIONS[1],
    "nextsteps": "Next",
    "nextstep": "Next",
    "openquestion": "Open questions",
    "decision": "Decisions",
    "goals": "Goal",
    "currentstate": "State",
}


def _section(text: str) -> str | None:
    """The section that TEXT names, whatever its case and marks."""
    return _KEYS.get(re.sub(r"\W", "", text).casefold().replace("and", ""))


def sections_of(text: str) -> Prose:
    """TEXT cut into the fixed sections, in their order; what stands before the first heading, and empty sections, go."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        name = _section(_MARKS.sub("", _MARKS.sub("", line))) if len(line) < 60 else None
        inline = None if name else _INLINE.match(line)
        if name is not None:
            current = found.setdefault(name, [])
        elif inline and (name := _section(inline[1])) is not None:
            current = found.setdefault(name, [])
            current.append(inline[2])
        elif current is not None:
            current.append(line.rstrip())
    out = []
    for name in SECTIONS:
        body = "\n".join(found.get(name, ())).strip("\n")
        if body.strip() and not _NOTHING.fullmatch(body):
            out.append((name, body))
    return tuple(out)


def without_thinking(text: str) -> str:
    """TEXT without what was thought aloud, and out of a code fence around the whole."""
    text = _THINKING.sub("", text)
    text = _ORPHAN_END.sub("", text).strip()
    fenced = _FENCED.match(text)
    return fenced[1].strip() if fenced else text


def _loops(text: str) -> bool:
    """Whether TEXT goes round in circles."""
    words = text.split() if " " in text else list(text)
    if len(words) < 40:
        return False
    runs = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
    lines = Counter(line.strip() for line in text.splitlines() if len(line.strip()) > 12)
    return len(set(runs)) / len(runs) < _MIN_DISTINCT or any(n >= 4 for n in lines.values())


def accepted(answer: str, given: str, instructions: str, previous: str = "") -> Answer:
    """ANSWER read as prose, or why not. GIVEN is the prompt's source, PREVIOUS the record updated, INSTRUCTIONS the rest."""
    if not answer.strip():
        return Answer(refusal="the answer was empty")
    text = without_thinking(answer)
    if not text.strip():
        return Answer(refusal="the answer was only thinking")
    prose = sections_of(redact(text))
    if len(prose) < _MIN_SECTIONS:
        return Answer(refusal="the answer has none of the sections asked for")
    body = "\n".join(part for _, part in prose)
    if _loops(body):
        return Answer(refusal="the answer repeats itself")
    lines = [line.strip(" -*•") for line in body.splitlines() if len(line.strip(" -*•")) > 24]
    if lines:
        if sum(line in instructions for line in lines) / len(lines) > 0.2:
            return Answer(refusal="the answer echoes its instructions")
        if sum(line in given and line not in previous for line in lines) / len(lines) > _MAX_ECHO:
            return Answer(refusal="the answer copies its source")
    names = [n for n in literals(SENTINEL.sub("", body)) if any(c.isdigit() or c in "/_" for c in n)]
    everything = (given + "\n" + previous).casefold()
    if len(names) >= 4 and sum(n.casefold() not in everything for n in names) / len(names) > _MAX_INVENTED:
        return Answer(refusal="the answer names things that were never said")
    return Answer(prose)
