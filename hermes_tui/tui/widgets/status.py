"""The status line: who answers, and what it has cost so far."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from hermes_tui.tui.clean import clean_line
from hermes_tui.tui.glyphs import glyphs
from hermes_tui.tui.numbers import money, percent, short
from hermes_tui.tui.readings import Totals


class StatusLine(Widget):
    """Provider and model on the left, the counters on the right; what does not fit is left out, the least important first."""

    DEFAULT_CSS = """
    StatusLine { height: 1; color: $muted; background: $background; padding: 0 1; }
    """

    answers: str = ""
    """Who answers: "embedded, 135M parameters", "anthropic", …"""
    hint: str = ""
    """What to do about it: "/key to add one"."""
    totals = Totals()

    def say_who(self, answers: str, hint: str = "") -> None:
        """Name who answers, and the HINT beside it."""
        self.answers, self.hint = answers, hint
        self.refresh()

    def show(self, totals: Totals) -> None:
        """Draw TOTALS; nothing is laid out anew."""
        if totals != self.totals:
            self.totals = totals
            self.refresh()

    def render(self) -> Content:
        """One line for the width there is."""
        return status_content(self.answers, self.hint, self.totals, self.content_size.width or 80)


def status_content(answers: str, hint: str, totals: Totals, width: int) -> Content:
    """The line in WIDTH cells: counters give way to the name, the name's hint to the counters."""
    table = glyphs()
    counters = [f"{table.up}{short(totals.prompt)} {table.down}{short(totals.reply)}"] if totals.prompt else []
    if totals.cached:
        counters.append(f"cache {percent(totals.cached, totals.prompt)}")
    if totals.cost is not None:
        counters.append(money(totals.cost))
    counters.append(f"turn {totals.turn}")
    name, advice = clean_line(answers), clean_line(hint)
    separator = f" {table.dot} "
    right = separator.join(counters) if totals.turn else ""
    while counters and len(name) + 2 + len(right) > width:
        counters.pop(1 if len(counters) > 2 else 0)
        right = separator.join(counters) if totals.turn else ""
    left = name
    if advice and len(name) + len(separator) + len(advice) + 2 + len(right) <= width:
        left = name + separator + advice
    left = left[:width]
    gap = " " * max(0, width - len(left) - len(right))
    return Content.assemble((left[: len(name)], "$muted"), (left[len(name) :], "$accent"), gap, (right, "$muted"))
