"""The lab: one recording under many settings, each played through a conversation of our own and measured alike.

Nothing is accounted for twice: a trial is a `Replay`, its compressions are the edits that it stored, its sizes are the gauge's.
What is added here is what a replay cannot see by itself: the prompt cache, and what the recording goes on to use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat.events import Compressed, Event, MessageStored, NoticeRaised, RequestStarted, TurnEnded, UsageReported
from hermes_tui.chat.replay import Replay
from hermes_tui.context.compressor import CompressorOptions
from hermes_tui.context.engine import Usage
from hermes_tui.context.future_use import FutureUse, Kept, context_text
from hermes_tui.context.policies import POLICIES, Policy
from hermes_tui.context.prompt_cache import CacheUse, Prompt, cache_use, prompt_of
from hermes_tui.context.tokens import Meter
from hermes_tui.store.ids import new_id
from hermes_tui.store.records import EditRecord

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.context.engine import Count
    from hermes_tui.llm.choose import ChatProvider
    from hermes_tui.store.store import Store
    from hermes_tui.transfer.transcripts import RecordedConversation

UNLIMITED: Final = 1_000_000_000
"""The window, in tokens, of a trial that is to compress nothing: what it would have sent is what the others compare with."""

Told = Callable[[int, str | None, Mapping[str, Any]], None]
"""Hears of each compression: source messages so far, its kind, and the body that would be sent next."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is varied.

    Attributes:
        engine: a policy's or an engine's name.
        window: the model's limit in tokens.
        threshold: the share of it at which a compression is due.
        cap: tokens at which it is due at the latest (a price step), None for none.
    """

    engine: str
    window: int
    threshold: float
    cap: int | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial came to. Sizes are in tokens as the recording's model counted them, as far as the recording tells.

    Attributes:
        threshold: the size at which compressions were due, 0 where there can be none.
        messages: source messages played.
        edits: the compressions as they were stored, in order.
        sessions: sessions at the end.
        peak, mean: the largest request, and the mean one.
        requests: what each request would have read from a warm cache and written to it, and its reply's tokens.
        breaks: requests that could not read all that the one before them had sent.
        kept: what of the recording's later use stood after the compressions, all together.
        unsent: turns that were not sent because they would not have fitted the window.
        summaries: dollars for a model's summaries, None where code wrote them or nobody knows the price.
        notices: what the conversation had to say.
    """

    threshold: int
    messages: int
    edits: tuple[EditRecord, ...]
    sessions: int
    peak: int
    mean: int
    requests: tuple[Usage, ...]
    breaks: int
    kept: Kept
    unsent: int = 0
    summaries: float | None = None
    notices: tuple[str, ...] = ()

    @property
    def pruned(self) -> int:
        """Compressions that only pruned."""
        return sum(edit.kind == "prune" for edit in self.edits)

    @property
    def summarised(self) -> int:
        """Compressions that summarised."""
        return len(self.edits) - self.pruned

    @property
    def fidelity(self) -> tuple[tuple[str, int, int], ...]:
        """Facts kept and facts in all, by class, of everything that the edits replaced."""
        kept: dict[str, int] = {}
        total: dict[str, int] = {}
        for edit in self.edits:
            for name, some, all_ in edit.fidelity.classes if edit.fidelity else ():
                kept[name], total[name] = kept.get(name, 0) + some, total.get(name, 0) + all_
        return tuple((name, kept[name], total[name]) for name in total)

    @property
    def tokens_after(self) -> int:
        """The mean size after a compression, 0 where there was none."""
        return round(sum(edit.tokens_after for edit in self.edits) / len(self.edits)) if self.edits else 0


@dataclass(slots=True)
class _Heard:
    """What is gathered while a trial runs."""

    meter: Meter
    sizes: list[int] = field(default_factory=list)
    uses: list[tuple[CacheUse, int]] = field(default_factory=list)
    prompt: Prompt | None = None
    said: int = 0
    kept: Kept = field(default_factory=Kept)
    threshold: int = 0
    unsent: int = 0
    summaries: float | None = None
    notices: list[str] = field(default_factory=list)


class Bench:
    """Runs trials of one recording.

    Args:
        recorded: the recording.
        settings: those of the run; a trial's window, threshold and engine win over them.
        count: counts the tokens of a text.
        summary_provider: who summarises, where the settings want a model; the policies never ask one.
        summary_model: the model that does.
    """

    def __init__(
        self,
        recorded: RecordedConversation,
        settings: Settings,
        count: Count,
        *,
        summary_provider: ChatProvider | None = None,
        summary_model: str = "",
    ) -> None:
        self.recorded, self._settings, self._count = recorded, settings, count
        self._summary_provider, self._summary_model = summary_provider, summary_model
        self._future = FutureUse((m.role, m.content) for m in recorded.messages)

    async def run(self, trial: Trial, store: Store, told: Told | None = None) -> Tried:
        """Play the recording into STORE under TRIAL; TOLD hears of each compression.

        Raises:
            UnknownEngine: there is no such policy and no such engine.
            StoreError: the database refused.
        """
        heard = _Heard(Meter(self._count))
        policy = self._policy(trial.engine)
        replay = Replay(
            self.recorded,
            store=store,
            settings=settings_of(trial, self._settings, engine=None if policy else trial.engine),
            count=self._count,
            publish=lambda event: self._hear(event, replay, policy, heard, told),
            summary_provider=self._summary_provider,
            summary_model=self._summary_model,
            engine=policy,
        )
        done = await replay.run()
        edits = () if replay.conversation is None else store.edits(replay.conversation.chain)
        sizes = heard.sizes
        return Tried(
            threshold=heard.threshold,
            messages=done.messages,
            edits=tuple(edit for edit in edits if edit.generation is not None),
            sessions=done.sessions,
            peak=max(sizes, default=0),
            mean=round(sum(sizes) / len(sizes)) if sizes else 0,
            requests=tuple(Usage(output=out, cache_read=use.read, cache_write=use.written) for use, out in heard.uses),
            breaks=sum(use.broken for use, _ in heard.uses),
            kept=heard.kept,
            unsent=heard.unsent,
            summaries=heard.summaries,
            notices=tuple(dict.fromkeys(heard.notices)),
        )

    def _policy(self, name: str) -> Policy | None:
        made = POLICIES.get(name)
        return made(self._count, new_id, CompressorOptions(self._settings.context.protect_first_n)) if made else None

    def _hear(self, event: Event, replay: Replay, policy: Policy | None, heard: _Heard, told: Told | None) -> None:
        conversation = replay.conversation
        if conversation is None:
            return
        if isinstance(event, RequestStarted):
            scale = heard.meter.scale(conversation.view, conversation.state)
            prompt = prompt_of(conversation.view, event.tokens, scale, heard.meter)
            heard.uses.append((cache_use(heard.prompt, prompt), 0))
            heard.prompt, heard.said = prompt, 0
            heard.sizes.append(event.tokens)
            if conversation.budgets is not None:
                budgets = conversation.budgets
                heard.threshold = policy.threshold(budgets) if policy else budgets.threshold
        elif isinstance(event, MessageStored) and event.message.origin == "model":
            scale = heard.meter.scale(conversation.view, conversation.state)
            heard.said = round(scale * heard.meter.content(event.message.content))
        elif isinstance(event, UsageReported) and event.purpose == "turn" and heard.uses:
            heard.uses[-1] = (heard.uses[-1][0], event.usage.output or heard.said)
        elif isinstance(event, UsageReported) and event.cost is not None:
            heard.summaries = (heard.summaries or 0.0) + event.cost
        elif isinstance(event, Compressed):
            body = conversation.next_body()
            system = body.get("system", "")
            text = context_text(body["messages"], system if isinstance(system, str) else json.dumps(system))
            heard.kept = heard.kept.plus(self._future.kept(replay.cut, text))
            if told is not None:
                told(replay.cut, event.kind, body)
        elif isinstance(event, TurnEnded) and event.reason == "failed":
            heard.unsent += 1
        elif isinstance(event, NoticeRaised):
            heard.notices.append(event.text)


def settings_of(trial: Trial, settings: Settings, *, engine: str | None) -> Settings:
    """SETTINGS with what TRIAL varies, which wins over everything, tables of single models too."""
    section = {"threshold_percent": trial.threshold, "threshold_tokens": trial.cap, "auto": True}
    own = {"window": trial.window, "threshold_percent": trial.threshold, "threshold_tokens": trial.cap}
    context = settings.context.model_copy(update=section if engine is None else {**section, "engine": engine})
    return settings.model_copy(
        update={
            "model": settings.model.model_copy(update={"window": trial.window}),
            "context": context,
            "models": {name: table.model_copy(update=own) for name, table in settings.models.items()},
        }
    )
