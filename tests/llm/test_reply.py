"""Whatever a server sends as a reply, what is kept of it can be sent back."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.engine import Usage
from hermes_tui.llm.provider import (
    BlockEnded,
    BlockStarted,
    Busy,
    InputGrew,
    ReplyEnded,
    ServerFailed,
    StreamBroken,
    StreamEvent,
    TextGrew,
)
from hermes_tui.llm.reply import KEYS, Reply

Sent = dict[str, Any]


def start(index: int, **block: Any) -> Sent:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **more: Any) -> Sent:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stop(index: int) -> Sent:
    return {"type": "content_block_stop", "index": index}


def end(reason: str = "end_turn", **usage: Any) -> list[Sent]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}]


def call(index: int, text: str, **more: Any) -> list[Sent]:
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": "look", "input": {}, **more}
    return [start(index, **block), delta(index, "input_json_delta", partial_json=text), stop(index)]


def read(events: Sequence[Sent]) -> list[StreamEvent]:
    reply = Reply("s")
    return [found for sent in events for found in reply.feed(sent)]


def ended(events: Sequence[Sent]) -> ReplyEnded:
    last = read(events)[-1]
    assert isinstance(last, ReplyEnded)
    return last


def test_a_call_cut_off_by_max_tokens_is_not_kept_and_its_end_not_told() -> None:
    for cut in ('{"path": "a', "", '{"path": "a"}'):
        events = read([*call(0, '{"path": "whole"}'), *call(1, cut), *end("max_tokens")])
        told = [e.block["input"] for e in events if isinstance(e, BlockEnded)]
        last = events[-1]
        assert isinstance(last, ReplyEnded)
        assert told == [{"path": "whole"}] == [b["input"] for b in last.content]
        assert last.stop_reason == "max_tokens"


def test_a_call_that_is_no_json_ends_the_reply_in_an_error() -> None:
    for bad in ('{"path": ', "[1]", "null"):
        with pytest.raises(ServerFailed, match="look"):
            read([*call(0, bad), *end("tool_use")])


def test_text_cut_off_by_max_tokens_is_kept() -> None:
    events = [start(0, type="text", text=""), delta(0, "text_delta", text="half a sen"), *end("max_tokens")]
    assert ended(events).content == ({"type": "text", "text": "half a sen"},)


def test_only_documented_fields_are_kept() -> None:
    reply = ended(
        [
            start(0, type="thinking", thinking="", signature="", internal=1),
            delta(0, "thinking_delta", thinking="Hm."),
            delta(0, "signature_delta", signature="abc"),
            stop(0),
            start(1, type="redacted_thinking", data="xyz", other=None),
            stop(1),
            start(2, type="text", text="", citations=None, reasoning_content="no"),
            delta(2, "text_delta", text="Yes."),
            stop(2),
            start(3, type="server_tool_use", id="x", name="web_search", input={}),
            stop(3),
            *call(4, '{"a": 1}', caller={"type": "direct"}, internal=4),
            *end("tool_use"),
        ]
    )
    assert reply.content == (
        {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "Yes."},
        {"type": "tool_use", "id": "toolu_4", "name": "look", "input": {"a": 1}},
    )


def test_empty_text_is_not_kept_because_it_could_not_be_sent_back() -> None:
    events = [
        start(0, type="text", text=""),
        stop(0),
        start(1, type="text", text="\n "),
        stop(1),
        *call(2, "{}"),
        *end("tool_use"),
    ]
    assert [b["type"] for b in ended(events).content] == ["tool_use"]


def test_ids_that_no_server_would_take_back_are_replaced() -> None:
    ids = ["call:1/é", "", "", "same", "same"]
    content = ended([*(e for n, i in enumerate(ids) for e in call(n, "{}", id=i)), *end("tool_use")]).content
    found = [str(b["id"]) for b in content]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", i) for i in found)
    assert len(set(found)) == 5
    assert found[3] == "same"


def test_a_server_that_forgets_to_end_a_block_is_forgiven() -> None:
    assert ended([start(0, type="text", text=""), delta(0, "text_delta", text="Hi"), *end()]).content[0]["text"] == "Hi"


def test_usage_is_that_of_the_last_word_on_each_number() -> None:
    first = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 900, "output_tokens": 1}},
    }
    reply = ended([first, *end(output_tokens=42, cache_creation_input_tokens=5, input_tokens=None)])
    assert reply.usage == Usage(input=10, output=42, cache_read=900, cache_write=5)
    assert reply.raw_usage["output_tokens"] == 42


def test_lone_surrogates_are_gone_before_anything_is_stored() -> None:
    events = [
        start(0, type="text", text=""),
        delta(0, "text_delta", text="bad \ud800 end"),
        stop(0),
        *call(1, json.dumps({"k": "\udfff"})),
        *end("tool_use"),
    ]
    json.dumps([dict(b) for b in ended(events).content], ensure_ascii=False).encode()


def test_an_error_event_is_an_error() -> None:
    with pytest.raises(Busy):
        read(
            [start(0, type="text", text=""), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]
        )


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_start", "index": "x", "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_start", "index": 0, "content_block": "text"},
        {"type": "message_start"},
        {"type": "message_start", "message": []},
    ],
)
def test_an_event_that_makes_no_sense_breaks_the_reply_off(event: Sent) -> None:
    with pytest.raises(StreamBroken):
        read([event])


def test_what_is_not_known_is_passed_over() -> None:
    odd = [{"type": "ping"}, {"type": "of_tomorrow"}, {}, delta(7, "text_delta", text="nowhere"), stop(9)]
    assert ended([*odd, *end()]).content == ()


TEXTS = st.text(min_size=1, max_size=80)


@st.composite
def replies(draw: st.DrawFn) -> tuple[list[Sent], list[dict[str, Any]]]:
    """Events of a reply cut in any pieces, and the blocks that it was made of."""
    events: list[Sent] = []
    blocks: list[dict[str, Any]] = []
    for index in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            text = draw(TEXTS.filter(lambda t: t.strip()))
            pieces = draw(st.lists(st.integers(1, 10), max_size=6))
            events.append(start(index, type="text", text=""))
            for piece in (*pieces, len(text)):
                head, text = text[:piece], text[piece:]
                events.append(delta(index, "text_delta", text=head))
            events.append(stop(index))
            blocks.append(
                {
                    "type": "text",
                    "text": "".join(e["delta"]["text"] for e in events if e.get("index") == index and "delta" in e),
                }
            )
        else:
            arguments = draw(
                st.dictionaries(st.text(max_size=8), st.one_of(st.text(max_size=20), st.integers(), st.booleans()), max_size=3)
            )
            text = json.dumps(arguments)
            cut = draw(st.integers(0, len(text)))
            block = {"type": "tool_use", "id": f"t{index}", "name": "look", "input": {}}
            events.append(start(index, **block))
            events += [delta(index, "input_json_delta", partial_json=part) for part in (text[:cut], text[cut:])]
            events.append(stop(index))
            blocks.append({**block, "input": arguments})
    return [*events, *end("tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn")], blocks


@given(replies())
def test_however_a_reply_is_cut_into_events_it_is_the_same_reply(case: tuple[list[Sent], list[dict[str, Any]]]) -> None:
    events, blocks = case
    told = read(events)
    last = told[-1]
    assert isinstance(last, ReplyEnded)
    assert list(last.content) == blocks
    assert all(set(b) <= set(KEYS[b["type"]]) for b in last.content)
    grown: dict[int, str] = {}
    for e in told:
        if isinstance(e, TextGrew | InputGrew):
            grown[e.index] = grown.get(e.index, "") + e.text
    for index, block in enumerate(blocks):
        assert (grown[index] if block["type"] == "text" else json.loads(grown[index])) == block.get("text", block.get("input"))
    starts = [e.index for e in told if isinstance(e, BlockStarted)]
    assert starts == [e.index for e in told if isinstance(e, BlockEnded)] == list(range(len(blocks)))


@pytest.mark.parametrize("more", [{}, {"encrypted_content": None, "tool_changes": []}, {"what_is_new": {"a": [1]}}])
def test_a_compaction_is_kept_as_it_came_whatever_stands_in_it(more: Sent) -> None:
    block = {"type": "compaction", "content": "What was said.", "signature": "sig", **more}
    usage = {"iterations": [{"type": "compaction", "input_tokens": 900, "output_tokens": 80}]}
    reply = ended([start(0, **block), stop(0), *end("compaction", **usage)])
    assert reply.content == (block,)
    assert list(reply.content[0]) == list(block)
    assert (reply.stop_reason, reply.usage.prompt) == ("compaction", 0)
    assert reply.usage.beside == (Usage(input=900, output=80),)


def test_a_compaction_that_comes_in_pieces_is_put_together() -> None:
    block = {"type": "compaction", "content": None, "signature": "sig"}
    reply = ended([start(0, **block), delta(0, "compaction_delta", content="What was said."), stop(0), *end("compaction")])
    assert reply.content == ({**block, "content": "What was said."},)
