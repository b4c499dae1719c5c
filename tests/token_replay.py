"""A recorded session measured again: how near the meter comes to what the provider counted, request by request.

The recording holds, for every reply, the prompt that the provider counted. So each next request can be foretold and compared;
and since the growth from one request to the next is what the messages between them take, the true size of any context made of
those messages is known too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hermes_tui.context.budgets import Sourced, budgets_for
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import Count, EngineState, Usage
from hermes_tui.context.messages import Message
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import ContextView
from hermes_tui.transfer.transcripts import RecordedConversation, RecordedMessage


@dataclass(frozen=True)
class Reading:
    """A number foretold and what it came to."""

    told: int
    true: int

    @property
    def error(self) -> float:
        """How far off, as a share of the truth; below zero where too little was told."""
        return (self.told - self.true) / self.true


@dataclass(frozen=True)
class Moment:
    """A recorded request, before its reply: the context, what is known of it, and the prompt that was counted."""

    at: int
    view: ContextView
    state: EngineState
    prompt: int


def moments(recorded: RecordedConversation, meter: Meter) -> Iterator[Moment]:
    """Every measured request of RECORDED, with the state as it was learned from those before it."""
    model = next((m.model for m in recorded.messages if m.model and m.usage and m.usage.prompt), "recorded")
    view = ContextView("chain", "session", 0, str(model), recorded.system or "", tuple(recorded.tools))
    state = EngineState()
    for at, said in enumerate(recorded.messages):
        if said.origin == "model" and said.usage is not None and said.usage.prompt:
            yield Moment(at, view, state, said.usage.prompt)
            state = meter.measured(state, view, said.usage)
        view = view.append(Message(str(at), at, said.role, tuple(said.content), said.origin, said.model))


def next_requests(recorded: RecordedConversation, count: Count) -> tuple[list[Reading], list[Reading], float]:
    """Each next request foretold from the anchor; the same by the learned scale alone; and the scale at the end."""
    meter = Meter(count)
    anchored, bare, scale = [], [], 1.0
    for moment in moments(recorded, meter):
        scale = meter.scale(moment.view, moment.state)
        if moment.state.anchor is None:
            continue
        estimate = meter.estimate(moment.view)
        anchored.append(Reading(meter.size_of(estimate, moment.view, moment.state).tokens, moment.prompt))
        bare.append(Reading(round(scale * estimate), moment.prompt))
    return anchored, bare, scale


def previews(recorded: RecordedConversation, count: Count, *, window: int, starts: int = 1) -> list[tuple[str, Reading]]:
    """(kind, size as the preview tells it) of the first compression that is due at WINDOW, none being applied.

    The recording is begun at every STARTS-th of its user messages, as if it had begun there, so that there are many of them.
    What is true of the preview is what the messages that stay took when they were measured; the new summary and the
    placeholders, which nobody measured, are taken at what our tokens came to in the whole recording.
    """
    meter = Meter(count)
    measured = list(moments(recorded, meter))
    taken = true_sizes(recorded.messages, [m.at for m in measured], [m.prompt for m in measured], meter)
    ratio = sum(taken.values()) / sum(meter.content(recorded.messages[int(n)].content) for n in taken)
    floor = measured[0].prompt - sum(taken[str(n)] for n in range(measured[0].at))
    found = []
    for start in [n for n, m in enumerate(recorded.messages) if m.origin == "user"][::starts]:
        engine = ContextCompressor(count, lambda: "summary", None)
        before = sum(taken.get(str(n), 0) for n in range(start))
        for moment in moments(begun_at(recorded, start, before), engine.meter):
            size = engine.meter.size(moment.view, moment.state).tokens
            budgets = budgets_for(Sourced(window, "test"), engine.meter.scaled_floor(moment.view, moment.state))
            if size < budgets.threshold:
                continue
            plan = engine.plan(moment.view, moment.state, budgets)
            made = asyncio.run(engine.compress(plan, None)) if plan.kind else None
            if made is None or made.change is None:
                continue
            true = floor
            for entry in moment.view.apply(made.change).entries:
                own = entry.message is not None and entry.sent is None
                true += taken[str(start + entry.position // 2)] if own else round(ratio * engine.meter.entry(entry))
            found.append((str(plan.kind), Reading(made.tokens_after, true)))
            break
    return found


def begun_at(recorded: RecordedConversation, start: int, before: int) -> RecordedConversation:
    """RECORDED as if it had begun with its message START; the ones left out took BEFORE tokens of every prompt."""
    kept = []
    for said in recorded.messages[start:]:
        usage = said.usage
        if usage is not None and usage.prompt:
            usage = Usage(input=usage.prompt - before, output=usage.output)
        kept.append(replace(said, usage=usage))
    return replace(recorded, messages=tuple(kept))


def true_sizes(
    messages: Sequence[RecordedMessage], replies: Sequence[int], prompts: Sequence[int], meter: Meter
) -> dict[str, int]:
    """Message -> the tokens it took, from what the prompts grew by: a reply takes what it was billed, the others the rest."""
    taken: dict[str, int] = {}
    for at, following, prompt, grown in zip(replies, replies[1:], prompts, prompts[1:], strict=False):
        growth = grown - prompt
        usage = messages[at].usage
        own = min(growth, usage.output if usage else 0)
        taken[str(at)] = own
        others = range(at + 1, following)
        weights = [meter.content(messages[n].content) for n in others]
        for n, weight in zip(others, weights, strict=True):
            taken[str(n)] = round((growth - own) * weight / max(1, sum(weights)))
    for n in range(replies[0]):
        taken[str(n)] = meter.content(messages[n].content)
    return taken


def at_quantile(readings: Sequence[Reading], share: float) -> float:
    """The error that SHARE of READINGS stays within."""
    errors = sorted(abs(reading.error) for reading in readings)
    return errors[min(len(errors) - 1, int(share * len(errors)))]
