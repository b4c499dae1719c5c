"""The player: a replay at work in the app, one recorded conversation after another."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from hermes_tui.tui.aside import aside
from hermes_tui.tui.numbers import counted
from hermes_tui.tui.replaying import ReplayRoom, load_replay_room

if TYPE_CHECKING:
    from hermes_tui.chat.events import Event
    from hermes_tui.chat.replay import Replay, Replayed
    from hermes_tui.transfer.transcripts import RecordedConversation
    from hermes_tui.tui.desk import Desk
    from hermes_tui.tui.screens.replay import ReplayScreen


class Player:
    """Plays what SCREEN was given, drawn through DESK's bridge."""

    def __init__(self, desk: Desk, screen: ReplayScreen) -> None:
        self._desk, self._screen = desk, screen
        self._replay: Replay | None = None
        self._played = 0
        self._stopped = False
        self._with: ReplayRoom | None = None

    async def run(self) -> None:
        """Play to the end, or until `stop`; how it ended stands in the pace line."""
        screen = self._screen
        try:
            self._with = await aside(load_replay_room, self._desk.app.paths, screen.order)
            screen.status.say_who("a replay: nothing is sent, nothing is run")
            compressions = sessions = 0
            for recorded in screen.order.conversations:
                if self._stopped:
                    break
                done = await self._one(recorded)
                self._played += done.messages
                compressions, sessions = compressions + done.compressions, sessions + done.sessions
            screen.played = self._played
            what = "stopped" if self._stopped else "ended"
            screen.ended = (
                f"replay {what} · {counted(self._played, 'message')} · {counted(compressions, 'compression')} · "
                f"{counted(sessions, 'session')}"
            )
        except Exception as error:
            self._desk.failed(error)
            screen.ended = "the replay ended by an error, see above"
        screen.draw_pace()

    async def _one(self, recorded: RecordedConversation) -> Replayed:
        """Play one conversation on an empty page."""
        from hermes_tui.chat.replay import Replay

        assert self._with is not None
        screen, room, summariser = self._screen, self._with.room, self._with.summariser
        screen.transcript.set_blocks(())
        self._desk.bridge.fresh()
        self._replay = Replay(
            recorded,
            store=room.store,
            settings=room.settings,
            count=room.count,
            publish=self._heard,
            summary_provider=summariser.provider if summariser else None,
            summary_model=summariser.summariser if summariser else "",
            pace=screen.pacer,
        )
        return await self._replay.run()

    def _heard(self, event: Event) -> None:
        """Draw EVENT; the conversation it is about lies open meanwhile."""
        if self._replay is not None and self._with is not None:
            self._desk.lay_open(self._with.room, self._replay.conversation)
            self._screen.played = self._played + self._replay.cut
            self._desk.bridge.publish(event)

    def stop(self) -> bool:
        """Esc: end the replay, paused or not; False where it has ended already."""
        if self._stopped or self._screen.ended:
            return False
        self._stopped = True
        if self._replay is not None:
            self._replay.stop()
        if self._screen.pacer.paused:
            self._screen.pacer.toggle()
        return True

    async def close(self) -> None:
        """Leave: stop, and remove what was temporary."""
        self.stop()
        if self._with is not None:
            with contextlib.suppress(Exception):
                await self._with.close()
