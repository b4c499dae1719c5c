"""Whatever program recorded a conversation, it is read as it was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.context.engine import Usage
from hermes_tui.transfer.recognition import read_transcript
from hermes_tui.transfer.transcripts import ImportRefused, RecordedConversation


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def read(tmp_path: Path):
    def write_and_read(text: str | bytes) -> RecordedConversation:
        path = tmp_path / "recording.data"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        (conversation,) = read_transcript(path).conversations
        return conversation

    return write_and_read


def told(conversation: RecordedConversation) -> list[tuple[str, list[Any]]]:
    """(origin, what each block says) of every message."""
    key = {"text": "text", "tool_use": "name", "tool_result": "content", "thinking": "thinking"}
    return [(m.origin, [b.get(key.get(b["type"], "type")) for b in m.content]) for m in conversation.messages]


ASKED = {"role": "user", "content": "Where is the port set?"}
CALLED = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "a1", "name": "grep", "input": {"pattern": "port"}},
    ],
}
ANSWERED = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a1", "content": "app.py:3: port = 8080"}]}
SAID = {"role": "assistant", "content": "In app.py, line 3."}
AS_TOLD = [
    ("user", ["Where is the port set?"]),
    ("model", ["Looking.", "grep"]),
    ("tool", ["app.py:3: port = 8080"]),
    ("model", ["In app.py, line 3."]),
]


def test_anthropic_messages_are_read_from_json_from_jsonl_and_from_a_document_with_system_and_tools(read):
    messages = [ASKED, CALLED, ANSWERED, SAID]
    assert told(read(json.dumps(messages))) == AS_TOLD
    assert told(read(lines(*messages))) == AS_TOLD
    grep = {
        "name": "grep",
        "description": "Searches.",
        "input_schema": {"type": "object", "properties": {}},
        "cache_control": {},
    }
    document = {"system": [{"type": "text", "text": "Be brief."}], "tools": [grep], "messages": messages}
    conversation = read(json.dumps(document, indent=1))
    assert told(conversation) == AS_TOLD
    assert conversation.system == "Be brief."
    assert conversation.tools == (
        {"name": "grep", "description": "Searches.", "input_schema": {"type": "object", "properties": {}}},
    )
    assert conversation.title == "Where is the port set?"


def test_openai_messages_bring_their_calls_results_and_system_prompt_along(read):
    conversation = read(
        json.dumps(
            {
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "developer", "content": "Answer in English."},
                    {"role": "user", "content": [{"type": "text", "text": "Where is the port set?"}]},
                    {
                        "role": "assistant",
                        "content": "Looking.",
                        "tool_calls": [
                            {"id": "a1", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "port"}'}}
                        ],
                    },
                    {"role": "tool", "tool_call_id": "a1", "content": "app.py:3: port = 8080"},
                    {"role": "assistant", "content": "In app.py, line 3.", "refusal": None},
                ],
                "tools": [{"type": "function", "function": {"name": "grep", "parameters": {"properties": {}}}}],
            }
        )
    )
    assert told(conversation) == AS_TOLD
    assert conversation.system == "Be brief.\n\nAnswer in English."
    assert conversation.messages[1].content[1]["input"] == {"pattern": "port"}
    assert conversation.tools == ({"name": "grep", "input_schema": {"type": "object", "properties": {}}},)


def test_the_oldest_openai_function_calls_are_read_too(read):
    conversation = read(
        lines(
            {"role": "user", "content": "Where is the port set?"},
            {"role": "assistant", "content": None, "function_call": {"name": "grep", "arguments": "{broken"}},
            {"role": "function", "name": "grep", "content": "app.py:3"},
        )
    )
    assert told(conversation) == [("user", ["Where is the port set?"]), ("model", ["grep"]), ("tool", ["app.py:3"])]
    assert conversation.messages[1].content[0]["input"] == {"input": "{broken"}


def claude(kind: str, content: Any, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **more}


def test_claude_code_one_reply_on_several_lines_with_results_between_is_one_call_group(read):
    reply = {"id": "msg_1", "model": "claude-sonnet-4-5", "usage": {"input_tokens": 3, "cache_read_input_tokens": 40}}
    conversation = read(
        lines(
            {"type": "summary", "summary": "Ports and hosts", "leafUuid": "7"},
            claude("user", "Look at both files.", "1", None),
            claude("assistant", [{"type": "text", "text": "Both."}], "2", "1", message=reply),
            claude("assistant", [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}], "3", "2", message=reply),
            claude("user", [{"type": "tool_result", "tool_use_id": "a", "content": "A"}], "4", "3"),
            claude("assistant", [{"type": "tool_use", "id": "b", "name": "Read", "input": {}}], "5", "3", message=reply),
            claude("user", [{"type": "tool_result", "tool_use_id": "b", "content": "B"}], "6", "5"),
            claude("assistant", [{"type": "text", "text": "Done."}], "7", "6", message={"id": "msg_2"}),
        )
    )
    assert told(conversation) == [
        ("user", ["Look at both files."]),
        ("model", ["Both.", "Read", "Read"]),
        ("tool", ["A", "B"]),
        ("model", ["Done."]),
    ]
    assert conversation.title == "Ports and hosts"
    assert conversation.messages[1].model == "claude-sonnet-4-5"
    assert conversation.messages[1].usage == Usage(input=3, cache_read=40)


def test_claude_code_rewound_branches_side_conversations_and_its_own_lines_are_left_out(read):
    conversation = read(
        lines(
            claude("user", "Caveat: local commands", "0", None, isMeta=True),
            claude("user", "Use tabs.", "1", "0"),
            claude("assistant", "Tabs it is.", "2", "1"),
            claude("user", "Explore the repository", "s1", None, isSidechain=True),
            claude("user", "Use spaces.", "3", "0"),
            {"type": "system", "uuid": "x", "parentUuid": "3", "content": "hook ran"},
            claude("assistant", "API Error", "4", "x", message={"model": "<synthetic>"}),
            claude("assistant", "Spaces it is.", "5", "x"),
            claude("user", "This session is being continued", "6", None, isCompactSummary=True),
            claude("user", "Thanks.", "7", "6"),
        )
    )
    assert told(conversation) == [("user", ["Use spaces."]), ("model", ["Spaces it is."]), ("user", ["Thanks."])]


def test_a_claude_code_file_of_one_side_conversation_is_that_conversation(read):
    conversation = read(lines(claude("user", "Explore", "1", None, isSidechain=True)))
    assert told(conversation) == [("user", ["Explore"])]


def pi(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def test_pi_sessions_keep_what_each_request_really_measured_and_how_replies_ended(read):
    usage = {"input": 3, "output": 7, "cacheRead": 100, "cacheWrite": 20}
    conversation = read(
        lines(
            {"type": "session", "id": "s", "cwd": "/work"},
            pi("user", [{"type": "text", "text": "Where is the port set?"}]),
            pi("assistant", [], stopReason="aborted", usage={"input": 0, "output": 0}),
            {"type": "model_change", "modelId": "claude-sonnet-4-5"},
            pi(
                "assistant",
                [
                    {"type": "text", "text": "Looking."},
                    {"type": "toolCall", "id": "a1|fc_2", "name": "grep", "arguments": {"pattern": "port"}, "partialJson": "{"},
                ],
                model="claude-sonnet-4-5",
                usage=usage,
                stopReason="toolUse",
            ),
            pi("toolResult", [{"type": "text", "text": "app.py:3: port = 8080"}], toolCallId="a1|fc_2", isError=True),
            pi("assistant", [{"type": "text", "text": "In app.py, line 3."}], stopReason="stop"),
        )
    )
    assert told(conversation) == AS_TOLD
    calls, results = conversation.messages[1:3]
    assert calls.usage == Usage(input=3, output=7, cache_read=100, cache_write=20)
    assert calls.usage.prompt == 123
    assert (calls.model, calls.stop_reason) == ("claude-sonnet-4-5", "toolUse")
    assert calls.content[1]["id"] == results.content[0]["tool_use_id"] == "a1_fc_2"
    assert results.content[0]["is_error"] is True


def test_newer_pi_sessions_follow_the_newest_branch(read):
    conversation = read(
        lines(
            {"type": "session", "version": 3, "id": "s"},
            {**pi("user", "Use tabs."), "id": "1", "parentId": None},
            {**pi("assistant", [{"type": "text", "text": "Tabs."}]), "id": "2", "parentId": "1"},
            {**pi("user", "Use spaces."), "id": "3", "parentId": None},
            {"type": "session_info", "name": "Indentation", "id": "4", "parentId": "3"},
            {**pi("bashExecution", None, command="ls", output="app.py"), "id": "5", "parentId": "4"},
            {**pi("assistant", [{"type": "text", "text": "Spaces."}]), "id": "6", "parentId": "5"},
        )
    )
    assert told(conversation)[-3:] == [("user", ["Use spaces."]), ("user", ["$ ls\napp.py"]), ("model", ["Spaces."])]
    assert conversation.title == "Indentation"


@pytest.mark.parametrize("key", ["messages", "history", "traj", "loglines"])
def test_the_list_is_found_under_each_of_its_names(read, key):
    assert told(read(json.dumps({"version": 1, key: [ASKED, SAID]}))) == [AS_TOLD[0], AS_TOLD[3]]


def test_several_conversations_of_a_file_come_in_its_order(tmp_path):
    path = tmp_path / "several"
    documents = [{"traj": [{"role": "user", "content": f"Question {n}"}]} for n in range(3)]
    for text in (json.dumps(documents), lines(*documents), json.dumps([d["traj"] for d in documents])):
        path.write_text(text)
        assert [c.title for c in read_transcript(path).conversations] == ["Question 0", "Question 1", "Question 2"]


def test_pictures_survive_from_every_program_and_strange_blocks_become_text(read):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}}
    conversation = read(
        json.dumps(
            [
                {
                    "role": "user",
                    "content": [
                        picture,
                        {"type": "image", "data": "iVBOR", "mimeType": "image/png"},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR"}},
                        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "II"}},
                        {"type": "file", "path": "/src/app.py", "content": "port = 8080\n"},
                        {"type": "text", "text": " \n"},
                    ],
                }
            ]
        )
    )
    content = conversation.messages[0].content
    assert content[:3] == (picture,) * 3
    assert content[3] == {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert [b["text"] for b in content[4:]] == [
        "(a picture that could not be read)",
        "file\npath: /src/app.py\ncontent: port = 8080\n",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "is empty"),
        (b"\0\0\0", "is empty"),
        (b"title: a list\nitems:\n - one\n", "neither JSON nor JSONL"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "neither JSON nor JSONL"),
        (b"SQLite format 3\0\x10\0", "neither JSON nor JSONL"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"role":"user","content":"a"}\n' + b"[" * 100_000, "Line 2"),
        (b'{"role":"user","content":"a"}\n{"role":\n{"role":"user","content":"b"}\n', "Line 2"),
        (b"17", "no list of messages"),
        (b"[]", "no list of messages"),
        (b'{"messages": []}', "holds no messages"),
        (b'{"messages": [{"role": "assistant", "content": ""}]}', "holds no messages"),
        (b'[{"title": "a", "mapping": {}, "current_node": "b"}]', "looks like a ChatGPT export"),
        (b'[{"uuid": "a", "chat_messages": []}]', "looks like a claude.ai export"),
        (b'[{"lc": 1, "type": "constructor", "id": [], "kwargs": {"content": "a"}}]', "looks like a LangChain dump"),
        (b'{"messages": [{"messageId": "a", "sender": "user", "text": "b"}]}', "looks like a LibreChat export"),
        (b'{"history": [{"id": "a", "messages": [{"role": "user", "content": "b"}]}]}', "no list of messages"),
        (b'{"role": "robot", "content": "a"}', "no list of messages"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[:20],
)
def test_a_foreign_file_is_refused_in_one_sentence_that_says_why(tmp_path, text, says):
    path = tmp_path / "strange.json"
    path.write_bytes(text)
    with pytest.raises(ImportRefused) as refused:
        read_transcript(path)
    assert says in refused.value.sentence
    assert "\n" not in refused.value.sentence


@pytest.mark.parametrize("name", ["missing.json", ".", "nul\0byte", "x" * 300], ids=["missing", "folder", "nul", "too long"])
def test_what_cannot_be_opened_is_refused_too(tmp_path, name):
    with pytest.raises(ImportRefused):
        read_transcript(tmp_path / name)


def test_a_last_line_cut_off_in_mid_write_is_left_out_and_said(tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(ASKED, SAID).encode() + b'{"role": "user", "content": "And th')
    transcript = read_transcript(path)
    assert told(transcript.conversations[0]) == [AS_TOLD[0], AS_TOLD[3]]
    assert transcript.notes == ("The last line of 'session.jsonl' is cut off and was left out.",)


def test_bytes_and_characters_that_no_database_can_hold_are_read_as_well_as_they_can_be(read):
    mixed = b'{"role": "user", "content": "lone \\ud83d, raw \x01 and \xff"}\n\0\0\0\n\r\n'
    assert told(read(mixed)) == [("user", ["lone \ufffd, raw \x01 and \ufffd"])]
    assert told(read("\ufeff" + json.dumps([ASKED]))) == [AS_TOLD[0]]
    assert told(read(json.dumps([ASKED]).encode("utf-16"))) == [AS_TOLD[0]]


def test_numbers_and_depths_that_json_cannot_carry_on_are_kept_as_text(read):
    deep = '{"a":' * 200 + "1" + "}" * 200
    call = f'{{"type": "tool_use", "id": "a", "name": "f", "input": {{"x": NaN, "y": 1e999, "z": 2.5, "deep": {deep}}}}}'
    text = f'[{{"role": "assistant", "content": [{call}]}}, {{"role": "tool", "tool_call_id": "a", "content": [{deep}]}}]'
    conversation = read(text)
    kept = conversation.messages[0].content[0]["input"]
    assert list(kept) == ["input"]
    assert '"x": "NaN", "y": "1e999", "z": 2.5' in kept["input"]
    assert deep.replace(":", ": ") in conversation.messages[1].content[0]["content"]
