"""How much of what a conversation uses later stands in a context, told without a model."""

from __future__ import annotations

from typing import Any

from hermes_tui.context.future_use import HORIZON, FutureUse, Kept, context_text, facts_in


def user(text: str) -> tuple[str, list[dict[str, Any]]]:
    return "user", [{"type": "text", "text": text}]


def reply(text: str) -> tuple[str, list[dict[str, Any]]]:
    return "assistant", [{"type": "text", "text": text}]


def call(**arguments: Any) -> tuple[str, list[dict[str, Any]]]:
    return "assistant", [{"type": "tool_use", "id": "a", "name": "f", "input": arguments}]


def result(text: str) -> tuple[str, list[dict[str, Any]]]:
    return "user", [{"type": "tool_result", "tool_use_id": "a", "content": text}]


def test_facts_are_literals_that_may_have_to_be_repeated_exactly():
    text = "See https://example.org/a_b, src/app/main.py --dry-run at 0a1b2c3 of v 1.24.3: load_rows, makeRow, RowMaker, 90210."
    assert facts_in(text) == {
        "https://example.org/a_b", "src/app/main.py", "--dry-run", "0a1b2c3", "1.24.3", "load_rows", "makeRow", "RowMaker",
        "90210",
    }  # fmt: skip
    assert facts_in("a word, a_b, 123 and no more") == frozenset()


def test_a_fact_counts_where_the_assistant_uses_it_again_before_anything_shows_it_again():
    future = FutureUse(
        [
            user("look at src/one.py and src/two.py"),
            reply("ok"),
            call(path="src/one.py"),
            result("src/two.py"),
            call(path="src/two.py"),
        ]
    )
    facts, _ = future.after(2)
    assert facts == {"src/one.py"}, "the second was shown again before it was used"
    assert future.after(4)[0] == {"src/two.py"}
    assert future.kept(2, "nothing") == Kept(0, 1, 0, 0)
    assert future.kept(2, "we read src/one.py") == Kept(1, 1, 0, 0)


def test_a_relation_holds_two_facts_that_one_line_held_and_one_message_uses():
    future = FutureUse([user("load_rows is in src/reader.py"), reply("ok"), reply("calling load_rows of src/reader.py")])
    assert future.after(2) == ({"load_rows", "src/reader.py"}, {("load_rows", "src/reader.py")})
    near, far = "load_rows: src/reader.py", "load_rows" + " " * 200 + "src/reader.py"
    assert future.kept(2, near) == Kept(2, 2, 1, 1)
    assert future.kept(2, far) == Kept(2, 2, 0, 1), "a bag of names tells no relation"
    assert future.kept(2, far + near).relations == 1


def test_only_the_next_hundred_messages_are_the_future():
    future = FutureUse([user("load_rows"), *[reply("waiting")] * HORIZON, reply("load_rows")])
    assert future.after(1)[0] == frozenset()
    assert future.after(2)[0] == {"load_rows"}


def test_what_is_kept_adds_up():
    assert Kept(1, 2, 3, 4).plus(Kept(10, 20, 30, 40)) == Kept(11, 22, 33, 44)


def test_a_context_is_searched_as_a_reader_would():
    messages = [
        {"role": "user", "content": "asked"},
        {"role": "assistant", "content": call(path="a/b.py", n=[1, {"x": None}])[1]},
    ]
    text = context_text(messages, "system")
    assert [word for word in ("system", "asked", "a/b.py", "1", "None") if word in text] == [
        "system",
        "asked",
        "a/b.py",
        "1",
        "None",
    ]
