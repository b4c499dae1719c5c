"""Playing a recorded conversation in the app: its pace, and what it is played with."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes_tui.paths import Paths, make_private_folder

if TYPE_CHECKING:
    from hermes_tui.chat.replay import ReplayOrder
    from hermes_tui.llm.choose import Choice
    from hermes_tui.tui.room import Room

CHARACTERS: Final = 300.0
"""Characters a second at speed 1: about as fast as a good model streams."""
SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 0.0)
"""The speeds to choose from; 0 is as fast as it goes."""
YIELD_EVERY: Final = 2_000
"""Characters after which the fastest speed lets the screen draw."""


class Pacer:
    """Sets the pace of a replay: speed and pause."""

    def __init__(self) -> None:
        self._speed = SPEEDS.index(4.0)
        self._going = asyncio.Event()
        self._going.set()
        self._owed = 0.0
        self._since = 0

    @property
    def speed(self) -> float:
        """Times the speed of a good model; 0 for as fast as it goes."""
        return SPEEDS[self._speed]

    @property
    def paused(self) -> bool:
        """Whether nothing comes until `toggle`."""
        return not self._going.is_set()

    def toggle(self) -> None:
        """Pause, or go on."""
        if self.paused:
            self._going.set()
        else:
            self._going.clear()

    def change(self, steps: int) -> None:
        """Faster or slower by STEPS."""
        self._speed = max(0, min(len(SPEEDS) - 1, self._speed + steps))

    async def __call__(self, characters: int) -> None:
        """Wait as long as CHARACTERS take."""
        await self._going.wait()
        self._since += characters
        if not self.speed:
            if self._since >= YIELD_EVERY:
                self._since = 0
                await asyncio.sleep(0)
            return
        self._owed += characters / (CHARACTERS * self.speed)
        if self._owed >= 0.01:  # a sleep costs about that much; shorter ones are saved up
            pause, self._owed = self._owed, 0.0
            await asyncio.sleep(pause)


@dataclass(frozen=True, slots=True)
class ReplayRoom:
    """What a replay is played with: the room, who summarises (None for the code), and a folder to be removed afterwards."""

    room: Room
    summariser: Choice | None
    folder: tempfile.TemporaryDirectory[str] | None

    async def close(self) -> None:
        """Let the summariser go and remove what was temporary."""
        if self.summariser is not None:
            await self.summariser.provider.close()
        if self.folder is not None:
            self.folder.cleanup()


def load_replay_room(paths: Paths, order: ReplayOrder) -> ReplayRoom:
    """What ORDER is played with; its database is the user's own where it is to be kept. Slow: call it off the loop.

    Raises:
        StoreError, NoProvider, OSError: in words.
    """
    from hermes_tui.chat.replay import model_of
    from hermes_tui.llm.choose import Choice, choose
    from hermes_tui.llm.keys import Keys
    from hermes_tui.llm.recorded import RecordedProvider
    from hermes_tui.llm.tokenizer import load_counter
    from hermes_tui.store.store import Store
    from hermes_tui.tui.room import Room

    keys = Keys(paths.key_file)
    summariser = choose(order.settings, keys) if order.settings.summary.engine != "deterministic" else None
    folder = None if order.keep else tempfile.TemporaryDirectory(prefix="hermes-tui-")
    database = paths.database if folder is None else Path(folder.name) / "hermes.db"
    make_private_folder(database.parent)
    model = model_of(order.conversations[0])
    room = Room(
        paths=paths,
        settings=order.settings,
        store=Store.open(database),
        keys=keys,
        choice=Choice(RecordedProvider([], None, model), model, model, "a replay"),
        count=load_counter(),
        tools=None,
        directory=Path.cwd(),
        model=model,
    )
    return ReplayRoom(room, summariser, folder)


def pace_line(pacer: Pacer, played: int, total: int, ended: str) -> str:
    """What stands in the composer's place: how far, how fast, and the keys."""
    if ended:
        return f"{ended} · F3 lineage · ^Q leaves"
    speed = f"{pacer.speed:g}×" if pacer.speed else "full speed"
    going = "space goes on" if pacer.paused else "space pauses"
    return f"replay · {played:,} of {total:,} · {speed} + - · {going} · esc ends"
