"""Images in pixels and documents in pages, read from the bytes of their files: what their prices in tokens are made from."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

LOOKED_AT: Final = 256 * 1024
"""Base64 characters that are decoded: a JPEG may carry a preview and a colour profile before it tells its size."""
PATCH: Final = 28
"""Pixels to a side of what a model sees as one token."""
IMAGE_FRAME: Final = 77
"""Tokens around the patches (compression.md, D: measured on the 5.x models, 65 on those before)."""
MOST_IMAGE: Final = 4_000
"""Tokens: a larger image is made smaller before it is seen."""
UNKNOWN_IMAGE: Final = 1_500
"""Tokens of an image whose size cannot be read; 1024 x 1024 takes 1,446."""
PAGE_TOKENS: Final = 2_000
"""A page of a document: its text and its picture (the provider names 1,500 to 3,000)."""
PAGE_SIZE: Final = 60_000
"""Base64 characters to a page of a document that does not tell how many it has."""
_PAGES: Final = re.compile(rb"/Type\s*/Pages\b[^<>]{0,200}?/Count\s+(\d{1,6})|/Count\s+(\d{1,6})[^<>]{0,200}?/Type\s*/Pages\b")


def image_tokens(block: Mapping[str, Any]) -> int:
    """What an image block takes on the models that are current, in the provider's own tokens."""
    source = block.get("source")
    size = image_size(str(source.get("data", ""))) if isinstance(source, Mapping) and source.get("type") == "base64" else None
    if size is None:
        return UNKNOWN_IMAGE
    width, height = size
    return min(MOST_IMAGE, -(-width // PATCH) * -(-height // PATCH) + IMAGE_FRAME)


def document_tokens(encoded: str) -> int:
    """What a document, given as base64, takes by its pages, in the provider's own tokens."""
    return max(1, page_count(encoded) or -(-len(encoded) // PAGE_SIZE)) * PAGE_TOKENS


def page_count(encoded: str) -> int | None:
    """The pages of the PDF that ENCODED is the base64 of, as its page tree says; None where that cannot be read."""
    found = 0
    last = max(0, len(encoded) - LOOKED_AT) // 4 * 4  # base64 is read four characters at a time
    for part in (encoded[:LOOKED_AT], encoded[last:]):  # the tree stands at either end
        for match in _PAGES.finditer(_decoded(part)):
            found = max(found, int(match[1] or match[2]))
    return found or None


def image_size(encoded: str) -> tuple[int, int] | None:
    """Width and height of the PNG, JPEG, GIF or WebP that ENCODED is the base64 of; None where it tells none."""
    data = _decoded(encoded[:LOOKED_AT])
    size = _png(data) or _gif(data) or _webp(data) or _jpeg(data)
    return size if size is not None and min(size) > 0 else None


def _decoded(part: str) -> bytes:
    try:
        return base64.b64decode(part[: len(part) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _png(data: bytes) -> tuple[int, int] | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> tuple[int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 10:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size that the first frame header names; the segments before it are stepped over by their lengths."""
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers without a length
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
