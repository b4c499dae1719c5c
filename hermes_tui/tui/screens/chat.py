"""The chat screen: transcript and composer, the inspector beside them, the status line below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from hermes_tui.tui.commands import Command, completions
from hermes_tui.tui.failures import Steadfast
from hermes_tui.tui.transcript import Transcript
from hermes_tui.tui.transcript.messages import DividerChosen, EarlierWanted, FollowChanged, LinkChosen
from hermes_tui.tui.widgets.activity import ActivityLine
from hermes_tui.tui.widgets.completion import CompletionList
from hermes_tui.tui.widgets.composer import Composer
from hermes_tui.tui.widgets.heading import Heading
from hermes_tui.tui.widgets.inspector import Inspector
from hermes_tui.tui.widgets.status import StatusLine

if TYPE_CHECKING:
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.readings import ContextReading, EntryRow
    from hermes_tui.tui.widgets.entries import EntryList

BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
"""Under 100 columns the inspector folds away."""
ROW_BREAKPOINTS = [(0, "-low"), (20, "-high")]
"""Under 20 rows the page keeps what there is."""


class ChatScreen(Steadfast, Screen[None]):
    """The conversation that goes on."""

    AUTO_FOCUS = "#composer"
    app: HermesApp
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    VERTICAL_BREAKPOINTS = ROW_BREAKPOINTS

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+up,alt+up", "scroll_transcript(-3)", "scroll up", show=False),
        Binding("ctrl+down,alt+down", "scroll_transcript(3)", "scroll down", show=False),
        Binding("ctrl+end", "scroll_to_end", "to the end", show=False, priority=True),
        Binding("pageup", "page_transcript(-1)", "page up", show=False, priority=True),
        Binding("pagedown", "page_transcript(1)", "page down", show=False, priority=True),
    ]

    def compose(self) -> ComposeResult:
        """Heading; transcript, activity and composer beside the inspector; status."""
        yield Heading(id="heading")
        with Horizontal(id="body"):
            with Vertical(id="talk"):
                yield Transcript(id="transcript")
                yield CompletionList(id="completion")
                yield ActivityLine(id="activity")
                yield from self.foot()
            yield Inspector(id="inspector")
        yield StatusLine(id="status")

    def foot(self) -> ComposeResult:
        """What stands below the transcript: where one writes."""
        yield Composer(placeholder="Message …  / for commands", id="composer")

    def on_mount(self) -> None:
        """The keys stand in the composer's border."""
        self.query_one(Composer).border_subtitle = "F1 help  F2 inspector  F3 lineage  ^P palette"

    # -- the parts, for whoever draws into them ------------------------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """The conversation so far."""
        return self.query_one("#transcript", Transcript)

    @property
    def composer(self) -> Composer:
        """Where the next message is written."""
        return self.query_one("#composer", Composer)

    @property
    def activity(self) -> ActivityLine:
        """What goes on."""
        return self.query_one("#activity", ActivityLine)

    @property
    def heading(self) -> Heading:
        """Title, model and session."""
        return self.query_one("#heading", Heading)

    @property
    def status(self) -> StatusLine:
        """Who answers, and the counters."""
        return self.query_one("#status", StatusLine)

    @property
    def inspector(self) -> Inspector:
        """What is sent."""
        return self.query_one("#inspector", Inspector)

    def show_context(self, reading: ContextReading) -> None:
        """Draw READING in the inspector."""
        self.inspector.show(reading)

    def show_writing(self, text: str) -> None:
        """Draw the summary as far as it is written; "" when none is being written."""
        self.inspector.show_writing(text)

    # -- what the parts ask for ----------------------------------------------------------------------------------------

    @on(EarlierWanted)
    def _earlier(self) -> None:
        """Older messages come from the store."""
        self.app.run_worker(self.app.desk.earlier(), group="store", exit_on_error=False)

    @on(FollowChanged)
    def _followed(self, event: FollowChanged) -> None:
        """While the view is scrolled up, say that there is more below."""
        self.activity.change(above=not event.following)

    @on(DividerChosen)
    def _divider(self) -> None:
        """A divider opens the lineage: there is what it stands for."""
        self.app.action_lineage()

    @on(LinkChosen)
    def _link(self, event: LinkChosen) -> None:
        """A link is a model's word: it is copied, never opened."""
        self.app.copy_to_clipboard(event.url)

    def on_entry_list_opened(self, event: EntryList.Opened) -> None:
        """Show what an entry stands for."""
        self.run_worker(self._show_original(event.row), group="store", exit_on_error=False)

    def on_entry_list_mark_asked(self, event: EntryList.MarkAsked) -> None:
        """Pin or drop what an entry stands for."""
        self.app.desk.mark(event.row, event.key)

    async def _show_original(self, row: EntryRow) -> None:
        from hermes_tui.tui.screens.original import OriginalScreen

        title, text, note = await self.app.desk.original(row)
        if title:
            self.app.push_screen(OriginalScreen(title, text, note))

    def begin_command(self, command: Command) -> None:
        """Put COMMAND into the composer, to be finished there."""
        self.composer.text = f"/{command.name} "
        self.composer.move_cursor(self.composer.document.end)
        self.composer.focus()

    # -- the inspector -------------------------------------------------------------------------------------------------

    def action_inspector(self) -> None:
        """Show or hide the inspector; the keys go to its entries, and back."""
        toggle_inspector(self, back_to="#composer")

    def close_drawer(self) -> bool:
        """Close the inspector where it lies over the page; False where it does not."""
        return close_drawer(self, back_to="#composer")

    # -- completions ---------------------------------------------------------------------------------------------------

    @on(Composer.Edited)
    def _offer(self, event: Composer.Edited) -> None:
        """Offer the commands that the text may become."""
        offered = completions(event.text)
        self.query_one(CompletionList).show(offered)
        event.composer.completing = bool(offered)

    def close_completions(self) -> None:
        """Close the list; what is written stays."""
        self.query_one(CompletionList).show(())
        self.composer.completing = False

    @on(Composer.Steered)
    def _steer(self, event: Composer.Steered) -> None:
        """Move in the list, or take its choice; Enter runs a command that needs no argument."""
        offered = self.query_one(CompletionList)
        offered.show(completions(event.composer.text))  # keys may come faster than the list is drawn
        choice = offered.choice
        if event.key in ("up", "down"):
            offered.move(-1 if event.key == "up" else 1)
        elif choice is not None:
            event.composer.completing = False
            offered.show(())
            text = f"/{choice.name}"
            if event.key == "enter" and not choice.argument.startswith("name"):
                event.composer.text = ""
                self.app.submit(text)
            else:
                event.composer.text = text + (" " if choice.argument else "")
                event.composer.move_cursor(event.composer.document.end)
        elif event.key == "enter":
            event.composer.completing = False
            event.composer.hand_over()

    # -- scrolling while the composer has the keys ---------------------------------------------------------------------

    def action_scroll_transcript(self, rows: int) -> None:
        """Scroll the transcript by ROWS."""
        self.transcript.scroll_relative(y=rows, animate=False)

    def action_scroll_to_end(self) -> None:
        """Go to the end of the conversation and follow it."""
        self.transcript.scroll_to_end()

    def action_page_transcript(self, pages: int) -> None:
        """Scroll the transcript by PAGES."""
        if pages < 0:
            self.transcript.scroll_page_up(animate=False)
        else:
            self.transcript.scroll_page_down(animate=False)


def toggle_inspector(screen: Screen[None], *, back_to: str) -> None:
    """F2: go to SCREEN's inspector, showing it where it is hidden; from within, fold it away and go back."""
    inspector = screen.query_one(Inspector)
    if screen.has_class("-narrow"):
        if close_drawer(screen, back_to=back_to):
            return
        inspector.add_class("-drawer")
    elif inspector.has_class("-folded"):
        inspector.remove_class("-folded")
    elif inspector.has_focus_within:
        inspector.add_class("-folded")
        screen.query_one(back_to).focus()
        return
    inspector.focus_entries()


def close_drawer(screen: Screen[None], *, back_to: str) -> bool:
    """Close SCREEN's inspector where it lies over the page; False where it does not."""
    inspector = screen.query_one(Inspector)
    if not (screen.has_class("-narrow") and inspector.has_class("-drawer")):
        return False
    inspector.remove_class("-drawer")
    screen.query_one(back_to).focus()
    return True
