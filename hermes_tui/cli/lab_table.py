"""What the lab found: a table for people that fits the terminal, an object a run for programs."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat.lab import UNLIMITED, Trial, Tried
from hermes_tui.cli.lines import write_json, write_text
from hermes_tui.context.fidelity import CLASSES
from hermes_tui.llm.models import cost_of
from hermes_tui.transfer.transcripts import RecordedConversation
from hermes_tui.tui.numbers import counted, money, short

if TYPE_CHECKING:
    from hermes_tui.cli.lab import Priced
    from hermes_tui.config import Settings

WIDTH: Final = 120
"""Columns where the output is no terminal."""
NONE: Final = "-"
"""In a cell that has nothing to say."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run at one model's prices."""

    trial: Trial
    tried: Tried
    dollars: float | None

    @property
    def window(self) -> int | None:
        """The window in tokens; None where nothing limits it."""
        return None if self.trial.window == UNLIMITED else self.trial.window


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the lines of its head, and what stands in a row's cell. ``left``: the text begins at its left edge."""

    head: tuple[str, ...]
    cell: Callable[[Row], str]
    left: bool = False


def rows_of(model: Priced, tried: Mapping[Trial, Tried], settings: Settings) -> tuple[Row, ...]:
    """MODEL's rows: what compresses nothing first, then by window and threshold, in the order in which engines were named."""
    return tuple(Row(trial, tried[trial], _dollars(model.id, tried[trial], settings)) for trial in model.trials)


def _dollars(model: str, tried: Tried, settings: Settings) -> float | None:
    """Dollars for all requests of a run on MODEL, a summarising model's included; None where nobody knows the price."""
    costs = [cost_of(usage, model, settings) for usage in tried.requests]
    known = [cost[0] for cost in costs if cost is not None]
    return sum(known) + (tried.summaries or 0.0) if len(known) == len(costs) else None


# -- for programs ----------------------------------------------------------------------------------------------------


def print_objects(models: Sequence[Priced], tried: Mapping[Trial, Tried], settings: Settings) -> None:
    """A JSON object a run."""
    for model in models:
        for row in rows_of(model, tried, settings):
            write_json(_as_json(model, row))


def _as_json(model: Priced, row: Row) -> dict[str, Any]:
    tried, price = row.tried, model.price
    return {
        "engine": row.trial.engine,
        "model": model.id,
        "window": row.window,
        "threshold_percent": row.trial.threshold if row.window else None,
        "threshold_tokens": tried.threshold if row.window else None,
        "messages": tried.messages,
        "requests": len(tried.requests),
        "unsent_turns": tried.unsent,
        "compressions": len(tried.edits),
        "prunes": tried.pruned,
        "summaries": tried.summarised,
        "sessions": tried.sessions,
        "peak_tokens": tried.peak,
        "mean_tokens": tried.mean,
        "mean_tokens_after": tried.tokens_after,
        "dollars": None if row.dollars is None else round(row.dollars, 6),
        "dollars_for_summaries": tried.summaries,
        "price": {
            "input": price.input,
            "output": price.output,
            "cache_read": price.cache_read,
            "cache_write": price.cache_write,
            "source": price.source,
        }
        if price
        else None,
        "cache_read_tokens": sum(usage.cache_read for usage in tried.requests),
        "cache_write_tokens": sum(usage.cache_write for usage in tried.requests),
        "output_tokens": sum(usage.output for usage in tried.requests),
        "cache_breaks": tried.breaks,
        "fidelity": {name: {"kept": kept, "total": total} for name, kept, total in tried.fidelity},
        "future_use": {
            "facts": {"kept": tried.kept.facts, "total": tried.kept.facts_used},
            "relations": {"kept": tried.kept.relations, "total": tried.kept.relations_used},
        },
    }


# -- for people ------------------------------------------------------------------------------------------------------


def print_tables(
    recorded: RecordedConversation, models: Sequence[Priced], tried: Mapping[Trial, Tried], settings: Settings
) -> None:
    """A table for each model, and below them what the numbers mean."""
    width = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    for model in models:
        rows = rows_of(model, tried, settings)
        requests = max((len(row.tried.requests) for row in rows), default=0)
        sizes = f"{counted(len(recorded.messages), 'message')}, {counted(requests, 'request')}"
        window = f", its window {short(model.window.value)} · {model.window.source}" if model.window else ""
        for line in (f"{recorded.title}: {sizes}, at the prices of {model.id}{window}", ""):
            write_text(line)
        for line in table(rows, width):
            write_text(line)
        notes = list(_notes(rows, settings))
        for line in (*([""] if notes else []), *notes, "", *_legend(model)):
            for part in textwrap.wrap(line, width, subsequent_indent="  ", break_on_hyphens=False) or [""]:
                write_text(part)
        if model is not models[-1]:
            write_text("")


def table(rows: Sequence[Row], width: int) -> Iterator[str]:
    """ROWS as lines: one table where it fits WIDTH, else the costs first and what was kept below."""
    names = [Column(("engine",), lambda row: row.trial.engine, left=True)]
    if len({row.window for row in rows if row.window}) > 1:
        names.append(Column(("window",), lambda row: short(row.window) if row.window else NONE))
    names.append(Column(("thresh-", "old"), lambda row: short(row.tried.threshold) if row.window else NONE))
    for columns in ((*names, *_COSTS, *_KEPT), (*names, *_COSTS), (*names, *_KEPT)):
        lines = list(_lines(columns, rows))
        whole = columns == (*names, *_COSTS, *_KEPT)
        if whole and len(lines[0]) > width:
            continue
        yield from lines
        if whole:
            return
        if columns == (*names, *_COSTS):
            yield ""


def _lines(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    cells = [[column.cell(row) for column in columns] for row in rows]
    high = max(len(column.head) for column in columns)
    heads = [(*("",) * (high - len(column.head)), *column.head) for column in columns]
    widths = [max(map(len, (*head, *(line[n] for line in cells)))) for n, head in enumerate(heads)]
    for line in (*zip(*heads, strict=True), *cells):
        laid = (text.ljust(w) if column.left else text.rjust(w) for text, w, column in zip(line, widths, columns, strict=True))
        yield " ".join(laid)


def _share(kept: int, total: int) -> str:
    return f"{100 * kept / total:.0f}" if total else NONE


def _fidelity(name: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        return next((_share(kept, total) for kind, kept, total in row.tried.fidelity if kind == name), NONE)

    return cell


_COSTS: Final = (
    Column(("com-", "pres-", "sions"), lambda row: str(len(row.tried.edits))),
    Column(("ses-", "sions"), lambda row: str(row.tried.sessions)),
    Column(("peak", "tokens"), lambda row: short(row.tried.peak)),
    Column(("mean", "tokens"), lambda row: short(row.tried.mean)),
    Column(("cost", "warm"), lambda row: NONE if row.dollars is None else money(row.dollars)),
    Column(("cache", "breaks"), lambda row: str(row.tried.breaks)),
)
_HEADS: Final = {
    "rules": ("kept:", "rules", "%"),
    "files": ("files", "%"),
    "commands": ("com-", "mands", "%"),
    "errors": ("er-", "rors", "%"),
    "identifiers": ("iden-", "tifiers", "%"),
    "numbers": ("num-", "bers", "%"),
}
_KEPT: Final = (
    *(Column(_HEADS[name], _fidelity(name)) for name in CLASSES),
    Column(("later:", "facts", "%"), lambda row: _share(row.tried.kept.facts, row.tried.kept.facts_used)),
    Column(("rela-", "tions", "%"), lambda row: _share(row.tried.kept.relations, row.tried.kept.relations_used)),
)


def _notes(rows: Sequence[Row], settings: Settings) -> Iterator[str]:
    """What the numbers alone would not say."""
    least = min((row.window for row in rows if row.window), default=0)
    for row in rows:
        tried, where = row.tried, f"{row.trial.engine} with a window of {short(row.window)}" if row.window else row.trial.engine
        if tried.unsent:
            yield f"{where}: {counted(tried.unsent, 'turn')} did not fit the window; the cost leaves out what was not sent."
        if row.window is None and tried.peak > least > 0:
            yield (
                f"{where}: up to {short(tried.peak)} tokens do not fit a window of {short(least)}; it is there to compare with."
            )
    if settings.summary.engine != "deterministic" and any(row.tried.summarised and row.tried.summaries is None for row in rows):
        yield "Nobody knows what the model took for its summaries; the cost leaves them out where that is so."
    if any(row.window for row in rows) and not any(row.tried.edits for row in rows):
        yield "No run reached its threshold, so nothing was compressed. A smaller --window or --threshold shows more."


def _rate(dollars: float) -> str:
    """A price in whole cents, or in as many digits as it has."""
    return f"${dollars:.2f}" if round(dollars, 2) == dollars else f"${dollars:g}"


def _legend(model: Priced) -> Iterator[str]:
    price = model.price
    if price is None:
        yield f'Nobody knows the price of {model.id}: set models."{model.id}".price in the config file.'
    else:
        named = (
            ("in", price.input),
            ("out", price.output),
            ("cache write", price.cache_write),
            ("cache read", price.cache_read),
        )
        rates = ", ".join(f"{_rate(dollars)} {name}" for name, dollars in named)
        yield (
            f"cost warm: dollars for all requests at {rates} for a million tokens ({price.source}). The cache never goes cold: "
            "each request reads what it begins with like the one before it, and writes the rest; a cache break is one that "
            "could not read all that the one before it sent. Tokens are those of the recording's model."
        )
    yield (
        "kept: of the facts in what compressions replaced, those that still stood in the context after it. later: of the facts "
        "that the recording's next 100 messages use, and of the pairs that they use together, those that did."
    )
