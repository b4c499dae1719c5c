"""From stored messages to what the transcript shows: everything that was said, compressions as dividers, calls with results."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hermes_tui.context.messages import Message
from hermes_tui.store.store import Store
from hermes_tui.tui import pages
from hermes_tui.tui.pages import chain_facts, load_page
from hermes_tui.tui.projection import blocks_of, clock_time, message_of, said_at, when, whole_text
from hermes_tui.tui.transcript import ReplySaid, Thought, ToolCard, UserSaid

CALL = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x = 1"}], "is_error": True}


def message(number: int, role: str, content: list[dict[str, object]], origin: str) -> Message:
    return Message(f"{number:026}", number, role, tuple(content), origin, "m" if origin == "model" else None)


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


TALK = [
    message(0, "user", [text("read it")], "user"),
    message(1, "assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}, text("Reading."), CALL], "model"),
    message(2, "user", [RESULT], "tool"),
    message(3, "assistant", [text("One line.")], "model"),
]


def test_every_block_of_every_message_is_shown_and_results_stand_in_their_cards() -> None:
    user, thought, said, card, reply = blocks_of(TALK)
    assert isinstance(user, UserSaid)
    assert user.text == "read it"
    assert isinstance(thought, Thought)
    assert isinstance(said, ReplySaid)
    assert isinstance(card, ToolCard)
    assert (card.name, card.main_argument, card.result, card.is_error) == ("read_file", "a.py", "x = 1", True)
    assert isinstance(reply, ReplySaid)


def test_a_block_knows_its_message() -> None:
    assert {message_of(block.id) for block in blocks_of(TALK)} == {TALK[n].id for n in (0, 1, 3)}


def test_ids_of_blocks_are_unique() -> None:
    ids = [block.id for block in blocks_of(TALK)]
    assert len(set(ids)) == len(ids)


def test_a_reused_call_id_finds_the_result_that_follows_it() -> None:
    again = [message(4, "assistant", [CALL], "model"), message(5, "user", [{**RESULT, "content": "second"}], "tool")]
    cards = [block for block in blocks_of([*TALK, *again]) if isinstance(block, ToolCard)]
    assert [card.result for card in cards] == ["x = 1", "second"]


def test_an_original_is_shown_whole() -> None:
    assert whole_text(TALK[1].content) == 'thinking:\nhm\n\nReading.\n\nread_file\n{\n  "path": "a.py"\n}'
    assert whole_text(TALK[2].content) == "x = 1"


def test_the_time_of_a_message_is_in_its_id() -> None:
    now = time.time()
    from hermes_tui.store.ids import new_id

    said = said_at(new_id())
    assert said is not None
    assert abs(said - now) < 5
    assert said_at("not an id") is None
    assert clock_time(None) == ""


def test_a_moment_is_written_as_short_as_it_is_clear() -> None:
    now = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))
    assert when(now - 3600, now) == "11:00"
    assert when(now - 2 * 86_400, now).startswith("Sat ")
    assert when(now - 40 * 86_400, now).startswith("21 Oct ")
    assert when(now - 400 * 86_400, now).endswith("2025")


def test_pages_hold_every_message_once_and_part_no_call_from_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 3)
    store = Store.open(tmp_path / "x.db")
    chain = store.create_chain(title="t", model="m").chain
    for number in range(6):
        store.append(chain, role="user", content=[text(f"ask {number}")], origin="user")
        store.append(chain, role="assistant", content=[{**CALL, "id": f"c{number}"}], origin="model", model="m")
        store.append(chain, role="user", content=[{**RESULT, "tool_use_id": f"c{number}"}], origin="tool")
        store.append(chain, role="assistant", content=[text(f"answer {number}")], origin="model", model="m")
    page = load_page(store, chain)
    blocks = list(page.blocks)
    while page.earlier:
        page = load_page(store, chain, before=page.first)
        blocks = [*page.blocks, *blocks]
    assert [b.text for b in blocks if isinstance(b, UserSaid)] == [f"ask {n}" for n in range(6)]
    assert all(b.result for b in blocks if isinstance(b, ToolCard))
    assert len([b for b in blocks if isinstance(b, ToolCard)]) == 6
    assert chain_facts(store, chain).turns == 6
    store.close()
