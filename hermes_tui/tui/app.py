"""The app: it owns the screens, the themes and the workers, and passes keys and commands on. Wiring only."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from hermes_tui.appearance import Appearance, read_appearance
from hermes_tui.paths import Paths, built_in_theme_folders
from hermes_tui.tui import glyphs
from hermes_tui.tui.clean import clean
from hermes_tui.tui.commands import Command, typed_command
from hermes_tui.tui.desk import Desk
from hermes_tui.tui.failures import Steadfast, foreseen, told
from hermes_tui.tui.screens.chat import ChatScreen
from hermes_tui.tui.wardrobe import Wardrobe
from hermes_tui.tui.widgets.composer import Composer

if TYPE_CHECKING:
    from hermes_tui.chat.replay import ReplayOrder
    from hermes_tui.store.records import SessionRecord
    from hermes_tui.tui.player import Player
    from hermes_tui.tui.room import Room

QUIT_GRACE = 0.8
"""Seconds that leaving may take before what still runs is left behind; the whole of it has to stay under one second."""


def _palette() -> type[Provider]:
    """The palette's provider, imported when it is first opened."""
    from hermes_tui.tui.palette import CommandTable

    return CommandTable


class HermesApp(Steadfast, Wardrobe, App[None]):
    """Hermes TUI on the screen."""

    TITLE = "Hermes"
    CSS_PATH = "screens/chat.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_palette}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "help", priority=True),
        Binding("f2", "inspector", "inspector", priority=True),
        Binding("f3", "lineage", "lineage", priority=True),
        Binding("escape", "stop", "stop", show=False),
        Binding("ctrl+q", "leave", "quit", priority=True, show=False),
        Binding("ctrl+c", "copy_or_leave", "copy or quit", show=False, priority=True),
    ]

    def __init__(
        self,
        paths: Paths,
        *,
        resume: str | None = None,
        continue_last: bool = False,
        replay: ReplayOrder | None = None,
        appearance: Appearance | None = None,
        load: Callable[[Paths], Room] | None = None,
    ) -> None:
        super().__init__()
        self.paths = paths
        self.appearance = appearance or read_appearance(paths.config)
        self.theme_folders = (paths.themes, *built_in_theme_folders())
        self.problems: list[str] = []
        """Unexpected errors so far, as they were told."""
        self._leaving = False
        glyphs.choose(self.appearance.ascii)
        if not self.appearance.animations:
            self.animation_level = "none"
        self.desk = Desk(self, resume=resume, continue_last=continue_last, load=load)
        self.player: Player | None = None
        self.chat = ChatScreen() if replay is None else self._replay_screen(replay)
        self.dress()

    # -- coming and going ----------------------------------------------------------------------------------------------

    def get_default_screen(self) -> Screen[None]:
        """The chat is there from the first frame on."""
        return self.chat

    def on_ready(self) -> None:
        """Load everything else, off the loop, once the first frame is drawn whole."""
        self.chat.call_after_refresh(self._begin)

    def _begin(self) -> None:
        from hermes_tui.tui.aside import use_aside

        use_aside()
        work = self.desk.open() if self.player is None else self.player.run()
        self.run_worker(work, group="store" if self.player is None else "turn", exit_on_error=False, name="open")
        self.run_worker(self._watch_themes(), group="themes", exit_on_error=False, name="watch themes")

    def _replay_screen(self, order: ReplayOrder) -> ChatScreen:
        """The screen that plays ORDER in place of a conversation."""
        from hermes_tui.tui.player import Player
        from hermes_tui.tui.screens.replay import ReplayScreen

        screen = ReplayScreen(order)
        self.player = Player(self.desk, screen)
        return screen

    async def _watch_themes(self) -> None:
        from hermes_tui.tui.theme_watch import watch_themes

        await watch_themes(self)

    async def action_leave(self) -> None:
        """Leave: what runs is stopped, what was said is stored; nobody waits longer than the grace."""
        if self._leaving:
            return
        self._leaving = True
        with contextlib.suppress(Exception):  # leaving never fails; what could not be closed is recovered at the next start
            async with asyncio.timeout(QUIT_GRACE):
                if self.player is not None:
                    await self.player.close()
                await self.desk.close()
        self.workers.cancel_all()
        self.exit()

    async def action_quit(self) -> None:
        """Textual's own way out is ours."""
        await self.action_leave()

    async def action_copy_or_leave(self) -> None:
        """Ctrl+C: copy what is selected; with nothing selected, leave."""
        from textual.widgets import TextArea

        selected = self.screen.get_selected_text()
        if isinstance(self.focused, TextArea) and self.focused.selected_text:
            selected = self.focused.selected_text
        if selected:
            self.copy_to_clipboard(selected)
        else:
            await self.action_leave()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy TEXT by the ways there are, and say which one it was."""
        from hermes_tui.tui.clipboard import copy

        self._clipboard = text
        copied = copy(cast("App[object]", self), text)
        self.notify(copied.sentence, severity="information" if copied.route != "none" else "warning", markup=False, timeout=3)

    # -- keys and commands ---------------------------------------------------------------------------------------------

    def action_stop(self) -> None:
        """Esc: close what lies over the page, else stop what runs, else go back to the composer."""
        if self.screen is not self.chat:
            return
        composer = self.chat.composer
        if composer.completing:
            self.chat.close_completions()
        elif self.chat.close_drawer():
            return
        elif not (self.player.stop() if self.player is not None else self.desk.stop()):
            composer.focus()

    def action_inspector(self) -> None:
        """F2, wherever there is an inspector."""
        toggle = getattr(self.screen, "action_inspector", None)
        if toggle is not None:
            toggle()

    def action_help(self) -> None:
        """F1: open the help, or close it."""
        from hermes_tui.tui.screens.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        elif not self.screen.is_modal:
            self.push_screen(HelpScreen())

    def action_lineage(self) -> None:
        """F3: open the lineage, or close it; from a session of the past, back to it."""
        from hermes_tui.tui.screens.lineage import LineageScreen

        if isinstance(self.screen, LineageScreen):
            self.show_chat()
        elif not self.screen.is_modal:
            self.show_chat()
            self.push_screen(LineageScreen())

    async def action_numbers(self) -> None:
        """/context: every number in force, and where it comes from."""
        await self.desk.numbers()

    def action_memory(self) -> None:
        """/memory: open the notes about the user."""
        from hermes_tui.tui.screens.memory import MemoryScreen

        if not self.screen.is_modal:
            self.show_chat()
            self.push_screen(MemoryScreen())

    def show_chat(self) -> None:
        """Back to the conversation that goes on, whatever lies over it."""
        while self.screen is not self.chat and len(self.screen_stack) > 1:
            self.pop_screen()

    def open_from_lineage(self, session: SessionRecord) -> None:
        """Open SESSION over the conversation, or the conversation it is the tip of."""
        self.show_chat()
        self.run_worker(self.desk.open_session(session), group="store", exit_on_error=False)

    @on(Composer.Sent)
    def _sent(self, event: Composer.Sent) -> None:
        """Something was written and sent."""
        self.submit(event.text, event.written)

    def submit(self, text: str, written: str = "") -> None:
        """TEXT is a command or a message; a command that there is none of is given back as WRITTEN."""
        typed = typed_command(text)
        if typed is None:
            self.desk.send(text)
        elif typed.command is None:
            self.desk.tell(f"There is no command /{typed.name}. F1 lists them; // sends a message that begins with a slash.")
            self.chat.composer.give_back(written)
        else:
            self.call_later(self.run_command, typed.command, typed.argument)

    async def run_command(self, command: Command, argument: str = "") -> None:
        """Run COMMAND, with its argument where it takes one."""
        action = getattr(self, f"action_{command.action}", None) or getattr(self.desk, command.action)
        result = action(argument) if command.argument else action()
        if asyncio.iscoroutine(result):
            await result

    def get_system_commands(self, screen: Screen[Any]) -> Any:
        """The palette holds our commands only."""
        return ()

    # -- what must never show as a traceback ---------------------------------------------------------------------------

    def _handle_exception(self, error: Exception) -> None:
        """An error that nobody foresaw: one sentence on the screen, the rest in the log; the conversation stays open."""
        sentence = foreseen(error) or told(error, self.paths.log)
        self.problems.append(sentence)
        if self.is_headless:  # under test an unexpected error fails the test
            try:
                raise error
            except Exception:
                super()._handle_exception(error)
            return
        self.notify(clean(sentence), severity="error", markup=False, timeout=12)

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        """A coroutine that failed says so; it never takes the app with it."""
        if event.state is WorkerState.ERROR and isinstance(event.worker.error, Exception):
            self._handle_exception(event.worker.error)


def run_app(
    data_dir: str | None = None,
    config: str | None = None,
    resume: str | None = None,
    continue_last: bool = False,
    replay: ReplayOrder | None = None,
) -> int:
    """Run the app until the user leaves; returns the exit code."""
    from hermes_tui.paths import find_paths

    app = HermesApp(find_paths(data_dir, config), resume=resume, continue_last=continue_last, replay=replay)
    app.run()
    return leave_at_once(app.return_code or 0)


def leave_at_once(code: int) -> int:
    """End the process with CODE: everything is closed, and taking thousands of imported classes apart takes half a second."""
    import logging
    import os
    import sys

    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
