"""A recording answers in order, as a stream, and says when it is over."""

import pytest

from hermes_tui.context.engine import Usage
from hermes_tui.llm.provider import BlockEnded, ModelRequest, Provider, ReplyEnded, TextGrew
from hermes_tui.llm.recorded import RecordedProvider, RecordedReply, RecordingEnded

ASKED = ModelRequest({"messages": []})


async def test_replies_come_in_order_then_the_end_is_said() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "run", "input": {"command": "make"}}
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    provider = RecordedProvider(
        [[thinking, call], RecordedReply(({"type": "text", "text": "x" * 100},), Usage(input=7, output=9), "max_tokens")]
    )
    taken: Provider = provider
    first = [e async for e in taken.stream(ASKED)]
    assert first[-1] == ReplyEnded((thinking, call), "tool_use", Usage(), {})
    assert [e.block for e in first if isinstance(e, BlockEnded)] == [thinking, call]
    second = [e async for e in taken.stream(ASKED)]
    assert "".join(e.text for e in second if isinstance(e, TextGrew)) == "x" * 100
    assert second[-1] == ReplyEnded(({"type": "text", "text": "x" * 100},), "max_tokens", Usage(input=7, output=9), {})
    assert provider.left == 0
    with pytest.raises(RecordingEnded):
        [e async for e in taken.stream(ASKED)]


async def test_a_recording_is_paced_by_whoever_plays_it() -> None:
    waited: list[int] = []

    async def pace(characters: int) -> None:
        waited.append(characters)

    provider = RecordedProvider([[{"type": "text", "text": "a" * 60}, {"type": "image", "source": {}}]], pace)
    events = [e async for e in provider.stream(ASKED)]
    assert waited == [24, 24, 12]
    assert isinstance(events[-1], ReplyEnded)
