"""What a person says of themselves, and the rules they set for good, found by rules in English, Chinese, German and Spanish.

Few and right rather than many: only what a person wrote is read, only sentences that begin as such statements do, and nothing
that is quoted, pasted, asked, conditional or about the task at hand. A sentence that speaks of secrets is never taken, whether
one stands in it or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hermes_tui.context.facts import literals, sentences
from hermes_tui.context.messages import Message, plain_text
from hermes_tui.context.notes import NOTE_CHARS, FoundNote, key_of, one_note
from hermes_tui.context.redaction import SENTINEL, redact
from hermes_tui.memory.openings import OPENINGS

MOST: Final = 8
"""Notes taken from one message."""
SPOKEN: Final = 1_500
"""Characters up to which a message is read whole. A longer one mostly holds something pasted: its first paragraph is read."""
_LEAST: Final = 4
"""Characters of a note; of scripts without spaces two will do."""


def notes_in(message: Message) -> tuple[FoundNote, ...]:
    """The notes in MESSAGE, in the order they were said; none where it is not a person's."""
    if _ROLE.search(plain_text(message.content)):
        return ()
    found: dict[str, FoundNote] = {}
    for sentence in spoken(message):
        note = _note(sentence, message.id)
        if note is not None:
            found[note.key] = note
    return tuple(found.values())[:MOST]


# What was spoken, and not pasted

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.S)
_MATERIAL: Final = re.compile(r"\s{4}|\t|\s*(?:[>|<{\[]|\$ |# |\d{4}-\d\d-\d\d)|.*</?\w[^>]*>")
"""Lines that are quoted, laid out, or something else's language."""
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")


def spoken(message: Message) -> Iterator[str]:
    """The sentences of MESSAGE that its writer says in their own name, redacted; none where a person did not write it."""
    if not message.is_real_user:
        return
    text = _FENCED.sub("\n", redact(plain_text(message.content)))
    if len(text) > SPOKEN:
        text = _PARAGRAPH.split(text.strip(), maxsplit=1)[0][:SPOKEN]
    for line in text.splitlines():
        if line.rstrip().endswith((":", "：")):
            return  # what it announces is material, and nobody knows where that ends
        if not _MATERIAL.match(line):
            yield from sentences(line)


# What is never taken

_SECRETS: Final = re.compile(
    r"passw|passphrase|passcode|\bpins?\b|\bcvv|\bcvc|credential|secret|token|api.?key|private.?key|ssh.?key|credit.?card|\biban\b"
    r"|social.?security|\bssn\b|passport|kennw|geheim|kreditkarte|kontonummer|contraseñ|\bclaves?\b|tarjeta|secreto"
    r"|密码|口令|密钥|令牌|验证码|身份证|银行卡|信用卡|\d{9,}",
    re.I,
)
_ROLE: Final = re.compile(
    r"\b(?:you(?:['’]re| are) (?:an?|the|my|now)|act as|act like|pretend|imagine"
    r"|role.?play|du bist|stell dir vor|tu so|eres|actúa como|imagina)\b"
    r"|你(?:现在)?是(?!不|否)|扮演|假装|假设你",
    re.I,
)
"""What gives the model a part to play, or sets a scene: who speaks there is not the user, and its rules are the part's."""
_QUESTION: Final = re.compile(r"[?？]\W*$|[?？]")
_OF_THE_TASK: Final = re.compile(
    r"\b(?:this|these|those|that one|here|above|below|following|currently?|right now|for now|today|tonight|tomorrow|yesterday"
    r"|the (?:first|second|third|former|latter|last|next|current|same|other|new|old|attached|users?|function|method|class"
    r"|files?|button|page|script|server|output|table|column|bug|errors?|module|endpoint|app|program|loop|variable|field|form|query|command|dialog"
    r"|window|popup|message|branch|database|schema)"
    r"|diese[mnrs]?|hier|heute|morgen|gestern|gerade|vorerst|obige[nrs]?|folgende[nrs]?|jene[nrs]?"
    r"|est[aeo]s?|es[ao]s?|mism[oa]s?|aqu[ií]|hoy|mañana|ayer|ahora mismo|por ahora|siguientes?|anterior(?:es)?)\b"
    r"|这[个些里次段篇种份张]|那[个些里次段]|上面|下面|上述|以下|本次|这么|那么|今天|明天|昨天|暂时|目前|刚才",
    re.I,
)
"""What points at something at hand, so that the sentence means nothing elsewhere."""
_PROJECT: Final = re.compile(
    r"\b(?:this|our) (?:project|repo(?:sitory)?|code ?base|workspace)\b"
    r"|\b(?:diese[mrs]?|unser(?:e[mrs]?)?) (?:projekte?s?|repo(?:sitory|s)?|code-?basis)\b"
    r"|\b(?:este|nuestro) (?:proyecto|repo(?:sitorio)?)\b|(?:这个|本|该|我们的?)(?:项目|仓库|工程|代码库)",
    re.I,
)
"""The project at hand, by name: a rule for it belongs to its directory."""


_LEAD: Final = re.compile(rf"(?:in|for|im|in|für|en|para|在)?\s*(?:{_PROJECT.pattern})(?:里|中|上)?[\s,:，]*", re.I)
"""The project named before the point."""


# How one comes to the point

_GREETING: Final = re.compile(
    r"(?:(?:hi|hello|hey)(?: there| claude)?[\s,.!]+|(?:(?:ok(?:ay)?|so|and|also|btw|by the way|well|yes|no|please"
    r"|one more thing|fyi|for context|oh|p\.?s\.?|hallo|übrigens|ach ja|ja|nein|bitte|und|außerdem|hola|por cierto"
    r"|por favor|y|además|sí)\b[\s,:!.—–-]+)|(?:你好|您好|另外|对了|顺便说一下|顺便提一句|好的|嗯)[，,！!。\s]*)+",
    re.I,
)
"""How one begins before one comes to the point."""
_CLAUSE: Final = re.compile(
    r"[,;，；、]|\s[–—-]\s|\s(?:and|but|so|because|aber|und|weil|pero|y|porque)\s(?=(?:i|my|we|you|please|can|could|want|need|would|help"
    r"|ich|mein|du|wir|bitte|kannst|brauche|yo|mi|tú|quiero|necesito|puedes|me)\b)",
    re.I,
)
_THANKS: Final = re.compile(r"[\s,;，]*(?:thanks?(?: you)?|thx|danke(?: schön)?|gracias|谢谢你?)\W*$", re.I)
_STANDING: Final = re.compile(
    r"\b(?:always|never|must|should|only|don['’]t|do not|immer|nie|niemals|nur|siempre|nunca)\b|总是|永远|不要|必须|只"
)
_OF_ONESELF: Final = re.compile(r"(?:i|my|we|our|ich|mein\w*|wir|yo|mi|mis|soy)\b|我", re.I)


def tells_secrets(text: str) -> bool:
    """Whether TEXT speaks of secrets, or held one."""
    return bool(_SECRETS.search(text) or SENTINEL.search(text))


def _note(sentence: str, source: str) -> FoundNote | None:
    """The note that SENTENCE is, None where it is none."""
    greeting = _GREETING.match(sentence)
    text = sentence[greeting.end() :] if greeting else sentence
    if _QUESTION.search(text) or tells_secrets(text):
        return None
    lead = _LEAD.match(text)
    begin = lead.end() if lead else 0
    opening, end = next(((o, found.end()) for o in OPENINGS if (found := o.pattern.match(text[begin:]))), (None, 0))
    if opening is None:
        return None
    kind, local = opening.kind, _PROJECT.search(text) is not None
    if opening.asked:
        text = text[begin + end :].lstrip(" ,:，：")
        kind = "rule" if _STANDING.search(text) and not _OF_ONESELF.match(text) else "fact"
    elif opening.clause:
        text = _first_clause(text, begin + end)
    if not opening.asked and (_is_of_the_task(_PROJECT.sub(" ", text)) or _quotes(text)):
        return None
    text = one_note(_THANKS.sub("", text).rstrip(" .!。！"))
    if len(text) < (_LEAST if text.isascii() else 2) or len(text) >= NOTE_CHARS or SENTINEL.search(text):
        return None
    return FoundNote(text, kind, source, opening.slot or key_of(text), local)


def _first_clause(text: str, begin: int) -> str:
    """TEXT up to where the clause that holds BEGIN ends."""
    ends = _CLAUSE.search(text, begin)
    return text[: ends.start()] if ends else text


def _is_of_the_task(text: str) -> bool:
    """Whether TEXT points at what is at hand: by a word for it, or by a path or name in code."""
    bare = re.sub(r"\bfrom (?:now|here|this (?:point|day)) on(?:ward)?\b|\ba partir de ahora\b", " ", text, flags=re.I)
    named = [found for found in literals(bare) if "/" in found or "_" in found or re.search(r"\w\.\w", found)]
    return bool(_OF_THE_TASK.search(bare) or named)


def _quotes(text: str) -> bool:
    """Whether TEXT quotes somebody."""
    return any(c in text for c in '"“”„«»「」『』')
