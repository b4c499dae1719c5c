"""A recorded transcript runs through the real conversation and engine, and what is told of it is exact."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.cli import main
from tests.fakes.fake_anthropic import complaint, count_tokens

DATA = Path(os.environ.get("HERMES_TUI_REAL_DATA") or Path(__file__).parents[3] / "shared" / "data")
real = pytest.mark.skipif(not DATA.is_dir(), reason="the real recordings are not on this machine")


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """Run `hermes-tui` with a data folder of its own: (exit code, stdout, stderr)."""
    monkeypatch.setenv("HERMES_TUI_DATA_DIR", str(tmp_path / "data"))

    def run_it(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return run_it


def events(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def work(turns: int, seed: int = 1) -> list[dict[str, Any]]:
    """A conversation about files, TURNS long: each turn two calls in one reply, their long results, and an answer."""
    chance = random.Random(seed)
    words = [f"name_{n}" for n in range(300)]
    said: list[dict[str, Any]] = []
    for n in range(turns):
        calls = [
            {"type": "tool_use", "id": f"call.{n}.{k}", "name": "read_file", "input": {"path": f"src/m{n}_{k}.py"}}
            for k in (0, 1)
        ]
        results = [
            {"type": "tool_result", "tool_use_id": c["id"], "content": " ".join(chance.choices(words, k=250))} for c in calls
        ]
        said += [
            {"role": "user", "content": f"Look at module {n} and never rename m{n}_0.py."},
            {"role": "assistant", "content": [{"type": "text", "text": f"Reading module {n}."}, *calls]},
            {"role": "user", "content": results},
            {"role": "assistant", "content": f"Module {n} sets " + " ".join(chance.choices(words, k=40)) + "."},
        ]
    return said


@pytest.fixture
def recording(tmp_path) -> Path:
    path = tmp_path / "recording.json"
    path.write_text(json.dumps({"title": "Modules", "system": "Be brief.", "messages": work(12)}))
    return path


def assert_accepted(context: dict[str, Any], window: int) -> None:
    body = {key: context[key] for key in ("model", "max_tokens", "system", "tools", "messages")}
    assert complaint(body) is None
    assert count_tokens(body) + body["max_tokens"] <= window


def test_every_event_is_one_object_a_line_and_the_files_hold_what_it_says(run, recording, tmp_path):
    contexts, source = tmp_path / "contexts.jsonl", tmp_path / "source.jsonl"
    code, out, err = run("replay", recording, "--window", 12000, "--json", "--contexts", contexts, "--source", source)
    assert (code, err) == (0, "")
    told = events(out)
    compressions = [e for e in told if e["event"] == "compression"]
    assert compressions
    assert {e["event"] for e in told} <= {"compression", "noop", "end"}
    for event in compressions:
        assert list(event) == [
            "event", "conversation", "cut", "kind", "trigger", "tokens_before", "tokens_after", "pruned", "summarised",
            "head", "tail", "session", "fidelity", "plan_ms",
        ]  # fmt: skip
        assert event["conversation"] == 1
        assert event["kind"] in ("prune", "summarise")
        assert event["trigger"] in ("preflight", "in_turn", "response", "overflow")
        assert 0 < event["tokens_after"] <= 0.9 * event["tokens_before"]
        assert list(event["session"]) == ["id", "parent", "ordinal"]
        assert list(event["fidelity"]) == ["kept", "total"]
    end = told[-1]
    splits = [e for e in compressions if e["kind"] == "summarise"]
    assert end == {
        "event": "end",
        "messages": 48,
        "compressions": len(compressions),
        "sessions": 1 + len(splits),
        "peak_tokens": end["peak_tokens"],
    }
    assert 0 < end["peak_tokens"] <= 12000
    assert [e["session"]["ordinal"] for e in splits] == list(range(2, 2 + len(splits)))
    written = lines(contexts)
    assert [(c["cut"], c["kind"]) for c in written] == [(e["cut"], e["kind"]) for e in compressions]
    for context in written:
        assert list(context) == ["cut", "kind", "model", "max_tokens", "system", "tools", "messages"]
        assert [tool["name"] for tool in context["tools"]] == ["read_file"]
        assert_accepted(context, 12000)
    read = lines(source)
    assert len(read) == end["messages"]
    assert [m["role"] for m in read] == [m["role"] for m in work(12)]
    assert read[0] == {"role": "user", "content": [{"type": "text", "text": "Look at module 0 and never rename m0_0.py."}]}
    assert not (tmp_path / "data").exists()


def test_for_people_it_is_told_in_lines_and_the_title_cannot_reach_the_terminal(run, tmp_path):
    path = tmp_path / "recording.json"
    path.write_text(json.dumps({"title": "Mo\x1b]52;c;x\x07du\u202eles", "messages": work(12)}))
    code, out, err = run("replay", path, "--window", 12000)
    assert (code, err) == (0, "")
    assert " → " in out
    assert "session 2" in out
    last = out.splitlines()[-1]
    assert last.startswith("Mo]52;c;xdules: 48 messages, ")
    assert "\x1b" not in out


def test_probing_compresses_afresh_at_group_boundaries_and_applies_nothing(run, recording, tmp_path):
    contexts, source = tmp_path / "contexts.jsonl", tmp_path / "source.jsonl"
    code, out, err = run(
        "replay", recording, "--probe", 10, "--window", 12000, "--json", "--contexts", contexts, "--source", source
    )
    assert (code, err) == (0, "")
    told = events(out)
    assert told[-1]["messages"] == len(lines(source)) == 48
    assert told[-1]["sessions"] == 1
    written = lines(contexts)
    assert [c["cut"] for c in written] == [11, 20, 31, 40]
    for context in written:
        assert_accepted(context, 12000)
    assert all(c["kind"] in ("prune", "summarise", None) for c in written)
    assert all(c["kind"] is not None for c in written[1:])
    kinds = [e["event"] for e in told[:-1]]
    assert kinds == ["noop" if c["kind"] is None else "compression" for c in written]


def test_several_conversations_are_replayed_in_turn_or_one_of_them(run, tmp_path):
    path = tmp_path / "several.jsonl"
    path.write_text("".join(json.dumps({"messages": work(n)}) + "\n" for n in (1, 12, 2)))
    code, out, _ = run("replay", path, "--window", 12000, "--json")
    told = events(out)
    assert code == 0
    assert [e["messages"] for e in told if e["event"] == "end"] == [4, 48, 8]
    assert {e["conversation"] for e in told if e["event"] == "compression"} == {2}
    code, out, _ = run("replay", path, "--conversation", 3, "--window", 12000, "--json")
    assert [e["messages"] for e in events(out)] == [8]


def test_every_message_is_played_however_unruly_the_recording(run, tmp_path):
    user, reply = {"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Going on."}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "done"}]}
    for said in (
        [reply, user, reply],
        [call, result, user],
        [user, user, reply],
        [user, reply, reply, user, reply],
        [user, call, result, user, reply],
        [user, call, result],
        [user, reply, call, result, reply, reply],
        [reply],
    ):
        path, source = tmp_path / "unruly.json", tmp_path / "source.jsonl"
        path.write_text(json.dumps(said))
        code, out, err = run("replay", path, "--json", "--keep", "--source", source)
        assert (code, err) == (0, "")
        assert events(out)[-1]["messages"] == len(said) == len(lines(source))
        chain = events(run("sessions", "--json")[1])[0]
        assert chain["messages"] == len(said)
        body = json.loads(run("context", chain["tip"], "--json")[1])
        if said[0]["role"] == "user":
            assert body["messages"][0]["content"][0]["text"] == "Go on."
        assert complaint(body) is None


def test_a_long_turn_of_many_calls_is_played_to_its_end(run, tmp_path):
    said: list[dict[str, Any]] = [{"role": "user", "content": "Count."}]
    for n in range(110):
        said.append({"role": "assistant", "content": [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {"n": n}}]})
        said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": str(n)}]})
    path = tmp_path / "long.json"
    path.write_text(json.dumps([*said, {"role": "assistant", "content": "Counted."}]))
    code, out, err = run("replay", path, "--window", 200000, "--json")
    assert (code, err) == (0, "")
    assert events(out)[-1]["messages"] == 222


def test_kept_replays_are_conversations_like_any_other(run, recording):
    assert run("replay", recording, "--window", 12000, "--keep")[0] == 0
    (chain,) = events(run("sessions", "--json")[1])
    assert chain["title"] == "Modules"
    assert chain["messages"] == 48
    first, *rest = chain["sessions"]
    assert (first["relation"], first["parent"]) == ("import", None)
    assert rest
    for parent, child in zip([first, *rest], rest, strict=False):
        assert child["parent"] == parent["id"]
        assert (child["relation"], parent["end_reason"]) == ("compression", "compression")
        assert parent["tokens_after"] < parent["tokens_before"]
    assert chain["tip"] == chain["sessions"][-1]["id"]
    body = json.loads(run("context", first["id"], "--json")[1])
    assert complaint(body) is None
    sent = events(run("context", chain["tip"][-6:], "--sent", "--json")[1])
    assert [s["n"] for s in sent] == list(range(1, len(sent) + 1))
    assert all(complaint(s["body"]) is None for s in sent)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--engine", "nope"], "no context engine 'nope'"),
        (["--window", "1000"], "2,048"),
        (["--conversation", "2"], "holds 1"),
        (["--threshold", "2"], "range"),
        (["--summarizer", "magic"], "magic"),
        (["--ui", "--json"], "--ui"),
        (["--contexts", "/no/such/folder/out"], "/no/such/folder/out"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(run, recording, tmp_path, arguments, says):
    code, out, err = run("replay", recording, *arguments, "--json" if "--ui" not in arguments else "--keep")
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_foreign_file_leaves_the_outputs_and_the_database_alone(run, tmp_path, recording):
    foreign, out = tmp_path / "foreign.json", tmp_path / "out.jsonl"
    foreign.write_text('{"bookmarks": []}')
    out.write_text("mine")
    code, stdout, err = run("replay", foreign, "--contexts", out, "--keep", "--json")
    assert (code, stdout) == (2, "")
    assert "can be read" in err
    assert out.read_text() == "mine"
    assert not (tmp_path / "data").exists()
    before = recording.read_bytes()
    assert run("replay", recording, "--source", recording)[0] == 2
    assert recording.read_bytes() == before


def test_a_cut_off_last_line_is_said_on_stderr_and_the_rest_is_played(run, tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_text('{"role": "user", "content": "Hello."}\n{"role": "assistant", "content": "Hel')
    code, out, err = run("replay", path, "--json")
    assert code == 0
    assert events(out)[-1]["messages"] == 1
    assert err == "hermes-tui: The last line of 'session.jsonl' is cut off and was left out.\n"


@real
@pytest.mark.parametrize(
    ("name", "window", "messages", "more"),
    [
        ("cline_session.messages.json", 8000, 32, []),
        ("sweagent_marshmallow-1867_function_calling.traj", 8000, 27, []),
        ("claudecode_sample_session.json", 8000, 32, []),
        ("taubench_airline_50.json", 8000, 61, ["--conversation", 4]),
        ("pi_coding_session.jsonl", 60000, 892, []),
    ],
)
def test_real_recordings_reach_their_end_and_no_context_would_be_refused(run, tmp_path, name, window, messages, more):
    contexts = tmp_path / "contexts.jsonl"
    code, out, err = run("replay", DATA / name, "--window", window, "--json", "--contexts", contexts, *more)
    assert (code, err) == (0, "")
    told = events(out)
    assert told[-1]["messages"] == messages
    written = lines(contexts)
    assert len(written) == told[-1]["compressions"]
    for context in written:
        body = {key: context[key] for key in ("model", "max_tokens", "system", "tools", "messages")}
        assert complaint(body) is None
        assert count_tokens(body) <= window
