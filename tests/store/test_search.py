"""Everything that was ever said is found again, whatever became of it in the context, in any script, each message once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.messages import text_block
from hermes_tui.store.store import Store
from tests.store.talk import SOME, applied, prune, reply, say, start, summarise, turns


@pytest.fixture
def chain(store: Store) -> str:
    chain = start(store, title="Importer")
    say(store, chain, "Why does the import stall? The café's reader_lock is held. C++ too.")
    store.append(
        chain,
        role="assistant",
        content=[
            {"type": "thinking", "thinking": "platypus", "signature": "s"},
            text_block("I look into it."),
            {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "src/importer.py", "deep": ["walrus"]}},
        ],
        origin="model",
    )
    store.append(
        chain,
        role="user",
        content=[{"type": "tool_result", "tool_use_id": "a", "content": [text_block("def parseRowsQuickly(): pass")]}],
        origin="tool",
    )
    reply(store, chain, "读取器持有锁，所以导入停住了。\nNothing else.")
    say(store, chain, "ロックを外してください 잠금을 풀어 주세요 ปลดล็อก")
    return chain


@pytest.mark.parametrize(
    ("query", "sequences"),
    [
        ("stall", [0]),
        ("STALL import", [0]),
        ("cafe", [0]),
        ("reader", [0]),
        ("impo", [1, 0]),
        ('"held. C++"', [0]),
        ("importer.py", [1]),
        ("walrus", [1]),
        ("parserowsquickly", [2]),
        ("RowsQuick", [2]),
        ("c++", [0]),
        ("读取器", [3]),
        ("持有", [3]),
        ("锁", [3]),
        ("导入停 读取", [3]),
        ("外して", [4]),
        ("잠금", [4]),
        ("풀어", [4]),
        ("ล็อก", [4]),
        ("锁 nothing", [3]),
        ("platypus", []),
        ("tool_use", []),
        ("stall walrus", []),
        ("", []),
        ('"', []),
        ("AND OR NOT (", []),
        ("stall*", [0]),
        ("100%", []),
    ],
)
def test_a_message_is_found_by_what_it_says(store: Store, chain: str, query: str, sequences: list) -> None:
    assert sorted(hit.sequence for hit in store.search(query)) == sorted(sequences)


def test_a_hit_shows_the_words_in_their_place(store: Store, chain: str) -> None:
    (hit,) = store.search("stall lock")
    assert (hit.chain, hit.title, hit.message) == (chain, "Importer", store.messages(chain)[0].id)
    assert [hit.snippet[a:b] for a, b in hit.marks] == ["stall", "lock"]
    say(store, chain, "x " * 500 + "the needle\nis here " + "y " * 500)
    (hit,) = store.search("needle")
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "the needle is here" in hit.snippet
    assert len(hit.snippet) < 200


def test_compressed_messages_are_found_once_and_in_their_chain_only(store: Store) -> None:
    one, other = start(store), start(store)
    turns(store, one, 4)
    turns(store, other, 1)
    applied(store, prune(store.view(one), (4,)))
    applied(store, summarise(store.view(one), 1, 6))
    assert [h.sequence for h in store.search("question 2", chain=one)] == [4]
    assert sorted(h.chain for h in store.search("question 0")) == sorted([one, other])
    assert [h.chain for h in store.search("question 0", chain=other)] == [other]
    assert len(store.search("question", limit=3)) == 3


def test_the_index_is_written_with_the_message_and_never_again(store: Store) -> None:
    chain = start(store)
    turns(store, chain, 4)

    def size() -> int:
        with store._database.read() as connection:
            return int(connection.exec_driver_sql("SELECT total(length(block)) FROM words_data").scalar_one())

    before = size()
    applied(store, summarise(store.view(chain), 1, 6))
    store.set_title(chain, "another")
    assert size() == before


@SOME
@given(query=st.text(max_size=20), said=st.text(min_size=1, max_size=30))
def test_no_query_breaks_the_search_and_what_was_said_is_found_by_itself(shared_store: Store, query: str, said: str) -> None:
    chain = start(shared_store)
    stored = say(shared_store, chain, said)
    shared_store.search(query, chain=chain)
    if '"' not in said and said.strip() and "\0" not in said:
        assert [h.message for h in shared_store.search(said, chain=chain)] == [stored.id]
