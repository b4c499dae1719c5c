"""The lists of conversations and requests say what is in the database, for people and for programs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from hermes_tui.chat.requests import Parameters
from hermes_tui.cli import main
from hermes_tui.context.editing import marked
from hermes_tui.context.messages import text_block
from hermes_tui.context.rendering import RENDERER
from hermes_tui.context.undoing import taken_back
from hermes_tui.store.store import Store


@pytest.fixture
def chain(tmp_path: Path) -> str:
    """A chain of three messages, one request sent in it, its title full of what no terminal may be sent."""
    store = Store.open(tmp_path / "hermes.db")
    session = store.create_chain(title="Ports \x1b]52;c;x\x07 \u202eand", model="m-1", system="Be brief.")
    said = [("user", "Where is the port?", "user"), ("assistant", "In app.py.", "model"), ("user", "Thanks 😀", "user")]
    for role, text, origin in said:
        message, _ = store.append(session.chain, role=role, content=(text_block(text),), origin=origin)
        if origin == "user":
            parameters = Parameters(max_tokens=100)
            view = store.view(session.chain, last_message=message.id)
            body = parameters.body(view)
            request = store.begin_request(
                chain=session.chain,
                session=session.id,
                generation=0,
                last_message=message.id,
                purpose="turn",
                model="m-1",
                parameters=parameters.stored(),
                renderer=RENDERER,
                body=body,
            )
            store.finish_request(request, usage=None, cost=None, status="done")
    store.close()
    return session.chain


@pytest.fixture
def run(capfd, tmp_path):
    def run_it(*arguments: str) -> str:
        assert main(["--data-dir", str(tmp_path), *arguments]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        return out

    return run_it


def test_sessions_lists_a_chain_a_line_as_json(run, chain):
    out = run("sessions", "--json")
    assert out.isascii()
    assert "\x1b" not in out
    (line,) = out.splitlines()
    told = json.loads(line)
    assert told.pop("updated_at").endswith("Z")
    assert told == {
        "chain": chain,
        "title": "Ports \x1b]52;c;x\x07 \u202eand",
        "tip": chain,
        "sessions": [
            {
                "id": chain,
                "ordinal": 1,
                "parent": None,
                "relation": "root",
                "end_reason": None,
                "tokens_before": None,
                "tokens_after": None,
            }
        ],
        "messages": 3,
    }


def test_sessions_for_people_sends_the_terminal_no_controls(run, chain):
    out = run("sessions")
    assert out.startswith(chain[-6:])
    assert out.endswith("Ports ]52;c;x and  (1 session, 3 messages)\n")


def test_sent_requests_are_rendered_again_byte_for_byte(run, chain):
    lines = [json.loads(line) for line in run("context", chain[-6:], "--sent", "--json").splitlines()]
    assert [(line["n"], line["purpose"], len(line["body"]["messages"])) for line in lines] == [(1, "turn", 1), (2, "turn", 3)]
    for line in lines:
        posted = json.dumps(line["body"], ensure_ascii=False, separators=(",", ":")).encode()
        assert hashlib.sha256(posted).hexdigest() == line["sha256"]


def test_the_next_request_is_printed_as_it_would_be_sent(run, chain):
    body = json.loads(run("context", chain.lower()[-8:], "--json"))
    assert body["model"] == "m-1"
    assert body["max_tokens"] == 100
    assert body["system"][0]["text"] == "Be brief."
    assert body["messages"][-1]["content"][0]["text"] == "Thanks 😀"
    assert json.loads(run("context", chain[-6:])) == body
    assert run("context", chain[-6:]).startswith("{\n  ")


def test_the_context_after_any_edit_is_printed_also_across_an_undo(run, chain, tmp_path, capfd):
    store = Store.open(tmp_path / "hermes.db")
    answer = store.messages(chain)[1]
    store.edit(marked(store.view(chain), answer.id, "drop"))
    store.edit(taken_back(store.view(chain), store.history(chain), store.edits(chain), 1, "undo"))
    store.close()

    def said(*arguments: str) -> list[str]:
        body = json.loads(run("context", chain[-6:], "--json", *arguments))
        return [message["content"][0]["text"] for message in body["messages"]]

    whole = ["Where is the port?", "In app.py.", "Thanks 😀"]
    note = "[note: no reply was recorded here]"
    assert said() == said("--generation", "0") == said("--generation", "2") == whole
    assert said("--generation", "1") == [whole[0], note, whole[2]]
    assert main(["--data-dir", str(tmp_path), "context", chain[-6:], "--generation", "9"]) != 0
    assert "has no generation 9" in capfd.readouterr().err
    (told,) = [json.loads(line) for line in run("sessions", "--json").splitlines()]
    assert [s["end_reason"] for s in told["sessions"]] == [None], "no edit by hand ends a session"
