"""Real recordings that nobody on this project wrote are read in full; foreign ones are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_tui.context.groups import groups_of
from hermes_tui.context.messages import Message
from hermes_tui.transfer.recognition import read_transcript
from hermes_tui.transfer.transcripts import ImportRefused

DATA = Path(os.environ.get("HERMES_TUI_REAL_DATA") or Path(__file__).parents[3] / "shared" / "data")
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real recordings are not on this machine")


@pytest.mark.parametrize(
    ("name", "conversations", "messages", "results"),
    [
        ("pi_coding_session.jsonl", 1, 892, 373),
        ("taubench_airline_50.json", 50, 1334, 282),
        ("sweagent_marshmallow-1867_function_calling.traj", 1, 27, 13),
        ("cline_session.messages.json", 1, 32, 11),
        ("claudecode_sample_session.json", 1, 32, 12),
        ("claudecode_sample_session.jsonl", 1, 7, 2),
        ("claudecode_representative_messages.jsonl", 1, 11, 2),
    ],
)
def test_a_readable_recording_is_read_in_full(name, conversations, messages, results):
    read = read_transcript(DATA / name).conversations
    assert len(read) == conversations
    assert sum(len(c.messages) for c in read) == messages
    assert sum(b["type"] == "tool_result" for c in read for m in c.messages for b in m.content) == results
    for conversation in read:
        groups_of(tuple(Message(str(n), n, m.role, m.content, m.origin) for n, m in enumerate(conversation.messages)))


def test_the_long_coding_session_says_what_its_requests_measured():
    (conversation,) = read_transcript(DATA / "pi_coding_session.jsonl").conversations
    prompts = [m.usage.prompt for m in conversation.messages if m.usage]
    assert len(prompts) > 430
    assert 170_000 < max(prompts) < 180_000


def foreign() -> list[Path]:
    return sorted([*DATA.glob("exports/*"), *DATA.glob("compactbench/*"), *DATA.glob("deepagents_*"), *DATA.glob("*.md")])


@pytest.mark.parametrize("path", foreign(), ids=lambda path: path.name)
def test_a_foreign_file_is_refused_in_a_sentence(path):
    with pytest.raises(ImportRefused, match=r"can be read\.$"):
        read_transcript(path)
