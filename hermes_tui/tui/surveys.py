"""From the conversation's own view, state, budgets and plan to the readings of the inspector. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_tui.context.budgets import Budgets
from hermes_tui.context.engine import EngineState, Usage
from hermes_tui.context.messages import Block, Message, calls_of, plain_text, result_text, results_of
from hermes_tui.context.placeholders import main_argument
from hermes_tui.context.regions import Regions
from hermes_tui.context.summaries import Summary
from hermes_tui.context.tokens import Meter, Size
from hermes_tui.context.view import ContextView, Entry, Treatment
from hermes_tui.tui.numbers import counted
from hermes_tui.tui.readings import ContextReading, EntryRow, GaugeReading, SummaryReading, UsageReading, shares_of

if TYPE_CHECKING:
    from hermes_tui.chat.cache import CacheAccount
    from hermes_tui.chat.effective import Number
    from hermes_tui.chat.standing import Totals
    from hermes_tui.context.fidelity import Fidelity
    from hermes_tui.store.records import EditRecord

SNIPPET = 160
"""Characters of a message that its row is cut from: more than the widest inspector shows."""


def context_reading(
    view: ContextView,
    state: EngineState,
    budgets: Budgets | None,
    size: Size,
    regions: Regions | None,
    meter: Meter,
    *,
    edits: Sequence[EditRecord] = (),
    sizes: Sequence[int] = (),
    usage: UsageReading | None = None,
    remark: str = "",
    writing: str = "",
) -> ContextReading:
    """Everything the inspector shows of VIEW."""
    where = regions or Regions()
    rows = entry_rows(view, state, where, meter)
    return ContextReading(
        gauge=gauge_reading(view, state, budgets, size, where, meter, remark),
        entries=rows,
        summary=summary_reading(view.summary, edits, writing),
        requests=tuple(sizes),
        usage=usage or UsageReading(),
    )


def usage_reading(cache: CacheAccount, totals: Totals) -> UsageReading:
    """What the chain's requests did with the cache, and what they cost."""
    last = cache.last or Usage()
    return UsageReading(
        known=cache.known,
        read=last.cache_read,
        written=last.cache_write,
        missed=last.missed,
        edit_missed=cache.edited.missed if cache.edited is not None else None,
        cost=totals.cost,
        summaries=totals.summaries,
    )


def numbers_text(numbers: Sequence[Number]) -> str:
    """NUMBERS for reading, a line each."""
    widest = max((len(number.name) for number in numbers), default=0)
    return "\n".join(f"{number.name:<{widest}}  {number.value} · {number.source}" for number in numbers)


def gauge_reading(
    view: ContextView, state: EngineState, budgets: Budgets | None, size: Size, regions: Regions, meter: Meter, remark: str = ""
) -> GaugeReading:
    """The gauge: size against window, shares by region (all in the tail while no plan says otherwise)."""
    known = dict(regions.tokens)
    since = size.tokens - sum(known.values())  # said since the plan, while a call is open or a reply streams
    if not known:
        known["system"] = meter.scaled_floor(view, state)
        since -= known["system"]
    known["tail"] = max(0, known.get("tail", 0) + since)
    if budgets is None:
        return GaugeReading(size.tokens, size.kind, shares=shares_of(known.items()), remark=remark)
    return GaugeReading(
        tokens=size.tokens,
        kind=size.kind,
        window=budgets.window.value,
        reserved=budgets.reserved.value,
        threshold=budgets.threshold,
        warm=budgets.warm_mark,
        shares=shares_of(known.items()),
        window_source=budgets.window.source,
        threshold_rule=budgets.threshold_rule,
        remark=remark,
    )


def entry_rows(view: ContextView, state: EngineState, regions: Regions, meter: Meter) -> tuple[EntryRow, ...]:
    """A row for each entry of VIEW, in the order sent."""
    scale = meter.scale(view, state)
    reasons, shares = dict(regions.reasons), dict(regions.entries)
    places = regions.by_position
    rows: list[EntryRow] = []
    before: Message | None = None
    for entry in view.entries:
        region = "summary" if entry.summary is not None else str(places.get(entry.position, "tail"))
        sent = shares.get(entry.position, round(scale * meter.entry(entry)))
        whole, after = sent, None
        if entry.message is not None and entry.sent is not None:
            whole, after = round(scale * meter.content(entry.message.content)), sent
        rows.append(
            EntryRow(
                position=entry.position,
                message=entry.message.id if entry.message else "",
                region=region,
                treatment=str(entry.treatment),
                role=role_of(entry),
                snippet=snippet_of(entry, before),
                before=whole,
                after=after,
                why=why_of(entry, reasons.get(entry.position, "")),
            )
        )
        before = entry.message or before
    return tuple(rows)


def role_of(entry: Entry) -> str:
    """One word for who speaks."""
    message = entry.message
    if message is None:
        return "summary"
    if message.origin == "tool":
        return "result"
    if message.role == "user":
        return "user"
    return "call" if calls_of(message) else "reply"


def snippet_of(entry: Entry, before: Message | None) -> str:
    """The first words of an entry; for calls and results, what was called."""
    message = entry.message
    if message is None:
        summary = entry.summary
        return f"{counted(len(summary.covered), 'message')}, v{summary.version}" if summary else ""
    calls = calls_of(message)
    if message.origin == "tool":
        calls = calls_of(before) if before is not None else ()
        if not calls:
            return _first_words("\n".join(result_text(b) for b in results_of(message)))
    if calls:
        first = f"{calls[0].get('name', '')} {main_argument(calls[0])}".strip()
        return first[:SNIPPET] + (f"  +{len(calls) - 1}" if len(calls) > 1 else "")
    text = _first_words(plain_text(message.content))
    if text:
        return text
    return ", ".join(dict.fromkeys(str(b.get("type", "")).replace("_", " ") for b in message.content)) or "nothing"


def why_of(entry: Entry, reason: str) -> str:
    """Why an entry is where and how it is: for one given in fewer words, those words."""
    if entry.treatment in (Treatment.PRUNED, Treatment.CLIPPED) and entry.sent is not None:
        words = placeholder_words(entry.sent)
        if words:
            return words
    if entry.treatment is Treatment.PINNED:
        return "pinned by you: never compressed"
    return reason or ("" if entry.treatment is Treatment.VERBATIM else str(entry.treatment))


def placeholder_words(sent: Sequence[Block]) -> str:
    """What stands in place of a pruned entry's results."""
    for block in sent:
        if block.get("type") == "tool_result":
            return _first_words(result_text(block))
    return "arguments shortened" if any(b.get("type") == "tool_use" for b in sent) else ""


def summary_reading(summary: Summary | None, edits: Sequence[EditRecord] = (), writing: str = "") -> SummaryReading:
    """SUMMARY for the panel, with the fidelity of the edit that put it in."""
    if summary is None:
        return SummaryReading(writing=writing)
    fidelity: Fidelity | None = next((e.fidelity for e in reversed(edits) if e.summary == summary.id), None)
    return SummaryReading(
        version=summary.version,
        prose=_prose_of(summary),
        ledger=tuple((name, tuple(fact.text for fact in facts)) for name, facts in summary.ledger.sections if facts),
        kept=fidelity.kept if fidelity else 0,
        total=fidelity.total if fidelity else 0,
        lost=tuple((fact.kind, fact.text) for fact in fidelity.lost) if fidelity else (),
        author=summary.model or "",
        told=len(summary.covered),
        writing=writing,
    )


def _prose_of(summary: Summary) -> tuple[tuple[str, str], ...]:
    """What the summary says, as it is sent to the model that its provider's block is of."""
    text = str(summary.block.block.get("content") or "") if summary.block is not None else ""
    return (("Compacted by the provider", text),) if text else summary.prose


def _first_words(text: str) -> str:
    return " ".join(text[: 4 * SNIPPET].split())[:SNIPPET]
