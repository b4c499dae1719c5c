"""A session of the past: the conversation as it stood when the session ended, read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from hermes_tui.tui.aside import aside
from hermes_tui.tui.editing import PAST, fork_at
from hermes_tui.tui.failures import Steadfast
from hermes_tui.tui.past import PastMoment, earlier_page, past_moment
from hermes_tui.tui.screens.chat import BREAKPOINTS, ROW_BREAKPOINTS, close_drawer, toggle_inspector
from hermes_tui.tui.transcript import Transcript
from hermes_tui.tui.transcript.messages import EarlierWanted
from hermes_tui.tui.widgets.entries import EntryList
from hermes_tui.tui.widgets.heading import Heading
from hermes_tui.tui.widgets.inspector import Inspector

if TYPE_CHECKING:
    from hermes_tui.store.records import SessionRecord
    from hermes_tui.tui.app import HermesApp


class PastScreen(Steadfast, Screen[None]):
    """SESSION as it was at its end: the transcript so far beside the context that was sent then."""

    AUTO_FOCUS = "#transcript"
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    VERTICAL_BREAKPOINTS = ROW_BREAKPOINTS
    app: HermesApp
    is_past: ClassVar[bool] = True
    """What is looked at here cannot be edited."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", show=False),
        Binding("t", "tip", "to the tip", show=False),
        Binding("f", "fork", "fork from here", show=False),
    ]

    def __init__(self, session: SessionRecord) -> None:
        super().__init__()
        self._session = session
        self._moment: PastMoment | None = None
        self._first: int | None = None

    def compose(self) -> ComposeResult:
        """The chat screen's parts, without anything to write in."""
        yield Heading(id="heading")
        with Horizontal(id="body"):
            with Vertical(id="talk"):
                yield Transcript(id="transcript")
                yield Static(id="read-only", markup=False)
            yield Inspector(id="inspector", read_only=True)

    def on_mount(self) -> None:
        """Say at once what this is; its content comes from the store."""
        session = self._session
        self.query_one(Heading).show(
            title=session.title, model=session.model, ordinal=session.ordinal, sessions=session.ordinal
        )
        self._say(session.ordinal)
        self.app.run_worker(self._load(), group="store", exit_on_error=False)

    def _say(self, sessions: int) -> None:
        words = f"session {self._session.ordinal} of {sessions} · read-only · F3 back · t go to the tip · f fork from here"
        self.query_one("#read-only", Static).update(Content(words), layout=False)

    async def _load(self) -> None:
        moment = await aside(past_moment, self.app.desk.parts(), self._session)
        self._moment, self._first = moment, moment.page.first
        self._say(moment.sessions)
        self.query_one(Heading).show(ordinal=self._session.ordinal, sessions=moment.sessions)
        self.query_one(Transcript).set_blocks(moment.page.blocks, earlier=moment.page.earlier)
        self.query_one(Inspector).show(moment.reading)

    @on(EarlierWanted)
    def _earlier(self) -> None:
        self.app.run_worker(self._prepend(), group="store", exit_on_error=False)

    async def _prepend(self) -> None:
        if self._moment is None or self._first is None:
            return
        page = await aside(earlier_page, self.app.desk.parts(), self._moment, self._first)
        self._first = page.first if page.first is not None else self._first
        self.query_one(Transcript).prepend(page.blocks, earlier=page.earlier)

    @on(EntryList.Opened)
    async def _original(self, event: EntryList.Opened) -> None:
        from hermes_tui.tui.originals import original_of
        from hermes_tui.tui.screens.original import OriginalScreen

        if self._moment is not None:
            title, text, note = await aside(original_of, self._moment.view, event.row)
            if title:
                self.app.push_screen(OriginalScreen(title, text, note))

    @on(EntryList.MarkAsked)
    def _refuse(self) -> None:
        """Pins and drops belong to the tip."""
        self.query_one("#read-only", Static).update(Content.styled(PAST, "$warning"), layout=False)

    def action_fork(self) -> None:
        """Go on from how this session ended, in a chain of its own."""
        session = self._session
        self.app.run_worker(fork_at(self.app.desk, session.chain, session.last_generation), group="store", exit_on_error=False)

    def action_inspector(self) -> None:
        """Show or hide the inspector."""
        toggle_inspector(self, back_to="#transcript")

    def action_back(self) -> None:
        """Close the drawer, else go back to the lineage."""
        if not close_drawer(self, back_to="#transcript"):
            self.app.action_lineage()

    def action_tip(self) -> None:
        """Go to where this conversation goes on."""
        self.app.run_worker(self._go_to_tip(), group="store", exit_on_error=False)

    async def _go_to_tip(self) -> None:
        chain = self._session.chain
        tip: Any = await self.app.desk.read(lambda store: store.tip(chain))
        self.app.show_chat()
        await self.app.desk.open_session(tip)
