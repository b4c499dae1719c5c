"""The command group, its options, and the subcommands, each imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from hermes_tui import __version__
from hermes_tui.cli.failures import Refused
from hermes_tui.cli.starting import AppOptions, start_app
from hermes_tui.paths import CONFIG_VARIABLE, DATA_DIR_VARIABLE, Paths, find_paths

COMMANDS: Final = {
    "replay": "Run a recorded transcript through the context engine and tell what it does.",
    "lab": "Compare engines, thresholds, windows and models on a recorded transcript.",
    "sessions": "List the conversations, newest first, with the sessions each became.",
    "context": "Print what of a conversation is sent to the model, or what was.",
}
"""The subcommands and what --help says of each; each is the function of its name in the module of its name."""


EPILOG: Final = """
\b
Try it:
  hermes-tui                                      chat; F1 lists the keys, F2 shows what is sent
  hermes-tui replay session.jsonl --window 60000  compress a recorded session, event by event
  hermes-tui replay session.jsonl --ui            the same in the app, to watch

Nothing leaves this machine but what is sent to the model you choose.
"""


class Commands(click.Group):
    """A group that imports a subcommand only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the subcommands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"hermes_tui.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@dataclass(frozen=True, slots=True)
class Places:
    """Where the files are, as the command line says."""

    data_dir: str | None = None
    config: str | None = None

    @property
    def paths(self) -> Paths:
        """The paths in force."""
        return find_paths(self.data_dir, self.config)


def places(function: Any) -> Any:
    """Let a subcommand take --data-dir and --config as well, after its name."""
    function = click.option("--config", metavar="FILE", hidden=True, expose_value=False, callback=_place)(function)
    return click.option("--data-dir", metavar="DIR", hidden=True, expose_value=False, callback=_place)(function)


def _place(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None and parameter.name:
        before = context.obj or Places()
        context.obj = Places(**{"data_dir": before.data_dir, "config": before.config, parameter.name: value})


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.option(
    "--data-dir", metavar="DIR", help=f"Keep the database, the log and the config file here (or {DATA_DIR_VARIABLE})."
)
@click.option("--config", metavar="FILE", help=f"Read the settings from this file (or {CONFIG_VARIABLE}).")
@click.option("-c", "--continue", "continue_last", is_flag=True, help="Open the conversation that was last worked on.")
@click.option("--resume", metavar="ID", help="Open the conversation of a session: its id, or the last six characters of it.")
@click.version_option(__version__, prog_name="hermes-tui", message="%(prog)s %(version)s")
@click.pass_context
def hermes_tui(
    context: click.Context, data_dir: str | None, config: str | None, continue_last: bool, resume: str | None
) -> None:
    """A chat client for the terminal that shows how it compresses the context.

    Without a command the app opens. With neither a key nor a server it starts on a very small model of its own;
    ANTHROPIC_API_KEY, or provider.base_url in the config file, names a better one.
    """
    if context.invoked_subcommand is not None:
        if continue_last or resume:
            raise Refused(f"--continue and --resume open the app; `{context.invoked_subcommand}` does not take them.")
        context.obj = Places(data_dir, config)
    elif continue_last and resume:
        raise Refused("--continue and --resume each name a conversation; give one of them.")
    else:
        context.exit(start_app(AppOptions(data_dir, config, resume, continue_last)))


def run(arguments: Sequence[str]) -> int:
    """Run the command line ARGUMENTS; the exit code.

    Raises:
        Refused: where they make no sense.
        Exception: whatever the subcommand raises.
    """
    try:
        with hermes_tui.make_context("hermes-tui", list(arguments)) as context:
            hermes_tui.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.UsageError as problem:
        command = problem.ctx.command_path if problem.ctx else "hermes-tui"
        raise Refused(f"{problem.format_message().rstrip('.')}; see `{command} --help`.") from None
    except click.ClickException as problem:
        raise Refused(problem.format_message()) from None
    return 0
