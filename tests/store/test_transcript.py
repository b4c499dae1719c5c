"""What is said is stored once, before anything is done with it, and reads back the same for ever."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_tui.context.messages import INTERRUPTED, scrub_json
from hermes_tui.store.errors import MessageNotFound, SessionNotFound, Unpaired
from hermes_tui.store.ids import time_of
from hermes_tui.store.store import Store
from tests.store.talk import SOME, applied, prune, reply, say, start, summarise, turns
from tests.strategies import conversations

CALLS = [
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x.py"}},
    {"type": "tool_use", "id": "b", "name": "read_file", "input": {"path": "y.py"}},
]
RESULTS = [
    {"type": "tool_result", "tool_use_id": "b", "content": "two"},
    {"type": "tool_result", "tool_use_id": "a", "content": "one"},
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=2 * SOME.max_examples)
@given(values=st.dictionaries(st.text(st.characters(codec=None), max_size=8), json_values, max_size=5), text=st.text())
def test_a_message_reads_back_byte_equal_whatever_is_in_it(shared_store: Store, values: dict, text: str) -> None:
    chain = start(shared_store)
    content = [{"type": "text", "text": text}, {"type": "tool_use", "id": "c", "name": "n", "input": values}]
    said, _ = shared_store.append(chain, role="assistant", content=content, origin="model", model="m")
    read = shared_store.message(said.id)
    assert read == said
    assert json.dumps(read.content) == json.dumps(tuple(scrub_json(content))), "the order of keys is kept too"
    assert shared_store.messages(chain) == (said,)
    assert shared_store.view(chain).entries[0].message == said


@SOME
@given(said=conversations(turns=5))
def test_any_conversation_reads_back_as_it_was_said(shared_store: Store, said: tuple) -> None:
    chain = start(shared_store)
    stored = tuple(shared_store.append(chain, role=m.role, content=m.content, origin=m.origin, model=m.model)[0] for m in said)
    assert [(m.role, m.content, m.origin, m.model) for m in stored] == [(m.role, m.content, m.origin, m.model) for m in said]
    assert [m.sequence for m in stored] == list(range(len(said)))
    assert shared_store.messages(chain) == stored
    assert [e.message for e in shared_store.view(chain).entries] == list(stored)


def test_a_lone_surrogate_is_replaced_once_and_stops_nothing(store: Store) -> None:
    chain = start(store, title="bad \udcff title", cwd="/tmp/\udce4")
    said = say(store, chain, "half \ud83d of an emoji, and a whole one \ud83d\ude00")
    assert said.content[0]["text"] == "half \ufffd of an emoji, and a whole one \U0001f600"
    assert store.message(said.id) == said
    assert store.tip(chain).title == "bad \ufffd title"
    store.set_title(chain, "\ud800")
    assert store.tip(chain).title == "\ufffd"
    assert store.search("emoji \udfff")[0].message == said.id, "it is found as it is stored"


def test_the_transcript_is_one_across_sessions_and_prunes_newest_page_first(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 5)
    applied(store, prune(store.view(chain), (4, 6)))
    applied(store, summarise(store.view(chain), 2, 6))
    applied(store, prune(store.view(chain), (14,)))
    turns(store, chain, 2)
    everything = store.messages(chain)
    assert [m.sequence for m in everything] == list(range(14))
    assert store.messages(chain, limit=3) == everything[-3:]
    assert store.messages(chain, before=11, limit=4) == everything[7:11]
    assert store.messages(chain, before=2, limit=10) == everything[:2]
    assert store.messages(chain, before=0) == ()
    assert [m.sequence for m in store.messages(chain, origin="user")] == [0, 2, 4, 6, 8, 10, 12]
    assert [m.sequence for m in store.messages(chain, origin="user", before=9, limit=2)] == [6, 8]


def test_a_message_goes_to_the_tip_whoever_holds_an_older_session(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 3)
    done = applied(store, summarise(store.view(chain), 0, 4))
    said, session = store.append(chain, role="user", content=[{"type": "text", "text": "and now?"}], origin="user")
    assert (session.id, session.last_generation) == (done.session.id, 1)
    last = store.view(chain).entries[-1]
    assert (last.message, last.born, last.written) == (said, 1, 1)


def test_when_a_message_was_said_stands_in_its_id(store: Store) -> None:
    chain = start(store)
    first, second = say(store, chain, "one"), reply(store, chain, "two")
    assert first.id < second.id
    assert 0 <= time_of(second.id) - time_of(first.id) < 60


def test_results_are_stored_only_right_after_the_calls_they_answer(store: Store) -> None:
    chain = start(store)
    say(store, chain, "look")
    with pytest.raises(Unpaired, match="answer no open calls"):
        store.append(chain, role="user", content=RESULTS, origin="tool")
    store.append(chain, role="assistant", content=CALLS, origin="model")
    with pytest.raises(Unpaired, match="still running"):
        say(store, chain, "and?")
    with pytest.raises(Unpaired, match="answer no open calls"):
        store.append(chain, role="user", content=RESULTS[:1], origin="tool")
    assert len(store.messages(chain)) == 2, "nothing of what was refused is stored"
    store.append(chain, role="user", content=RESULTS, origin="tool")
    with pytest.raises(Unpaired):
        store.append(chain, role="user", content=RESULTS, origin="tool")
    assert len(store.messages(chain)) == 3


def test_calls_left_open_are_answered_as_interrupted_once(store: Store) -> None:
    chain = start(store)
    assert store.answer_open_calls(chain) is None
    say(store, chain, "look")
    assert store.answer_open_calls(chain) is None
    store.append(chain, role="assistant", content=CALLS, origin="model")
    answered = store.answer_open_calls(chain)
    assert answered is not None
    assert (answered.role, answered.origin) == ("user", "tool")
    assert [b["tool_use_id"] for b in answered.content] == ["a", "b"]
    assert all(b["is_error"] and b["content"] == INTERRUPTED for b in answered.content)
    assert store.answer_open_calls(chain) is None
    assert say(store, chain, "go on").sequence == 3


def test_what_is_not_there_is_said_in_a_sentence(store: Store) -> None:
    with pytest.raises(SessionNotFound):
        say(store, "01NOPE", "hello")
    with pytest.raises(MessageNotFound):
        store.message("01NOPE")
    assert store.messages("01NOPE") == ()
