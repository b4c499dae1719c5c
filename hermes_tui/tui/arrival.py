"""The arrival: from the first frame to a conversation that can be talked to. What is typed meanwhile waits, and is sent."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hermes_tui.tui.aside import aside

if TYPE_CHECKING:
    from hermes_tui.paths import Paths
    from hermes_tui.tui.desk import Desk
    from hermes_tui.tui.room import Room

ASK_SECONDS: Final = 4.0
"""How long the provider may take to name its models before the conversation opens without that."""


class Arrival:
    """Loads what DESK needs and opens the first conversation on it.

    Attributes:
        settled: messages can be sent.
        problem: why they never can, "" while that is not known.
        resume: the session or chain to open, None for an empty page.
        continue_last: open the chain that changed last.
    """

    def __init__(
        self, desk: Desk, *, resume: str | None, continue_last: bool, load: Callable[[Paths], Room] | None = None
    ) -> None:
        self._desk = desk
        self.resume, self.continue_last, self._load = resume, continue_last, load
        self.settled = False
        self.problem = ""
        self._early: list[str] = []
        self._later: list[tuple[str, str]] = []

    def tell_later(self, sentence: str, severity: str) -> None:
        """Say SENTENCE once the conversation is there to say it in."""
        self._later.append((sentence, severity))

    def wait(self, text: str) -> None:
        """TEXT was typed too early: it stands queued, and is sent in its turn."""
        self._early.append(text)
        self._desk.bridge.queue(text)

    async def open(self) -> None:
        """Load everything, then settle in; where that cannot be, say why in the place of the conversation."""
        desk, self.problem = self._desk, ""
        desk.screen.activity.change(loading="getting ready", loading_since=time.monotonic(), problem="")
        try:
            from hermes_tui.tui.room import import_conversation, load_room

            await aside(import_conversation)
            desk.room = await aside(self._load or load_room, desk.app.paths)
        except Exception as error:
            self._stuck(error)
            return
        await self.settle_in()

    def _stuck(self, error: Exception) -> None:
        """Nothing can be opened: say why, and keep what is typed."""
        desk = self._desk
        desk.screen.activity.change(loading="", loading_since=None, problem="nothing can be sent, see above")
        self.problem = desk.failed(error)
        early, self._early = self._early, []
        desk.bridge.unqueue_all()
        desk.screen.composer.give_back("\n\n".join(early))

    async def settle_in(self) -> None:
        """Ask the provider for its models, open the conversation, let the embedded model warm up, send what waits."""
        desk, room = self._desk, self._desk.room
        assert room is not None
        self.problem = ""
        desk.screen.status.say_who(room.answers(), room.hint())
        if room.embedded:
            desk.work(self._warm(), "store", "warm up")
        await self._ask_models()
        wanted = self.resume
        try:
            wanted = wanted or await self._last_chain()
            if wanted is not None:
                await desk.open_chain(wanted)
            else:
                await desk.start_afresh()
        except Exception as error:
            if wanted is None:
                self._stuck(error)
                return
            await desk.start_afresh()
            desk.failed(error)
        if not room.embedded:
            desk.screen.activity.change(loading="", loading_since=None)
        self.settled = True
        gc.freeze()  # what was imported stays: looking through it for garbage stops the loop for a quarter of a second
        later, self._later = self._later, []
        for sentence, severity in later:
            desk.tell(sentence, severity)
        early, self._early = self._early, []
        desk.bridge.unqueue_all()
        for text in early:
            desk.send(text)

    async def _last_chain(self) -> str | None:
        """The chain that changed last, where it is to be gone on with."""
        room = self._desk.room
        if not self.continue_last or room is None:
            return None
        chains = await aside(room.store.chains)
        if not chains:
            self.tell_later("There is no conversation to continue yet; this is a new one.", "information")
            return None
        return chains[0].id

    async def _warm(self) -> None:
        """Start the embedded model before it is asked, with its seconds shown."""
        desk, room = self._desk, self._desk.room
        assert room is not None
        desk.screen.activity.change(loading="embedded model starting", loading_since=time.monotonic())
        try:
            await room.choice.provider.warm()
        except Exception as error:
            desk.failed(error)
        desk.screen.activity.change(loading="", loading_since=None)

    async def _ask_models(self) -> None:
        """What the provider says of its models; without an answer the conversation opens on what is known otherwise."""
        from hermes_tui.llm.models import nearest_kin

        desk, room = self._desk, self._desk.room
        assert room is not None
        try:
            if not room.embedded:
                await room.choice.provider.warm()  # importing the SDK takes seconds; they are not the server's
            infos = await asyncio.wait_for(room.choice.provider.models(), ASK_SECONDS)
        except TimeoutError:
            self.tell_later(f"{room.answers()} has not named its models yet; going on with {room.model}.", "warning")
            return
        except Exception as error:
            what = "" if room.embedded else " You can write all the same; sending tries again."
            self.tell_later(desk.words(error) + what, "error")
            return
        model, kin = room.model, nearest_kin(room.model, infos)
        if kin is not None and kin != model:
            self.tell_later(
                f"{model} is not on offer at {room.answers()}; {kin} answers instead. /model chooses another.", "warning"
            )
            model = kin
        desk.room = replace(room, infos=tuple(infos), model=model)
