"""The commands. `main` is the entry point; nothing heavy is imported before the app's first frame."""

from hermes_tui.cli.entry import main

__all__ = ["main"]
