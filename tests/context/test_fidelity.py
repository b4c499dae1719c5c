"""Fidelity counts what a compression kept, and names what it lost."""

from __future__ import annotations

from hypothesis import given

from hermes_tui.context.fidelity import CLASSES, fidelity
from hermes_tui.context.messages import Message
from tests.strategies import conversations

CALL = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "pytest tests/test_parser.py -q"}}
RESULT = {
    "type": "tool_result",
    "tool_use_id": "c1",
    "is_error": True,
    "content": "E   ImportError: cannot import name parse_rows\n12,345 rows",
}
BEFORE = (
    Message("m0", 0, "user", ({"type": "text", "text": "Never touch src/db/schema.py. Use parse_rows, 12,345 rows."},), "user"),
    Message("m1", 1, "assistant", (CALL,), "model", "model-a"),
    Message("m2", 2, "user", (RESULT,), "tool"),
)


def test_everything_stands_where_the_text_still_stands() -> None:
    text = "\n".join(str(value) for message in BEFORE for block in message.content for value in block.values())
    measured = fidelity(BEFORE, text)
    assert measured.kept == measured.total > 0
    assert measured.lost == ()
    assert {kind for kind, _, _ in measured.classes} == set(CLASSES)


def test_an_empty_summary_scores_nothing() -> None:
    measured = fidelity(BEFORE, "")
    assert measured.kept == 0
    assert measured.total == len(measured.lost)


def test_lost_facts_are_named_with_their_messages_rules_first() -> None:
    lost = fidelity(BEFORE, "pytest tests/test_parser.py -q; ImportError").lost
    assert (lost[0].kind, lost[0].text, lost[0].message) == ("rules", "Never touch src/db/schema.py.", "m0")
    assert ("files", "m0") in {(fact.kind, fact.message) for fact in lost}


def test_a_fact_stands_escaped_rewrapped_or_inside_json_too() -> None:
    text = 'never touch\u200b src/db/schema.py. use parse_rows {"command":"pytest tests/test_parser.py -q\\nparse_rows"} 12,345'
    assert {kind for kind, kept, total in fidelity(BEFORE, text).classes if kept == total} >= {
        "commands",
        "files",
        "identifiers",
        "numbers",
    }


def test_a_part_of_a_longer_name_does_not_count() -> None:
    assert {k: n for k, n, _ in fidelity(BEFORE, "parse_rows_later 112,345").classes}["identifiers"] == 0


@given(conversations())
def test_counts_add_up_for_any_conversation(messages: tuple[Message, ...]) -> None:
    measured = fidelity(messages, "src/file1.py and 12345")
    assert 0 <= measured.kept <= measured.total
    assert all(0 <= kept <= total for _, kept, total in measured.classes)
    assert len(measured.lost) <= measured.total - measured.kept
