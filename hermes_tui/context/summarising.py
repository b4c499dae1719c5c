"""Summarising: the ladder from a model's summary down to one written by code, and what each rung must pass.

model -> once more, tighter, if the text was refused -> deterministic (ledger and extracts) -> refused, and nothing changes. A failure to
reach the model goes straight to deterministic. Pure but for what the summariser passed in does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hermes_tui.context.acceptance import Prose, accepted
from hermes_tui.context.engine import Count, Summariser, SummariserFailed, SummaryPrompt
from hermes_tui.context.extraction import extract
from hermes_tui.context.ledger import Fact, Ledger, facts_in, fitted, ledger_of
from hermes_tui.context.messages import Message
from hermes_tui.context.prompts import SYSTEM, Piece, instructions, piece_of, record_text
from hermes_tui.context.redaction import redact
from hermes_tui.context.summaries import Summary, fenced

Rung = Literal["", "model", "tighter", "deterministic"]

MAX_CALLS: Final = 8
"""Calls to a summariser in a pass, the tighter rung included."""
_WORDS_PER_TOKEN: Final = 0.6
"""A cautious share, so that an answer of that many words fits its budget in any language."""
_LEAST_PROSE: Final = 120
"""Tokens of prose under which no model is asked: it could say nothing in them."""


@dataclass(frozen=True, slots=True)
class SummaryWork:
    """What is to be summarised.

    Attributes:
        sources: the originals of the middle, oldest first.
        previous: the summary that is updated.
        cap: most tokens (as ``count`` counts them) of frame, prose and ledger together.
        focus: the topic asked for.
        for_anchor: the work was done for the user message after the summary.
        notes: what memory providers had to add.
    """

    sources: tuple[Message, ...]
    previous: Summary | None
    cap: int
    focus: str | None = None
    for_anchor: bool = False
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it.

    Attributes:
        prose, ledger: the summary's parts, fitting the cap together; empty where refused.
        model: the model that wrote the prose, None for code.
        rung: the rung that the text came from.
        failures: why higher rungs failed, in order, as sentences for the screen.
        omitted: messages that neither prose nor ledger tells.
        refused: no rung gave a text; nothing may change.
        calls: calls made to the summariser.
        transport: a rung failed because the model could not be reached (model rungs rest then).
    """

    prose: Prose = ()
    ledger: Ledger = field(default_factory=Ledger)
    model: str | None = None
    rung: Rung = ""
    failures: tuple[str, ...] = ()
    omitted: int = 0
    refused: bool = False
    calls: int = 0
    transport: bool = False


class _Refused(Exception):
    """The model answered, and the answer cannot stand for messages."""


def summary_of(written: Written, work: SummaryWork, summary_id: str) -> Summary:
    """The record that WRITTEN becomes."""
    previous = work.previous
    added = tuple(m.id for m in work.sources)
    return Summary(
        id=summary_id,
        version=previous.version + 1 if previous else 1,
        prose=written.prose,
        ledger=written.ledger,
        previous=previous.id if previous else None,
        added=added,
        covered=frozenset(added) | (previous.covered if previous else frozenset()),
        model=written.model,
        for_anchor=work.for_anchor,
        omitted=written.omitted,
    )


async def write_summary(work: SummaryWork, summariser: Summariser | None, count: Count) -> Written:
    """Write the summary of WORK: by SUMMARISER, or by code without one or where it fails. Never raises for what a model answers."""
    pass_ = _Pass(work, count)
    failures: list[str] = []
    asking = _Asking(summariser, work, count, pass_) if summariser is not None else None
    transport = False
    if asking is not None and pass_.prose_budget >= _LEAST_PROSE:
        for rung in ("model", "tighter"):
            try:
                prose = await asking.write(tighter=rung == "tighter")
                written = pass_.with_prose(prose, asking.summariser.model, rung)
                return replace(written, failures=tuple(failures), calls=asking.calls)
            except _Refused as refused:
                failures.append(f"{asking.summariser.model}: {refused}.")
            except SummariserFailed as failed:
                failures.append(f"{asking.summariser.model}: {failed.reason}")
                transport = failed.transport
                break
            except Exception as broken:
                failures.append(f"{asking.summariser.model}: {type(broken).__name__}")
                transport = True
                break
    written = pass_.by_code()
    return replace(written, failures=tuple(failures), calls=asking.calls if asking else 0, transport=transport)


class _Pass:
    """One pass over WORK: its ledger, its limits, and how text is made to fit them."""

    def __init__(self, work: SummaryWork, count: Count) -> None:
        self.work, self.count = work, count
        previous = work.previous
        self.size = sum(_size(m, count) for m in work.sources) + (count(previous.text) if previous else 0)
        self.limit = min(work.cap, (self.size - 1) // 2)
        """Tokens that the whole block may take: the cap, and smaller than half of what it stands for."""
        self.frame = count(fenced((), Ledger(), for_anchor=work.for_anchor))
        self.room = self.limit - self.frame
        self.ledger = ledger_of(work.sources, previous.ledger if previous else None)
        self.prose_budget = max(0, self.room // 2)

    def cost(self, text: str) -> int:
        """An estimate of the tokens of TEXT (counting each candidate would take longer than choosing)."""
        return len(text) // 4 + 1 if text.isascii() else len(text.encode()) // 3 + 1

    def with_prose(self, prose: Prose, model: str, rung: Literal["model", "tighter"]) -> Written:
        """The summary with a model's PROSE: the ledger takes what is left, at most half of the room."""
        if self.count("\n".join(t for _, t in prose)) * 2 >= self.size:
            raise _Refused("the answer is not smaller than half of what it stands for")
        prose = self._shortened(prose, self.room - min(self.room // 3, 200))
        taken = self.count(fenced(prose, Ledger(), for_anchor=self.work.for_anchor)) - self.frame
        ledger = self._fit(prose, min(self.room // 2, self.room - taken))
        return Written(prose, ledger, model, rung)

    def _shortened(self, prose: Prose, budget: int) -> Prose:
        """PROSE without its last lines, section by section from the longest, until it takes at most BUDGET tokens."""
        parts = {name: text.splitlines() for name, text in prose}
        sizes = {name: [self.count(line) + 1 for line in lines] for name, lines in parts.items()}
        total = sum(map(sum, sizes.values())) + 4 * len(parts)
        while total > budget and any(parts.values()):
            longest = max(parts, key=lambda name: sum(sizes[name]))
            parts[longest].pop()
            total -= sizes[longest].pop()
        return tuple((name, "\n".join(lines)) for name, lines in parts.items() if lines)

    def _fit(self, prose: Prose, budget: int) -> Ledger:
        """The ledger cut so that the block with PROSE keeps within the limit by true count."""
        for _ in range(12):
            ledger = fitted(self.ledger, max(0, budget), self.cost)
            over = self.count(fenced(prose, ledger, for_anchor=self.work.for_anchor)) - self.limit
            if over <= 0:
                return ledger
            budget -= max(over, budget // 10, 8)
        return Ledger()

    def by_code(self) -> Written:
        """The deterministic rung: the ledger, and the lines that will be needed again, in what the limit leaves."""
        if self.room <= 0:
            return Written(refused=True)
        ledger = self._fit((), self.room // 2)
        known = "\n".join(fact.text for _, fact in facts_in(ledger))
        earlier = [line for _, text in self.work.previous.prose for line in text.splitlines()] if self.work.previous else []
        budget = self.limit - self.count(fenced((), ledger, for_anchor=self.work.for_anchor)) - 6
        prose: Prose = ()
        told: frozenset[str] = frozenset()
        for _ in range(12):
            found = extract(self.work.sources, budget, self.cost, known=known, earlier=earlier)
            prose = (("Done", found.text),) if found.text else ()
            told = found.told
            over = self.count(fenced(prose, ledger, for_anchor=self.work.for_anchor)) - self.limit
            if over <= 0:
                break
            budget -= max(over, budget // 10, 8)
            if budget <= 0:
                prose = ()
                break
        if not prose and ledger.empty:
            return Written(refused=True)
        told |= {fact.source for _, fact in facts_in(ledger)}
        return Written(prose, ledger, None, "deterministic", omitted=sum(m.id not in told for m in self.work.sources))


def _size(message: Message, count: Count) -> int:
    """Tokens of what MESSAGE says, thinking left out."""
    return count(piece_of(message, limit=1_000_000_000).text)


class _Asking:
    """The model rungs of one pass."""

    def __init__(self, summariser: Summariser, work: SummaryWork, count: Count, pass_: _Pass) -> None:
        self.summariser, self.work, self.count, self._pass = summariser, work, count, pass_
        self.calls = 0

    async def write(self, *, tighter: bool) -> Prose:
        """The prose of the model: one call, or one for each chunk of the sources."""
        budget = self._pass.prose_budget if not tighter else self._pass.prose_budget * 2 // 3
        words = max(60, int(budget * _WORDS_PER_TOKEN))
        previous = self.work.previous
        prose: Prose = previous.prose if previous else ()
        chunks = self._chunks(budget, words)
        for chunk in chunks:
            prose = await self._one(chunk, prose, budget, words, tighter=tighter)
        return prose

    async def _one(self, chunk: str, prose: Prose, budget: int, words: int, *, tighter: bool) -> Prose:
        if self.calls >= min(MAX_CALLS, self.summariser.calls):
            raise _Refused("no calls were left")
        asked = instructions(
            updating=bool(prose),
            focus=self.work.focus,
            notes="\n".join((self.work.notes, self.summariser.notes)),
            words=words,
            tighter=tighter,
        )
        record = record_text(prose)
        parts = [asked]
        if record:
            parts.append(f"<record>\n{record}\n</record>")
        parts.append(f"<messages>\n{chunk}\n</messages>")
        text = "\n\n".join(parts)
        self.calls += 1
        answer = await self.summariser.ask(SummaryPrompt(SYSTEM, text, budget, self.count(SYSTEM) + self.count(text)))
        judged = accepted(answer, chunk, asked, record)
        if judged.refusal:
            raise _Refused(judged.refusal)
        return judged.prose

    def _chunks(self, budget: int, words: int) -> list[str]:
        """The sources as the texts of one call each."""
        pieces: Sequence[Piece] = [p for p in map(piece_of, self.work.sources) if p.text]
        text = "\n\n".join(p.text for p in pieces)
        return [text]


__all__ = ["MAX_CALLS", "Fact", "Ledger", "SummaryWork", "Written", "redact", "summary_of", "write_summary"]
