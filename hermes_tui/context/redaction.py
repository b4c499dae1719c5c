"""Redaction: secrets taken out of every text that goes to a summariser, into a summary, a ledger, a placeholder or a log.

A secret gives way to ``⟦redacted:kind⟧``, which looks like no value that anything would accept, so that it cannot be written
back by mistake. What is sent verbatim (the tail) is never altered. Three nets, each for what the others miss: the shapes of
known keys, those of the library `detect-secrets` among them; values named as secrets, in code, configuration, headers,
addresses and plain sentences; and long values too random to be anything else. Hashes, UUIDs, paths, ids of messages and calls,
and identifiers made of words are left alone.

The library is used as a list of patterns, kept by others: it works on files and lines, says that there is a secret and not
where, and some of its patterns take quadratic or cubic time on a hostile text. Those that do are left out, and done here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

SENTINEL: Final = re.compile(r"⟦redacted:[a-z-]+⟧")
"""What stands where a secret stood."""

_MIN_RANDOM: Final = 20
"""Characters from which a value can be told to be random (shorter ones are ids and words as often)."""


def redact(text: str) -> str:
    """TEXT without its secrets. Idempotent; linear in the length of TEXT."""
    lower = text.lower()
    small, exact = _library()
    # Nearly all text holds none of the words: that is told first, for all of them at once.
    known = [found for word, found in _SHAPES if word in lower]
    known += [found for word, found in small if word in lower]
    known += [found for word, found in exact if word in text]
    for patterns in known:
        for pattern, replace in patterns:
            text = pattern.sub(replace, text)
    text = _without_named(text)
    return _LONG.sub(lambda found: _mark("random") if _looks_random(found[0]) else found[0], text)


def load() -> None:
    """Import what `redact` needs, which takes a quarter of a second; call it off the UI loop, before it matters."""
    _library()


def redact_json(value: Any) -> Any:
    """VALUE, JSON, with the secrets in its strings taken out; keys stay, and what stands under one is judged by its name."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _under(str(key), inner) for key, inner in value.items()}
    return [redact_json(inner) for inner in value] if isinstance(value, list | tuple) else value


def without_named_secrets(value: Any) -> Any:
    """VALUE, a call's input, without what is a secret by the name of its argument alone; other strings are left to `redact`.

    Texts made of single arguments leave their names behind, and with them what tells that the value is a secret.
    """
    if isinstance(value, Mapping):
        return {
            key: _under(key, inner) if isinstance(inner, str) and _NAME.search(key) else without_named_secrets(inner)
            for key, inner in value.items()
        }
    return [without_named_secrets(inner) for inner in value] if isinstance(value, list | tuple) else value


def _under(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return redact_json(value)
    named = f'"{key}": "{value}"' if '"' not in value and "\n" not in value else ""
    told = redact(named)
    begin = len(named) - len(value) - 1
    if named and told != named and told[:begin] == named[:begin] and told.endswith('"'):
        return told[begin:-1]
    return redact(value)


def _mark(kind: str) -> str:
    return f"⟦redacted:{kind}⟧"


# The shapes of known keys

_EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Where a key may begin: not inside a word, but right after a line break that JSON wrote as two characters."""


Blot = Callable[[re.Match[str]], str]
Shape = tuple[str, tuple[tuple[re.Pattern[str], Blot], ...]]
"""A word, and the patterns that are looked for only where it stands, each with what replaces a match."""


def _shape(kind: str, words: str, pattern: str) -> Iterator[Shape]:
    """A known shape, looked for only where one of WORDS stands in the text; a group in PATTERN is kept before the mark."""
    compiled = re.compile(pattern, re.S)
    mark = _mark(kind)
    blot: Blot = (lambda found: found[1] + mark) if compiled.groups else lambda _: mark
    return ((word, ((compiled, blot),)) for word in words.split())


_SHAPES: Final[tuple[Shape, ...]] = (
    *_shape(
        "private-key",
        "-----begin",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    *_shape("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{8,}"),
    *_shape("api-key", "sk-", _EDGE + r"sk-(?:proj-|svcacct-|or-v1-|lf-)?(?=[\w-]{0,63}\d)[\w-]{16,}"),
    *_shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}"),
    *_shape("gitlab-token", "glpat-", r"glpat-[\w-]{16,}"),
    *_shape(
        "aws-key",
        "akia asia abia acca agpa aida aroa anpa",
        _EDGE + r"(?:A[KSB]IA|ACCA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{12,}(?![a-z])",
    ),
    *_shape("tavily-key", "tvly-", r"tvly-[\w-]{8,}"),
    *_shape("slack-token", "xox xapp-", r"xox[a-z]-[\w-]{8,}|xapp-\d-[\w-]{8,}"),
    *_shape("slack-hook", "hooks.slack.com", r"(?<=hooks\.slack\.com/services/)[\w/]{16,}"),
    *_shape("google-key", "aiza", r"AIza[\w-]{30,}"),
    *_shape("google-token", "ya29.", r"ya29\.[\w-]{16,}"),
    *_shape("stripe-key", "_live_ _test_ whsec_", _EDGE + r"[srp]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,}"),
    *_shape("hugging-face-token", "hf_", _EDGE + r"hf_[A-Za-z0-9]{16,}"),
    *_shape("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    *_shape("pypi-token", "pypi-", r"pypi-[\w-]{32,}"),
    *_shape("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{16,}"),
    *_shape("xai-key", "xai-", r"xai-[A-Za-z0-9]{16,}"),
    *_shape("sendgrid-key", "sg.", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    *_shape("twilio-key", "sk", _EDGE + r"SK[0-9a-f]{32}(?![0-9a-f])"),
    *_shape("vault-token", "hvs. hvb.", r"hv[sb]\.[\w-]{20,}"),
    *_shape("digitalocean-token", "dop_v1_", r"dop_v1_[0-9a-f]{32,}"),
    *_shape("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{16,}"),
    *_shape("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{16,}"),
    *_shape("replicate-token", "r8_", _EDGE + r"r8_[A-Za-z0-9]{16,}"),
    *_shape("databricks-token", "dapi", _EDGE + r"dapi[0-9a-f]{32}(?:-\d)?"),
    *_shape("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    *_shape("airtable-token", "pat", _EDGE + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    *_shape("docker-token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    *_shape("new-relic-key", "nrak- nrjs- nral-", r"NR(?:AK|JS|AL)-[A-Za-z0-9]{16,}"),
    *_shape("supabase-token", "sbp_ sb_secret_", r"sbp_[0-9a-f]{40}|sb_secret_[\w-]{16,}"),
    *_shape("notion-token", "ntn_", _EDGE + r"ntn_[A-Za-z0-9]{30,}"),
    *_shape("atlassian-token", "atatt3 atctt3", r"AT[AC]TT3[\w=.-]{30,}"),
    *_shape("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[\w+/=-]{30,}"),
    *_shape("grafana-token", "glsa_ glc_", _EDGE + r"(?:glsa|glc)_[\w+/=-]{20,}"),
    *_shape("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.-]{20,}"),
    *_shape("doppler-token", "dp.", _EDGE + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}"),
    *_shape("fly-token", "fo1_ fm1_ fm2_", _EDGE + r"f(?:o1|m1|m2)_[\w+/=-]{20,}"),
    *_shape("postman-key", "pmak-", r"PMAK-[0-9a-f]{20,}-[0-9a-f]{20,}"),
    *_shape("google-refresh-token", "1//0", r"(?<![\w/])1//0[\w-]{30,}"),
    *_shape("telegram-token", ":aa", r"(?<!\d)\d{8,10}:AA[\w-]{30,}"),
    *_shape("age-key", "age-secret-key-", r"AGE-SECRET-KEY-[A-Z0-9]{20,}"),
    *_shape("jwt", "eyj", r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{8,}+\.[\w-]{4,}+(?:\.[\w-]*+)?"),
    *_shape("bearer", "bearer", r"(?i)(\bbearer[ \t]+)(?!token\b|auth)[\w.~+/=-]{8,}"),
    *_shape("basic-auth", "authorization", r"(?i)(\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?basic[ \t]+)[\w+/=-]{6,}"),
    *_shape("password", "password passwd <pass", r"(?i)(<(?:[\w:-]{0,32})pass(?:word|wd|phrase)?>)(?!⟦)[^<\n]{3,200}(?=</)"),
    *_shape("password", "login", r"(?i)(\blogin[ \t]+\S{1,100}\s+password[ \t]+)(?!⟦)\S{3,200}"),
    *_shape(
        "password", "curl", r"(\bcurl\b[^\n|;]{0,300}?[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"'⟦]{1,100}:)(?!⟦)[^\s\"']{3,200}"
    ),
    *_shape("password", "mysql", r"(\bmysql\w*\b[^\n|;]{0,300}?[ \t]-p)(?!⟦)[^\s\"'-][^\s\"']{2,200}"),
    *_shape("password", "sshpass", r"(\bsshpass[ \t]+-p[ \t]?[\"']?)(?!⟦)[^\s\"']{3,200}"),
    *_shape("cookie", "cookie", r"(?i)(\b(?:set-)?cookie[\"']?[ \t]*:[ \t]*[\"']?[\w.-]{1,64}=)(?!⟦)[^\s;\"']{16,4000}"),
    *_shape("url-password", "://", r"(://[^\s:/@\"'<>]{0,64}:)(?!⟦|//)[^\s/@\"'<>]{1,128}(?=@)"),
)


# The shapes that detect-secrets knows

_PLUGINS: Final[Mapping[str, str]] = {
    "artifactory": "AKC AP",
    "aws": "aws AKIA ASIA ABIA ACCA A3T",
    "azure_storage_key": "accountkey=",
    "discord": "",
    "github_token": "ghp_ gho_ ghu_ ghs_ ghr_",
    "gitlab_token": "glpat- gldt- glft- glsoat- glrt- gr1348941 glcbt- glimt- glptt- glagent- gloas-",
    "mailchimp": "-us",
    "pypi_token": "pypi-",
    "sendgrid": "SG.",
    "slack": "xox hooks.slack",
    "square_oauth": "sq0csp-",
    "stripe": "k_live_",
    "telegram_token": "",
    "twilio": "AC SK",
}
"""Its plug-ins whose patterns take time in proportion to the text and are about a shape, and the words that their keys hold:
they are looked for only where one stands (in capitals as it is, in small letters in any case)."""
_DIGIT: Final = re.compile(r"\d")
_SIGN: Final = re.compile(r"[^\W_]")
_EDGES: Final = " \t\r\n\"'`=:"


@cache
def _library() -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """The shapes of the plug-ins: those whose words may stand in any case, and those whose words stand as they are."""
    from detect_secrets.plugins.base import RegexBasedDetector

    small: list[Shape] = []
    exact: list[Shape] = []
    for name, words in _PLUGINS.items():
        module = import_module(f"detect_secrets.plugins.{name}")
        patterns: list[tuple[re.Pattern[str], Blot]] = []
        for plugin in vars(module).values():
            if isinstance(plugin, type) and issubclass(plugin, RegexBasedDetector) and plugin.__module__ == module.__name__:
                kind = re.sub(r"[^a-z]+", "-", str(plugin.secret_type).lower()).strip("-")
                patterns += [(pattern, _blotted(kind)) for pattern in _patterns(plugin)]
        for word in words.split() or [""]:
            (small if word.islower() else exact).append((word, tuple(patterns)))
    return tuple(small), tuple(exact)


def _patterns(plugin: Any) -> Iterable[re.Pattern[str]]:
    """The patterns of PLUGIN, a class whose abstract property is a plain tuple in what we take of it."""
    patterns: Iterable[re.Pattern[str]] = plugin.denylist
    return patterns


def _blotted(kind: str) -> Blot:
    """What stands for a match of the library: the mark, between the edges that some patterns take in. Words are let be."""

    def blot(found: re.Match[str]) -> str:
        whole = found[0]
        held = whole.strip(_EDGES)
        value = next((group for group in found.groups() if group and len(group) >= _MIN_RANDOM), held)
        if SENTINEL.search(whole) or not _DIGIT.search(value):
            return whole
        before, _, after = whole.partition(value)
        return before + _mark(kind) + after

    return blot


# Values named as secrets

_PASSWORDS: Final = (
    "kennwort",
    "contraseña",
    "senha",
    "wachtwoord",
    "hasło",
    "пароль",
    "密码",
    "口令",
    "パスワード",
    "비밀번호",
)
"""A password in languages whose word for it does not begin with ``pass``."""
_STEMS: Final = ("pass", "pwd", "secret", "token", "key", "credential", "密钥", "令牌", *_PASSWORDS)
_STEM: Final = re.compile("|".join(_STEMS), re.IGNORECASE)
_NAME: Final = re.compile(
    rf"pass(?:word|wd|phrase|code|wort|e)?|pwd|secret|token|credentials?|密钥|令牌|{'|'.join(_PASSWORDS)}|key",
    re.IGNORECASE,
)
_KEY_OF: Final = re.compile(
    r"(?:api|access|private|signing|encryption|master|auth|account|secret|service|license|client|shared|ssh|deploy)[_\- ]?\Z",
    re.IGNORECASE,
)
_SUFFIX: Final = re.compile(r"[_\-]?(?:key|value|hash|base64|b64|\d{1,4})?(?![A-Za-z0-9_]|-[A-Za-z])", re.IGNORECASE)
_LINK: Final = re.compile(
    r"\\?[\"'`]?\]?[ \t]*(?:(?P<sign>=>|:=|={1,2}|:|：|＝)[ \t]*"
    r"|(?P<said>[ \t](?:is|was|are|set to|ist|lautet|es|est)\b[ \t]*[:=]?[ \t]*|(?:是|为|設為|设为)[ \t]*[:：]?[ \t]*"
    r"|(?:は|는|은)[ \t]*(?=[^\s\d。、]{0,40}\d))"
    r"|(?P<to>[ \t]to[ \t]+)|(?P<flag>[ \t]+)(?=[^\s]))",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    r"(?P<q>\"\"\"|\\?\"|[\"'`])(?P<quoted>(?:(?!(?P=q))[^\n]){1,400})(?P=q)|(?P<bare>[^\s\"'`,;，。；)\]}>]{1,400})"
    r"|\\?[\"'`](?P<cut>[^\s\"'`]{1,400})(?=\Z|[ \t]*(?:\n|…))"  # a text that was cut leaves a quote open
)

_NO_VALUE: Final = frozenset(
    """
    str string number int integer bool boolean float bytes any unknown object none null nil undefined true false void
    never optional required missing empty invalid wrong incorrect correct valid expired needed not set unset here
    there the a an your my his her its our their this that it is in on at to for from by and or but as if stored kept
    saved given provided passed used hidden masked redacted name value field input type text default example changeme
    reset protected encrypted hashed too also now only already ok fine good bad weak strong long short same different
    one two mandatory incorrecta falsch richtig let const var self cls await async new return typeof literal secretstr
    os env process config settings options
    """.split()  # noqa: SIM905 - as a list it would take a line a word
)
"""What is said of secrets, and what stands for them in code."""
_EXPRESSION: Final = re.compile(
    r"[(\[{<$%]|^(?:process|os|env|config|settings|options|self|this|args|kwargs|req|request|import|params|props)\b[.\[]|->|=>|\.{3}"
)
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _without_named(text: str) -> str:
    """TEXT without the values of things that are named as secrets."""
    out: list[str] = []
    done = 0
    for start, end in _names(text):
        if start < done or (link := _LINK.match(text, end)) is None:
            continue
        if link["flag"] and not _is_option(text, start):
            continue
        value = _VALUE.match(text, link.end())
        if value is None:
            continue
        form = next(name for name in ("quoted", "cut", "bare") if value[name] is not None)
        quoted = form != "bare"
        held = value[form] if quoted else value[form].rstrip(".!?:\\")
        word = text[start:end].lower()
        tight = bool(link["flag"]) or (bool(link["sign"]) and not text[link.end() - 1].isspace())
        if link["to"] and not (_DIGIT.search(held) and _is_word(word)):
            continue
        if not _is_secret(word, held, quoted=quoted, tight=tight, said=bool(link["said"])):
            continue
        at = value.start(form)
        out += (text[done:at], _mark(_kind(word)))
        done = at + len(held)
    out.append(text[done:])
    return "".join(out)


def _names(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of every word in TEXT that names a secret, suffix included."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters change their length with their case
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    spots: list[int] = []
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            spots.append(at)
            at = lower.find(stem, at + 1)
    for start in sorted(spots):
        found = _NAME.match(text, start)
        if found is None:
            continue
        before = text[max(0, start - 12) : start]
        if found[0].lower() == "key" and not _KEY_OF.search(before):
            continue
        if found[0].lower() in ("pass", "pwd") and before[-1:].isalpha():
            continue
        suffix = _SUFFIX.match(text, found.end())
        if suffix is not None:
            yield start, suffix.end()


def _is_option(text: str, start: int) -> bool:
    """Whether the name at START belongs to an option of a command (``--api-key VALUE``)."""
    begin = start
    while begin > 0 and start - begin < 40 and (text[begin - 1].isalnum() or text[begin - 1] in "-_"):
        begin -= 1
    return text.startswith("--", begin)


def _is_word(name: str) -> bool:
    """Whether what NAME names may be a plain word (a password may, a key is never one)."""
    return name.startswith(("pass", "pwd", "secret", *_PASSWORDS))


def _kind(name: str) -> str:
    if name.startswith(("pass", "pwd", *_PASSWORDS)):
        return "password"
    return "token" if name.startswith(("token", "令牌")) else "secret"


def _is_secret(name: str, value: str, *, quoted: bool, tight: bool, said: bool) -> bool:
    """Whether VALUE, given to something called NAME, is a secret itself and not a type, a variable or a plain word.

    ``tight`` means that nothing stands between the sign and the value (``name=value``, ``--name value``); ``said`` that the
    value comes in a sentence ("the password is …").
    """
    word = _is_word(name)
    if SENTINEL.search(value) or len(value) < 3 or value.lower() in _NO_VALUE or not _SIGN.search(value):
        return False
    if value.replace(".", "").replace("_", "").replace(",", "").isdigit():
        return word or len(value) >= 8
    if name == "pwd" and value[0] in "/~.$":
        return False
    if quoted:
        return word or " " not in value
    if _EXPRESSION.search(value):
        return False
    if not _DIGIT.search(value) and value.isascii():
        return _is_wordlike_secret(value, word=word, tight=tight, said=said)
    return True


def _is_wordlike_secret(value: str, *, word: bool, tight: bool, said: bool) -> bool:
    """The same for a VALUE without a digit and without quotes, which may be the name of a variable."""
    if _DOTTED.match(value) or _STEM.search(value):
        return False
    if word and (said or tight):
        return True
    if value.replace("_", "").replace("-", "").isalpha():
        humps = _HUMPS.findall(value)
        short_humps = len(value) / max(1, len(humps)) < 3.5
        return (short_humps and len(value) >= 8) or (word and value.islower() and "_" not in value) or len(value) >= 24
    return True


# Values too random to be anything else

_LONG: Final = re.compile(rf"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{{{_MIN_RANDOM},}}+(?!\.[a-z]{{1,5}}\b)")
_HARMLESS: Final = re.compile(
    r"[0-9a-fA-F-]+\Z|[A-Za-z]+\Z|[\d_-]+\Z|sha\d{3}-"
    r"|(?:toolu|srvtoolu|call|msg|req|chatcmpl|resp|run|thread|asst|file|batch|rs|fc|item|session|conv)[_-]"
)
_MEAN_HUMP: Final = 2.6
"""Characters of a run of letters or digits: names of words have longer ones, random values about 1.5."""


def _looks_random(value: str) -> bool:
    """Whether VALUE is too random for a word, a path, a hash or a name: by its entropy and by how short its runs are."""
    if _HARMLESS.match(value) or (value.count("/") > 2 and not value.endswith("=")):
        return False
    body = value.strip("=_-/+")
    kinds = any(c.islower() for c in body) + any(c.isupper() for c in body) + any(c.isdigit() for c in body)
    if len(body) < _MIN_RANDOM or kinds < 3:
        return False
    runs = _HUMPS.findall(body)
    if sum(map(len, runs)) / max(1, len(runs)) > _MEAN_HUMP:
        return False
    counts = Counter(body)
    entropy = -sum(n / len(body) * math.log2(n / len(body)) for n in counts.values())
    return entropy > min(3.9, 0.82 * math.log2(len(body)))
