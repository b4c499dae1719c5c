"""From the conversation's events to the chat screen: the one place where what happens becomes what is seen."""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat import events as happened
from hermes_tui.tui.live import LiveReply
from hermes_tui.tui.numbers import seconds
from hermes_tui.tui.projection import clock_time, divider_text, said_at, shown_result, taken_back_text, user_text
from hermes_tui.tui.readings import Totals
from hermes_tui.tui.transcript import Divider, Notice, Queued, UserSaid

if TYPE_CHECKING:
    from textual.timer import Timer

    from hermes_tui.tui.desk import Desk
    from hermes_tui.tui.screens.chat import ChatScreen

WRITING_SECONDS: Final = 0.1
"""Between two drawings of a summary that is being written."""
DOING: Final = {"text": "writing", "thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "calling a tool"}
ENDED: Final = {
    "failed": "error", "refusal": "warning", "iterations": "warning", "max_tokens": "warning",
    "cancelled": "information", "end_turn": "warning",
}  # fmt: skip
"""How bad each end of a turn is, where it has a sentence."""


class Bridge:
    """Hears every event of the conversation on DESK and draws it on SCREEN."""

    def __init__(self, desk: Desk, screen: ChatScreen) -> None:
        self._desk, self._screen = desk, screen
        self._context = contextvars.copy_context()
        self.live = LiveReply(lambda: screen.transcript)
        self.totals = Totals()
        self._notices = self._asked = 0
        self._held: list[happened.NoticeRaised] | None = None
        self._queued: list[tuple[str, str]] = []
        self._queued_number = 0
        self._written = ""
        self._writing_timer: Timer | None = None
        self._handlers: dict[type, Callable[[Any], None]] = {
            happened.MessageStored: self._stored,
            happened.MessageQueued: self._was_queued,
            happened.TurnStarted: self._turn_started,
            happened.RequestStarted: self._request_started,
            happened.BlockOpened: self._block_opened,
            happened.BlockGrew: lambda event: self.live.grow(event.index, event.text),
            happened.BlockClosed: lambda event: self.live.close(event.index, event.block),
            happened.ToolStarted: self._tool_started,
            happened.ToolEnded: self._tool_ended,
            happened.RetryScheduled: self._retry_scheduled,
            happened.UsageReported: self._usage_reported,
            happened.TurnEnded: self._turn_ended,
            happened.ContextChanged: lambda event: self._desk.refresh_soon(),
            happened.SummaryDue: lambda event: self._desk.prepare(),
            happened.CountDue: lambda event: self._desk.count(),
            happened.CompressionStarted: self._compression_started,
            happened.SummaryGrew: self._summary_grew,
            happened.SummaryPrepared: self._summary_prepared,
            happened.Compressed: self._compressed,
            happened.NothingCompressed: self._nothing_compressed,
            happened.CompressionStopped: self._compression_stopped,
            happened.Edited: self._edited,
            happened.NothingEdited: self._nothing_edited,
            happened.TipAdopted: lambda event: self._desk.adopt(),
            happened.NoticeRaised: self._notice_raised,
        }

    def publish(self, event: happened.Event) -> None:
        """Draw EVENT. Called on the loop; drawing is cheap, and whatever is not is done soon after.

        It is drawn in the app's own context: a summary is written on a loop of its own, and what comes from there knows no app.
        """
        if self._held is not None and isinstance(event, happened.NoticeRaised):
            self._held.append(event)
            return
        handler = self._handlers.get(type(event))
        if handler is not None and self._screen.is_attached:
            self._context.copy().run(handler, event)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While a page is being opened, notices wait for it: they would be wiped with the page before."""
        waiting: list[happened.NoticeRaised] = []
        self._held = waiting
        try:
            yield
        finally:
            self._held = None
            for event in waiting:
                self.publish(event)

    def fresh(self) -> None:
        """Another conversation lies open: nothing of the one before is counted or waits."""
        self.live.forget()
        self._queued.clear()
        self.totals = Totals()
        self._screen.status.show(self.totals)
        self._screen.activity.change(
            turn_since=None,
            doing="",
            retry_at=None,
            compressing_since=None,
            background=False,
            prepared=False,
            waiting=0,
            problem="",
        )
        self._screen.show_writing("")

    # -- words in the transcript ---------------------------------------------------------------------------------------

    def tell(self, text: str, severity: str = "information") -> None:
        """Say TEXT in place, at the end of the conversation."""
        self._notices += 1
        self._screen.transcript.append(Notice(f"notice:{self._notices}", text, severity))

    def queue(self, text: str) -> None:
        """Show TEXT as a message that waits."""
        self._queued_number += 1
        identifier = f"queued:{self._queued_number}"
        self._queued.append((identifier, text))
        self._screen.transcript.append(Queued(identifier, text))
        self._screen.activity.change(waiting=len(self._queued))

    def _unqueue(self, text: str) -> None:
        """TEXT waits no more."""
        for entry in self._queued:
            if entry[1] == text:
                self._queued.remove(entry)
                self._screen.transcript.drop(entry[0])
                break
        self._screen.activity.change(waiting=len(self._queued))

    def unqueue_all(self) -> list[str]:
        """Nothing waits any more; returns what did."""
        texts = [text for _, text in self._queued]
        for text in texts:
            self._unqueue(text)
        return texts

    # -- a turn --------------------------------------------------------------------------------------------------------

    def _stored(self, event: happened.MessageStored) -> None:
        message = event.message
        if message.origin == "model":
            self.live.stored(message)
        elif message.origin == "user":
            text = user_text(message.content)
            self._unqueue(text)
            self._screen.transcript.append(UserSaid(message.id, text, clock_time(said_at(message.id))))
        self._desk.refresh_soon()

    def _was_queued(self, event: happened.MessageQueued) -> None:
        self.queue(event.text)

    def _turn_started(self, event: happened.TurnStarted) -> None:
        conversation = self._desk.conversation
        self.live.model = conversation.view.model if conversation else ""
        self.count(turn=self.totals.turn + 1)
        self._screen.activity.change(turn_since=time.monotonic(), doing="", problem="")
        self._desk.renamed()

    def _request_started(self, event: happened.RequestStarted) -> None:
        self.live.drop()
        self._asked = event.tokens
        self._screen.activity.change(retry_at=None, doing="")

    def _block_opened(self, event: happened.BlockOpened) -> None:
        kind = str(event.block.get("type"))
        doing = f"calling {event.block.get('name')}" if kind == "tool_use" else DOING.get(kind, "writing")
        self._screen.activity.change(doing=doing)
        self.live.open(event.index, event.block)

    def _tool_started(self, event: happened.ToolStarted) -> None:
        self._screen.activity.change(doing=f"running {event.call.get('name', 'a tool')}")
        self.live.running(str(event.call.get("id")))

    def _tool_ended(self, event: happened.ToolEnded) -> None:
        conversation = self._desk.conversation
        tokens = None
        if conversation is not None:
            tokens = conversation.tokens_of(event.call) + conversation.tokens_of(event.result)
        self._screen.activity.change(doing="")
        self.live.answered(str(event.call.get("id")), shown_result(event.result), bool(event.result.get("is_error")), tokens)

    def _retry_scheduled(self, event: happened.RetryScheduled) -> None:
        self._screen.activity.change(retry_at=time.monotonic() + event.seconds, retry_reason=event.reason)

    def _usage_reported(self, event: happened.UsageReported) -> None:
        conversation = self._desk.conversation
        cost = conversation.totals.cost if conversation else 0.0
        if event.purpose == "turn":
            usage = event.usage
            recorded = conversation is not None and conversation.parts.trusts_usage is not None
            prompt, cached = (self._asked, 0) if recorded else (usage.prompt, usage.cache_read)
            self.count(prompt=prompt, reply=usage.output, cached=cached, cost=cost or None)
            self._desk.surveyor.measured(prompt)
        else:
            self.count(cost=cost or None)

    def count(self, **changes: Any) -> None:
        """Change the counters of the status line."""
        self.totals = replace(self.totals, **changes)
        self._screen.status.show(self.totals)

    def _turn_ended(self, event: happened.TurnEnded) -> None:
        self.live.drop()
        self._screen.activity.change(turn_since=None, doing="", retry_at=None)
        if event.sentence:
            self.tell(event.sentence, ENDED.get(event.reason, "warning"))
        self._desk.refresh_soon()

    # -- compression ---------------------------------------------------------------------------------------------------

    def _compression_started(self, event: happened.CompressionStarted) -> None:
        self._screen.activity.change(compressing_since=time.monotonic(), background=event.background, prepared=False)

    def _summary_grew(self, event: happened.SummaryGrew) -> None:
        self._written = event.text
        if self._writing_timer is None:
            self._writing_timer = self._screen.set_timer(WRITING_SECONDS, self._show_writing)

    def _show_writing(self) -> None:
        self._writing_timer = None
        if self._screen.activity.activity.compressing_since is not None:
            self._screen.show_writing(self._written)

    def _summary_prepared(self, event: happened.SummaryPrepared) -> None:
        self.compression_over(prepared=True)

    def compression_over(self, *, prepared: bool = False) -> None:
        """No compression runs any more."""
        self._screen.activity.change(compressing_since=None, background=False, prepared=prepared)
        self._screen.show_writing("")
        self._desk.refresh_soon()

    def _compressed(self, event: happened.Compressed) -> None:
        from hermes_tui.store.contexts import counts_of

        plan = event.compression.plan
        took = self._screen.activity.activity.compressing_since
        self.compression_over()
        counts = counts_of(plan)
        text = divider_text(event.kind, event.tokens_before, event.tokens_after, counts, event.compression.fidelity, plan.why)
        if took is not None and time.monotonic() - took >= 1:
            text += f" · {seconds(time.monotonic() - took)}"
        self._screen.transcript.append(Divider(f"edit:{event.edit}", text))
        if event.compression.failures:
            tried = Counter(_reason(failure) for failure in event.compression.failures)
            why = "; ".join(f"{reason} ({times} times)" if times > 1 else reason for reason, times in tried.items())
            how = {"deterministic": "by rule, without a model", "tighter": "in fewer words"}.get(
                event.compression.rung, "all the same"
            )
            self.tell(f"The summary was written {how}. Tried before: {why}.", "warning")
        self._desk.compressed()

    def _nothing_compressed(self, event: happened.NothingCompressed) -> None:
        self.compression_over()
        self.tell(f"Nothing was compressed. {event.refusal.reason}", "warning" if event.refusal.counts else "information")

    def _compression_stopped(self, event: happened.CompressionStopped) -> None:
        self.compression_over()
        if not event.yielded:
            self.tell("The compression was stopped; nothing changed.")

    # -- edits by hand -------------------------------------------------------------------------------------------------

    def _edited(self, event: happened.Edited) -> None:
        if event.target is not None:
            text = taken_back_text(event.kind, event.tokens_before, event.tokens_after, event.counts)
            self._screen.transcript.append(Divider(f"edit:{event.edit}", text))
            self._screen.activity.change(prepared=False)  # what was prepared was for what is no more
        self._desk.compressed()

    def _nothing_edited(self, event: happened.NothingEdited) -> None:
        self.tell(event.sentence, "information" if event.refusal in ("nothing", "protected") else "warning")

    # -- the rest ------------------------------------------------------------------------------------------------------

    def _notice_raised(self, event: happened.NoticeRaised) -> None:
        self.tell(event.text, event.severity)
        unsent = event.details.get("unsent")
        if unsent:
            self._unqueue(str(unsent))
            self._screen.composer.give_back(str(unsent))


def _reason(failure: str) -> str:
    """A failure without its full stop, and without the model's name in front where its sentence begins with that."""
    model, _, sentence = failure.rstrip(".").partition(": ")
    return sentence if sentence.startswith(model) else failure.rstrip(".")
