"""What is sent: the one shape, its notes, thinking that holds, and cache breakpoints."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.messages import Message
from hermes_tui.context.rendering import open_loop_edited, render, sent_rows
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from tests.strategies import conversations, view_of


def said(n: int, role: str, *content: dict[str, object], model: str | None = None) -> Message:
    results = any(b["type"] == "tool_result" for b in content)
    origin = "model" if role == "assistant" else "tool" if results else "user"
    return Message(f"m{n}", n, role, content, origin, model)


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
CALL = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "text of a"}


def chain(*messages: Message, model: str = "model-a") -> ContextView:
    view = ContextView("c", "s", 0, model, "Be brief.")
    for message in messages:
        view = view.append(message)
    return view


def blocks(view: ContextView, kind: str) -> list[dict[str, object]]:
    return [dict(b) for row in sent_rows(view) for b in row.content if b["type"] == kind]


def test_two_messages_of_one_role_never_meet():
    view = chain(said(0, "user", text("one")), said(1, "user", text("two")))
    rows = sent_rows(view)
    assert [r.role for r in rows] == ["user", "assistant", "user"]
    assert rows[1].entry is None


def test_a_conversation_that_a_model_began_still_begins_with_the_user():
    view = chain(said(0, "assistant", text("hello"), model="model-a"))
    assert sent_rows(view)[0].role == "user"


def test_blank_texts_are_not_sent():
    view = chain(said(0, "user", text("  \n")), said(1, "user", text("real")))
    assert [b["text"] for b in blocks(view, "text")] == ["real"]


def test_thinking_goes_back_to_the_model_that_wrote_it_and_to_no_other():
    messages = (said(0, "user", text("q")), said(1, "assistant", THINKING, CALL, model="model-a"), said(2, "user", RESULT))
    assert blocks(chain(*messages), "thinking")
    assert not blocks(chain(*messages, model="model-b"), "thinking")


def test_an_edit_before_a_thinking_block_takes_all_thinking_after_it():
    view = chain(
        said(0, "user", text("first")),
        said(1, "assistant", text("done"), model="model-a"),
        said(2, "user", text("second")),
        said(3, "assistant", THINKING, CALL, model="model-a"),
        said(4, "user", RESULT),
    )
    assert not open_loop_edited(view)
    first = view.entries[0]
    dropped = Entry(0, message=first.message, treatment=Treatment.DROPPED, written=0)
    edited = view.apply(Change((0,), (dropped,)))
    assert not blocks(edited, "thinking")
    assert open_loop_edited(edited)
    later = edited.append(said(5, "assistant", THINKING, text("so"), model="model-a"))
    assert len(blocks(later, "thinking")) == 1


def test_thinking_without_a_signature_is_never_sent():
    cut_off = {"type": "thinking", "thinking": "I was interr"}
    view = chain(said(0, "user", text("q")), said(1, "assistant", cut_off, text("partial"), model="model-a"))
    assert not blocks(view, "thinking")


@given(conversations(), st.booleans())
def test_at_most_four_breakpoints_and_only_where_one_may_stand(messages, system):
    body = render(view_of(messages, "Be brief." if system else ""), max_tokens=100)
    marked = [b for b in [*body.get("system", []), *body.get("tools", [])] if "cache_control" in b]
    inside = [b for m in body["messages"] for b in m["content"] if "cache_control" in b]
    assert len(marked) == 1
    assert len(inside) <= 3
    assert all(b["type"] not in ("thinking", "redacted_thinking") for b in inside)


@given(conversations(), st.integers(1, 20))
def test_what_was_sent_stays_the_prefix_of_what_is_sent_next(messages, cut):
    """Prompt caching: bytes before what was added stay identical while nobody edits."""
    cut = min(cut, len(messages))
    one = render(view_of(messages[:cut]), max_tokens=100, cache=False)["messages"]
    two = render(view_of(messages), max_tokens=100, cache=False)["messages"]
    assert two[: len(one)] == one
