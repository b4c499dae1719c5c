"""The inspector: the place of the instruments, which are put in once the first frame is out: it need not wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical

if TYPE_CHECKING:
    from hermes_tui.tui.readings import ContextReading
    from hermes_tui.tui.widgets.instruments import Instruments


class Inspector(Vertical):
    """Shows what is sent; what it is given before the instruments stand is shown when they do.

    Where it is READ_ONLY, the keys that change what is sent are not named.
    """

    def __init__(self, *, id: str | None = None, read_only: bool = False) -> None:
        super().__init__(id=id)
        self._read_only = read_only
        self.instruments: Instruments | None = None
        self._reading: ContextReading | None = None
        self._to_focus = False

    def on_mount(self) -> None:
        """Wait for the first frame."""
        self.call_after_refresh(self._furnish)

    async def _furnish(self) -> None:
        from hermes_tui.tui.widgets.instruments import Instruments

        instruments = Instruments(id="instruments", read_only=self._read_only)
        await self.mount(instruments)
        self.instruments = instruments
        if self._reading is not None:
            instruments.show(self._reading)
        if self._to_focus:
            self.focus_entries()

    def show(self, reading: ContextReading) -> None:
        """Draw READING."""
        self._reading = reading
        if self.instruments is not None:
            self.instruments.show(reading)

    def show_writing(self, text: str) -> None:
        """Draw the summary as far as it is written; "" when none is being written."""
        if self.instruments is not None:
            self.instruments.show_writing(text)

    @property
    def writing(self) -> str:
        """The summary as far as it is written, "" when none is."""
        return self.instruments.writing if self.instruments is not None else ""

    def focus_entries(self) -> None:
        """Give the keys to the entries."""
        if self.instruments is None:
            self._to_focus = True
        else:
            self.instruments.query_one("#entries").focus()
