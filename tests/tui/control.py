"""What must never reach a terminal: told apart here by the Unicode tables, not by the code under test."""

from __future__ import annotations

import unicodedata


def is_control(character: str) -> bool:
    """Whether a terminal would obey the character, or show the text around it in another order, or cannot be sent it."""
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in (
        "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
    ) or character in "\u200e\u200f\u061c\u2028\u2029"  # fmt: skip
