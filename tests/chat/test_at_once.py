"""Two processes talk in one conversation at the same moment: each sees what the other said, nothing sent is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.chat.events import TurnEnded
from hermes_tui.context.messages import calls_of, results_of
from hermes_tui.store.store import Store
from tests.chat.answering import Room
from tests.fakes import fake_anthropic as api
from tests.store.talk import CALL, reply, say, start


async def test_what_was_said_elsewhere_before_the_first_message_here_is_sent_too(database: Store) -> None:
    room = Room(database, random.Random(1))
    conversation = await room.open(start(database))
    say(database, conversation.chain, "from elsewhere")
    reply(database, conversation.chain, "answered there")
    await conversation.send("and from here")
    assert database.view(conversation.chain) == conversation.view
    assert "from elsewhere" in str(room.model.sent[-1]["messages"][0])
    await room.close()


async def test_a_turn_does_not_send_calls_that_another_process_left_open_behind_its_message(
    database: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(database, random.Random(2))
    conversation = await room.open(start(database))
    append = database.append

    def and_elsewhere(chain: str, **said: Any) -> Any:
        stored = append(chain, **said)
        if said["origin"] == "user":
            append(chain, role="assistant", content=[CALL], origin="model", model="model-a")
        return stored

    say(database, conversation.chain, "from elsewhere")  # so that the turn reads the conversation anew
    monkeypatch.setattr(database, "append", and_elsewhere)
    await conversation.send("and from here")
    monkeypatch.undo()
    assert room.said(TurnEnded)[-1].reason == "end_turn"
    assert [api.complaint({**body}) for body in room.model.sent] == [None] * len(room.model.sent)
    said = database.messages(conversation.chain)
    (at,) = [n for n, m in enumerate(said) if calls_of(m) == (CALL,)]
    assert results_of(said[at + 1])[0]["content"] == "interrupted; outcome unknown"
    await room.close()


async def test_a_topic_with_lone_surrogates_is_summarised_as_it_is_stored(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "hermes.db")
    room = Room(store, random.Random(3), behaviours=("raises",))
    conversation = await room.begun(8)
    await conversation.compress("the \ud800 importer")
    assert "the \ufffd importer" in str(conversation.view.summary)
    assert store.view(conversation.chain) == conversation.view
    await room.close()
    store.close()
