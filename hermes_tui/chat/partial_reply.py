"""A reply while it streams: what of it may be kept when it breaks off."""

from __future__ import annotations

from hermes_tui.context.messages import THINKING, Block, text_block
from hermes_tui.llm.provider import BlockEnded, BlockStarted, StreamEvent, TextGrew


class PartialReply:
    """The blocks of a reply so far, by their index in it."""

    def __init__(self) -> None:
        self._whole: dict[int, Block] = {}
        self._texts: dict[int, list[str]] = {}
        self.grown = 0
        """Counts what arrived, so that whoever saves it knows whether anything is new."""

    def take(self, event: StreamEvent) -> None:
        """Take in one event of the stream."""
        self.grown += 1
        if isinstance(event, BlockStarted) and event.block.get("type") == "text":
            self._texts[event.index] = [str(event.block.get("text", ""))]
        elif isinstance(event, TextGrew):
            self._texts.setdefault(event.index, []).append(event.text)
        elif isinstance(event, BlockEnded):
            self._whole[event.index] = event.block
            self._texts.pop(event.index, None)

    @property
    def content(self) -> tuple[Block, ...]:
        """Whole blocks and the text so far of an open one.

        Thinking without its signature and calls without all of their input are no valid blocks: they are left out.
        """
        blocks = dict(self._whole)
        for index, parts in self._texts.items():
            if text := "".join(parts):
                blocks[index] = text_block(text)
        kept = tuple(blocks[index] for index in sorted(blocks))
        return kept if any(_says_something(block) for block in kept) else ()


def _says_something(block: Block) -> bool:
    """Whether BLOCK is worth a message by itself: thinking alone, or blank text, is not."""
    kind = block.get("type")
    return kind not in THINKING and (kind != "text" or bool(str(block.get("text", "")).strip()))
