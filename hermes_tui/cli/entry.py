"""The entry point: the app by the shortest way, everything else through click, and every failure as one sentence.

The way to the first frame is kept short on purpose: click alone costs about as much as a third of Textual.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from hermes_tui.cli.starting import app_options, start_app

INTERRUPTED = 130
"""Exit code after Ctrl+C (128 + SIGINT), as shells expect it."""

PIPE_CLOSED = 141
"""Exit code when the reader of our output went away (128 + SIGPIPE), as shells expect it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``hermes-tui`` with ARGUMENTS (the command line's by default) and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        options = app_options(arguments)
        if options is not None:
            return start_app(options)
        from hermes_tui.cli.commands import run

        code = run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes stdout once more at its end; let it write into nothing instead of complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as problem:
        from hermes_tui.cli.failures import report

        return report(problem, arguments)
