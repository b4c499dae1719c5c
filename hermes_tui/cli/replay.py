"""``hermes-tui replay``: a recorded transcript through the context engine, in the foreground or in the app."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from hermes_tui.cli.commands import Places, places
from hermes_tui.cli.failures import Refused
from hermes_tui.cli.lines import warn
from hermes_tui.transfer.recognition import read_transcript
from hermes_tui.transfer.transcripts import RecordedConversation

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.paths import Paths
    from hermes_tui.store.store import Store

MAX_TOKENS: Final = 8_192
"""Tokens of a reply in a replay, whatever the recording's model allows (the issue that asked for it fixes the number)."""


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--window",
    type=click.IntRange(min=1),
    metavar="N",
    help="The model's window in tokens. Default: its own, or 8,192 where nobody knows it.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0.05, 0.90),
    metavar="P",
    help="Compress at this share of the usable window, from 0.05 to 0.90. Default: the settings', 0.50.",
)
@click.option("--engine", metavar="NAME", help="The context engine. Default: the settings', compressor.")
@click.option(
    "--summarizer",
    type=click.Choice(["deterministic", "model"]),
    default="deterministic",
    show_default=True,
    help="Who writes summaries: code alone, or the model that the settings name.",
)
@click.option("--contexts", type=click.Path(path_type=Path), metavar="OUT", help="Write each context after a compression here.")
@click.option("--source", type=click.Path(path_type=Path), metavar="OUT", help="Write the messages as read here, one a line.")
@click.option(
    "--probe",
    type=click.IntRange(min=1),
    metavar="N",
    help="Instead, every N messages compress all of them afresh as if the threshold were reached, and apply nothing.",
)
@click.option("--conversation", type=click.IntRange(min=1), metavar="N", help="Only the N-th conversation of the file.")
@click.option("--keep", is_flag=True, help="Keep what is replayed among the conversations, instead of in a temporary database.")
@click.option("--json", "as_json", is_flag=True, help="An event a line, as JSON.")
@click.option("--ui", is_flag=True, help="Watch it in the app: speed, pause, Esc.")
@places
@click.pass_obj
def replay(
    where: Places,
    file: Path,
    window: int | None,
    threshold: float | None,
    engine: str | None,
    summarizer: str,
    contexts: Path | None,
    source: Path | None,
    probe: int | None,
    conversation: int | None,
    keep: bool,
    as_json: bool,
    ui: bool,
) -> None:
    """Run a recorded transcript through the context engine and tell what it does.

    FILE holds Anthropic messages (JSON or JSONL), OpenAI messages (JSON), or a session of Claude Code or pi (JSONL). Nothing
    in it is executed, and nothing of it is sent anywhere unless `--summarizer model` asks for that.
    """
    if ui and (as_json or contexts or source or probe):
        raise Refused("--ui shows the replay in the app; --json, --contexts, --source and --probe go without it.")
    _check_outputs(file, contexts, source)
    transcript = read_transcript(file)
    chosen = _chosen(transcript.conversations, conversation)
    settings = _settings(where.paths, window, threshold, engine, summarizer)
    for note in transcript.notes:
        warn(note)
    if ui:
        from hermes_tui.chat.engines import known_engine
        from hermes_tui.chat.replay import ReplayOrder
        from hermes_tui.cli.starting import need_terminal
        from hermes_tui.tui.app import run_app

        need_terminal()
        known_engine(settings.context.engine)
        order = ReplayOrder(tuple(one for _, one in chosen), settings, keep)
        click.get_current_context().exit(run_app(where.data_dir, where.config, replay=order))
    from hermes_tui.cli.replay_run import ReplayRun

    with ExitStack() as stack:
        store = stack.enter_context(_store(where.paths, keep))
        run = ReplayRun(
            store=store,
            settings=settings,
            as_json=as_json,
            contexts=stack.enter_context(_written(contexts)),
            source=stack.enter_context(_written(source)),
        )
        asyncio.run(run.all(chosen, probe))


def _check_outputs(file: Path, *outputs: Path | None) -> None:
    """Refuse to write over the file that is read, or twice over one file."""
    taken = [file.absolute()]
    for out in outputs:
        if out is not None:
            if any(out.absolute() == other or (out.exists() and other.exists() and out.samefile(other)) for other in taken):
                raise Refused(f"{str(out)!r} would be written over; name another file.")
            taken.append(out.absolute())


def _chosen(conversations: Sequence[RecordedConversation], number: int | None) -> list[tuple[int, RecordedConversation]]:
    """The conversations to replay, each with its number in the file from 1."""
    numbered = list(enumerate(conversations, 1))
    if number is None:
        return numbered
    if number > len(numbered):
        raise Refused(f"There is no conversation {number}: the file holds {len(numbered)}.")
    return [numbered[number - 1]]


def _settings(paths: Paths, window: int | None, threshold: float | None, engine: str | None, summarizer: str) -> Settings:
    """The settings of the run: what the command line says wins over everything, tables of single models too."""
    from hermes_tui.config import load_settings

    given = {"window": window, "max_tokens": MAX_TOKENS, "threshold_percent": threshold}
    overrides = {
        "model.window": window,
        "model.max_tokens": MAX_TOKENS,
        "context.threshold_percent": threshold,
        "context.engine": engine,
        "context.auto": True,
        "summary.engine": summarizer,
    }
    settings = load_settings(paths.config, overrides=overrides)
    said = {key: None for key, value in given.items() if value is not None}
    return settings.model_copy(update={"models": {name: own.model_copy(update=said) for name, own in settings.models.items()}})


@contextmanager
def _store(paths: Paths, keep: bool) -> Iterator[Store]:
    """The store that is replayed into: the user's own, or one that is gone afterwards."""
    from hermes_tui.store.store import Store

    with tempfile.TemporaryDirectory(prefix="hermes-tui-") as folder:
        store = Store.open(paths.database if keep else Path(folder) / "hermes.db")
        try:
            yield store
        finally:
            store.close()


@contextmanager
def _written(path: Path | None) -> Iterator[TextIO | None]:
    """The file at PATH, opened to be written over; None where none is asked for."""
    if path is None:
        yield None
        return
    with path.open("w", encoding="utf-8") as out:
        yield out
