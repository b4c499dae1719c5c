"""``hermes-tui lab``: one recording under several engines, thresholds, windows and models, compared in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_tui.cli.commands import Places, places
from hermes_tui.cli.failures import Refused
from hermes_tui.cli.lines import warn
from hermes_tui.cli.replay import MAX_TOKENS
from hermes_tui.transfer.recognition import read_transcript
from hermes_tui.transfer.transcripts import RecordedConversation

if TYPE_CHECKING:
    from hermes_tui.chat.lab import Trial
    from hermes_tui.config import Settings
    from hermes_tui.context.budgets import Sourced
    from hermes_tui.llm.models import Price
    from hermes_tui.paths import Paths


@dataclass(frozen=True, slots=True)
class Priced:
    """A model at whose prices the trials are told.

    Attributes:
        id: the model's.
        price: its price, None where nobody knows it.
        window: its window and who says so, None where the command line names other ones.
        trials: what is tried for it.
    """

    id: str
    price: Price | None
    window: Sourced | None
    trials: tuple[Trial, ...]


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME",
    help="An engine, or a policy: none, truncate-oldest, hermes-like; repeatable. Default: these and the settings' engine.",
)
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    type=click.FloatRange(0.05, 0.90),
    metavar="P",
    help="Compress at this share of the usable window, from 0.05 to 0.90; repeatable. Default: the settings', 0.50.",
)
@click.option(
    "--window",
    "windows",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="The window in tokens; repeatable. Default: the model's own.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="ID",
    help="The model whose prices and window count; repeatable. Default: the one that the recording was made with.",
)
@click.option("--conversation", type=click.IntRange(min=1), metavar="N", help="The N-th conversation of the file. Default: 1.")
@click.option(
    "--summarizer",
    type=click.Choice(["deterministic", "model"]),
    default="deterministic",
    show_default=True,
    help="Who writes summaries: code alone, or the model that the settings name.",
)
@click.option(
    "--contexts", type=click.Path(path_type=Path), metavar="DIR", help="Write each run's contexts after a compression here."
)
@click.option("--json", "as_json", is_flag=True, help="A run a line, as JSON.")
@places
@click.pass_obj
def lab(
    where: Places,
    file: Path,
    engines: tuple[str, ...],
    thresholds: tuple[float, ...],
    windows: tuple[int, ...],
    models: tuple[str, ...],
    conversation: int | None,
    summarizer: str,
    contexts: Path | None,
    as_json: bool,
) -> None:
    """Run a recorded transcript under several engines, thresholds, windows and models, and compare them in one table.

    FILE is a recording as `replay` reads it. Nothing in it is executed, and nothing of it is sent anywhere unless
    `--summarizer model` asks for that. The policies show what simpler ways come to: `none` compresses nothing,
    `truncate-oldest` leaves out the oldest messages, `hermes-like` prunes, protects, summarises and splits as Hermes does
    without a model.
    """
    transcript = read_transcript(file)
    recorded = _chosen(transcript.conversations, conversation)
    settings = _settings(where.paths, summarizer)
    engines = _known(engines or _default_engines(settings))
    priced = tuple(
        _priced(model, settings, engines, thresholds, windows)
        for model in dict.fromkeys(models or (_model_of(recorded, settings),))
    )
    for note in transcript.notes:
        warn(note)
    from hermes_tui.cli.lab_runs import run_all
    from hermes_tui.cli.lab_table import print_objects, print_tables

    trials = tuple(dict.fromkeys(trial for model in priced for trial in model.trials))
    tried = run_all(recorded, trials, settings, contexts)
    if as_json:
        print_objects(priced, tried, settings)
    else:
        print_tables(recorded, priced, tried, settings)


def _chosen(conversations: Sequence[RecordedConversation], number: int | None) -> RecordedConversation:
    """The conversation to try: the first, or that of NUMBER."""
    if number is not None and number > len(conversations):
        raise Refused(f"There is no conversation {number}: the file holds {len(conversations)}.")
    if number is None and len(conversations) > 1:
        warn(f"The file holds {len(conversations)} conversations; this is the first. --conversation names another.")
    return conversations[(number or 1) - 1]


def _settings(paths: Paths, summarizer: str) -> Settings:
    """The settings of all runs."""
    from hermes_tui.config import load_settings

    overrides = {"model.max_tokens": MAX_TOKENS, "summary.engine": summarizer}
    settings = load_settings(paths.config, overrides=overrides)
    said = {"max_tokens": MAX_TOKENS}
    return settings.model_copy(update={"models": {name: own.model_copy(update=said) for name, own in settings.models.items()}})


def _default_engines(settings: Settings) -> tuple[str, ...]:
    from hermes_tui.context.policies import POLICIES

    return (*POLICIES, settings.context.engine)


def _known(engines: Sequence[str]) -> tuple[str, ...]:
    """ENGINES, each once.

    Raises:
        Refused: there is none of that name.
    """
    from hermes_tui.chat.engines import engine_names
    from hermes_tui.context.policies import POLICIES

    offered = (*POLICIES, *engine_names())
    for name in engines:
        if name not in offered:
            raise Refused(f"There is no context engine or policy {name!r}. On offer: {', '.join(offered)}.")
    return tuple(dict.fromkeys(engines))


def _model_of(recorded: RecordedConversation, settings: Settings) -> str:
    """The model that the recording was made with, where its price is known; else the settings'."""
    from hermes_tui.chat.replay import model_of
    from hermes_tui.llm.models import price_of

    own = model_of(recorded)
    return own if price_of(own, settings) is not None else settings.model.name


def _priced(
    model: str, settings: Settings, engines: Sequence[str], thresholds: Sequence[float], windows: Sequence[int]
) -> Priced:
    """MODEL with what is to be tried for it, by window and threshold; what compresses nothing is tried once.

    Raises:
        ImpossibleBudget: a window is too small.
    """
    from hermes_tui.chat.lab import UNLIMITED, Trial
    from hermes_tui.context.budgets import MIN_WINDOW, ImpossibleBudget
    from hermes_tui.context.policies import Uncompressed
    from hermes_tui.llm.models import price_of, price_step_of, window_of

    step, own_window = price_step_of(model), None if windows else window_of(model, settings)
    trials: dict[Trial, None] = {}
    if Uncompressed.name in engines:
        trials[Trial(Uncompressed.name, UNLIMITED, 0.5)] = None
    for window in sorted(set(windows)) if own_window is None else (own_window.value,):
        if window < MIN_WINDOW:
            raise ImpossibleBudget(f"A window of {window:,} tokens is too small: {MIN_WINDOW:,} is the least that works.")
        for threshold in sorted(set(thresholds)) or (float(settings.effective("threshold_percent", model).value),):
            own = settings.effective("threshold_tokens", model).value
            caps = [int(cap) for cap in (own, step.value if step else None) if cap is not None and cap < threshold * window]
            for engine in engines:
                if engine != Uncompressed.name:
                    trials[Trial(engine, window, threshold, min(caps, default=None))] = None
    return Priced(model, price_of(model, settings), own_window, tuple(trials))
