"""Where a text may be cut: between two signs, never inside one that is made of several characters.

A family, a flag, a hand with a colour of skin, a letter with an accent: cut inside, a reader sees another sign than was
written. The rules are those of Unicode's extended grapheme clusters (UAX #29) for what people write, told by the characters
around a cut alone; no library is loaded for it.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_JOINER: Final = "\u200d"
_EXTENDING: Final = frozenset("\u200c\u200d\ufe0e\ufe0f\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_FLAG_LETTERS: Final = range(0x1F1E6, 0x1F200)
_VOWELS_AND_ENDS: Final = range(0x1160, 0x1200)
"""Hangul letters that stand in the block of the one before them."""


_LONGEST: Final = 40
"""Characters of a sign; marks without end that are heaped on a letter are no sign, and are cut anywhere."""


def cut_before(text: str, at: int) -> int:
    """The last place at or before AT where TEXT can be cut."""
    at = max(0, min(at, len(text)))
    return next((place for place in range(at, max(0, at - _LONGEST) - 1, -1) if _may_cut(text, place)), at)


def cut_after(text: str, at: int) -> int:
    """The first place at or after AT where TEXT can be cut."""
    at = max(0, min(at, len(text)))
    return next((place for place in range(at, min(len(text), at + _LONGEST) + 1) if _may_cut(text, place)), at)


def _may_cut(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after.isascii():
        return not (before == "\r" and after == "\n")
    if before == _JOINER or after in _EXTENDING or ord(after) in _VOWELS_AND_ENDS:
        return False
    if unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return False
    if ord(before) in _FLAG_LETTERS and ord(after) in _FLAG_LETTERS:
        letters = 1
        while at - 1 - letters >= 0 and ord(text[at - 1 - letters]) in _FLAG_LETTERS:
            letters += 1
        return letters % 2 == 0
    return True
