"""Search over everything that was ever said: two full-text indexes, written once with each message, never again.

They hold no texts: what is deleted is taken out by saying what it was, so what `searchable` finds of a message must not change.

``words`` is cut at spaces and punctuation, for scripts that have them. ``runs`` holds every three characters of the lines with
scripts that are written without spaces, where the first finds only whole runs. What neither can find (two characters of
Chinese, a part of an identifier) is looked for in the messages themselves.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, and_, column, insert, literal_column, select, table, text
from sqlalchemy.sql.elements import ColumnElement

from hermes_tui.context.archive import terms_in
from hermes_tui.context.messages import Block, Message, result_text, scrub
from hermes_tui.store import codec
from hermes_tui.store.records import Hit
from hermes_tui.store.tables import entries, messages, sessions

SNIPPET: Final = 160
"""Characters of a snippet."""
FOLDED: Final = 20_000
"""Characters of a message that are looked through for a word that differs in its accents."""
UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean."""

words = table("words", column("rowid"), column("text"))
runs = table("runs", column("rowid"), column("text"))
_WORDS, _RUNS = insert(words), insert(runs)


def searchable(blocks: Sequence[Block]) -> str:
    """What can be found of BLOCKS: what was said, called and answered; not thinking, not images."""
    return "\n".join(part for block in blocks for part in _parts(block) if part)


def _parts(block: Block) -> Iterator[str]:
    kind = block.get("type")
    if kind == "text":
        yield str(block.get("text", ""))
    elif kind == "tool_use":
        yield str(block.get("name", ""))
        yield from _strings(block.get("input"))
    elif kind == "tool_result":
        yield result_text(block)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def has_runs(connection: Connection) -> bool:
    """Whether this SQLite could make the index of runs (since 3.34)."""
    return connection.execute(text("SELECT 1 FROM sqlite_master WHERE name = 'runs'")).first() is not None


def add(connection: Connection, number: int, message: Message) -> None:
    """Index MESSAGE under its NUMBER."""
    found, unspaced = _indexed(message.content)
    if not found:
        return
    connection.execute(_WORDS, {"rowid": number, "text": found})
    if unspaced and has_runs(connection):
        connection.execute(_RUNS, {"rowid": number, "text": unspaced})


def forget(connection: Connection, number: int, content: Sequence[Block]) -> None:
    """Take the message of that NUMBER out of the indexes. They hold no texts, so they have to be told the CONTENT it had."""
    found, unspaced = _indexed(content)
    for index, held in (("words", found), ("runs", unspaced if unspaced and has_runs(connection) else "")):
        if held:
            command = text(f"INSERT INTO {index}({index}, rowid, text) VALUES ('delete', :number, :held)")
            connection.execute(command, {"number": number, "held": held})


def wipe(connection: Connection) -> None:
    """Let no word be left in the indexes that is only in what was taken out: until they are merged, they mark it as gone."""
    for index in ("words", *(("runs",) if has_runs(connection) else ())):
        connection.execute(text(f"INSERT INTO {index}({index}) VALUES ('optimize')"))


def _indexed(content: Sequence[Block]) -> tuple[str, str]:
    """What of CONTENT is indexed as words, and as runs."""
    found = searchable(content)
    return found, "\n".join(line for line in found.splitlines() if UNSPACED.search(line))


def search(connection: Connection, query: str, *, chain: str | None, limit: int) -> tuple[Hit, ...]:
    """The messages that hold all terms of QUERY (words, beginnings of words, "phrases"), the best first, each once.

    With a CHAIN, only what an entry of it ever named, also where another chain said it first.
    """
    terms = terms_in(scrub(query).replace("\0", " "))
    if not terms:
        return ()
    for indexed in (True, False):
        hits = tuple(islice(_look(connection, terms, chain, indexed=indexed), limit))
        if hits:
            return hits
    return ()


def _look(connection: Connection, terms: Sequence[str], chain: str | None, *, indexed: bool) -> Iterator[Hit]:
    """The hits, one by one; what the indexes cannot find, and all unless INDEXED, is looked for in the messages themselves."""
    spaced = [t for t in terms if not UNSPACED.search(t) and any(c.isalnum() for c in t)] if indexed else []
    long_runs = [t for t in terms if UNSPACED.search(t) and len(t) >= 3] if indexed and has_runs(connection) else []
    conditions: list[ColumnElement[bool]] = []
    query = select(
        messages.c.id, messages.c.chain, messages.c.sequence, messages.c.content, sessions.c.title, sessions.c.id.label("home")
    )
    order: list[ColumnElement[Any]] = []
    source: Any = messages.outerjoin(sessions, sessions.c.id == (messages.c.chain if chain is None else chain))
    if spaced:
        source = source.join(words, words.c.rowid == messages.c.number)
        matched = " ".join(_phrase(term) + "*" for term in spaced)
        conditions.append(literal_column("words").op("MATCH")(matched))
        order.append(literal_column("words.rank"))
    if long_runs:
        long_enough = select(runs.c.rowid).where(literal_column("runs").op("MATCH")(" ".join(_phrase(t) for t in long_runs)))
        conditions.append(messages.c.number.in_(long_enough))
    others = [_lower(term) for term in terms if term not in spaced and term not in long_runs]
    for term in others:
        written = _lower(codec.dumps(term)[1:-1])
        conditions.append(messages.c.content.icontains(written, autoescape=True))
    if chain is not None:
        conditions.append(messages.c.id.in_(select(entries.c.message).where(entries.c.chain == chain)))
    order.append(messages.c.number.desc())
    with connection.execute(query.select_from(source).where(and_(*conditions)).order_by(*order)) as rows:
        for row in rows:
            found = searchable(codec.loads(row.content))
            low = _lower(found) if others else ""
            if all(term in low for term in others):  # in what was said, not in how it is written down
                hit = _hit(row, found, terms, chain)
                yield hit if row.home is not None else _elsewhere(connection, hit)


def _phrase(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _hit(row: Any, found: str, terms: Sequence[str], chain: str | None) -> Hit:
    place = _first(found, terms)
    start = max(0, place - SNIPPET // 4)
    while 0 < start < place and not found[start - 1].isspace():
        start += 1
    end = min(len(found), start + SNIPPET)
    while end < len(found) and unicodedata.combining(found[end]):
        end += 1
    cut = re.sub(r"\s", " ", found[start:end])
    snippet = ("…" if start else "") + cut + ("…" if end < len(found) else "")
    return Hit(
        message=row.id,
        chain=chain or row.chain,
        snippet=snippet,
        sequence=row.sequence,
        title=row.title or "",
        marks=tuple(_marks(snippet, terms)),
    )


def _elsewhere(connection: Connection, hit: Hit) -> Hit:
    """HIT in a chain that names its message still, since the one that said it was deleted."""
    named = select(sessions.c.id, sessions.c.title).join(entries, entries.c.chain == sessions.c.id)
    row = connection.execute(named.where(entries.c.message == hit.message).order_by(sessions.c.id).limit(1)).first()
    return hit if row is None else replace(hit, chain=row.id, title=row.title)


def _first(found: str, terms: Sequence[str]) -> int:
    """Where the first of TERMS begins in FOUND; 0 where none does, in spite of the index."""
    for text_, wanted in ((_lower(found), [_lower(t) for t in terms]), (_fold(found[:FOLDED]), [_fold(t) for t in terms])):
        places = [place for place in map(text_.find, wanted) if place >= 0]
        if places:
            return min(places)
    return 0


def _marks(snippet: str, terms: Sequence[str]) -> Iterator[tuple[int, int]]:
    folded = _fold(snippet)
    taken = 0
    places = sorted((m.start(), m.end()) for term in terms for m in re.finditer(re.escape(_fold(term)), folded))
    for start, end in places:
        if start >= taken:
            yield start, end
            taken = end


def _lower(value: str) -> str:
    low = value.lower()
    return low if len(low) == len(value) else "".join(c.lower()[0] for c in value)


def _fold(value: str) -> str:
    """VALUE in lower case without accents, character by character, so that places stay the same."""
    return "".join(unicodedata.normalize("NFD", c)[0].lower()[0] for c in value)
