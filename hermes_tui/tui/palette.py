"""The palette: every command of the table, found by name or by what it does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from hermes_tui.tui.commands import COMMANDS, Command

if TYPE_CHECKING:
    from hermes_tui.tui.app import HermesApp


class CommandTable(Provider):
    """Offers the commands; one that needs an argument is begun in the composer."""

    async def discover(self) -> Hits:
        """All of them, in their order."""
        for command in COMMANDS:
            yield DiscoveryHit(command.title, partial(self._run, command), help=command.help)

    async def search(self, query: str) -> Hits:
        """Those whose title or sentence matches QUERY."""
        matcher = self.matcher(query)
        for command in COMMANDS:
            score = max(matcher.match(command.title), matcher.match(command.name), 0.8 * matcher.match(command.help))
            if score > 0:
                yield Hit(score, matcher.highlight(command.title), partial(self._run, command), help=command.help)

    async def _run(self, command: Command) -> None:
        app = cast("HermesApp", self.app)
        if command.argument == "name":
            app.chat.begin_command(command)
        else:
            await app.run_command(command)
