"""The desk: what is loaded, which conversation lies open, and the workers that run its coroutines.

Before the first frame it is empty and only gathers what is typed; everything it needs is imported and loaded after that.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hermes_tui.tui.aside import aside
from hermes_tui.tui.readings import EntryRow

if TYPE_CHECKING:
    from hermes_tui.chat.conversation import Conversation
    from hermes_tui.chat.parts import Parts
    from hermes_tui.paths import Paths
    from hermes_tui.store.records import EditRecord, SessionRecord
    from hermes_tui.store.store import Store
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.bridge import Bridge
    from hermes_tui.tui.room import Room
    from hermes_tui.tui.screens.chat import ChatScreen

T = TypeVar("T")
REFRESH_SECONDS: Final = 0.1
"""Between two surveys for the inspector."""
ASK_SECONDS: Final = 4.0
"""How long the provider may take to name its models before the conversation opens without that."""
GROUPS: Final = frozenset({"turn", "compression", "store", "inspector"})
"""The groups of workers that the app runs for the conversation."""
REQUESTS_SHOWN: Final = 400
"""Requests whose sizes are kept for the sparkline: more than the widest screen has cells."""


class Desk:
    """What is open. Everything here runs on the loop; slow work goes aside."""

    def __init__(
        self, app: HermesApp, *, resume: str | None, continue_last: bool, load: Callable[[Paths], Room] | None = None
    ) -> None:
        self.app = app
        self.room: Room | None = None
        self.conversation: Conversation | None = None
        self._bridge: Bridge | None = None
        self._resume, self._continue, self._load = resume, continue_last, load
        self._later: list[tuple[str, str]] = []
        self._early: list[str] = []
        self._settled = False
        self._problem = ""
        self._beginning = asyncio.Lock()
        self._edits: tuple[EditRecord, ...] = ()
        self._sizes: list[int] = []
        self._first: int | None = None
        self._refreshing = False
        self._refresh_again = False
        self._closed = False
        self._surveyed: tuple[str, int, int, int] | None = None

    @property
    def _screen(self) -> ChatScreen:
        return self.app.chat

    @property
    def bridge(self) -> Bridge:
        """What draws events; made with the first import of the conversation's code."""
        if self._bridge is None:
            from hermes_tui.tui.bridge import Bridge

            self._bridge = Bridge(self, self._screen)
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
        self._later.append((sentence, severity))

    def tell(self, sentence: str, severity: str = "information") -> None:
        """Say SENTENCE in place."""
        self.bridge.tell(sentence, severity)

    def _failed(self, error: BaseException, what: str = "") -> str:
        """Say what went wrong, in its own words where it was foreseen; returns those words."""
        from hermes_tui.tui.failures import foreseen, told

        sentence = f"{what} {foreseen(error) or told(error, self.app.paths.log)}".strip()
        self.tell(sentence, "error")
        return sentence

    # -- opening -------------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Load everything, open what was asked for, send what was typed meanwhile."""
        screen, self._problem = self._screen, ""
        screen.activity.change(loading="getting ready", loading_since=time.monotonic(), problem="")
        try:
            from hermes_tui.tui.room import import_conversation, load_room

            await aside(import_conversation)
            self.room = await aside(self._load or load_room, self.app.paths)
        except Exception as error:
            self._stuck(error)
            return
        await self._settle_in()

    def _stuck(self, error: Exception) -> None:
        """Nothing can be opened: say why in the place of the conversation, and keep what is typed."""
        screen = self._screen
        screen.activity.change(loading="", loading_since=None, problem="nothing can be sent, see above")
        self._problem = self._failed(error)
        early, self._early = self._early, []
        self.bridge.unqueue_all()
        screen.composer.give_back("\n\n".join(early))

    async def _settle_in(self) -> None:
        """Ask the provider for its models, open the conversation, and let the embedded model warm up."""
        room, screen = self.room, self._screen
        assert room is not None
        screen.status.say_who(room.answers(), room.hint())
        if room.embedded:
            self._work(self._warm(), "store", "warm up")
        await self._ask_models()
        wanted = self._resume
        try:
            if wanted is None and self._continue:
                chains = await aside(room.store.chains)
                wanted = chains[0].id if chains else None
                if wanted is None:
                    self.tell("There is no conversation to continue yet; this is a new one.")
            if wanted is not None:
                await self.open_chain(wanted)
            else:
                await self.start_afresh()
        except Exception as error:
            if wanted is None:
                self._stuck(error)
                return
            await self.start_afresh()
            self._failed(error)
        if not room.embedded:
            screen.activity.change(loading="", loading_since=None)
        self._settled = True
        gc.freeze()  # what was imported stays: looking through it for garbage stops the loop for a quarter of a second
        for sentence, severity in self._later:
            self.tell(sentence, severity)
        self._later.clear()
        early, self._early = self._early, []
        self.bridge.unqueue_all()
        for text in early:
            self.send(text)

    async def _warm(self) -> None:
        """Start the embedded model before it is asked, with its seconds shown."""
        room, screen = self.room, self._screen
        assert room is not None
        screen.activity.change(loading="embedded model starting", loading_since=time.monotonic())
        try:
            await room.choice.provider.warm()
        except Exception as error:
            self._failed(error)
        screen.activity.change(loading="", loading_since=None)

    async def _ask_models(self) -> None:
        """What the provider says of its models; without an answer the conversation opens on what is known otherwise."""
        from hermes_tui.llm.models import nearest_kin

        room = self.room
        assert room is not None
        try:
            if not room.embedded:
                await room.choice.provider.warm()  # importing the SDK takes seconds; they are not the server's
            infos = await asyncio.wait_for(room.choice.provider.models(), ASK_SECONDS)
        except TimeoutError:
            self.tell(f"{room.answers()} has not named its models yet; going on with {room.model}.", "warning")
            return
        except Exception as error:
            self._failed(error, "" if room.embedded else "You can write all the same; sending tries again.")
            return
        model = room.model
        kin = nearest_kin(model, infos)
        if kin is not None and kin != model:
            self.tell(f"{model} is not on offer at {room.answers()}; {kin} answers instead. /model chooses another.", "warning")
            model = kin
        self.room = replace(room, infos=tuple(infos), model=model)

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
        )

    async def start_afresh(self) -> None:
        """An empty page. Its chain is made when the first message is sent: looking around leaves nothing behind."""
        from hermes_tui.tui.blank import blank_reading, welcome

        await self._put_away()
        room, screen = self.room, self._screen
        assert room is not None
        self._edits, self._sizes, self._first = (), [], None
        screen.transcript.set_blocks(welcome(room))
        screen.heading.show(title="New conversation", model=room.model, ordinal=1, sessions=1)
        self.bridge.fresh()
        screen.composer.history_of_prompts.seed([])
        screen.show_context(await aside(blank_reading, self.parts()))

    async def open_chain(self, session_or_chain: str) -> None:
        """Open the tip of a chain to go on with it.

        Raises:
            StoreError, UnknownEngine: in words; what was open stays open.
        """
        from hermes_tui.chat.conversation import Conversation

        opened = await Conversation.open(self.parts(), session_or_chain)
        await self._put_away()
        self.conversation = opened
        self.bridge.fresh()
        await self.show_chain()

    async def show_chain(self) -> None:
        """Show the open chain from the store: the newest page, the counters, the inspector."""
        from hermes_tui.tui.pages import chain_facts, load_page

        conversation, room, screen = self.conversation, self.room, self._screen
        if conversation is None or room is None:
            return
        self._edits = await aside(room.store.edits, conversation.chain)
        page = await aside(load_page, room.store, conversation.chain, edits=self._edits, measure=conversation.meter.block)
        self._first = page.first
        self.bridge.live.forget()
        screen.transcript.set_blocks(page.blocks, earlier=page.earlier)
        self.renamed()
        requests = await aside(room.store.requests, conversation.chain)
        turns = [r.usage for r in requests if r.purpose == "turn" and r.usage is not None and r.usage.prompt]
        self._sizes = [usage.prompt for usage in turns][-REQUESTS_SHOWN:]
        if turns:
            last = turns[-1]
            self.bridge.count(prompt=last.prompt, reply=last.output, cached=last.cache_read)
        facts = await aside(chain_facts, room.store, conversation.chain)
        self.bridge.count(turn=facts.turns, cost=conversation.totals.cost or None)
        screen.composer.history_of_prompts.seed(list(facts.prompts))
        if conversation.regions is None:
            await conversation.survey()
        self.refresh_soon()

    async def earlier(self) -> None:
        """Put the page before the first one shown on top."""
        from hermes_tui.tui.pages import load_page

        conversation, room = self.conversation, self.room
        if conversation is None or room is None or self._first is None:
            return
        page = await aside(
            load_page,
            room.store,
            conversation.chain,
            before=self._first,
            edits=self._edits,
            measure=conversation.meter.block,
        )
        self._first = page.first if page.first is not None else self._first
        self._screen.transcript.prepend(page.blocks, earlier=page.earlier)

    def renamed(self) -> None:
        """Title, model or session may have changed: show them."""
        conversation = self.conversation
        if conversation is not None:
            session = conversation.session
            self._screen.heading.show(
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
        if self._problem:
            self.tell(self._problem, "error")
            self._screen.composer.give_back(text)
            return
        if not self._settled:
            self._early.append(text)
            self.bridge.queue(text)
            return
        self._work(self._send(text), "turn", "turn")

    async def _send(self, text: str) -> None:
        """One turn; the first message of a new page makes its chain."""
        async with self._beginning:  # of several messages typed ahead, the first makes the chain and the others join it
            if self.conversation is None:
                from hermes_tui.chat.conversation import Conversation

                try:
                    self.conversation = await Conversation.start_new(self.parts())
                except Exception as error:
                    self._failed(error)
                    self._screen.composer.give_back(text)
                    return
                self._screen.transcript.set_blocks(())
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
            self._screen.composer.give_back("\n\n".join(waiting))

    def compress(self, focus: str) -> None:
        """/compress: now, about FOCUS where a topic is named."""
        conversation = self.conversation
        if conversation is None:
            self.tell("There is nothing to compress yet.")
            return
        self._work(self._compression(conversation.compress(focus or None)), "compression", "compress")

    def prepare(self) -> None:
        """The summary is due: write it beside the turns."""
        conversation = self.conversation
        if conversation is not None:
            self._work(self._compression(conversation.prepare()), "compression", "prepare")

    async def _compression(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a compression; whatever way it ends, the screen says that it has ended."""
        try:
            await work
        finally:
            conversation = self.conversation
            if not self._closed and conversation is not None and not conversation.preparing:
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
            self._edits, self._sizes, self._first = (), [], None
            self.renamed()

    async def failed(self, error: Exception) -> None:
        """Say what ended a replay."""
        self._failed(error)

    def _work(self, work: Coroutine[Any, Any, None], group: str, name: str) -> None:
        self.app.run_worker(work, group=group, name=name, exit_on_error=False)

    # -- what events ask for -------------------------------------------------------------------------------------------

    def measured(self, prompt: int) -> None:
        """A request of PROMPT tokens was measured."""
        if prompt:
            self._sizes = [*self._sizes[-REQUESTS_SHOWN + 1 :], prompt]

    def compressed(self) -> None:
        """An edit was applied: read the edits anew, they hold the fidelity."""
        self.renamed()
        self._work(self._read_edits(), "store", "edits")

    async def _read_edits(self) -> None:
        conversation, room = self.conversation, self.room
        if conversation is not None and room is not None:
            self._edits = await aside(room.store.edits, conversation.chain)
            self.refresh_soon()

    def adopt(self) -> None:
        """Another process went on with the chain: show it as it is now."""
        if self.conversation is not None and not self.conversation.busy:
            self._work(self.show_chain(), "store", "adopt")

    def refresh_soon(self) -> None:
        """Draw the inspector anew within a tenth of a second or so."""
        if self._refreshing:
            self._refresh_again = True
        elif not self._closed:
            self._refreshing = True
            self._work(self._refresh(), "inspector", "inspector")

    async def _refresh(self) -> None:
        from hermes_tui.tui.surveys import context_reading

        try:
            await asyncio.sleep(REFRESH_SECONDS)
            self._refresh_again = True
            while self._refresh_again:
                self._refresh_again = False
                conversation = self.conversation
                if conversation is None:
                    return
                await self._survey(conversation)
                reading = await aside(
                    context_reading,
                    conversation.view,
                    conversation.state,
                    conversation.budgets,
                    conversation.size,
                    conversation.regions,
                    conversation.meter,
                    edits=self._edits,
                    sizes=tuple(self._sizes),
                    remark=conversation.impossible or conversation.engine_status,
                )
                if conversation is self.conversation:
                    self._screen.show_context(reading)
        finally:
            self._refreshing = False

    async def _survey(self, conversation: Conversation) -> None:
        """Have the regions worked out anew for every new state of the context: they are those of a plan made now."""
        view = conversation.view
        moment = (view.chain, view.generation, len(view.entries), conversation.size.tokens)
        if moment != self._surveyed and not view.has_open_call:
            self._surveyed = moment
            with contextlib.suppress(RuntimeError):  # the replay has ended meanwhile, and its threads with it
                await conversation.survey()

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

    async def open_session(self, session: SessionRecord) -> None:
        """Open what was chosen in the lineage: the tip to go on with, anything older read-only."""
        if not session.is_live:
            from hermes_tui.tui.screens.past import PastScreen

            self.app.push_screen(PastScreen(session))
            return
        conversation = self.conversation
        if conversation is not None and conversation.chain == session.chain:
            return
        if self._is_busy():
            return
        try:
            await self.open_chain(session.id)
        except Exception as error:
            self._failed(error)

    def _is_busy(self) -> bool:
        """Whether a turn runs, which is said: it has to end before another conversation is opened."""
        busy = self.conversation is not None and self.conversation.busy
        if busy:
            self.app.notify("A reply is still coming. Esc stops it; what has come is kept.", severity="warning", markup=False)
        return busy

    # -- commands ------------------------------------------------------------------------------------------------------

    async def new_chat(self) -> None:
        """/new: an empty page."""
        if self.room is not None and not self._is_busy():
            await self.start_afresh()

    async def title(self, name: str) -> None:
        """/title: call the conversation NAME."""
        conversation, room = self.conversation, self.room
        if conversation is None or room is None:
            self.tell("There is nothing to name yet; send a message first.")
        elif name:
            await aside(room.store.set_title, conversation.chain, name)
            self._screen.heading.show(title=name)

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

        if not self._is_busy():
            ask_key(self)

    async def take_room(self, room: Room) -> None:
        """Go on with ROOM, whose provider is another one: the open chain is opened anew with it."""
        old, chain = self.room, self.conversation.chain if self.conversation else None
        self._problem = ""
        await self._put_away()
        self.room = room
        if old is not None:
            with contextlib.suppress(Exception):
                await old.choice.provider.close()
        self._resume, self._continue = chain, False
        await self._settle_in()

    def remember(self, key: str, value: object) -> None:
        """Keep a setting in the config file; where that fails the reason is told and the choice holds until leaving."""
        self._work(self._remember(key, value), "store", "remember")

    async def _remember(self, key: str, value: object) -> None:
        from hermes_tui.config import save_setting

        try:
            await aside(save_setting, self.app.paths.config, key, value)
        except Exception as error:
            self._failed(error, "This holds until you leave:")

    # -- leaving -------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop what runs, keep what has come, end the child process, close the database."""
        self._closed = True
        room = self.room
        with contextlib.suppress(Exception):
            await self._put_away()
        if room is not None:
            release = getattr(room.tools, "close", None)
            if release is not None:
                release()
            with contextlib.suppress(Exception):
                await room.choice.provider.close()
            await aside(room.store.close)
