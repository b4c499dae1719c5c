"""The memory: what is remembered of the user, where each note came from, and the keys to change it in place."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.failures import Steadfast, foreseen
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import counted
from hermes_tui.tui.projection import said_at, when

if TYPE_CHECKING:
    from hermes_tui.context.notes import Note
    from hermes_tui.store.store import Store
    from hermes_tui.tui.app import HermesApp

T = TypeVar("T")
KEYS: Final = "enter source · o its conversation · e edit · a add · k rule or fact · d delete · u undo · esc closes"
WRITING: Final = "enter keeps it · esc leaves it as it is"
REMARK: Final = "Told to new conversations; those that exist keep what they began with."
OFF: Final = "Notes are switched off (memory.providers): nothing is learned, and no conversation is told of these."
OFF_EMPTY: Final = "Nothing is noted here. With memory.providers as it is by default, what you say of yourself will be."
EMPTY: Final = "Nothing yet. What you say of yourself, and rules you set for good, will stand here; a adds a note by hand."


def note_content(note: Note, now: float) -> Content:
    """NOTE in two lines: what it says; what it is and where it came from."""
    dot = f" {glyphs().dot} "
    if note.deleted is not None:
        return Content.assemble((clean_line(note.text), "strike $muted"), "\n", (f"  deleted{dot}u brings it back", "$warning"))
    parts = [note.kind, _origin(note, now), {"model": "found by the model"}.get(note.author, "")]
    if note.author == "user" and note.source is not None:
        parts.append("edited")
    if note.cwd is not None:
        parts.append(f"only in {note.cwd}")
    told = dot.join(clean_line(part) for part in parts if part)
    return Content.assemble(clean_line(note.text), "\n", (f"  {told}", "$muted"))


def _origin(note: Note, now: float) -> str:
    """Where NOTE came from: chain and time."""
    if note.source is None:
        return f"added by hand {glyphs().dot} {when(note.created, now)}"
    said = when(said_at(note.source) or note.created, now)
    return f"{note.title or 'a conversation that was deleted'} {glyphs().dot} {said}"


class MemoryScreen(Steadfast, Screen[None]):
    """Every note; what is changed here is stored at once, and a deleted one can be brought back until the screen is left."""

    CSS_PATH = "memory.tcss"
    AUTO_FOCUS = "#memory-notes"
    app: HermesApp

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", show=False),
        Binding("o", "conversation", "its conversation", show=False),
        Binding("e", "edit", "edit", show=False),
        Binding("a", "add", "add", show=False),
        Binding("k", "kind", "rule or fact", show=False),
        Binding("d,delete", "delete", "delete", show=False),
        Binding("u", "undo", "undo", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._notes: list[Note] = []
        self._edited: Note | None = None
        self._off = False

    def compose(self) -> ComposeResult:
        """Heading, notes, the line to write in, keys."""
        with Vertical(id="memory"):
            yield Static(Content.styled("MEMORY", "bold"), id="memory-heading", markup=False)
            yield Static(REMARK, id="memory-remark", markup=False)
            yield OptionList(id="memory-notes", markup=False)
            yield Static(id="memory-said", markup=False)
            yield Input(id="memory-text", select_on_focus=False)
        yield Static(KEYS, id="memory-keys", markup=False)

    def on_mount(self) -> None:
        """Read the notes."""
        self._work(self._load())

    def on_unmount(self) -> None:
        """What was deleted is gone for good."""
        if any(note.deleted is not None for note in self._notes):
            self._work(self._forget())

    async def _load(self) -> None:
        try:
            self._notes = list(await self.app.desk.read(lambda store: store.notes.all()))
        except LookupError:
            self._say("Things are still being loaded. Esc closes this; open it again in a moment.")
            return
        room = self.app.desk.room
        self._off = room is not None and "notes" not in room.memory.names
        if self._off:
            self.query_one("#memory-remark", Static).update(Content(OFF))
        self._draw()

    async def _forget(self) -> None:
        with contextlib.suppress(Exception):  # the app is being left: the texts are wiped the next time
            await self.app.desk.read(lambda store: store.notes.forget())

    # -- the list ------------------------------------------------------------------------------------------------------

    def _draw(self, at: int | None = None) -> None:
        """Draw the notes, the cursor on the one it was on, or on number AT."""
        listed, now = self.query_one(OptionList), time.time()
        at = listed.highlighted if at is None else at
        listed.clear_options()
        listed.add_options([Option(note_content(note, now)) for note in self._notes])
        if self._notes:
            listed.highlighted = min(at or 0, len(self._notes) - 1)
        held = sum(note.deleted is None for note in self._notes)
        heading = Content.assemble(("MEMORY", "bold"), (f"   {counted(held, 'note')}", "$muted"))
        self.query_one("#memory-heading", Static).update(heading)
        if not self._notes:
            self._say(OFF_EMPTY if self._off else EMPTY)

    @property
    def _note(self) -> Note | None:
        """The note under the cursor."""
        at = self.query_one(OptionList).highlighted
        return self._notes[at] if at is not None and at < len(self._notes) else None

    def _say(self, text: str) -> None:
        self.query_one("#memory-said", Static).update(Content(clean_line(text)))

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        self.app.run_worker(work, group="store", exit_on_error=False)

    async def _stored(self, ask: Callable[[Store], T]) -> T | None:
        """What ASK does in the store; None where it fails, and the reason is said."""
        self._say("")
        try:
            return await self.app.desk.read(ask)
        except Exception as error:
            sentence = str(error) if isinstance(error, ValueError) else foreseen(error)
            if sentence is None:
                raise
            self._say(sentence)
            return None

    async def _change(self, note: Note, ask: Callable[[Store], Note]) -> None:
        """Let NOTE be what ASK makes of it in the store."""
        changed = await self._stored(ask)
        if changed is not None:
            self._notes = [changed if known.id == note.id else known for known in self._notes]
            self._draw()

    # -- changing ------------------------------------------------------------------------------------------------------

    def action_kind(self) -> None:
        """Make the note a rule, or a fact."""
        note = self._note
        if note is not None and note.deleted is None:
            other: Any = "fact" if note.kind == "rule" else "rule"
            self._work(self._change(note, lambda store: store.notes.set_kind(note.id, other)))

    def action_delete(self) -> None:
        """Delete the note; it stays in its place, to be brought back."""
        note = self._note
        if note is not None and note.deleted is None:
            self._work(self._change(note, lambda store: store.notes.delete(note.id)))

    def action_undo(self) -> None:
        """Bring back the note under the cursor, or the one that was deleted last."""
        deleted = [note for note in self._notes if note.deleted is not None]
        note = self._note if self._note in deleted else max(deleted, key=lambda n: n.deleted or 0.0, default=None)
        if note is None:
            self._say("Nothing was deleted here.")
            return
        self._work(self._change(note, lambda store: store.notes.restore(note.id)))

    def action_edit(self) -> None:
        """Write the note anew."""
        note = self._note
        if note is not None and note.deleted is None:
            self._write(note)

    def action_add(self) -> None:
        """Write a note by hand."""
        self._write(None)

    def _write(self, note: Note | None) -> None:
        """Open the line to write in, on NOTE or on nothing."""
        self._edited = note
        box = self.query_one("#memory-text", Input)
        box.border_title = Content("edit" if note else "new note")
        box.value = clean_line(note.text) if note else ""
        box.cursor_position = len(box.value)
        box.add_class("-written")
        box.focus()
        self._say("")
        self.query_one("#memory-keys", Static).update(Content(WRITING))

    def _written(self) -> None:
        """Close the line to write in."""
        self.query_one("#memory-text", Input).remove_class("-written")
        self.query_one("#memory-keys", Static).update(Content(KEYS))
        self.query_one(OptionList).focus()

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        """Keep what was written; a blank line changes nothing."""
        event.stop()
        note, text = self._edited, event.value
        self._written()
        if note is None and text.strip():
            self._work(self._added(text))
        elif note is not None and text.strip() not in ("", clean_line(note.text)):
            self._work(self._change(note, lambda store: store.notes.edit(note.id, text)))

    async def _added(self, text: str) -> None:
        note = await self._stored(lambda store: store.notes.add(text))
        if note is not None:
            self._notes.insert(0, note)
            self._draw(0)

    # -- where it came from --------------------------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        """Show the message that a note came from."""
        event.stop()
        note = self._note
        if note is not None:
            self._work(self._source(note))

    async def _source(self, note: Note) -> None:
        from hermes_tui.tui.projection import whole_text
        from hermes_tui.tui.screens.original import OriginalScreen

        source = note.source
        if source is None:
            self._say("This note was added by hand.")
            return
        message = await self._stored(lambda store: store.message(source))
        if message is not None:
            self.app.push_screen(OriginalScreen(_origin(note, time.time()), whole_text(message.content), f"Note: {note.text}"))

    def action_conversation(self) -> None:
        """Open the conversation that the note came from."""
        note = self._note
        if note is not None:
            self._work(self._open(note))

    async def _open(self, note: Note) -> None:
        chain = note.chain
        if chain is None:
            self._say("This note was added by hand.")
            return
        tip = await self._stored(lambda store: store.tip(chain))
        if tip is not None:
            self.app.open_from_lineage(tip)

    # -- ways out ------------------------------------------------------------------------------------------------------

    def action_close(self) -> None:
        """Leave the line that is written in, or the memory."""
        if self.query_one("#memory-text", Input).has_class("-written"):
            self._written()
        else:
            self.app.show_chat()
