"""A replay as it runs, told: events as JSON or as lines for people, contexts and source into files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

from hermes_tui.chat.events import Compressed, Event, NothingCompressed, NoticeRaised, TurnEnded
from hermes_tui.chat.replay import Probed, Replay, Replayed
from hermes_tui.cli.failures import Refused
from hermes_tui.cli.lines import warn, write_json, write_text
from hermes_tui.context.engine import Compression
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.transfer.transcripts import RecordedConversation
from hermes_tui.tui.numbers import counted, short

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.llm.choose import Choice
    from hermes_tui.store.records import SessionRecord
    from hermes_tui.store.store import Store

CONTEXT_KEYS: Final = ("model", "max_tokens", "system", "tools", "messages")
"""Of the body that would be sent next, what a line of --contexts holds."""


class ReplayRun:
    """Replays conversations in turn and tells what happens.

    Args:
        store: where they are played into.
        settings: those of the run.
        as_json: tell it as JSON.
        contexts: where each context after a compression is written, None for nowhere.
        source: where the messages as read are written, None for nowhere.
    """

    def __init__(
        self, *, store: Store, settings: Settings, as_json: bool, contexts: TextIO | None, source: TextIO | None
    ) -> None:
        self._store, self._settings, self._as_json = store, settings, as_json
        self._contexts, self._source = contexts, source
        self._count = load_counter()
        self._number = 0
        self._replay: Replay | None = None
        self._failure = ""

    async def all(self, conversations: Iterable[tuple[int, RecordedConversation]], probe: int | None) -> None:
        """Replay CONVERSATIONS (with their numbers) one after another; with PROBE, probe them every so many messages.

        Raises:
            Refused: a turn could not be played.
            ProviderError: the model that is to summarise cannot be reached, or the key for it is wrong.
            ImpossibleBudget: the window leaves no room.
        """
        choice = self._choice()
        try:
            if choice is not None:
                await reached(choice)
            for number, recorded in conversations:
                self._number = number
                await self._one(recorded, choice, probe)
        finally:
            if choice is not None:
                await choice.provider.close()

    def _choice(self) -> Choice | None:
        """The provider that summarises, None where code alone does."""
        if self._settings.summary.engine == "deterministic":
            return None
        from hermes_tui.llm.choose import choose

        return choose(self._settings)

    async def _one(self, recorded: RecordedConversation, choice: Choice | None, probe: int | None) -> None:
        if self._source is not None:
            for message in recorded.messages:
                write_json({"role": message.role, "content": list(message.content)}, self._source)
        replay = self._replay = Replay(
            recorded,
            store=self._store,
            settings=self._settings,
            count=self._count,
            publish=self._heard,
            summary_provider=choice.provider if choice else None,
            summary_model=choice.summariser if choice else "",
        )
        if probe is None:
            ended = await replay.run()
        else:
            ended = await self._probe(replay, probe)
        if self._failure:
            raise Refused(self._failure)
        self._end(recorded, ended)

    async def _probe(self, replay: Replay, every: int) -> Replayed:
        compressions = peak = 0
        async for probed in replay.probe(every):
            peak = max(peak, probed.compression.tokens_before)
            compressions += probed.compression.change is not None
            self._probed(probed)
        return Replayed(len(replay.recorded.messages), compressions, 1, peak)

    # -- hearing -------------------------------------------------------------------------------------------------

    def _heard(self, event: Event) -> None:
        replay = self._replay
        conversation = replay.conversation if replay else None
        if isinstance(event, NoticeRaised):
            if not self._as_json:
                warn(event.text)
        elif replay is None or conversation is None:
            return
        elif isinstance(event, Compressed):
            self._compressed(replay.cut, event.compression, event.trigger, event.plan_ms, conversation.session)
            self._context(replay.cut, event.kind, conversation.next_body())
        elif isinstance(event, NothingCompressed):
            self._noop(event.refusal.reason)
        elif isinstance(event, TurnEnded) and event.reason == "failed" and not self._failure:
            self._failure = event.sentence
            replay.stop()

    def _probed(self, probed: Probed) -> None:
        made = probed.compression
        if made.change is not None:
            self._compressed(probed.cut, made, "preflight", probed.plan_ms, None)
        else:
            refusal = made.refusal or made.plan.refusal
            self._noop(refusal.reason if refusal else "Nothing was to be done.")
        self._context(probed.cut, made.plan.kind if made.change is not None else None, probed.body)

    # -- telling -------------------------------------------------------------------------------------------------

    def _context(self, cut: int, kind: str | None, body: Mapping[str, Any]) -> None:
        if self._contexts is not None:
            sent = {key: body.get(key, []) for key in CONTEXT_KEYS}
            write_json({"cut": cut, "kind": kind, **sent}, self._contexts)

    def _compressed(self, cut: int, made: Compression, trigger: str, plan_ms: float, session: SessionRecord | None) -> None:
        plan, fidelity = made.plan, made.fidelity
        if made.rung == "deterministic" and made.failures:
            warn(f"After {cut:,} messages the summary was written without the model: {made.failures[-1]}")
        if self._as_json:
            write_json(
                {
                    "event": "compression",
                    "conversation": self._number,
                    "cut": cut,
                    "kind": plan.kind,
                    "trigger": trigger,
                    "tokens_before": made.tokens_before,
                    "tokens_after": made.tokens_after,
                    "pruned": len(plan.prunes),
                    "summarised": len([e for e in plan.summarised if e.message is not None]),
                    "head": len(plan.regions.head),
                    "tail": len(plan.regions.tail),
                    "session": {"id": session.id, "parent": session.parent, "ordinal": session.ordinal} if session else None,
                    "fidelity": {"kept": fidelity.kept, "total": fidelity.total} if fidelity else None,
                    "plan_ms": round(plan_ms, 1),
                }
            )
            return
        done = [f"{len(plan.prunes)} pruned"] if plan.prunes else []
        if plan.kind == "summarise":
            done.append(f"{len([e for e in plan.summarised if e.message is not None])} summarised")
        kept = f" · kept {fidelity.kept}/{fidelity.total}" if fidelity and fidelity.total else ""
        split = f" · session {session.ordinal}" if session and plan.kind == "summarise" else ""
        change = f"{short(made.tokens_before)} → {short(made.tokens_after)}"
        write_text(f"{cut:>7,}  compressed {change} · {', '.join(done)}{kept}{split}")

    def _noop(self, reason: str) -> None:
        if self._as_json:
            write_json({"event": "noop", "reason": reason})
        else:
            write_text(f"         nothing compressed: {reason}")

    def _end(self, recorded: RecordedConversation, ended: Replayed) -> None:
        if self._as_json:
            write_json(
                {
                    "event": "end",
                    "messages": ended.messages,
                    "compressions": ended.compressions,
                    "sessions": ended.sessions,
                    "peak_tokens": ended.peak_tokens,
                }
            )
            return
        told = (
            counted(ended.messages, "message"),
            counted(ended.compressions, "compression"),
            counted(ended.sessions, "session"),
        )
        write_text(f"{recorded.title}: {', '.join(told)}, at most {short(ended.peak_tokens)} tokens")


async def reached(choice: Choice) -> None:
    """Make sure that the model that is to summarise can be asked, before anything is played.

    Raises:
        Unauthorised, Unreachable: it cannot.
    """
    from hermes_tui.llm.provider import ProviderError, Unauthorised, Unreachable

    try:
        await choice.provider.models()
    except (Unauthorised, Unreachable):
        raise
    except ProviderError:
        return  # a server of one's own need not list its models
