"""The reply that streams: its blocks opened, grown and closed in the transcript, and tied to their message once stored."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from hermes_tui.context.messages import Block, Message
from hermes_tui.tui.projection import block_id, message_of, reply_block
from hermes_tui.tui.transcript import Block as Shown
from hermes_tui.tui.transcript import ReplySaid, Thought, ToolCard, Transcript

_KINDS = {"text": ReplySaid, "thinking": Thought, "redacted_thinking": Thought, "tool_use": ToolCard}


@dataclass(slots=True)
class _Open:
    """One block that streams, or has streamed and is not stored yet."""

    id: str
    shown: type
    since: float
    closed: Shown | None = None


class LiveReply:
    """The blocks of the reply that comes in just now."""

    def __init__(self, transcript: Callable[[], Transcript]) -> None:
        self._transcript = transcript
        self._number = 0
        self._blocks: dict[int, _Open] = {}
        self._cards: dict[str, ToolCard] = {}
        self._messages: dict[str, str] = {}
        self.model = ""

    # -- as it streams -------------------------------------------------------------------------------------------------

    def open(self, index: int, block: Block) -> None:
        """Block INDEX began."""
        kind = str(block.get("type"))
        shown = _KINDS.get(kind, ReplySaid)
        entry = self._blocks[index] = _Open(f"live{self._number}:{index}", shown, time.monotonic())
        if shown is ReplySaid:
            self._transcript().stream_open(ReplySaid(entry.id, "", self.model))
        elif shown is Thought:
            self._transcript().stream_open(Thought(entry.id, ""))
        else:
            self._transcript().append(ToolCard(entry.id, str(block.get("name", ""))))

    def grow(self, index: int, text: str) -> None:
        """Block INDEX got longer; a call's arguments are shown when they are whole."""
        entry = self._blocks.get(index)
        if entry is not None and entry.shown is not ToolCard and entry.closed is None:
            self._transcript().stream_grow(entry.id, text)

    def close(self, index: int, block: Block) -> None:
        """Block INDEX is whole."""
        entry = self._blocks.get(index)
        if entry is None:
            return
        made = reply_block(entry.id, block, model=self.model, seconds=time.monotonic() - entry.since)
        self._settle(entry, made)

    def _settle(self, entry: _Open, made: Shown | None) -> None:
        """Put MADE in the place of what streamed; nothing takes it away."""
        transcript = self._transcript()
        if made is None:
            transcript.drop(entry.id)
            self._blocks = {index: other for index, other in self._blocks.items() if other is not entry}
        elif isinstance(made, ToolCard):
            transcript.replace(entry.id, made)
        else:
            transcript.stream_close(entry.id, made)
        entry.closed = made

    def drop(self) -> None:
        """Forget the blocks that never became a message: the attempt they came from broke off."""
        for entry in self._blocks.values():
            self._transcript().drop(entry.id)
        self._blocks.clear()
        self._number += 1

    # -- once it is stored ---------------------------------------------------------------------------------------------

    def stored(self, message: Message) -> None:
        """MESSAGE is what came of the reply: its blocks stay, whatever else streamed goes."""
        waiting = [self._blocks[index] for index in sorted(self._blocks)]
        self._blocks = {}
        for index, block in enumerate(message.content):
            made = reply_block(block_id(message.id, index), block, model=message.model or self.model)
            if made is None:
                continue
            place = next((k for k, entry in enumerate(waiting) if entry.shown is type(made)), None)
            if place is None:
                self._transcript().append(made)
                shown: Shown = made
            else:
                for skipped in waiting[:place]:
                    self._transcript().drop(skipped.id)
                entry = waiting[place]
                waiting = waiting[place + 1 :]
                shown = self._same(entry, made)
            self._messages[shown.id] = message.id
            if isinstance(shown, ToolCard):
                self._cards[str(block.get("id"))] = shown
        for entry in waiting:
            self._transcript().drop(entry.id)
        self._number += 1

    def _same(self, entry: _Open, made: Shown) -> Shown:
        """MADE under the id it streamed with; laid out anew only where it differs from what stands there."""
        closed = entry.closed
        if closed is not None and _words(closed) == _words(made):
            return closed
        seconds = time.monotonic() - entry.since
        renamed: Shown = (
            replace(made, id=entry.id, seconds=seconds) if isinstance(made, Thought) else replace(made, id=entry.id)
        )
        if closed is None and not isinstance(renamed, ToolCard):
            self._transcript().stream_close(entry.id, renamed)
        else:
            self._transcript().replace(entry.id, renamed)
        return renamed

    def message_of(self, block: str) -> str:
        """The id of the message that a block of the transcript belongs to, "" where it is none."""
        if block.startswith("live"):
            return self._messages.get(block, "")
        return message_of(block)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def running(self, call: str) -> None:
        """The tool of CALL runs."""
        self._change(call, running=True)

    def answered(self, call: str, result: str, is_error: bool, tokens: int | None) -> None:
        """The tool of CALL gave RESULT."""
        self._change(call, running=False, result=result, is_error=is_error, tokens=tokens)

    def _change(self, call: str, **changes: object) -> None:
        card = self._cards.get(call)
        if card is None:
            return
        changed = replace(card, **changes)  # type: ignore[arg-type]  # fields of a card, by name
        try:
            self._transcript().replace(card.id, changed)
        except KeyError:
            return  # the transcript was shown anew meanwhile; it has the result already
        self._cards[call] = changed

    def forget(self) -> None:
        """The transcript is shown anew: nothing in it is ours any more."""
        self._blocks.clear()
        self._cards.clear()
        self._messages.clear()
        self._number += 1


def _words(block: Shown) -> object:
    """What of a block is worth laying out anew for."""
    if isinstance(block, ToolCard):
        return (block.name, block.input)
    return block.text
