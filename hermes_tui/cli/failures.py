"""Whatever goes wrong, as one sentence on stderr and exit code 2; a traceback goes to the log file only."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Sequence

FAILED = 2
"""Exit code of every failure."""


class Refused(Exception):
    """The command cannot do what it was asked to; ``sentence`` says why and what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def report(problem: Exception, arguments: Sequence[str]) -> int:
    """Say on stderr what PROBLEM is about and return the exit code."""
    from hermes_tui.cli.lines import warn

    warn(" ".join(sentence_of(problem, arguments).split()))
    return FAILED


def sentence_of(problem: Exception, arguments: Sequence[str]) -> str:
    """PROBLEM in words. One that nobody foresaw is written to the log, without what was said in the conversation."""
    sentence = getattr(problem, "sentence", None)
    if isinstance(sentence, str):
        return sentence
    from hermes_tui.config import ConfigError
    from hermes_tui.context.budgets import ImpossibleBudget
    from hermes_tui.context.registry import UnknownEngine
    from hermes_tui.llm.choose import NoProvider

    if isinstance(problem, ConfigError | ImpossibleBudget | UnknownEngine | NoProvider):
        return str(problem)
    if isinstance(problem, OSError) and problem.strerror:
        where = f"{os.fsdecode(problem.filename)!r}: " if isinstance(problem.filename, str | bytes) else ""
        return f"{where}{problem.strerror}."
    return f"An error that should not happen ({type(problem).__name__}) stopped this; {_logged(problem, arguments)}."


def _logged(problem: Exception, arguments: Sequence[str]) -> str:
    """Write where PROBLEM came from to the log; the words that say where it is."""
    from hermes_tui.context.redaction import redact
    from hermes_tui.log import start_logging
    from hermes_tui.paths import find_paths, make_private_folder

    paths = find_paths(_data_dir(arguments))
    try:
        make_private_folder(paths.data)
        start_logging(paths.log, clean=redact)
    except OSError:
        return f"its log {str(paths.log)!r} cannot be written either"
    # The message of an exception may quote what was said; where it was raised does not.
    where = "".join(traceback.format_tb(problem.__traceback__))
    logging.getLogger("hermes_tui.cli").error("%s raised\n%s", type(problem).__name__, where)
    return f"details are in {str(paths.log)!r}"


def _data_dir(arguments: Sequence[str]) -> str | None:
    """The data folder named in ARGUMENTS, wherever it stands among them."""
    for n, word in enumerate(arguments):
        if word.startswith("--data-dir="):
            return word.partition("=")[2] or None
        if word == "--data-dir":
            return next(iter(arguments[n + 1 :]), None)
    return None
