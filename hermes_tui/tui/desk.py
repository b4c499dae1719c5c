"""The desk: what is loaded, which conversation lies open, and the workers that run its coroutines.

Before the first frame it is empty and only gathers what is typed; everything it needs is imported and loaded after that.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from hermes_tui.tui.arrival import Arrival
from hermes_tui.tui.aside import aside
from hermes_tui.tui.open_page import OpenPage
from hermes_tui.tui.readings import EntryRow
from hermes_tui.tui.surveyor import Surveyor

if TYPE_CHECKING:
    from hermes_tui.chat.conversation import Conversation
    from hermes_tui.chat.parts import Parts
    from hermes_tui.paths import Paths
    from hermes_tui.store.records import SessionRecord
    from hermes_tui.store.store import Store
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.bridge import Bridge
    from hermes_tui.tui.room import Room
    from hermes_tui.tui.screens.chat import ChatScreen

T = TypeVar("T")
GROUPS: Final = frozenset({"turn", "compression", "store", "inspector"})
"""The groups of workers that the app runs for the conversation."""


class Desk:
    """What is open. Everything here runs on the loop; slow work goes aside."""

    def __init__(
        self, app: HermesApp, *, resume: str | None, continue_last: bool, load: Callable[[Paths], Room] | None = None
    ) -> None:
        self.app = app
        self.room: Room | None = None
        self.conversation: Conversation | None = None
        self._bridge: Bridge | None = None
        self.arrival = Arrival(self, resume=resume, continue_last=continue_last, load=load)
        self.surveyor = Surveyor(self)
        self.page = OpenPage(self)
        self.closed = False
        self._beginning = asyncio.Lock()

    @property
    def screen(self) -> ChatScreen:
        """The chat screen, which everything is drawn on."""
        return self.app.chat

    @property
    def bridge(self) -> Bridge:
        """What draws events; made with the first import of the conversation's code."""
        if self._bridge is None:
            from hermes_tui.tui.bridge import Bridge

            self._bridge = Bridge(self, self.screen)
        return self._bridge

    @property
    def turns(self) -> int:
        """Turns of the open conversation so far."""
        return self._bridge.totals.turn if self._bridge is not None else 0

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self.conversation is not None and self.conversation.busy

    @property
    def works(self) -> bool:
        """Whether anything of ours runs: a turn, a compression, reading or writing, a survey."""
        return any(worker.group in GROUPS and not worker.is_finished for worker in self.app.workers)

    # -- saying things -------------------------------------------------------------------------------------------------

    def tell_later(self, sentence: str, severity: str = "information") -> None:
        """Say SENTENCE once there is a transcript to say it in."""
        self.arrival.tell_later(sentence, severity)

    def tell(self, sentence: str, severity: str = "information") -> None:
        """Say SENTENCE in place."""
        self.bridge.tell(sentence, severity)

    def words(self, error: BaseException) -> str:
        """What went wrong, in its own words where it was foreseen."""
        from hermes_tui.tui.failures import foreseen, told

        return foreseen(error) or told(error, self.app.paths.log)

    def failed(self, error: BaseException, what: str = "") -> str:
        """Say what went wrong, after WHAT; returns what was said."""
        sentence = f"{what} {self.words(error)}".strip()
        self.tell(sentence, "error")
        return sentence

    # -- opening -------------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Load everything, open what was asked for, send what was typed meanwhile."""
        await self.arrival.open()

    def parts(self) -> Parts:
        """What conversations are put together from."""
        from hermes_tui.chat.parts import Parts

        room = self.room
        assert room is not None
        return Parts(
            store=room.store,
            provider=room.choice.provider,
            settings=room.settings,
            model=room.model,
            count=room.count,
            publish=self.bridge.publish,
            tools=room.tools,
            infos=room.infos,
            summary_provider=room.summary_provider,
            summary_model=room.choice.summariser,
            directory=room.directory,
            memory=room.memory,
        )

    async def start_afresh(self) -> None:
        """An empty page. Its chain is made when the first message is sent: looking around leaves nothing behind."""
        from hermes_tui.chat.system_prompt import prompt_of_new_chain
        from hermes_tui.tui.blank import blank_reading, welcome

        await self._put_away()
        room, screen = self.room, self.screen
        assert room is not None
        self.surveyor.begin()
        self.page.clear()
        screen.transcript.set_blocks(welcome(room))
        screen.heading.show(title="New conversation", model=room.model, ordinal=1, sessions=1)
        self.bridge.fresh()
        screen.composer.history_of_prompts.seed([])
        parts = self.parts()
        screen.show_context(await aside(blank_reading, parts, await prompt_of_new_chain(parts)))

    async def open_chain(self, session_or_chain: str) -> None:
        """Open the tip of a chain to go on with it.

        Raises:
            StoreError, UnknownEngine: in words; what was open stays open.
        """
        from hermes_tui.chat.conversation import Conversation

        with self.bridge.held():
            opened = await Conversation.open(self.parts(), session_or_chain)
            await self._put_away()
            self.conversation = opened
            self.bridge.fresh()
            await self.show_chain()

    async def show_chain(self) -> None:
        """Show the open chain as the store has it."""
        await self.page.show()

    async def earlier(self) -> None:
        """Put older messages on top."""
        await self.page.earlier()

    def renamed(self) -> None:
        """Title, model or session may have changed: show them."""
        conversation = self.conversation
        if conversation is not None:
            session = conversation.session
            self.screen.heading.show(
                title=session.title or "New conversation",
                model=conversation.view.model,
                ordinal=session.ordinal,
                sessions=session.ordinal,
            )

    async def _put_away(self) -> None:
        """Close the conversation that lies open."""
        conversation, self.conversation = self.conversation, None
        if conversation is not None:
            self._return_queue(conversation)
            await conversation.close()

    # -- talking -------------------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Send TEXT, or let it wait while things are still being loaded."""
        text = text[1:] if text.startswith("//") else text
        if self.arrival.problem:
            self.tell(self.arrival.problem, "error")
            self.screen.composer.give_back(text)
        elif not self.arrival.settled:
            self.arrival.wait(text)
        else:
            self.work(self._send(text), "turn", "turn")

    async def _send(self, text: str) -> None:
        """One turn; the first message of a new page makes its chain."""
        async with self._beginning:  # of several messages typed ahead, the first makes the chain and the others join it
            if self.conversation is None:
                from hermes_tui.chat.conversation import Conversation

                try:
                    with self.bridge.held():
                        self.conversation = await Conversation.start_new(self.parts())
                        self.screen.transcript.set_blocks(())
                except Exception as error:
                    self.failed(error)
                    self.screen.composer.give_back(text)
                    return
            conversation = self.conversation
        await conversation.send(text)
        if not conversation.busy and not conversation.closed:
            self._return_queue(conversation)

    def _return_queue(self, conversation: Conversation) -> None:
        """Give back to the composer what was typed ahead of a turn that failed, so that nothing waits for nobody."""
        from hermes_tui.context.messages import plain_text

        waiting = [plain_text(content) for content in conversation.queue]
        conversation.queue.clear()
        if waiting:
            self.bridge.unqueue_all()
            self.screen.composer.give_back("\n\n".join(waiting))

    def compress(self, focus: str) -> None:
        """/compress: now, about FOCUS where a topic is named."""
        conversation = self.conversation
        if conversation is None:
            self.tell("There is nothing to compress yet.")
            return
        self.work(self._compression(conversation.compress(focus or None)), "compression", "compress")

    async def numbers(self) -> None:
        """/context: every number that this conversation is steered by, and where each came from."""
        from hermes_tui.tui.surveys import numbers_text

        conversation = self.conversation
        if conversation is None:
            self.tell("There is no conversation yet; send a message first.")
        else:
            self.tell(numbers_text(await aside(conversation.numbers)) or conversation.impossible)

    def prepare(self) -> None:
        """The summary is due: write it beside the turns."""
        conversation = self.conversation
        if conversation is not None:
            self.work(self._compression(conversation.prepare()), "compression", "prepare")

    def count(self) -> None:
        """The size should be counted: have the server do it beside everything else."""
        conversation = self.conversation
        if conversation is not None:
            self.work(conversation.count(), "inspector", "count")

    async def _compression(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a compression; whatever way it ends, the screen says that it has ended."""
        try:
            await work
        finally:
            conversation = self.conversation
            if not self.closed and conversation is not None and not conversation.preparing:
                self.bridge.compression_over(prepared=conversation.prepared is not None)

    def stop(self) -> bool:
        """Esc: stop what runs; False where nothing does."""
        conversation = self.conversation
        if conversation is None or not (conversation.busy or conversation.preparing):
            return False
        conversation.cancel()
        return True

    def lay_open(self, room: Room, conversation: Conversation | None) -> None:
        """A replay plays CONVERSATION in ROOM: what is drawn and looked back at is that."""
        self.room = room
        if conversation is not self.conversation:
            self.conversation = conversation
            self.surveyor.begin()
            self.page.clear()
            self.renamed()

    def work(self, work: Coroutine[Any, Any, None], group: str, name: str) -> None:
        """Run WORK in a worker of the app."""
        self.app.run_worker(work, group=group, name=name, exit_on_error=False)

    # -- what events ask for -------------------------------------------------------------------------------------------

    def compressed(self) -> None:
        """An edit was applied: read the edits anew, they hold the fidelity."""
        self.renamed()
        self.work(self.surveyor.read_edits(), "store", "edits")

    def adopt(self) -> None:
        """Another process went on with the chain: show it as it is now."""
        if self.conversation is not None and not self.conversation.busy:
            self.work(self.show_chain(), "store", "adopt")

    def refresh_soon(self) -> None:
        """Draw the inspector anew within a tenth of a second or so."""
        self.surveyor.refresh_soon()

    # -- looking back --------------------------------------------------------------------------------------------------

    async def read(self, ask: Callable[[Store], T]) -> T:
        """What ASK finds in the store, off the loop."""
        if self.room is None:
            raise LookupError("nothing is loaded yet")
        return await aside(ask, self.room.store)

    async def original(self, row: EntryRow) -> tuple[str, str, str]:
        """(title, text, note) of what ROW stands for: its message as it was said, and what is sent in its place."""
        from hermes_tui.tui.originals import original_of

        conversation = self.conversation
        if conversation is None:
            return ("", "", "")
        return await aside(original_of, conversation.view, row)

    @property
    def player_runs(self) -> bool:
        """Whether a replay plays: what lies open is only watched."""
        return self.app.player is not None

    async def open_session(self, session: SessionRecord) -> None:
        """Open what was chosen in the lineage: the tip to go on with, anything older read-only."""
        if not session.is_live:
            from hermes_tui.tui.screens.past import PastScreen

            self.app.push_screen(PastScreen(session))
            return
        conversation = self.conversation
        if conversation is not None and conversation.chain == session.chain:
            return
        if self.is_busy():
            return
        try:
            await self.open_chain(session.id)
        except Exception as error:
            self.failed(error)

    def is_busy(self) -> bool:
        """Whether a turn runs, which is said: it has to end before another conversation is opened."""
        busy = self.conversation is not None and self.conversation.busy
        if busy:
            self.app.notify("A reply is still coming. Esc stops it; what has come is kept.", severity="warning", markup=False)
        return busy

    # -- commands ------------------------------------------------------------------------------------------------------

    async def new_chat(self) -> None:
        """/new: an empty page."""
        if self.room is not None and not self.is_busy():
            await self.start_afresh()

    async def title(self, name: str) -> None:
        """/title: call the conversation NAME."""
        conversation, room = self.conversation, self.room
        if conversation is None or room is None:
            self.tell("There is nothing to name yet; send a message first.")
        elif name:
            await aside(room.store.set_title, conversation.chain, name)
            self.screen.heading.show(title=name)

    def undo(self) -> None:
        """/undo: take the newest edit back."""
        from hermes_tui.tui.editing import take_back

        self.work(take_back(self, "undo"), "store", "undo")

    def redo(self) -> None:
        """/redo: make again what was undone."""
        from hermes_tui.tui.editing import take_back

        self.work(take_back(self, "redo"), "store", "redo")

    def mark(self, row: EntryRow, key: Literal["pin", "drop"]) -> None:
        """p and d: pin or drop the group of an entry, or take that back."""
        from hermes_tui.tui.editing import mark

        self.work(mark(self, row, key), "store", key)

    def fork(self) -> None:
        """/fork: go on from here in a chain of its own."""
        from hermes_tui.tui.editing import fork

        self.work(fork(self), "store", "fork")

    def copy_reply(self) -> None:
        """/copy: the last reply, as it was written."""
        from hermes_tui.context.messages import plain_text

        view = self.conversation.view if self.conversation else None
        for entry in reversed(view.entries if view else ()):
            if entry.message is not None and entry.message.role == "assistant":
                text = plain_text(entry.message.content)
                if text.strip():
                    self.app.copy_to_clipboard(text)
                    return
        self.tell("There is no reply to copy yet.")

    async def model(self, name: str) -> None:
        """/model: the model NAME, or a list to choose from."""
        from hermes_tui.tui.switching import choose_model, switch_model

        await (switch_model(self, name) if name else choose_model(self))

    def key(self) -> None:
        """/key: ask for the API key and go on with it."""
        from hermes_tui.tui.switching import ask_key

        if not self.is_busy():
            ask_key(self)

    async def take_room(self, room: Room) -> None:
        """Go on with ROOM, whose provider is another one: the open chain is opened anew with it."""
        old, chain = self.room, self.conversation.chain if self.conversation else None
        await self._put_away()
        self.room = room
        if old is not None:
            with contextlib.suppress(Exception):
                await old.choice.provider.close()
        self.arrival.resume, self.arrival.continue_last = chain, False
        await self.arrival.settle_in()

    def remember(self, key: str, value: object) -> None:
        """Keep a setting in the config file; where that fails the reason is told and the choice holds until leaving."""
        self.work(self._remember(key, value), "store", "remember")

    async def _remember(self, key: str, value: object) -> None:
        from hermes_tui.config import save_setting

        try:
            await aside(save_setting, self.app.paths.config, key, value)
        except Exception as error:
            self.failed(error, "This holds until you leave:")

    # -- leaving -------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop what runs, keep what has come, end the child process, close the database."""
        self.closed = True
        room = self.room
        with contextlib.suppress(Exception):
            await self._put_away()
        if room is not None:
            release = getattr(room.tools, "close", None)
            if release is not None:
                release()
            room.memory.close()
            with contextlib.suppress(Exception):
                await room.choice.provider.close()
            await aside(room.store.close)
