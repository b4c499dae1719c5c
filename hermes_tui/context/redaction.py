"""Redaction: secrets taken out of every text that goes to a summariser, into a summary, a ledger, a placeholder or a log.

A secret gives way to ``⟦redacted:kind⟧``, which looks like no value that anything would accept, so that it cannot be written back by
mistake. What is sent verbatim (the tail) is never altered. Three nets, each for what the others miss: the shapes of known keys;
values named as secrets, in code, configuration, headers, URLs and plain sentences; and long values too random to be anything else.
Hashes, UUIDs, paths, ids of messages and calls, and identifiers made of words are left alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Final

SENTINEL: Final = re.compile(r"⟦redacted:[a-z-]+⟧")
"""What stands where a secret stood."""

_MIN_RANDOM: Final = 20
"""Characters from which a value can be told to be random (shorter ones are ids and words as often)."""


def _mark(kind: str) -> str:
    return f"⟦redacted:{kind}⟧"


_SHAPES: Final[tuple[tuple[str, str, str], ...]] = (
    # (kind, any of these words, separated by a space, stands in the text in lower case; pattern)
    (
        "private-key",
        "-----begin",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{8,}"),
    ("api-key", "sk-", r"(?<![A-Za-z0-9])sk-(?:proj-|svcacct-|or-v1-|lf-)?(?=[\w-]*\d)[\w-]{16,}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,})"),
    ("gitlab-token", "glpat-", r"glpat-[\w-]{16,}"),
    ("aws-key", "akia asia", r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{12,}(?![a-z])"),
    ("tavily-key", "tvly-", r"tvly-[\w-]{8,}"),
    ("slack-token", "xox xapp-", r"(?:xox[a-z]-[\w-]{8,}|xapp-\d-[\w-]{8,})"),
    ("slack-hook", "hooks.slack.com", r"(?<=hooks\.slack\.com/services/)[\w/]{16,}"),
    ("google-key", "aiza", r"AIza[\w-]{30,}"),
    ("google-token", "ya29.", r"ya29\.[\w-]{16,}"),
    ("stripe-key", "_live_ _test_ whsec_", r"(?:[srp]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,})"),
    ("hugging-face-token", "hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{16,}"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-token", "pypi-", r"pypi-[\w-]{32,}"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{16,}"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{16,}"),
    ("sendgrid-key", "sg.", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("twilio-key", "sk ac", r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![0-9a-f])"),
    ("vault-token", "hvs. hvb.", r"hv[sb]\.[\w-]{20,}"),
    ("digitalocean-token", "dop_v1_", r"dop_v1_[0-9a-f]{32,}"),
    ("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{16,}"),
    ("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{16,}"),
    ("replicate-token", "r8_", r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{16,}"),
    ("telegram-token", ":aa", r"(?<!\d)\d{8,10}:AA[\w-]{30,}"),
    ("age-key", "age-secret-key-", r"AGE-SECRET-KEY-[A-Z0-9]{20,}"),
    ("jwt", "eyj", r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"),
    ("bearer", "bearer", r"(?i)(?<=\bbearer[ \t])[ \t]*[\w.~+/=-]{8,}"),
    ("basic-auth", "basic", r"(?i)(?<=authorization:[ \t]basic[ \t])[\w+/=-]{6,}|(?<=authorization: basic )[\w+/=-]{6,}"),
    ("url-password", "://", r"(?<=://)([^\s:/@\"'<>]{0,64}):(?!⟦)[^\s/@\"'<>]{1,128}(?=@)"),
)

_NAME: Final = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|(?<![a-z])pwd|(?<![a-z])pass|secret|token|api[_\- ]?key|access[_\-]?key|private[_\-]?key"
    r"|signing[_\-]?key|encryption[_\-]?key|master[_\-]?key|auth[_\-]?key|account[_\-]?key|credentials?|passwort|kennwort|contraseña|密码|密钥|口令|令牌)"
    r"(?:[_\-]?(?:key|value|id|hash|base64|b64|\d{1,2}))?",
    re.I,
)
_LINK: Final = re.compile(
    r"(?P<quote>[\"'`]?\]?)[ \t]*(?:"
    r"(?P<sign>=>|:=|={1,2}|:|：|＝)[ \t]*"
    r"|(?P<verb>[ \t](?:is|was|are|set to|ist|lautet|es|vale)\b[ \t]*[:=]?[ \t]*|[ \t]*(?:是|为|設為|设为)[ \t]*[:：]?[ \t]*)"
    r"|(?P<flag>[ \t]+)(?=\S))"
)
_VALUE: Final = re.compile(
    r"(?P<q>\"\"\"|\\\"|[\"'`])(?P<quoted>(?:(?!(?P=q))[^\n]){1,400})(?P=q)|(?P<bare>[^\s\"'`,;，。；)\]}>]+)"
)

_NOT_A_VALUE: Final = frozenset(
    ["str", "string", "number", "int", "integer", "bool", "boolean", "float", "bytes", "any", "unknown", "object", "none", "null", "nil", "undefined", "true", "false", "void", "never", "optional", "required", "missing", "empty", "invalid", "wrong", "incorrect", "correct", "valid", "expired", "needed", "not", "set", "unset", "here", "there", "the", "a", "an", "your", "my", "his", "her", "its", "our", "their", "this", "that", "it", "is", "in", "on", "at", "to", "for", "from", "by", "and", "or", "but", "as", "if", "stored", "kept", "saved", "given", "provided", "passed", "used", "hidden", "masked", "redacted", "secret", "password", "token", "key", "value", "name", "field", "input", "type", "text", "default", "example", "changeme", "reset", "protected", "encrypted", "hashed", "too", "also", "now", "only", "already", "ok", "fine", "good", "bad", "weak", "strong", "long", "short", "same", "different", "one", "two", "mandatory", "incorrecta", "falsch", "richtig", "let", "const", "var", "self", "cls", "await", "async", "new", "return", "typeof", "literal", "secretstr", "secretstring", "os", "env", "process", "config", "settings", "options"]
)
_CODE_VALUE: Final = re.compile(
    r"[(\[{<$%]|^(?:process|os|env|config|settings|options|self|this|args|kwargs|req|request|import|params|props)\b[.\[]|->|=>|\.{3}"
)
_WORDS_ONLY: Final = re.compile(r"[A-Za-z_][A-Za-z_.]*\Z")
_REFERENCE: Final = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|[a-z]+(?:[A-Z][a-z]+)+\Z|[a-z]+(?:_[a-z]+)+\Z|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z"
)


def _is_secret_value(name: str, value: str, *, quoted: bool, tight: bool, spoken: bool) -> bool:
    """Whether VALUE, given to something called NAME, is a secret itself and not a type, a variable or a plain word."""
    lower = value.lower()
    if SENTINEL.search(value) or lower in _NOT_A_VALUE or len(value) < 3:
        return False
    if _NAME.fullmatch(lower) or not any(c.isalnum() for c in value):
        return False
    is_key = not name.startswith(("pass", "pwd", "kenn", "contra", "密码", "口令"))
    if value.replace(".", "").replace("_", "").isdigit():
        return not is_key or len(value) >= 8
    if quoted:
        return " " not in value or not is_key or spoken
    if _CODE_VALUE.search(value):
        return False
    if spoken:
        return is_key is False or any(c.isdigit() for c in value) or len(value) >= 16
    if _REFERENCE.match(value):
        return False
    if _WORDS_ONLY.match(value) and is_key:
        return tight and len(value) >= 8 and value.isalpha() and not value.istitle()
    return True


def _named(text: str) -> str:
    """TEXT with the values of things named as secrets taken out."""
    out: list[str] = []
    done = 0
    for name in _NAME.finditer(text):
        start, end = name.span()
        if start < done:
            continue
        after = text[end : end + 1]
        if after and ((after.isalnum() and after.isascii()) or after == "_") and not (after.isupper() and name[0].islower()):
            continue
        link = _LINK.match(text, end)
        if link is None:
            continue
        spoken = bool(link["verb"])
        if link["flag"] and not _is_flag(text, start):
            continue
        value = _VALUE.match(text, link.end())
        if value is None:
            continue
        quoted = value["quoted"] is not None
        held = value["quoted"] if quoted else value["bare"].rstrip(".!?:")
        tight = (bool(link["sign"]) and link.end() - end <= len(link["sign"]) + len(link["quote"])) or bool(link["flag"])
        if not _is_secret_value(name[0].lower(), held, quoted=quoted, tight=tight, spoken=spoken):
            continue
        at = value.start("quoted") if quoted else value.start("bare")
        out += (text[done:at], _mark(_kind(name[0])))
        done = at + len(held)
    out.append(text[done:])
    return "".join(out)


def _is_flag(text: str, start: int) -> bool:
    """Whether the name at START belongs to a command-line option (``--api-key VALUE``)."""
    begin = start
    while begin > 0 and (text[begin - 1].isalnum() or text[begin - 1] in "-_") and start - begin < 40:
        begin -= 1
    return text[begin:start].startswith("--") or text[max(0, begin - 2) : begin] == "--"


def _kind(name: str) -> str:
    lower = name.lower()
    if lower.startswith(("pass", "pwd", "kenn", "contra", "密码", "口令")):
        return "password"
    return "token" if "token" in lower or "令牌" in lower else "secret"


_LONG: Final = re.compile(r"[A-Za-z0-9+/=_-]{%d,}" % _MIN_RANDOM)
_HARMLESS: Final = re.compile(
    r"[0-9a-fA-F-]+\Z|(?:toolu|call|msg|req|chatcmpl|resp|run|thread|asst|file|srvtoolu|rs|fc|item)[_-]|sha\d{3}-|[A-Za-z]+\Z|[\d_-]+\Z"
)
_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _looks_random(value: str) -> bool:
    """Whether VALUE is too random for a word, a path, a hash or a name: judged by entropy and by how short its runs of letters are."""
    if _HARMLESS.match(value) or (value.count("/") > 2 and not value.endswith("=")):
        return False
    body = value.strip("=_-/+")
    if len(body) < _MIN_RANDOM or not (
        any(c.islower() for c in body) and any(c.isupper() for c in body) and any(c.isdigit() for c in body)
    ):
        return False
    runs = _HUMPS.findall(body)
    if sum(map(len, runs)) / max(1, len(runs)) > 2.6:
        return False
    counts = Counter(body)
    entropy = -sum(n / len(body) * math.log2(n / len(body)) for n in counts.values())
    return entropy > min(3.9, 0.82 * math.log2(len(body)))


def _random(match: re.Match[str]) -> str:
    return _mark("random") if _looks_random(match[0]) else match[0]


_COMPILED: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = tuple(
    (kind, tuple(words.split()), re.compile(pattern, re.S)) for kind, words, pattern in _SHAPES
)


def _replacer(kind: str) -> Callable[[re.Match[str]], str]:
    mark = _mark(kind)

    def replace(match: re.Match[str]) -> str:
        return f"{match[1]}:{mark}" if match.re.groups else mark

    return replace


_REPLACERS: Final = {kind: _replacer(kind) for kind, _, _ in _SHAPES}


@lru_cache(maxsize=4096)
def redact(text: str) -> str:
    """TEXT without its secrets. Idempotent; linear in the length of TEXT."""
    lower = text.lower()
    for kind, words, pattern in _COMPILED:
        if any(word in lower for word in words):
            text = pattern.sub(_REPLACERS[kind], text)
    text = _named(text)
    return _LONG.sub(_random, text)
