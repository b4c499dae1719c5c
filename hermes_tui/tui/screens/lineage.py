"""The lineage: every chain and its sessions, how each ended, and what it came to."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static, Tree
from textual.widgets.tree import TreeNode

from hermes_tui.context.messages import ID_SHOWN
from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.failures import Steadfast
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import counted, short
from hermes_tui.tui.projection import divider_text, when
from hermes_tui.tui.screens.chat import BREAKPOINTS
from hermes_tui.tui.surveys import summary_reading
from hermes_tui.tui.widgets.entries import cut
from hermes_tui.tui.widgets.summary import summary_content

if TYPE_CHECKING:
    from hermes_tui.store.records import ChainRecord, SessionRecord
    from hermes_tui.tui.app import HermesApp

KEYS = "enter open · / filter · f fork · d delete · arrows walk and unfold · F3 or esc closes"
SHOWN_CHAINS = 500
"""Chains in the tree at a time; the filter finds the others."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a node of the tree stands for: a chain, or a session of one."""

    chain: str
    session: SessionRecord


class KeyLine(Static):
    """The line of keys; where something is to be deleted it asks, and holds the keys until it is answered."""

    DEFAULT_CSS = """
    KeyLine:focus { color: $error; text-style: bold; }
    """

    @dataclass
    class Answered(Message):
        """It was answered, or left."""

        confirmed: bool

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(KEYS, id=id, markup=False)
        self._asks = False

    def ask(self, question: str) -> None:
        """Ask QUESTION; y is yes, everything else is no."""
        self._asks = self.can_focus = True
        self.update(Content(question))
        self.focus()

    def say(self, text: str = KEYS) -> None:
        """Say TEXT: the keys, or what came of the answer."""
        self.update(Content(text))

    def on_key(self, event: events.Key) -> None:
        """y, or anything else."""
        if self._asks:
            event.stop()
            event.prevent_default()
            self._answer(event.key == "y")

    def on_blur(self) -> None:
        """To go elsewhere is a no."""
        self._answer(False)

    def _answer(self, confirmed: bool) -> None:
        if self._asks:
            self._asks = self.can_focus = False
            self.say()
            self.post_message(self.Answered(confirmed))


def chain_label(chain: ChainRecord, width: int, *, fork: bool = False) -> Text:
    """A chain in one line of WIDTH cells: its title, cut where it must be, then sessions and messages."""
    counts = f"{counted(len(chain.sessions), 'session')} {glyphs().dot} {counted(chain.messages, 'message')}"
    before = "fork: " if fork else f"{glyphs().imported} imported: " if chain.sessions[0].relation == "import" else ""
    title = clean_line(chain.tip.title) or "untitled"
    room = max(8, width - cell_len(before) - cell_len(counts) - 2)
    if cell_len(title) > room:
        title = set_cell_size(title, room - 1) + glyphs().ellipsis
    gap = " " * max(2, width - cell_len(before) - cell_len(title) - cell_len(counts))
    return Text.assemble((before, "dim"), (title, "bold"), gap, (counts, "dim"))


def session_label(session: SessionRecord, shown: bool, now: float) -> Text:
    """A session in one line: when it began, how it ended, sizes before and after."""
    table = glyphs()
    label = Text(f"{session.ordinal:>2}  {when(session.created, now):<12} ")
    if session.is_live:
        label.append("live", style="bold")
    elif session.tokens_before is not None and session.tokens_after is not None:
        label.append(f"{table.times} {short(session.tokens_before)} {table.arrow} {short(session.tokens_after)}", style="dim")
    else:
        label.append(clean_line(str(session.end_reason)), style="dim")
    if shown:
        label.append(f"   {table.shown} shown", style="bold")
    return label


class LineageScreen(Steadfast, Screen[None]):
    """CHAINS on the left; on the right the summary that the session under the cursor came to."""

    CSS_PATH = "lineage.tcss"
    AUTO_FOCUS = "#chains-tree"
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    app: HermesApp

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", show=False),
        Binding("slash", "filter", "filter", show=False),
        Binding("d", "delete", "delete", show=False),
        Binding("f", "fork", "fork", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._chains: tuple[ChainRecord, ...] = ()
        self._width = 0
        self._shown = ""
        self._doomed: ChainRecord | None = None

    def compose(self) -> ComposeResult:
        """Tree and filter; summary; keys."""
        with Horizontal(id="lineage"):
            with Vertical(id="chains"):
                with Horizontal(id="chains-heading"):
                    yield Static("CHAINS", id="chains-title", markup=False)
                    yield Input(placeholder="filter …", id="chains-filter")
                tree: Tree[Place] = Tree("chains", id="chains-tree")
                tree.show_root = False
                tree.guide_depth = 2
                yield tree
            with Vertical(id="told"):
                yield Static(id="told-heading", markup=False)
                with VerticalScroll(id="told-body"):
                    yield Static(id="told-text", markup=False)
        yield KeyLine(id="lineage-keys")

    def on_mount(self) -> None:
        """Read the chains."""
        self.app.run_worker(self._load(), group="store", exit_on_error=False)

    async def _load(self) -> None:
        try:
            self._chains = await self.app.desk.read(lambda store: store.chains())
        except LookupError:
            self._say_empty("Things are still being loaded. F3 closes this; open it again in a moment.")
            return
        conversation = self.app.desk.conversation
        self._shown = conversation.session.id if conversation is not None else ""
        self._fill(self.query_one("#chains-filter", Input).value)
        if not self._chains:
            self._say_empty("No conversation yet. F3 closes this; write a message, and it will stand here.")

    def _say_empty(self, text: str) -> None:
        self.query_one("#told-heading", Static).update(Content(text))
        self.query_one("#told-text", Static).update("")

    def on_resize(self) -> None:
        """The labels are set to the width."""
        if self._chains:
            self.call_after_refresh(lambda: self._fill(self.query_one("#chains-filter", Input).value))

    # -- the tree ------------------------------------------------------------------------------------------------------

    def _fill(self, wanted: str) -> None:
        """The chains whose title holds WANTED, the newest first; the one that lies open is unfolded."""
        tree = self.query_one("#chains-tree", Tree)
        tree.clear()
        self._width = max(24, tree.size.width - 5)
        now = time.time()
        forks: dict[str, list[ChainRecord]] = {}
        there = {session.id for chain in self._chains for session in chain.sessions}
        for chain in self._chains:
            first = chain.sessions[0]
            if first.relation == "fork" and first.parent in there:  # a fork outlives the chain it came from
                forks.setdefault(first.parent, []).append(chain)
        nested = {chain.id for group in forks.values() for chain in group}
        wanted = wanted.strip().lower()
        matching = [c for c in self._chains if wanted in c.tip.title.lower()] if wanted else list(self._chains)
        cursor: TreeNode[Place] | None = None
        for chain in matching[:SHOWN_CHAINS]:
            if chain.id in nested and not wanted:
                continue
            found = self._add(tree.root, chain, forks, now)
            cursor = found or cursor
        chosen = cursor or next(iter(tree.root.children), None)
        if chosen is not None:
            self.call_after_refresh(tree.move_cursor, chosen)

    def _add(
        self, parent: TreeNode[Place], chain: ChainRecord, forks: dict[str, list[ChainRecord]], now: float, fork: bool = False
    ) -> TreeNode[Place] | None:
        """CHAIN with its sessions, and the chains that were forked off each; returns the node of the session that is shown."""
        shown = any(s.id == self._shown for s in chain.sessions)
        label = chain_label(chain, self._width - (4 if fork else 0), fork=fork)
        node = parent.add(label, Place(chain.id, chain.tip), expand=shown)
        cursor: TreeNode[Place] | None = None
        for session in chain.sessions:
            text = session_label(session, session.id == self._shown, now)
            branches = forks.get(session.id, [])
            place = Place(chain.id, session)
            leaf = node.add(text, place, expand=True) if branches else node.add_leaf(text, place)
            if session.id == self._shown:
                cursor = leaf
            for branch in branches:
                cursor = self._add(leaf, branch, forks, now, fork=True) or cursor
        if cursor is not None:  # also where it is a fork's
            node.expand()
        return cursor

    @on(Input.Changed, "#chains-filter")
    def _filter(self, event: Input.Changed) -> None:
        """Fill the tree anew as one types."""
        self._fill(event.value)

    @on(Input.Submitted, "#chains-filter")
    def _filtered(self) -> None:
        """Go on in the tree."""
        self.query_one("#chains-tree").focus()

    def action_filter(self) -> None:
        """Write in the filter."""
        self.query_one("#chains-filter").focus()

    # -- what it came to -----------------------------------------------------------------------------------------------

    @on(Tree.NodeHighlighted)
    def _highlighted(self, event: Tree.NodeHighlighted[Place]) -> None:
        """Show what the session under the cursor came to."""
        place = event.node.data
        if place is not None:
            work: Any = partial(self._tell, place)  # not yet a coroutine: one that is replaced at once would never be awaited
            self.run_worker(work, group="told", exclusive=True, exit_on_error=False)

    async def _tell(self, place: Place) -> None:
        from hermes_tui.tui.past import session_end

        session = place.session
        end = await self.app.desk.read(lambda store: session_end(store, session))
        sessions = next((len(c.sessions) for c in self._chains if c.id == place.chain), session.ordinal)
        ended = "live" if session.is_live else f"ended by {clean_line(str(session.end_reason))}"
        lines: list[Any] = [(f"session {session.ordinal} of {sessions} · {ended}", "bold $foreground")]
        if end.edit is not None:
            edit = end.edit
            text = divider_text(edit.kind or "", edit.tokens_before, edit.tokens_after, edit.counts, edit.fidelity, edit.reason)
            lines.append(("\n" + clean_line(text.removeprefix("compressed ")), "$region-summary"))
        lines.append((f"\n{clean_line(session.model)} · {session.id[-ID_SHOWN:]}", "$muted"))
        self.query_one("#told-heading", Static).update(Content.assemble(*lines))
        reading = summary_reading(end.summary, end.edits)
        text_there = summary_content(reading) if reading.version else Content.styled("Nothing was summarised in it.", "$muted")
        self.query_one("#told-text", Static).update(text_there)
        self.query_one("#told-body").scroll_home(animate=False)

    # -- deleting and forking ------------------------------------------------------------------------------------------

    def _under_cursor(self) -> Place | None:
        node = self.query_one("#chains-tree", Tree).cursor_node
        return node.data if node is not None else None

    def action_delete(self) -> None:
        """Ask whether the chain under the cursor is to be deleted, in the line of keys."""
        place = self._under_cursor()
        self._doomed = next((c for c in self._chains if place is not None and c.id == place.chain), None)
        if self._doomed is None:
            return
        chain, line = self._doomed, self.query_one(KeyLine)
        size = f"{counted(len(chain.sessions), 'session')}, {counted(chain.messages, 'message')}"
        question, keys = f": all of it, {size}? ", "y deletes it for good · any other key keeps it"
        room = self.size.width - 2 - cell_len("Delete “”") - cell_len(question) - cell_len(keys)
        line.ask(f"Delete “{cut(chain.tip.title or 'untitled', max(8, room)).rstrip()}”{question}{keys}")

    @on(KeyLine.Answered)
    def _answered(self, event: KeyLine.Answered) -> None:
        """Delete what was asked about, or keep it."""
        chain, self._doomed = self._doomed, None
        self.query_one("#chains-tree").focus()
        if event.confirmed and chain is not None:
            self.app.run_worker(self._delete(chain), group="store", exit_on_error=False)

    async def _delete(self, chain: ChainRecord) -> None:
        from hermes_tui.tui.editing import delete

        problem = await delete(self.app.desk, chain)
        await self._load()
        if self.is_attached:
            self.query_one(KeyLine).say(problem or KEYS)

    def action_fork(self) -> None:
        """Go on from how the session under the cursor stands, or ended, in a chain of its own."""
        from hermes_tui.tui.editing import fork_at

        place = self._under_cursor()
        if place is not None:
            work = fork_at(self.app.desk, place.chain, place.session.last_generation)
            self.app.run_worker(work, group="store", exit_on_error=False)

    # -- ways out ------------------------------------------------------------------------------------------------------

    @on(Tree.NodeSelected)
    def _open(self, event: Tree.NodeSelected[Place]) -> None:
        """Open what was chosen: a chain's node opens its tip, a session's node that session."""
        place = event.node.data
        if place is not None:
            event.stop()
            self.app.open_from_lineage(place.session)

    def action_close(self) -> None:
        """Leave the filter, or the lineage."""
        box = self.query_one("#chains-filter", Input)
        if box.has_focus or box.value:
            box.value = ""
            self.query_one("#chains-tree").focus()
        else:
            self.app.show_chat()
