"""What was recorded becomes a conversation that can be sent: paired, alternating where it was, nothing empty."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_tui.context.groups import groups_of
from hermes_tui.context.messages import Message
from hermes_tui.transfer.blocks import blocks_of, call, result
from hermes_tui.transfer.pairing import paired
from hermes_tui.transfer.recognition import read_transcript
from hermes_tui.transfer.transcripts import ImportRefused, RecordedMessage, Said


def told(messages: tuple[RecordedMessage, ...]) -> list[tuple[str, list[Any]]]:
    return [(m.origin, [b.get("id", b.get("tool_use_id", b.get("text"))) for b in m.content]) for m in messages]


def user(*content: Any) -> Said:
    return Said("user", [b for item in content for b in (blocks_of(item) if isinstance(item, str) else [item])])


def reply(*content: Any) -> Said:
    return Said("assistant", user(*content).content)


def test_the_results_of_one_call_group_become_one_message_in_the_order_of_the_calls():
    messages = paired(
        [
            reply(call("a", "f", {}), call("b", "f", {})),
            Said("tool", [result("b", "B")]),
            Said("tool", [result("a", "A")]),
        ]
    )
    assert told(messages) == [("model", ["a", "b"]), ("tool", ["a", "b"])]
    assert [b["content"] for b in messages[1].content] == ["A", "B"]


def test_calls_nobody_answered_and_results_nobody_asked_for_drop_out():
    assert told(
        paired(
            [
                Said("tool", [result("x", "stray")]),
                user("Go."),
                reply("Going.", call("a", "f", {}), call("b", "f", {})),
                Said("tool", [result("b", "B"), result("b", "again"), result("z", "stray")]),
                reply(call("c", "f", {})),
                user("Stop."),
                Said("tool", []),
                reply("Stopped.", call("d", "f", {})),
            ]
        )
    ) == [("user", ["Go."]), ("model", ["Going.", "b"]), ("tool", ["b"]), ("user", ["Stop."]), ("model", ["Stopped."])]


def test_a_user_message_of_results_and_text_is_split_so_that_the_text_stays_the_users():
    assert told(paired([reply(call("a", "f", {})), user("Also:", result("a", "A"), "be quick")])) == [
        ("model", ["a"]),
        ("tool", ["a"]),
        ("user", ["Also:", "be quick"]),
    ]


def test_ids_reused_in_later_groups_pair_by_place():
    turn = [reply(call("call_0", "f", {})), Said("tool", [result("call_0", "A")])]
    assert told(paired([*turn, *turn])) == [("model", ["call_0"]), ("tool", ["call_0"])] * 2


def test_ids_that_the_api_refuses_are_repaired_on_both_sides_and_stay_apart():
    messages = paired(
        [
            reply(call("a|1", "f", {}), call("a:1", "f", {}), call(None, "f", {}), call(None, "f", {})),
            Said("tool", [result("a|1", "A"), result("a:1", "B"), result(None, "C"), result(None, "D")]),
        ]
    )
    assert told(messages) == [("model", ["a_1", "a_1_2", "call", "call_2"]), ("tool", ["a_1", "a_1_2", "call", "call_2"])]
    assert [b["content"] for b in messages[1].content] == ["A", "B", "C", "D"]


def test_calls_of_one_reply_that_was_recorded_in_pieces_are_joined_and_plain_replies_stay_apart():
    pieces = [reply("One."), reply("Two.", call("a", "f", {})), reply(call("b", "f", {})), reply("Three.")]
    answers = [Said("tool", [result("a", "A")]), Said("tool", [result("b", "B")])]
    assert told(paired([*pieces, *answers])) == [
        ("model", ["One."]),
        ("model", ["Two.", "a", "b", "Three."]),
        ("tool", ["a", "b"]),
    ]


def test_several_messages_of_a_user_in_a_row_keep_their_boundaries():
    assert told(paired([user("One."), user(" "), user("Two.")])) == [("user", ["One."]), ("user", ["Two."])]


def test_names_of_tools_are_made_such_as_the_api_takes():
    assert [call("a", name, {})["name"] for name in ("fs.read", "", None, "x" * 200)] == ["fs_read", "tool", "tool", "x" * 128]


# Anything JSON can hold, leaning towards what transcripts look like.
words = st.sampled_from(
    ["user", "assistant", "tool", "system", "message", "text", "tool_use", "tool_result", "thinking", "image", "a", "", "b|c"]
)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words | st.text(max_size=8)
keys = st.sampled_from([
    "role", "content", "type", "text", "id", "name", "input", "tool_use_id", "tool_call_id", "tool_calls", "function",
    "arguments", "message", "uuid", "parentUuid", "messages", "isSidechain",
    "usage", "source", "thinking", "signature", "data", "mimeType",
    "toolCallId", "model", "stopReason", "tools", "system", "title",
])  # fmt: skip
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6), max_leaves=8
)
block = st.fixed_dictionaries(
    {"type": words},
    optional=dict.fromkeys(("text", "id", "name", "input", "tool_use_id", "content", "source", "thinking"), anything),
)
call_block = st.builds(lambda i, n: {"type": "tool_use", "id": i, "name": n, "input": {}}, words, words)
result_block = st.builds(lambda i, c: {"type": "tool_result", "tool_use_id": i, "content": c}, words, anything)
message = st.fixed_dictionaries(
    {"role": words, "content": st.lists(block | call_block | result_block, max_size=4) | anything},
    optional={"tool_call_id": words, "tool_calls": anything, "model": anything, "usage": anything, "id": anything},
)
wrapped = st.fixed_dictionaries(
    {"type": words, "message": message},
    optional={"uuid": anything, "parentUuid": anything, "isMeta": st.booleans(), "id": anything},
)
documents = (
    st.lists(message, max_size=6)
    | st.lists(wrapped, max_size=6)
    | st.fixed_dictionaries({"messages": st.lists(message, max_size=4)})
    | anything
)


@settings(max_examples=100, deadline=None)
@given(documents)
def test_whatever_a_file_holds_it_is_refused_in_words_or_read_into_a_valid_conversation(tmp_path_factory, document):
    path: Path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(document))
    try:
        conversations = read_transcript(path).conversations
    except ImportRefused:
        return
    for conversation in conversations:
        assert not re.search("[\ud800-\udfff]", json.dumps(conversation.messages, default=str, ensure_ascii=False))
        names = {tool["name"] for tool in conversation.tools}
        messages = tuple(Message(str(n), n, m.role, m.content, m.origin) for n, m in enumerate(conversation.messages))
        groups_of(messages)  # raises where a call or a result is alone
        for said in conversation.messages:
            assert said.content
            assert (said.role == "assistant") == (said.origin == "model")
            assert (said.origin == "tool") == any(b["type"] == "tool_result" for b in said.content)
            for b in said.content:
                assert b["type"] != "text" or b["text"].strip()
                assert b["type"] != "tool_use" or (re.fullmatch(r"[a-zA-Z0-9_-]+", b["id"]) and b["name"] in names)
                assert b["type"] != "tool_use" or isinstance(b["input"], dict)
            ids = [b["id"] for b in said.content if b["type"] == "tool_use"]
            assert len(ids) == len(set(ids))
