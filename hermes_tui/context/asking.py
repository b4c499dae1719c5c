"""Asking: the model rungs of a summary, in at most so many calls, each of which fits the summariser's window.

The sources go in as text, cut into chunks; each chunk updates the record that the one before it left. An answer that is refused
is asked for once more, tighter, once in a pass. What does not fit into the calls at hand goes in as a digest made by code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from hermes_tui.context.acceptance import Prose, accepted
from hermes_tui.context.engine import MOST_CALLS, Count, Summariser, SummariserFailed, SummaryPrompt
from hermes_tui.context.messages import Message
from hermes_tui.context.prompts import RESULT_LIMIT, SYSTEM, instructions, message_text, record_text
from hermes_tui.context.summaries import Summary, escape

_WORDS: Final = 0.6
"""Words asked for per token of the budget: few enough that the answer keeps within it in any language."""
_MARGIN: Final = 0.6
"""Share of the window that is filled by our estimate: tokenizers of current models count up to 1.6 times what it does."""
_ANSWER: Final = 6
"""The answer takes at most one part in this of the window: what it updates, and what is told, have to fit beside it."""
_LEAST_CHUNK: Final = 200
"""Tokens of source that a call must have room for to be worth making."""


class Work(Protocol):
    """What is summarised; see `hermes_tui.context.summarising.SummaryWork`."""

    @property
    def sources(self) -> tuple[Message, ...]:
        """The originals, oldest first."""

    @property
    def previous(self) -> Summary | None:
        """The summary that is updated."""

    @property
    def focus(self) -> str | None:
        """The topic asked for."""


class Refused(Exception):
    """The model answered, and the answer cannot stand for messages; the message is the reason."""


class Asking:
    """The calls of one pass. ``refusals`` collects why answers were refused, ``calls`` counts what was asked."""

    def __init__(
        self, summariser: Summariser, work: Work, count: Count, *, budget: int, digest: Callable[[int], tuple[str, int]]
    ) -> None:
        self._summariser, self._work, self._count = summariser, work, count
        self._budget, self._digest = max(1, min(budget, summariser.window // _ANSWER)), digest
        self._most = max(0, min(MOST_CALLS, summariser.calls))
        self.calls = 0
        self.refusals: tuple[str, ...] = ()

    async def prose(self) -> tuple[Prose, int]:
        """(the model's prose, messages that it was not shown).

        Raises:
            Refused: after two refused answers, or where nothing can be asked at all.
            SummariserFailed: where the model could not be reached.
        """
        previous = self._work.previous
        if self._summariser.source_cap is not None:
            text, untold = self._digest(self._summariser.source_cap)
            return await self._asked(escape(text), ()), untold
        prose: Prose = previous.prose if previous else ()
        chunks, untold = self._chunks()
        for chunk in chunks:
            prose = await self._asked(chunk, prose)
        return prose, untold

    async def _asked(self, chunk: str, prose: Prose) -> Prose:
        """The record after CHUNK, asked for once or twice."""
        while True:
            try:
                return await self._once(chunk, prose, tighter=bool(self.refusals))
            except (Refused, SummariserFailed) as refused:
                if isinstance(refused, SummariserFailed) and refused.transport:
                    raise
                self.refusals = (*self.refusals, str(refused))
                if len(self.refusals) > 1 or self.calls >= self._most:
                    raise Refused(str(refused)) from refused

    async def _once(self, chunk: str, prose: Prose, *, tighter: bool) -> Prose:
        if self.calls >= self._most:
            raise Refused("no calls were left")
        asked = self._instructions(updating=bool(prose), tighter=tighter)
        record = record_text(prose)
        parts = [asked, *([f"<record>\n{record}\n</record>"] if record else []), f"<messages>\n{chunk}\n</messages>"]
        text = "\n\n".join(parts)
        self.calls += 1
        answer = await self._summariser.ask(SummaryPrompt(SYSTEM, text, self._budget, self._count(SYSTEM) + self._count(text)))
        if self._count(answer) > 2 * self._budget:
            raise Refused("the answer is far longer than what was asked for")
        judged = accepted(answer, chunk, asked, record)
        if judged.refusal:
            raise Refused(judged.refusal)
        return judged.prose

    def _instructions(self, *, updating: bool, tighter: bool) -> str:
        words = max(40, int(self._budget * _WORDS * (0.6 if tighter else 1.0)))
        return instructions(
            updating=updating,
            focus=self._work.focus,
            notes=self._summariser.notes,
            words=words,
            tighter=tighter,
            own=self._summariser.prompt,
        )

    def _chunks(self) -> tuple[Sequence[str], int]:
        """(the sources as the text of one call each, oldest first; messages left out).

        Raises:
            Refused: where the window has no room for any source.
        """
        previous = self._work.previous
        overhead = self._count(SYSTEM) + self._count(self._instructions(updating=True, tighter=True))
        record = max(self._count(record_text(previous.prose)) if previous else 0, self._budget)
        room = int(self._summariser.window * _MARGIN) - overhead - record - self._budget
        if room < _LEAST_CHUNK:
            raise Refused(f"its window of {self._summariser.window:,} tokens has no room for what there is to tell")
        # A result may take a quarter of a call; characters, at about three to a token.
        limit = min(RESULT_LIMIT, room * 3 // 4)
        texts = [text for message in self._work.sources if (text := message_text(message, limit=limit))]
        chunks: list[list[str]] = []
        left = 0
        for text in texts:
            size = self._count(text) + 1
            while size > room:
                text = text[: max(1, len(text) * room // size * 9 // 10)]
                size = self._count(text) + 1
            if size > left or not chunks:
                chunks.append([])
                left = room
            chunks[-1].append(text)
            left -= size
        most = max(1, self._most - 1)
        if len(chunks) <= most:
            return ["\n\n".join(chunk) for chunk in chunks], 0
        # The newest get the calls; a digest of the whole by code stands for the older ones, as the first chunk.
        digest, untold = self._digest(room)
        newest = chunks[len(chunks) - most + 1 :]
        return [escape(digest), *("\n\n".join(chunk) for chunk in newest)], untold
