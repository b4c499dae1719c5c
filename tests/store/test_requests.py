"""Every request is written down before it goes out, and any of them can be looked at again."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from hermes_tui.context.engine import Anchor, EngineState, Usage
from hermes_tui.store.errors import RequestNotFound
from hermes_tui.store.store import Store
from tests.store.talk import TOOLS, applied, prune, reply, say, start, summarise, turns

BODY = {"model": "model-a", "messages": [{"role": "user", "content": "grüße 你好 \ud800"}], "max_tokens": 100}


def begin(store: Store, chain: str, purpose: Any, body: Any = BODY) -> str:
    view = store.view(chain)
    return store.begin_request(
        chain=chain,
        session=view.session,
        generation=view.generation,
        last_message=view.last_message.id if view.last_message else None,
        purpose=purpose,
        model="model-a",
        parameters={"thinking": {"type": "enabled"}, "max_tokens": 100},
        renderer=3 if purpose == "turn" else None,
        body=body,
        estimate=900,
    )


def test_a_request_is_there_before_its_answer_and_complete_after_it(store: Store) -> None:
    chain = start(store)
    say(store, chain, "hello")
    turn = begin(store, chain, "turn")
    (sent,) = store.requests(chain)
    assert (sent.id, sent.status, sent.usage, sent.finished, sent.estimate) == (turn, "sent", None, None, 900)
    assert (
        sent.sha256
        == hashlib.sha256(
            json.dumps(BODY, ensure_ascii=False, separators=(",", ":")).replace("\ud800", "\ufffd").encode()
        ).hexdigest()
    )
    usage = Usage(input=10, output=20, cache_read=30, cache_write=40)
    store.finish_request(turn, usage=usage, cost=0.02, status="done", estimate=950)
    (done,) = store.requests(chain)
    assert (done.status, done.usage, done.cost, done.estimate, done.error) == ("done", usage, 0.02, 950, None)
    assert done.finished is not None
    assert done.finished >= done.created
    failed = begin(store, chain, "turn")
    store.finish_request(failed, usage=None, cost=None, status="failed", error="The server is overloaded.")
    assert [r.status for r in store.requests(chain)] == ["done", "failed"]
    assert store.requests(chain)[1].error == "The server is overloaded."
    assert store.requests(chain)[1].estimate == 900


def test_the_body_of_a_summary_is_kept_and_that_of_a_turn_can_be_rendered_again(store: Store) -> None:
    chain = start(store)
    asked = say(store, chain, "hello")
    turn, summary = begin(store, chain, "turn"), begin(store, chain, "summary")
    body = store.body(summary)
    assert body == {**BODY, "messages": [{"role": "user", "content": "grüße 你好 \ufffd"}]}
    assert list(body) == list(BODY), "keys in their order, as they were sent"
    with pytest.raises(RequestNotFound):
        store.body(turn)
    record = store.requests(chain)[0]
    assert (record.purpose, record.renderer, record.generation, record.last_message) == ("turn", 3, 0, asked.id)
    assert record.parameters == {"thinking": {"type": "enabled"}, "max_tokens": 100}
    assert record.system is not None
    assert record.tools is not None


def test_the_view_of_every_past_request_can_be_drawn_again(store: Store) -> None:
    chain = start(store)
    views = []

    def ask(text: str) -> None:
        say(store, chain, text)
        begin(store, chain, "turn")
        views.append(store.view(chain, model="model-a"))
        reply(store, chain, f"answer to {text}")

    for n in range(4):
        ask(f"question {n}")
    applied(store, prune(store.view(chain), (2,)))
    ask("after a prune")
    applied(store, summarise(store.view(chain), 2, 6))
    ask("after a split")
    applied(store, prune(store.view(chain), (14,)))
    ask("after both")
    again = [
        store.view(chain, generation=r.generation, last_message=r.last_message, model=r.model) for r in store.requests(chain)
    ]
    assert again == views
    assert [v.session for v in again] == [r.session for r in store.requests(chain)]
    assert {(v.system, v.tools) for v in map(_hashable, again)} == {("Be brief.", str(TOOLS))}


def _hashable(view: Any) -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(system=view.system, tools=str(view.tools))


def test_the_same_system_prompt_is_stored_once(store: Store) -> None:
    for _ in range(5):
        turns(store, start(store), 1)
    with store._database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM texts").scalar_one() == 2


def test_what_an_engine_remembers_comes_back_whole_and_per_chain(store: Store) -> None:
    one, other = start(store), start(store)
    state = EngineState(
        anchor=Anchor(1000, 900, 2),
        scales={"model-a": 1.08, "model-b": 1.3},
        strikes=2,
        stopped_at=(1700000000.5, 4000),
        model_rests_until=1700000600.0,
        window_learned={"model-a": 8192},
        rest_until_size=5000,
        extra={"mine": [1, {"a": None}], "lone": "\ud800"},
    )
    store.save_state(one, state)
    assert store.load_state(one) == EngineState(
        **{f: getattr(state, f) for f in state.__slots__ if f != "extra"}, extra={"mine": [1, {"a": None}], "lone": "\ufffd"}
    )
    assert store.load_state(other) == EngineState()
    store.save_state(other, EngineState(scales={"model-a": 1.2}))
    assert store.learned_scales() == {"model-a": 1.2, "model-b": 1.3}, "what was measured last"
