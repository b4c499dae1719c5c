"""What goes out after any compression is a conversation that every server accepts, whose last word is the user's own."""

from __future__ import annotations

import pytest
from hypothesis import given

from hermes_tui.context.check import violations
from hermes_tui.context.messages import results_of
from hermes_tui.context.rendering import NOTES, RENDERER, render, sent_rows
from hermes_tui.context.summaries import FENCE
from tests.context.histories import ANY, GROWN, Grown, after, compressed, newest_request, told

pytestmark = pytest.mark.invariant


def calls_and_results(content) -> tuple[list[str], list[str]]:
    calls = [b["id"] for b in content if b["type"] == "tool_use"]
    return calls, [b["tool_use_id"] for b in content if b["type"] == "tool_result"]


@given(GROWN)
def test_every_call_is_followed_at_once_by_exactly_its_results(grown):
    """Invariant 1: by place, not by looking ids up, since they may be used again."""
    for view in (grown.view, after(grown, told(grown)[1])):
        open_calls: list[str] = []
        for row in sent_rows(view):
            calls, results = calls_and_results(row.content)
            assert results == open_calls
            assert not (calls and row.role == "user")
            assert not (results and row.role == "assistant")
            open_calls = calls
        assert open_calls == []


@given(GROWN)
def test_user_and_assistant_take_turns_in_the_request_as_it_is_sent(grown):
    """Invariant 2: in the body itself, after all notes, summaries, pins and drops."""
    for view in (grown.view, after(grown, told(grown)[1])):
        messages = render(view, max_tokens=100)["messages"]
        assert [m["role"] for m in messages] == [("user", "assistant")[n % 2] for n in range(len(messages))]
        for message in messages:
            assert message["content"], "the API refuses a message without content"
            assert all(b["text"].strip() for b in message["content"] if b["type"] == "text"), "and blank texts"


@given(GROWN)
def test_the_first_message_is_always_the_users(grown):
    """Invariant 3: also once the head is gone, and with and without a system prompt."""
    for view in (grown.view, after(grown, told(grown)[1])):
        assert render(view, max_tokens=100)["messages"][0]["role"] == "user"


@given(GROWN)
def test_what_the_user_asked_last_stands_word_for_word_after_the_summary(grown):
    """Invariant 4: as a message of its own, and nothing after it asks for anything."""
    newest = newest_request(grown.view)
    view = after(grown, told(grown)[1])
    rows = sent_rows(view)
    at = next(n for n, r in enumerate(rows) if r.entry and r.entry.message is newest.message)
    assert list(rows[at].content) == [b for b in newest.message.content if b["type"] != "text" or b["text"].strip()]
    assert not any(r.entry and r.entry.summary for r in rows[at:]), "the summary stands before it"
    note = ({"type": "text", "text": NOTES[RENDERER]["user"]},)
    for row in rows[at + 1 :]:
        if row.role == "user":
            assert row.content == note if row.entry is None else results_of(row.entry.message)


@given(GROWN)
def test_after_any_number_of_compressions_there_is_one_summary(grown):
    """Invariant 6: the newest version, and nothing of an older one remains in the prompt."""
    view = after(grown, told(grown)[1])
    summaries = [e.summary for e in view.entries if e.summary]
    assert len(summaries) <= 1
    fences = [
        b["text"] for r in sent_rows(view) for b in r.content if b["type"] == "text" and b["text"].startswith(f"<{FENCE}>")
    ]
    assert fences == [s.text for s in summaries]
    assert all(row.role == "user" for row in sent_rows(view) if row.entry and row.entry.summary)
    old = grown.view.summary
    if old is not None:
        assert summaries, "what was told stays told"
        assert summaries[0] is old or (summaries[0].previous == old.id and summaries[0].version == old.version + 1)


@given(GROWN)
def test_what_survives_keeps_its_order_and_the_summary_lies_between_head_and_tail(grown):
    """Invariant 7."""
    plan, change = told(grown, "")
    view = after(grown, change)
    sequences = [e.message.sequence for e in view.entries if e.message]
    assert sequences == sorted(set(sequences))
    assert all(e.position == 2 * e.message.sequence for e in view.entries if e.message)
    if plan.kind == "summarise":
        (summary,) = [e.position for e in view.entries if e.summary]
        assert all(p < summary for p in plan.regions.head)
        assert all(p > summary for p in plan.regions.tail)


@given(GROWN, ANY)
def test_whatever_is_applied_passes_the_checker_that_other_engines_are_held_to(grown, behaviour):
    """Invariants 1-7, 17, 19: the product's own checker agrees with every test here."""
    done = compressed(grown, behaviour)
    if done.change is not None:
        assert violations(grown.view, done.change) == ()


@given(GROWN)
def test_the_checker_refuses_a_result_in_which_a_message_vanished(grown: Grown):
    """Invariants 1, 4, 17: it does see what it is there to see."""
    plan, change = told(grown, "")
    if plan.kind != "summarise":
        return
    lossy = type(change)(change.closed, tuple(e for e in change.opened if e.summary is None))
    assert violations(grown.view, lossy)
    anchor = newest_request(grown.view).position
    if anchor not in change.closed:
        assert violations(grown.view, type(change)((*change.closed, anchor), change.opened))


DOCUMENTED = {
    "text": {"type", "text", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "image": {"type", "source", "cache_control"},
}
"""The keys of each content block that the Messages API knows; a strict server refuses any other."""


@given(GROWN)
def test_a_request_holds_nothing_but_documented_keys(grown):
    """Invariants 1 and 2: no mark of our own on a message or block, whatever was done with it."""
    body = render(after(grown, told(grown)[1]), max_tokens=100)
    assert set(body) <= {"model", "max_tokens", "system", "tools", "messages", "thinking"}
    for message in body["messages"]:
        assert set(message) == {"role", "content"}
        for block in message["content"]:
            assert set(block) <= DOCUMENTED[block["type"]]


@given(GROWN)
def test_thinking_goes_out_signed_and_to_its_own_model_or_not_at_all(grown):
    """Invariant 8: and never after an edit before it, which breaks what it is bound to."""
    view = after(grown, told(grown)[1])
    for row in sent_rows(view):
        for block in row.content:
            if block["type"] == "thinking":
                assert block["signature"]
                assert row.entry.message.model == view.model
                assert not [g for g, first in view.edit_marks if g > row.entry.written and first < row.entry.position]
