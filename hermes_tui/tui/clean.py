"""Text from a model, a tool, a file or a person, made safe and of known width for the screen.

Control characters pass through Rich and Textual to the terminal as they are, and a terminal obeys them. Whatever the screen
shows is passed through here first: strips, titles, labels, notifications.
"""

from __future__ import annotations

import re

TAB_SIZE = 4
"""Cells between tab stops."""

_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_GONE = (
    "\x00-\x08\x0e-\x1f"  # C0 but tab and the line ends; ESC is among them
    "\x7f-\x84\x86-\x9f"  # DEL and C1 but NEL, which is a line end
    "\xad\ufeff\ufff9-\ufffb"  # soft hyphen, byte order mark, annotations: terminals disagree on their width
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi controls: text would read otherwise than it is
    "\ud800-\udfff"  # lone surrogates cannot be encoded
)
_DIRTY = re.compile(f"[{_GONE}\t\r\x0b\x0c\x85\u2028\u2029]")
_REMOVE = re.compile(f"[{_GONE}]+")


def clean(text: str, *, tabs: bool = False) -> str:
    """``text`` without controls; every kind of line end becomes a newline and tabs become spaces to the next stop.

    Args:
        text: Any text at all.
        tabs: Keep tabs as they are, for text that is copied rather than shown.
    """
    if not _DIRTY.search(text):
        return text
    text = _REMOVE.sub("", _NEWLINES.sub("\n", text))
    if tabs or "\t" not in text:
        return text
    return text.expandtabs(TAB_SIZE)


def clean_line(text: str) -> str:
    """``text`` cleaned and on one line, for titles and labels: line ends become single spaces."""
    text = clean(text)
    return " ".join(text.split("\n")) if "\n" in text else text
