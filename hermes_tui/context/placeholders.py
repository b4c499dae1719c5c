"""Placeholders: the short texts that stand for what was pruned or clipped, and say how to get it back.

Whatever a placeholder quotes came from a model, a tool or a file: it is redacted, put on one line, cut short, and holds no
control sequences. A placeholder is a function of the original alone (and of where the same stands again), so pruning the same
message twice gives the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from hermes_tui.context.acts import NO_DECLARATION, Act, Declaration, act_of
from hermes_tui.context.media import image_size
from hermes_tui.context.messages import ID_SHOWN, Block, result_text
from hermes_tui.context.redaction import redact
from hermes_tui.context.signs import cut_after, cut_before

PRUNED_OVER: Final = 200
"""Characters: shorter results and arguments stay (the seed's rule). No placeholder is longer, so none is pruned again."""
LINE_KEPT: Final = 120
"""Characters of a main argument or an error line that a label shows; in a placeholder they share what is left of its line."""
NAME_KEPT: Final = 32
"""Characters of a tool's name."""
ARGUMENT_KEPT: Final = 80
"""Characters of a long argument that its placeholder keeps."""
LEAST_KEPT: Final = 20
"""Characters of a clipped result's start and of its end, at least."""
MEDIA: Final = ("image", "document")
"""Types of blocks that give way to a note."""

_CONTROL: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?|[ -/]*[0-~]?)"  # sequences that terminals obey
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_MARGIN: Final = 240
"""Characters beyond a cut that are redacted with what is kept, so that a secret which the cut falls into is still known."""
_BLANKS: Final = 3
"""Times the characters kept that are looked at, for text full of white space."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the original of a placeholder is kept, and how a model may reopen it.

    Attributes:
        message: the id of the message that holds it.
        tool: the name of the engine's own tool that reopens messages by id, "" where it offers none.
    """

    message: str
    tool: str = ""

    @property
    def way_back(self) -> str:
        """How to get the original back, in a few words."""
        return f"{self.tool} id {self.message[-ID_SHOWN:]} reopens it" if self.tool else f"original {self.message[-ID_SHOWN:]}"


def without_controls(text: str) -> str:
    """TEXT without what a terminal would obey; line ends and tabs stay."""
    return _CONTROL.sub("", text)


def quoted(text: str, most: int = LINE_KEPT) -> str:
    """The start of TEXT on one line of at most MOST characters, redacted and without control sequences."""
    if most < 2:
        return ""
    start = text[: _BLANKS * max(most, ARGUMENT_KEPT) + _MARGIN]
    line = " ".join(without_secrets(without_controls(start)).split())
    return line if len(line) <= most and len(start) == len(text) else line[: cut_before(line, most - 1)].rstrip() + "…"


@lru_cache(maxsize=4_096)
def without_secrets(text: str) -> str:
    """A short TEXT without its secrets, as it is otherwise."""
    return redact(text)


def main_argument(call: Block, declaration: Declaration = NO_DECLARATION) -> str:
    """What CALL was about, by its main argument, for a label."""
    return quoted(act_of(call, None, declaration=declaration).main)


def result_placeholder(act: Act, media: Sequence[Block], origin: Origin, reason: str = "") -> str:
    """The line that stands for a pruned result: what it was, how it ended, why it went, and how to get it back."""
    sizes = [f"{len(act.output):,} characters"] if act.output else []
    again = "call it again to see it, " if act.verb in ("read", "searched") and not origin.tool else ""
    ended = _ended(act)
    told = [quoted(act.name, NAME_KEPT), ", ".join([*sizes, *_counted(media)]), ended, reason, again + origin.way_back]
    left = PRUNED_OVER - len(f"[pruned: {' · '.join(part for part in told if part)}]")
    error = quoted(act.error, min(LINE_KEPT, left // 2 - 4)) if act.failed else ""
    if error:
        told[2] = f'{ended}, "{error}"'
    main = quoted(act.main, min(LINE_KEPT, left - len(told[2]) + len(ended) - 3))
    told[0] = f"{told[0]} {main}".strip()
    return f"[pruned: {' · '.join(part for part in told if part)}]"


def _ended(act: Act) -> str:
    """How a call ended, its error line aside: as its exit code, or that it failed; "" for a success that needs no word."""
    if act.exit_code is not None and act.verb in ("ran", "called"):
        return f"exit {act.exit_code}"
    return "failed" if act.failed else ""


def _counted(media: Sequence[Block]) -> list[str]:
    """One image or document in words; more of them counted."""
    if len(media) == 1 and len(words := media_words(media[0])) <= 60:
        return [words]
    kinds = Counter(str(block.get("type", "")) for block in media)
    return [f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in kinds.items()]


def argument_placeholder(text: str, origin: Origin) -> str:
    """The string that stands for a long argument: its start, how long it was, and where it is."""
    return f"{quoted(text, ARGUMENT_KEPT)} [pruned: {len(text):,} characters · {origin.way_back}]"


def media_note(block: Block, origin: Origin) -> Block:
    """The text block that stands for an image or a document."""
    return {"type": "text", "text": f"[pruned: {media_words(block)} · {origin.way_back}]"}


def media_words(block: Block) -> str:
    """What an image or a document was: its media type, name, and size in pixels and bytes, as far as they are known."""
    source: Mapping[str, Any] = block.get("source") or {}
    data, kind = source.get("data"), str(source.get("type", ""))
    parts = [quoted(str(source.get("media_type") or block.get("type", "")), 40), quoted(str(block.get("title") or ""), 40)]
    if isinstance(data, str) and kind == "base64":
        pixels = image_size(data) if block.get("type") == "image" else None
        parts += [f"{pixels[0]}×{pixels[1]}" if pixels else "", _bytes(len(data) * 3 // 4)]
    elif isinstance(data, str):
        parts.append(f"{len(data):,} characters")
    elif kind == "url":
        parts.append(quoted(str(source.get("url", "")), 60))
    elif kind == "content":
        parts.append(f"{len(result_text(source)):,} characters")
    return " ".join(part for part in parts if part)


def _bytes(size: int) -> str:
    return f"{size:,} bytes" if size < 1_000 else f"{size / 1_000:,.0f} kB"


def clipped_results(content: Sequence[Block], budget: int, origin: Origin, chars_per_token: float) -> tuple[Block, ...]:
    """Results cut down to about BUDGET tokens in all: the start and the end of each long one, its size, and its id.

    Args:
        content: the results.
        budget: tokens that they may take together.
        origin: where the original is kept.
        chars_per_token: of this content, as counted.
    """
    lengths = [len(result_text(b)) if b.get("type") == "tool_result" else 0 for b in content]
    cap = _fair_share(lengths, max(200, int(budget * chars_per_token)))
    return tuple(
        block if length <= cap else clipped_result(block, cap, origin) for block, length in zip(content, lengths, strict=True)
    )


def clipped_result(block: Block, cap: int, origin: Origin) -> Block:
    """Start and end of a result in about CAP characters, redacted and without control sequences; itself if that is shorter."""
    length = len(result_text(block))
    note = f"\n[clipped: {length:,} characters in all, {{}} left out here · {origin.way_back}]\n"
    half = max(LEAST_KEPT, (cap - len(note)) // 2)
    gone = length - 2 * half
    if gone <= len(note):
        return block
    text = redact(without_controls(result_text(block)))
    start, rest = text[: cut_before(text, half)].rstrip(), text[half:]
    end = rest[cut_after(rest, len(rest) - half) :].lstrip()
    return {**block, "content": start + note.format(f"{gone:,}") + end}


def _fair_share(lengths: Sequence[int], allowed: int) -> int:
    """The cap that, put on each of LENGTHS, brings their sum to ALLOWED."""
    left, many = allowed, len(lengths)
    for length in sorted(lengths):
        if length * many >= left:
            return left // many
        left, many = left - length, many - 1
    return max(lengths, default=0)
