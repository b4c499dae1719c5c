"""Loading the Markdown parser and Pygments' lexers in a thread: together they take a quarter of a second or more.

Until they are there text is shown as it is written, so that neither the first frame nor the first reply waits for them.
"""

from __future__ import annotations

import threading

from hermes_tui.tui.transcript.code import warm_up_lexer
from hermes_tui.tui.transcript.markdown import warm_up_markdown

FIRST = ("python", "bash", "json")
"""Languages that must be there before anything is laid out."""
MORE = ("javascript", "typescript", "diff", "yaml", "toml", "html", "css", "sql", "rust", "go", "c")
"""Languages loaded some seconds after that; any other is loaded at its first use, which takes 10 to 50 ms."""

_warm = threading.Event()


def is_warm() -> bool:
    """Whether text can be laid out without waiting for an import."""
    return _warm.is_set()


def warm_up() -> None:
    """Load what any text needs; for a thread."""
    if not _warm.is_set():
        warm_up_markdown()
        for language in FIRST:
            warm_up_lexer(language)
        _warm.set()


def warm_up_more(stop: threading.Event) -> None:
    """Load the lexers of other common languages, until ``stop`` is set; for a thread."""
    for language in MORE:
        if stop.is_set():
            return
        warm_up_lexer(language)
