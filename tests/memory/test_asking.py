"""Notes by a model: it sees the user's own words only, and is believed only where it points to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.messages import Message, text_block
from hermes_tui.memory.asking import believed, question
from tests.context.test_redaction import KEYS
from tests.strategies import conversations, count, texts

SAID = "We moved to Rome last spring, and my commute takes an hour by train."


def user(text: str, number: int = 1) -> Message:
    return Message(f"m{number}", number, "user", (text_block(text),), "user")


def line(**changes: Any) -> str:
    given = {"message": 1, "words": "moved to Rome last spring", "kind": "fact", "note": "The user lives in Rome."}
    return json.dumps(given | changes, ensure_ascii=False)


def answered(answer: str, *said: str) -> list[tuple[str, str, str]]:
    asked = question([user(text, n) for n, text in enumerate(said or (SAID,), 1)], 8_000, count)
    assert asked is not None
    return [(note.kind, note.text, note.source) for note in believed(answer, asked)]


def test_a_note_that_points_to_the_users_words_is_believed() -> None:
    assert answered(line()) == [("fact", "The user lives in Rome.", "m1")]
    assert answered(f"Here they are:\n{line()}\n{line(kind='rule')}\nNONE") == [("rule", "The user lives in Rome.", "m1")]
    assert answered(line(words="我们去年搬到了罗马", note="用户住在罗马"), "我们去年搬到了罗马，很喜欢。")


@pytest.mark.parametrize(
    "refused",
    [
        "NONE",
        "",
        "The user lives in Rome.",
        line(words="moved to Bern last spring"),
        line(words="to"),
        line(words=""),
        line(message=2),
        line(message="1"),
        line(message=True),
        line(kind="secret"),
        line(note=""),
        line(note="x" * 500),
        line(note="Likes old steam engines."),
        line(note="The password for Rome is hunter2"),
        line(extra=1),
        f"[{line()}]",
        line() + line(),
        "[" * 100_000,
    ],
)
def test_anything_else_is_refused(refused: str) -> None:
    assert answered(refused) == []


def test_what_the_rules_found_is_not_told_again() -> None:
    assert answered(line(words="My name is Ana", note="The user's name is Ana."), "My name is Ana.") == []


@given(conversations())
def test_only_what_people_said_is_shown(messages: tuple[Message, ...]) -> None:
    asked = question(messages, 8_000, count)
    if asked is not None:
        assert all(message.is_real_user for message, _ in asked.shown.values())
        assert asked.prompt.tokens <= 8_000 // 4 + 50
        assert asked.prompt.text.count("</messages>") == 1


@given(KEYS, texts())
def test_no_secret_is_shown_or_kept(key: str, around: str) -> None:
    said = f"{SAID} Use {key} for it. {around}"
    asked = question([user(said)], 8_000, count)
    if asked is not None:
        assert key not in asked.prompt.text
        kept = believed("\n".join([line(note=f"In Rome the user has {key}"), line(words=key, note=f"{key} in Rome")]), asked)
        assert all(key not in note.text for note in kept)


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), lambda s: st.dictionaries(st.text(), s)).map(json.dumps))
def test_no_answer_breaks_the_reading_of_it(answer: str) -> None:
    assert answered(answer) == []
