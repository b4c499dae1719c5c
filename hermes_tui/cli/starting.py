"""Starting the app: the few options that it takes, read by hand, so that click is not imported before the first frame."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AppOptions:
    """How the app is started: where its files are, and which conversation it opens."""

    data_dir: str | None = None
    config: str | None = None
    resume: str | None = None
    continue_last: bool = False


_VALUES = {"--data-dir": "data_dir", "--config": "config", "--resume": "resume"}


def app_options(arguments: Sequence[str]) -> AppOptions | None:
    """The options in ARGUMENTS if they start the app and nothing is odd about them; else None, and click takes over."""
    values: dict[str, str] = {}
    continue_last = False
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word in ("-c", "--continue"):
            continue_last = True
        elif name in _VALUES:
            value = value if equals else next(words, "")
            if not value or value.startswith("-"):
                return None
            values[_VALUES[name]] = value
        else:
            return None
    if continue_last and "resume" in values:
        return None
    return AppOptions(**values, continue_last=continue_last)


def start_app(options: AppOptions) -> int:
    """Run the app until the user leaves it; the exit code.

    Raises:
        Refused: there is no terminal to draw on.
    """
    need_terminal()
    from hermes_tui.tui.app import run_app

    return run_app(data_dir=options.data_dir, config=options.config, resume=options.resume, continue_last=options.continue_last)


def need_terminal() -> None:
    """Make sure that the app has a terminal to draw on.

    Raises:
        Refused: it has none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from hermes_tui.cli.failures import Refused

        raise Refused("The app needs a terminal to draw on; `hermes-tui --help` names what runs without one.")
