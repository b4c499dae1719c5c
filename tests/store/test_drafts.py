"""A reply is kept while it streams: cut off or killed, what had come is there, and what cannot be sent again is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_tui.context.messages import Block, calls_of, text_block
from hermes_tui.context.rendering import sent_rows
from hermes_tui.store.processes import is_alive, this_process
from hermes_tui.store.records import Applied
from hermes_tui.store.store import Store
from tests.store.conftest import Forked
from tests.store.talk import CALL, STARTED, apply, ask, prune, say, start

SIGNED: Block = {"type": "thinking", "thinking": "hm", "signature": "abc"}
UNSIGNED: Block = {"type": "thinking", "thinking": "h"}


@pytest.mark.parametrize(
    ("came", "streaming", "kept"),
    [
        ([text_block("because")], 0, [text_block("because")]),
        ([SIGNED, text_block("beca")], 1, [SIGNED, text_block("beca")]),
        ([UNSIGNED], 0, []),
        ([SIGNED], None, [SIGNED]),
        ([text_block("I look."), UNSIGNED], 1, [text_block("I look.")]),
        ([UNSIGNED, text_block("a server that signs nothing")], 1, [UNSIGNED, text_block("a server that signs nothing")]),
        ([text_block("I look."), CALL], None, [text_block("I look."), CALL]),
        ([text_block("I look."), STARTED], 1, [text_block("I look.")]),
        ([text_block("I look."), {"type": "tool_use", "id": "a", "name": "n", "input": '{"pa'}], None, [text_block("I look.")]),
        ([{"type": "tool_use", "id": "a", "name": "now", "input": {}}], None, [STARTED | {"name": "now"}]),
        ([text_block("")], 0, []),
        ([text_block(" \n")], 0, []),
        ([], None, []),
    ],
)
def test_a_reply_that_is_cut_off_keeps_what_can_be_sent_again(store: Store, came: list, streaming: int, kept: list) -> None:
    chain = start(store)
    request = ask(store, chain)
    store.save_draft(chain, request, came, streaming=streaming)
    done = store.finish_draft(chain, request, came, "model-a", streaming=streaming)
    assert (list(done[0].content) if done else []) == kept
    if done:
        assert (done[0].role, done[0].origin, done[0].model) == ("assistant", "model", "model-a")
    assert [list(m.content) for m in store.messages(chain)[1:]] == ([kept] if kept else []), "an empty draft disappears"


def test_a_reply_becomes_one_message_however_often_it_is_finished(store: Store) -> None:
    chain = start(store)
    request = ask(store, chain)
    first = store.finish_draft(chain, request, [text_block("because")], "model-a")
    again = store.finish_draft(chain, request, [text_block("because of that")], "model-a")
    assert first is not None
    assert again is not None
    assert first[0] == again[0]
    assert len(store.messages(chain)) == 2


def test_a_draft_that_is_dropped_leaves_nothing(store: Store) -> None:
    chain = start(store)
    request = ask(store, chain)
    store.save_draft(chain, request, [text_block("beca")])
    store.drop_draft(request)
    assert store.recover() == ()
    assert len(store.messages(chain)) == 1


@pytest.mark.parametrize("meanwhile", ["said", "edited"])
def test_thinking_whose_prefix_another_process_changed_is_kept_to_be_read_and_never_sent(store: Store, meanwhile: str) -> None:
    chain = start(store)
    say(store, chain, "one")
    request = ask(store, chain)
    if meanwhile == "said":
        say(store, chain, "and two")
    else:
        assert isinstance(apply(store, prune(store.view(chain), (0,))), Applied)
    came = [SIGNED, {"type": "redacted_thinking", "data": "x"}, text_block("because")]
    stored = store.finish_draft(chain, request, came, "model-a")
    assert stored is not None
    assert stored[0].content == ({"type": "thinking", "thinking": "hm"}, text_block("because"))
    assert sent_rows(store.view(chain))[-1].content == (text_block("because"),)


def test_a_draft_of_a_living_process_is_left_alone(store: Store, path: Path) -> None:
    chain = start(store)
    request = ask(store, chain)
    store.save_draft(chain, request, [text_block("beca")])
    other = Store.open(path)
    assert other.recovered == ()
    assert len(other.messages(chain)) == 1
    other.close()
    store.save_draft(chain, request, [text_block("because")])
    assert store.finish_draft(chain, request, [text_block("because.")], "model-a") is not None


def test_what_had_streamed_when_the_process_was_killed_is_there_at_the_next_start(path: Path, forked: Forked) -> None:
    forked("stream", path)
    watching = Store.open(path)
    assert watching.recovered == (), "it still streams"
    forked("kill-stream", path)
    again = Store.open(path)
    first, second, third = sorted(c.id for c in again.chains())
    assert set(again.recovered) == {first, second}
    assert again.messages(first)[-1].content == (text_block("half a rep"),)
    assert again.messages(first)[-1].model == "model-a", "the request knows who wrote it"
    assert calls_of(again.messages(second)[-1]) == (CALL,)
    assert len(again.messages(third)) == 1, "a call that never got its arguments is none"
    assert {r.status for c in (first, second, third) for r in again.requests(c)} == {"interrupted"}
    answered = again.answer_open_calls(second)
    assert answered is not None
    assert answered.content[0]["is_error"]
    assert again.recover() == watching.recover() == (), "once"
    again.close()
    watching.close()


def test_an_abandoned_reply_does_not_part_the_calls_of_whoever_went_on(store: Store) -> None:
    chain = start(store)
    request = ask(store, chain)
    store.save_draft(chain, request, [text_block("half a rep")])
    with store._database.write() as connection:
        connection.exec_driver_sql("UPDATE drafts SET owner = 'elsewhere:1:1', updated = 0")
    store.append(chain, role="assistant", content=[CALL], origin="model")
    assert store.recover() == ()
    assert calls_of(store.messages(chain)[-1]) == (CALL,)


def test_a_process_is_known_by_when_it_started_not_by_its_number() -> None:
    host, number, started = this_process().rsplit(":", 2)
    assert is_alive(this_process(), 10**9)
    assert not is_alive(f"{host}:{number}:{started}1", 0)
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    assert not is_alive(f"{host}:{child.pid}:1", 0)
    assert is_alive(f"{host}-far:{number}:{started}", 5), "nothing is known of another machine's processes"
    assert not is_alive(f"{host}-far:{number}:{started}", 10**6), "but a reply that streams is saved every second"


def test_calls_belong_to_the_process_that_asked_for_the_reply_whoever_asked_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = start(store)
    monkeypatch.setattr("hermes_tui.store.requests.this_process", lambda: "elsewhere:1:2")
    theirs = ask(store, chain)
    monkeypatch.undo()
    mine = ask(store, chain)
    store.finish_draft(chain, mine, [text_block("because")], "model-a")
    store.finish_request(mine, usage=None, cost=None, status="done")
    store.finish_draft(chain, theirs, [CALL], "model-a")
    asked = store.last_reply_owner(chain)
    assert asked is not None
    assert asked[0] == "elsewhere:1:2"
