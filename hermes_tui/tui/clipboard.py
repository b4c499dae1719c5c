"""Copying to the clipboard, and saying honestly how.

A terminal that is asked to set the clipboard (OSC 52) gives no answer: it may have done so, may have been told not to, or may
not know the request. A clipboard of the desktop does answer. So both are used where both are there, and the words say which of
them is known to have worked.
"""

from __future__ import annotations

import base64
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hermes_tui.tui.clean import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import App

OSC52_LIMIT = 74_994
"""Bytes of text whose base64 most terminals take in one OSC 52 (xterm and those after it stop at 100,000 in all)."""

DESKTOP_WAIT = 0.5
"""Seconds to wait for the desktop's clipboard program before giving up on an answer."""


@dataclass(frozen=True, slots=True)
class Copied:
    """How text was copied."""

    characters: int
    route: Literal["desktop", "terminal", "tmux", "screen", "none"]
    """``desktop`` answered; the others were only asked."""
    too_long: bool = False
    """Longer than most terminals accept."""

    @property
    def sentence(self) -> str:
        """What to tell the person, in words that claim no more than is known."""
        what = f"{self.characters:,} character{'' if self.characters == 1 else 's'}"
        if self.route == "desktop":
            return f"Copied {what} to the clipboard"
        if self.route == "none":
            return f"Not copied: no clipboard was found for {what}"
        through = {"terminal": "", "tmux": " through tmux", "screen": " through screen"}[self.route]
        doubt = "; that is more than many terminals accept" if self.too_long else ""
        return f"Sent {what} to your terminal's clipboard{through} (OSC 52){doubt}"


def osc52(text: str, environ: Mapping[str, str]) -> tuple[str, Literal["terminal", "tmux", "screen"]]:
    """The bytes that ask the terminal to set its clipboard, wrapped for the multiplexer in between, and which that is.

    tmux takes the bare request itself if ``set-clipboard`` is on, and hands the wrapped one on if ``allow-passthrough`` is:
    which of them is set cannot be seen from inside, so it gets both.
    """
    request = f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}\x07"
    if environ.get("TMUX"):
        return request + "\x1bPtmux;" + request.replace("\x1b", "\x1b\x1b") + "\x1b\\", "tmux"
    if environ.get("STY"):
        # screen hands on at most 768 bytes at a time
        pieces = [request[k : k + 700] for k in range(0, len(request), 700)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces), "screen"
    return request, "terminal"


def copy(app: App[object], text: str) -> Copied:
    """Copy ``text``, without control characters: to the terminal, and to the desktop's clipboard unless over SSH.

    Over SSH the desktop's clipboard would be that of the far machine.
    """
    text = clean(text, tabs=True)
    request, route = osc52(text, os.environ)
    driver = getattr(app, "_driver", None)  # Textual offers no public way to write a request of one's own
    if driver is not None:
        driver.write(request)
    over_ssh = bool(os.environ.get("SSH_TTY") or os.environ.get("SSH_CONNECTION"))
    if not over_ssh and _to_desktop(text):
        return Copied(len(text), "desktop")
    if driver is None:
        return Copied(len(text), "none")
    return Copied(len(text), route, len(text.encode("utf-8", "replace")) > OSC52_LIMIT)


def _to_desktop(text: str) -> bool:
    """Give the text to the desktop's clipboard; whether that is known to have worked."""
    import pyperclip

    worked = threading.Event()

    def run() -> None:
        try:
            pyperclip.copy(text)
        except Exception:
            return  # no clipboard program, or it failed: the terminal was asked already
        worked.set()

    thread = threading.Thread(target=run, name="clipboard", daemon=True)
    thread.start()
    thread.join(DESKTOP_WAIT)
    return worked.is_set()
