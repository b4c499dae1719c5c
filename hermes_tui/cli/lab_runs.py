"""The lab's trials as they run: two at a time where there are many, each into a database that is gone afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.chat.lab import Bench, Trial, Tried
from hermes_tui.cli.lines import warn, write_json
from hermes_tui.cli.replay_run import CONTEXT_KEYS, reached
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.store.store import Store
from hermes_tui.transfer.transcripts import RecordedConversation

if TYPE_CHECKING:
    from hermes_tui.config import Settings

PROCESSES: Final = 2
WORTH_A_PROCESS: Final = 200
"""Messages of a recording from which a second process saves more than its start (a second or two) takes."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What all trials share, on its way to another process."""

    recorded: RecordedConversation
    settings: Settings
    contexts: Path | None


def run_all(
    recorded: RecordedConversation, trials: Sequence[Trial], settings: Settings, contexts: Path | None
) -> Mapping[Trial, Tried]:
    """Run TRIALS; their notices are told on stderr, each once, and how far it is where that is a terminal.

    Raises:
        ProviderError: the model that is to summarise cannot be reached, or the key for it is wrong.
        OSError: the folder for the contexts cannot be written.
    """
    if contexts is not None:
        contexts.mkdir(parents=True, exist_ok=True)
    work, found = _Work(recorded, settings, contexts), dict[Trial, Tried]()
    progress = _Progress(len(trials))
    alone = settings.summary.engine != "deterministic" or len(trials) < PROCESSES or len(recorded.messages) < WORTH_A_PROCESS
    if alone:
        for trial, tried in asyncio.run(_in_turn(work, trials, progress)):
            found[trial] = tried
    else:
        with ProcessPoolExecutor(PROCESSES, get_context("spawn"), initializer=_begin, initargs=(work,)) as pool:
            # The longest first: what compresses nothing carries the most.
            running: dict[Future[Tried], Trial] = {pool.submit(_one, trial): trial for trial in trials}
            try:
                for done in as_completed(running):
                    found[running[done]] = done.result()
                    progress.step()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    progress.end()
    for notice in dict.fromkeys(f"{trial.engine}: {notice}" for trial in trials for notice in found[trial].notices):
        warn(notice)
    return found


async def _in_turn(work: _Work, trials: Sequence[Trial], progress: _Progress) -> list[tuple[Trial, Tried]]:
    """The trials one after another in this process, with a model to summarise where the settings want one."""
    choice = None
    if work.settings.summary.engine != "deterministic":
        from hermes_tui.llm.choose import choose

        choice = choose(work.settings)
    try:
        if choice is not None:
            await reached(choice)
        bench = Bench(
            work.recorded,
            work.settings,
            load_counter(),
            summary_provider=choice.provider if choice else None,
            summary_model=choice.summariser if choice else "",
        )
        done = []
        for trial in trials:
            done.append((trial, await _tried(bench, trial, work.contexts)))
            progress.step()
        return done
    finally:
        if choice is not None:
            await choice.provider.close()


async def _tried(bench: Bench, trial: Trial, contexts: Path | None) -> Tried:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hermes-tui-")))
        store = Store.open(folder / "hermes.db")
        stack.callback(store.close)
        told = None
        if contexts is not None:
            out = stack.enter_context((contexts / f"{name_of(trial)}.jsonl").open("w", encoding="utf-8"))

            def told(cut: int, kind: str | None, body: Mapping[str, Any]) -> None:
                write_json({"cut": cut, "kind": kind, **{key: body.get(key, []) for key in CONTEXT_KEYS}}, out)

        return await bench.run(trial, store, told)


def name_of(trial: Trial) -> str:
    """What the file of TRIAL's contexts is called."""
    return f"{trial.engine}-{trial.window}-{trial.threshold:g}" + (f"-{trial.cap}" if trial.cap else "")


# -- in another process ----------------------------------------------------------------------------------------------

_bench: Bench | None = None
_contexts: Path | None = None


def _begin(work: _Work) -> None:
    """Read the recording once for all trials of this process."""
    global _bench, _contexts
    _bench, _contexts = Bench(work.recorded, work.settings, load_counter()), work.contexts


def _one(trial: Trial) -> Tried:
    if _bench is None:
        raise RuntimeError("a trial came before its recording")
    return asyncio.run(_tried(_bench, trial, _contexts))


class _Progress:
    """How many runs are done, on stderr, where that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._show()

    def step(self) -> None:
        """One more run is done."""
        self._done += 1
        self._show()

    def end(self) -> None:
        """Leave the line empty."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _show(self) -> None:
        if self._shown:
            print(f"\r{self._done} of {self._total} runs", end="", file=sys.stderr, flush=True)
