"""Summarising: the ladder from a model's summary down to one written by code, and what each rung must pass.

model -> once more, tighter, if a text was refused -> deterministic (ledger and extracts) -> refused, and nothing changes. A
failure to reach the model goes straight to deterministic. Pure, but for what the summariser that is passed in does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hermes_tui.context.acceptance import Prose
from hermes_tui.context.acts import Declarations, acts_of, one_line
from hermes_tui.context.asking import Asking, Refused
from hermes_tui.context.engine import Count, Rung, Summariser, SummariserFailed
from hermes_tui.context.extraction import Extract, Extractor
from hermes_tui.context.facts import clip, short_paths
from hermes_tui.context.ledger import FIRM, Fact, Ledger, fitted, ledger_of
from hermes_tui.context.messages import THINKING, Message, plain_text
from hermes_tui.context.redaction import redact
from hermes_tui.context.summaries import SECTIONS, Summary, fenced
from hermes_tui.context.tokens import Meter

LEAST_PROSE: Final = 100
"""Tokens of prose under which no model is asked: it could say nothing in them."""
_LEDGER: Final = 0.3
"""Share of the room that the ledger takes in the deterministic rung, and more by the share that people have in the sources:
where they say much, what they said tells most. What the extracts leave is the ledger's again."""
_MOST_LEDGER: Final = 0.6
_FIRM: Final = 0.85
"""The same at most, where the user's firm rules and decisions need it."""
_PIECE: Final = re.compile(r"[A-Za-z]+|\d{1,3}|[^\w\s]+|_|[^\x00-\x7f]")
"""About one token each: over lines of code and prose the correlation with cl100k is 0.96, the ratio 1.03."""


@dataclass(frozen=True, slots=True)
class SummaryWork:
    """What is to be summarised.

    Attributes:
        sources: the originals of the middle, oldest first.
        previous: the summary that is updated.
        cap: most tokens (as ``count`` counts them) of frame, prose and ledger together.
        focus: the topic asked for.
        for_anchor: the work was done for the user message after the summary.
        beside: the messages that stay verbatim (head and tail): what stands in them need not be told again.
        declarations: what the tools declare about their calls and results.
        reopening: the name of the tool that gives the model a message back, "" where it has none.
    """

    sources: tuple[Message, ...]
    previous: Summary | None
    cap: int
    focus: str | None = None
    for_anchor: bool = False
    beside: tuple[Message, ...] = ()
    declarations: Declarations | None = None
    reopening: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it.

    Attributes:
        prose, ledger: the summary's parts, within the cap together; empty where refused.
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
        reopening=work.reopening,
    )


async def write_summary(work: SummaryWork, summariser: Summariser | None, count: Count) -> Written:
    """Write the summary of WORK: by SUMMARISER, or by code without one or where it fails.

    Whatever the model answers or raises comes back as a rung and the failures above it; only a cancel passes through.
    """
    writing = _Writing(work, count)
    if summariser is None:
        return writing.by_code()
    asking = Asking(summariser, work, count, budget=writing.prose_budget, digest=writing.digest)
    failure, transport = "", False
    if writing.prose_budget < LEAST_PROSE:
        failure = f"{summariser.model} was not asked: {max(0, writing.prose_budget)} tokens of prose are too few."
    else:
        try:
            prose, untold = await asking.prose()
            written = writing.with_prose(prose, summariser.model, "tighter" if asking.refusals else "model")
            return replace(written, failures=_told(summariser, asking.refusals), omitted=untold, calls=asking.calls)
        except Refused as refused:
            failure = str(refused)
        except SummariserFailed as failed:
            failure, transport = failed.reason, failed.transport
        except Exception as broken:
            failure, transport = f"it broke off ({type(broken).__name__})", True
    failures = _told(summariser, (*asking.refusals, failure) if failure not in asking.refusals else asking.refusals)
    return replace(writing.by_code(), failures=failures, calls=asking.calls, transport=transport)


def _told(summariser: Summariser, reasons: Iterable[str]) -> tuple[str, ...]:
    """REASONS as sentences for the screen."""
    return tuple(f"{summariser.model}: {reason.rstrip('.')}." for reason in reasons)


def estimated(text: str) -> int:
    """About the tokens of TEXT: counting every line that might be chosen would take longer than choosing."""
    return len(_PIECE.findall(text))


class _Writing:
    """One pass over WORK: its ledger, its limits, and how text is made to keep within them."""

    def __init__(self, work: SummaryWork, count: Count) -> None:
        self.work, self._count = work, count
        previous = work.previous
        meter = Meter(count)
        told = sum(meter.block(b) for m in work.sources for b in m.content if b.get("type") not in THINKING)
        self.size = told + (count(previous.text) if previous else 0)
        """Tokens of what the summary stands for: originals and the summary before."""
        people = sum(meter.content(m.content) for m in work.sources if m.is_real_user)
        self._asked = people / max(1, told)
        """Share of people in what is newly told."""
        self.limit = min(work.cap, (self.size - 1) // 2)
        """Tokens that the whole block may take: the cap, and less than half of what it stands for."""
        self.room = self.limit - self._whole((), Ledger())
        self.prose_budget = self.room - self.room // 3
        self._known = previous.ledger if previous else Ledger()
        self._ledger = ledger_of(work.sources, self._known, work.declarations).with_section("identifiers", ())
        self._reading: Extractor | None = None

    def _whole(self, prose: Prose, ledger: Ledger) -> int:
        return self._count(fenced(prose, ledger, for_anchor=self.work.for_anchor, reopening=self.work.reopening))

    @property
    def _extractor(self) -> Extractor:
        if self._reading is None:
            previous = self.work.previous
            earlier = list(previous.prose) if previous else []
            earlier.append(("Done", "\n".join(fact.text for fact in self._known.of("identifiers"))))
            self._reading = Extractor(
                self.work.sources,
                earlier=earlier,
                paths=[fact.key for fact in self._known.of("files")],
                told_before=len(previous.covered) if previous else 0,
                beside=self.work.beside,
                focus=self.work.focus or "",
                declarations=self.work.declarations,
            )
        return self._reading

    # By code

    def by_code(self) -> Written:
        """The deterministic rung: the ledger, and the lines that will be needed again, in what the limit leaves."""
        if self.room <= 0:
            return Written(refused=True)
        prose, ledger, told = self._composed(self.room, self.limit)
        if not prose and not ledger.sections:
            prose, told = self._least()
        if (not prose and not ledger.sections) or self._whole(prose, ledger) > self.limit:
            return Written(refused=True)
        return Written(prose, ledger, None, "deterministic", omitted=sum(m.id not in told for m in self.work.sources))

    def _least(self) -> tuple[Prose, frozenset[str]]:
        """(prose, ids of messages told) where nothing said is worth a line of its own: the start of the newest message.

        Without it a conversation of small talk, pictures or one endless word could never be compressed.
        """
        if not self.work.sources:
            return (), frozenset()
        message = next((m for m in reversed(self.work.sources) if m.is_real_user), self.work.sources[-1])
        kinds = sorted({str(block.get("type")) for block in message.content})
        text = one_line(redact(plain_text(message.content))) or f"[{', '.join(kinds)}]"
        length = min(len(text), 4 * self.room)
        while length > 0:
            prose = (("Done", f"- {clip(text, length)}"),)
            if self._whole(prose, Ledger()) <= self.limit:
                return prose, frozenset([message.id])
            length //= 2
        return (), frozenset()

    def digest(self, budget: int) -> tuple[str, int]:
        """The sources as ledger and extracts in BUDGET tokens, for a summariser that takes no more; messages left out of it."""
        prose, ledger, told = self._composed(budget, budget)
        lines = [f"{section}:\n{text}" for section, text in prose]
        lines += [f"{name}: {fact.text}" for name, fact in ledger.facts()]
        return "\n".join(lines), sum(m.id not in told for m in self.work.sources)

    def _composed(self, room: int, limit: int) -> tuple[Prose, Ledger, frozenset[str]]:
        """(prose, ledger, ids of messages told) of at most LIMIT tokens with the frame, chosen by code."""
        firm = sum(
            estimated(f.text) + 2 for name, f in self._ledger.facts() if name in ("rules", "decisions") and f.weight >= FIRM
        )
        share = int(max(min(_FIRM, firm / max(1, room)), min(_MOST_LEDGER, _LEDGER + self._asked)) * room)
        ledger = self._fit((), share, limit)
        found = self._extracts(ledger, limit)
        left = limit - self._whole(found.prose, ledger)
        if left > room // 20:
            ledger = self._fit(found.prose, share + left, limit)
        prose = tuple(sorted(found.prose, key=lambda part: SECTIONS.index(part[0]) if part[0] in SECTIONS else len(SECTIONS)))
        return prose, ledger, found.told | self._told_by(ledger)

    def _told_by(self, ledger: Ledger) -> frozenset[str]:
        """Ids of the messages that LEDGER tells of: those of its facts, and every act on a file or command that it names."""
        told = {fact.source for _, fact in ledger.facts()}
        named = {fact.key for section in ("files", "commands") for fact in ledger.of(section)}
        for _, act in acts_of(self.work.sources, self.work.declarations):
            if redact(act.path or act.target) in named:
                told |= {act.message, act.result_message}
        return frozenset(told)

    def _extracts(self, ledger: Ledger, limit: int) -> Extract:
        known = [fact.text for _, fact in ledger.facts()]
        short = self._short(ledger)
        budget = limit - self._whole((), ledger)
        for _ in range(8):
            if budget <= 0:
                break
            found = self._extractor.choose(budget, estimated, known=known, short=short)
            over = self._whole(found.prose, ledger) - limit
            if over <= 0:
                return found
            budget -= over + 8
        return Extract()

    def _short(self, ledger: Ledger) -> dict[str, str]:
        """For each file that LEDGER names whole, the shortest ending that is no other's."""
        named = {fact.key for fact in ledger.of("files")}
        found = short_paths(dict.fromkeys([*named, *self._extractor.paths]))
        return {path: ending for path, ending in found.items() if path in named}

    def _fit(self, prose: Prose, budget: int, limit: int) -> Ledger:
        """The ledger in BUDGET tokens, such that the block with PROSE keeps within LIMIT by true count."""
        for _ in range(8):
            if budget <= 0:
                break
            ledger = self._on_topic(fitted(self._ledger, budget, estimated))
            over = self._whole(prose, ledger) - limit
            if over <= 0:
                return ledger
            budget -= over + 8
        bare = self._on_topic(Ledger())
        return bare if self._whole(prose, bare) <= limit else Ledger()

    def _on_topic(self, ledger: Ledger) -> Ledger:
        """LEDGER headed by the topic that was asked for, so that a reader knows what the summary leans towards."""
        topic = one_line(redact(self.work.focus or ""))
        if not topic or not self.work.sources:
            return ledger
        return Ledger((("topic", (Fact(topic, self.work.sources[-1].id, key=topic.casefold()),)), *ledger.sections))

    # With a model's prose

    def with_prose(self, prose: Prose, model: str, rung: Literal["model", "tighter"]) -> Written:
        """The summary with a model's PROSE: the ledger and lines with names take what is left, at most half of the room.

        Raises:
            Refused: where not even a shortened prose keeps within the limit.
        """
        prose = self._shortened(prose, self.room - self.room // 4)
        taken = self._whole(prose, Ledger()) - self._whole((), Ledger())
        budget = min(self.room // 2, self.room - taken)
        ledger = self._fit(prose, budget * 3 // 4, self.limit)
        ledger = self._with_names(prose, ledger, budget)
        if self._whole(prose, ledger) > self.limit:
            raise Refused("the answer does not fit the summary's budget")
        return Written(prose, ledger, model, rung)

    def _with_names(self, prose: Prose, ledger: Ledger, budget: int) -> Ledger:
        """LEDGER with the lines that hold the names and numbers most likely needed again and told nowhere else."""
        known = [*(fact.text for _, fact in ledger.facts()), *(line for _, text in prose for line in text.splitlines())]
        short = self._short(ledger)
        left = min(budget - estimated("\n".join(f.text for _, f in ledger.facts())), self.limit - self._whole(prose, ledger))
        source = self.work.sources[-1].id if self.work.sources else ""
        for _ in range(4):
            if left <= 16:
                break
            found = self._extractor.choose(left - 8, estimated, known=known, short=short)
            lines = [line.strip().removeprefix("- ") for _, text in found.prose for line in text.splitlines()]
            named = ledger.with_section(
                "identifiers", [Fact(one_line(line), source, 2.0, key=line.casefold()) for line in lines]
            )
            over = self._whole(prose, named) - self.limit
            if over <= 0:
                return named
            left -= over + 8
        return ledger

    def _shortened(self, prose: Prose, budget: int) -> Prose:
        """PROSE without the last lines of its longest sections, until it takes at most BUDGET tokens."""
        parts = {name: text.splitlines() for name, text in prose}
        sizes = {name: [self._count(line) + 1 for line in lines] for name, lines in parts.items()}
        total = sum(sum(size) + 4 for size in sizes.values())
        while total > budget and any(parts.values()):
            longest = max(parts, key=lambda name: sum(sizes[name]))
            parts[longest].pop()
            total -= sizes[longest].pop()
        return tuple((name, "\n".join(lines)) for name, lines in parts.items() if any(line.strip() for line in lines))


__all__ = ["LEAST_PROSE", "Rung", "SummaryWork", "Written", "estimated", "redact", "summary_of", "write_summary"]
