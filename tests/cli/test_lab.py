"""The lab runs one recording under several policies and tells what each comes to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.cli import main
from tests.cli.test_replay import DATA, events, lines, work
from tests.fakes.fake_anthropic import complaint

BENCH = DATA.parent / "bench" / "future_use.py"
KEYS = [
    "engine", "model", "window", "threshold_percent", "threshold_tokens", "messages", "requests", "unsent_turns",
    "compressions", "prunes", "summaries", "sessions", "peak_tokens", "mean_tokens", "mean_tokens_after", "dollars",
    "dollars_for_summaries", "price", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cache_breaks", "fidelity",
    "future_use",
]  # fmt: skip


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """Run `hermes-tui lab` with a data folder of its own: (exit code, stdout, stderr)."""
    monkeypatch.setenv("HERMES_TUI_DATA_DIR", str(tmp_path / "data"))

    def run_it(*arguments: str | Path | float) -> tuple[int, str, str]:
        code = main(["lab", *(str(a) for a in arguments)])
        out, err = capfd.readouterr()
        return code, out, err

    return run_it


@pytest.fixture
def recording(tmp_path) -> Path:
    path = tmp_path / "recording.json"
    path.write_text(json.dumps({"title": "Modules", "system": "Be brief.", "messages": work(8)}))
    return path


def test_an_object_a_run_and_every_context_in_a_file(run, recording, tmp_path):
    folder = tmp_path / "contexts"
    code, out, err = run(recording, "--window", 12000, "--json", "--contexts", folder)
    assert (code, err) == (0, "")
    found = events(out)
    assert [row["engine"] for row in found] == ["none", "truncate-oldest", "hermes-like", "compressor"]
    for row in found:
        assert list(row) == KEYS
        assert row["messages"] == 32
        assert row["requests"] == 16
        assert row["model"] == "claude-sonnet-5-5"
        assert row["compressions"] == row["prunes"] + row["summaries"] >= row["cache_breaks"]
        assert row["sessions"] == 1 + row["summaries"]
        assert row["peak_tokens"] >= row["mean_tokens"] > 0
        assert row["dollars"] > 0
        assert row["dollars_for_summaries"] is None
        assert all(0 <= f["kept"] <= f["total"] for f in (*row["fidelity"].values(), *row["future_use"].values()))
    none, *others = found
    assert (none["window"], none["threshold_tokens"], none["compressions"], none["cache_breaks"]) == (None, None, 0, 0)
    assert all(row["compressions"] and row["peak_tokens"] < none["peak_tokens"] for row in others)
    assert found[3]["cache_breaks"] >= found[3]["compressions"] - 1, (
        "an edit breaks the cache once, unless nothing is sent after it"
    )
    rates = none["price"]
    cost = (
        none["cache_read_tokens"] * rates["cache_read"]
        + none["cache_write_tokens"] * rates["cache_write"]
        + none["output_tokens"] * rates["output"]
    )
    assert none["dollars"] == pytest.approx(cost / 1e6, abs=1e-6)
    written = {path.name: lines(path) for path in folder.iterdir()}
    assert len(written) == 4
    for name, contexts in written.items():
        row = next(row for row in found if name.startswith(row["engine"]))
        assert len(contexts) == row["compressions"]
        for context in contexts:
            assert list(context) == ["cut", "kind", "model", "max_tokens", "system", "tools", "messages"]
            assert complaint({key: context[key] for key in list(context)[2:]}) is None


def test_two_processes_tell_what_one_tells(run, tmp_path, monkeypatch):
    path = tmp_path / "recording.json"
    path.write_text(json.dumps(work(3)))
    order = (path, "--engine", "truncate-oldest", "--engine", "none", "--window", 4096, "--json")
    alone = run(*order)
    monkeypatch.setattr("hermes_tui.cli.lab_runs.WORTH_A_PROCESS", 0)
    assert run(*order) == alone
    assert [row["engine"] for row in events(alone[1])] == ["none", "truncate-oldest"]


def test_a_row_for_each_combination_sorted_by_window_and_threshold(run, tmp_path):
    recording = tmp_path / "recording.json"
    recording.write_text(json.dumps(work(4)))
    code, out, err = run(
        recording, "--json", "--engine", "compressor", "--engine", "none", "--window", 9000, "--window", 6000,
        "--threshold", 0.6, "--threshold", 0.4, "--model", "claude-sonnet-5-5", "--model", "claude-haiku-5-5",
    )  # fmt: skip
    assert (code, err) == (0, "")
    found = events(out)
    one = [("none", None, None)] + [("compressor", w, p) for w in (6000, 9000) for p in (0.4, 0.6)]
    assert [(r["engine"], r["window"], r["threshold_percent"]) for r in found] == one * 2
    assert [r["model"] for r in found] == ["claude-sonnet-5-5"] * 5 + ["claude-haiku-5-5"] * 5
    for dear, cheap in zip(found[:5], found[5:], strict=True):
        assert cheap["dollars"] < dear["dollars"]
        assert cheap["peak_tokens"] == pytest.approx(dear["peak_tokens"], rel=0.02), "ids in placeholders differ, no more"


def test_the_users_own_price_wins(run, recording, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[models."mine"]\nwindow = 12000\nprice = { input = 100.0, output = 0.0, cache_read = 0.0 }\n')
    code, out, _ = run(recording, "--config", config, "--model", "mine", "--engine", "compressor", "--json")
    (row,) = events(out)
    assert code == 0
    assert row["window"] == 12000
    assert row["price"] == {"input": 100.0, "output": 0.0, "cache_read": 0.0, "cache_write": 125.0, "source": "config"}
    assert row["dollars"] == pytest.approx(row["cache_write_tokens"] * 125 / 1e6)


def test_the_table_fits_and_says_what_its_numbers_mean(run, recording):
    code, out, err = run(recording, "--window", 9000, "--engine", "none", "--engine", "compressor")
    assert (code, err) == (0, "")
    said = out.splitlines()
    assert max(map(len, said)) <= 120
    assert said[0] == "Modules: 32 messages, 16 requests, at the prices of claude-sonnet-5-5"
    assert [line.split()[0] for line in said[5:7]] == ["none", "compressor"]
    assert "million tokens (genai-prices)" in " ".join(out.split())
    assert "do not fit a window of 9k" in " ".join(out.split())


def test_a_narrow_terminal_gets_the_costs_first_and_what_was_kept_below():
    from hermes_tui.chat.lab import Trial, Tried
    from hermes_tui.cli.lab_table import Row, table
    from hermes_tui.context.future_use import Kept

    tried = Tried(95_904, 892, (), 12, 177_555, 108_309, (), 2, Kept(90, 101, 24, 26))
    rows = [Row(Trial("truncate-oldest", w, 0.5), tried, 123.456) for w in (200_000, 1_000_000)]
    assert len({len(line) for line in table(rows, 120)}) == 1
    wide, narrow = list(table(rows, 120)), list(table(rows, 80))
    assert len(wide) == 5
    assert max(map(len, narrow)) <= 80
    assert [line.startswith("truncate-oldest") for line in narrow].count(True) == 4


def test_nothing_to_compress_is_said_with_what_would_show_more(run, recording):
    code, out, _ = run(recording, "--engine", "compressor", "--window", 500000)
    assert code == 0
    assert "smaller --window" in " ".join(out.split())


def test_a_model_without_a_known_price_has_no_dollars_and_says_how_to_set_them(run, recording):
    code, out, _ = run(recording, "--engine", "none", "--model", "unheard-of")
    assert code == 0
    assert 'models."unheard-of".price' in out
    assert "its window 8.2k · a guess: nobody says" in out


def test_the_lab_tells_what_a_replay_tells(run, recording, capfd):
    """There is no second account: compressions, sessions and the largest request are the replay's."""
    code, out, _ = run(recording, "--engine", "compressor", "--window", 12000, "--json")
    (row,) = events(out)
    assert main(["replay", str(recording), "--window", "12000", "--json"]) == code == 0
    *told, end = events(capfd.readouterr()[0])
    compressions = [event for event in told if event["event"] == "compression"]
    assert (row["compressions"], row["sessions"]) == (end["compressions"], end["sessions"])
    assert row["peak_tokens"] == pytest.approx(end["peak_tokens"], rel=0.02), "ids in placeholders differ, no more"
    assert sum(f["total"] for f in row["fidelity"].values()) == sum(c["fidelity"]["total"] for c in compressions)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--engine", "nope"], "hermes-like"),
        (["--window", "1000"], "2,048"),
        (["--conversation", "2"], "holds 1"),
        (["--threshold", "2"], "range"),
        (["--summarizer", "magic"], "magic"),
        (["--contexts", "/dev/null/out"], "/dev/null"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(run, recording, arguments, says):
    code, out, err = run(recording, *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_what_does_not_fit_a_window_is_counted_not_hidden(run, tmp_path):
    path = tmp_path / "huge.json"
    said = [*work(3), {"role": "user", "content": "word " * 9_000}, {"role": "assistant", "content": "Too long."}]
    path.write_text(json.dumps([*said, {"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Fine."}]))
    code, out, _ = run(path, "--engine", "compressor", "--window", 4096)
    assert code == 0
    assert "compressor with a window of 4.1k: 1 turn did not fit" in " ".join(out.split())


@pytest.mark.skipif(not BENCH.is_file(), reason="the program that defines future use is not on this machine")
def test_future_use_is_what_the_program_that_defines_it_says(run, tmp_path):
    path, folder, source = tmp_path / "recording.json", tmp_path / "contexts", tmp_path / "source.jsonl"
    messages = real_messages() or work(30)
    path.write_text(json.dumps(messages))
    source.write_text("".join(json.dumps(m) + "\n" for m in messages))
    code, out, _ = run(path, "--engine", "compressor", "--window", 16000, "--json", "--contexts", folder)
    (row,), (contexts,) = events(out), folder.iterdir()
    assert code == 0
    assert row["compressions"] > 1
    told = subprocess.run([sys.executable, str(BENCH), str(source), str(contexts)], capture_output=True, check=True)
    counted = [json.loads(line) for line in told.stdout.splitlines()[:-1]]
    for name in ("facts", "relations"):
        assert row["future_use"][name]["kept"] == sum(c[f"{name}_kept"] for c in counted)
        assert row["future_use"][name]["total"] == sum(c[name] for c in counted) > 0


def real_messages() -> list[dict[str, Any]]:
    """The beginning of a real coding session, where there is one: its names recur as names do."""
    path = DATA / "pi_coding_session.jsonl"
    if not path.is_file():
        return []
    from hermes_tui.transfer.recognition import read_transcript

    recorded = read_transcript(path).conversations[0].messages[:70]
    return [{"role": m.role, "content": [dict(b) for b in m.content]} for m in recorded]
