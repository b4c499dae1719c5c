"""The activity line: what is going on just now, with its seconds, and how to stop it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Final

from textual.content import Content
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import counted, seconds


@dataclass(frozen=True, slots=True)
class Activity:
    """What goes on; times are of the monotonic clock, None where it does not go on.

    Attributes:
        loading: what is being got ready ("embedded model starting"), "" when all is.
        loading_since: since when.
        turn_since: a turn runs since then.
        doing: what the turn does ("thinking", "writing", "running read_file").
        retry_at: when the request is sent again; ``retry_reason`` says why.
        compressing_since: a compression runs since then; ``background`` tells whether anybody waits for it.
        prepared: a summary is ready and waits for a boundary.
        waiting: messages typed ahead.
        above: the transcript is scrolled up: there is more below.
        problem: why nothing can be sent, "" when it can.
    """

    loading: str = ""
    loading_since: float | None = None
    turn_since: float | None = None
    doing: str = ""
    retry_at: float | None = None
    retry_reason: str = ""
    compressing_since: float | None = None
    background: bool = False
    prepared: bool = False
    waiting: int = 0
    above: bool = False
    problem: str = ""

    @property
    def runs(self) -> bool:
        """True while the line changes by the second."""
        return any(t is not None for t in (self.loading_since, self.turn_since, self.retry_at, self.compressing_since))


def activity_parts(activity: Activity, now: float) -> list[tuple[str, str]]:
    """(text, style) of everything that goes on, the most important first."""
    parts: list[tuple[str, str]] = []
    if activity.problem:
        parts.append((activity.problem, "$error"))
    if activity.loading:
        since = "" if activity.loading_since is None else f" {seconds(now - activity.loading_since)}"
        parts.append((activity.loading + since, "$muted"))
    if activity.retry_at is not None:
        left = max(0, round(activity.retry_at - now))
        parts.append((f"trying again in {left} s, esc stops: {activity.retry_reason.rstrip('.')}", "$warning"))
    elif activity.turn_since is not None:
        parts.append((f"{activity.doing or 'waiting for the reply'} {seconds(now - activity.turn_since)}", "$muted"))
    if activity.compressing_since is not None:
        what = "preparing a summary" if activity.background else "compressing"
        parts.append((f"{what} {seconds(now - activity.compressing_since)}", "$region-summary"))
    elif activity.prepared:
        parts.append(("summary ready, used at the next turn", "$region-summary"))
    if activity.waiting:
        parts.append((f"{counted(activity.waiting, 'message')} waiting", "$accent"))
    if activity.above:
        parts.append((f"{glyphs().down} more below, ctrl+end", "$muted"))
    waits = activity.turn_since is not None and activity.retry_at is None
    if waits or (activity.compressing_since is not None and not activity.background):
        parts.append(("esc stops", "$muted"))
    return parts


MOST_ROWS: Final = 3
"""Of something that went wrong; whatever else goes on has one."""


class ActivityLine(Widget):
    """The line above the composer, more where something went wrong; it ticks once a second only while something runs."""

    DEFAULT_CSS = """
    ActivityLine { height: auto; background: $background; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.activity = Activity()
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """The timer rests until something runs."""
        self._timer = self.set_interval(1.0, self.refresh, pause=True)
        self._run_timer()

    def change(self, **changes: Any) -> None:
        """Change fields of the activity and draw it anew; nothing is laid out anew unless it takes more rows or fewer."""
        activity = replace(self.activity, **changes)
        if activity != self.activity:
            rows = len(self._rows())
            self.activity = activity
            self._run_timer()
            self.refresh(layout=rows != len(self._rows()))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as there are."""
        return len(self._rows(width))

    def _run_timer(self) -> None:
        if self._timer is not None:
            if self.activity.runs:
                self._timer.resume()
            else:
                self._timer.pause()

    def render(self) -> Content:
        """What goes on."""
        return Content("\n").join(self._rows())

    def _rows(self, width: int = 0) -> list[Content]:
        """The parts, separated by dots: those that fit on one row, or the whole of what went wrong."""
        width = max(4, width or self.content_size.width or 80)
        parts = [(clean_line(text), style) for text, style in activity_parts(self.activity, time.monotonic())]
        dotted = [(f" {glyphs().dot} {text}" if at else text, style) for at, (text, style) in enumerate(parts)]
        went_wrong = self.activity.problem or self.activity.retry_at is not None
        rows = [row.rstrip() for row in Content.assemble(*dotted).wrap(width)] if went_wrong else [Content.assemble(*dotted)]
        rows, cut = rows[:MOST_ROWS], len(rows) > MOST_ROWS
        if cut or rows[-1].cell_length > width:
            rows[-1] = rows[-1].truncate(width - 1).append(glyphs().ellipsis)
        return rows
