"""The command line explains itself and fails in one sentence, never with a traceback."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_tui.cli import main
from hermes_tui.cli.starting import AppOptions, app_options


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """Run a command line as the shell would, with a data folder of its own: (exit code, stdout, stderr)."""
    monkeypatch.setenv("HERMES_TUI_DATA_DIR", str(tmp_path / "data"))

    def run_it(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        out, err = capfd.readouterr()
        return code, out, err

    return run_it


def assert_one_sentence(code: int, out: str, err: str) -> None:
    assert code == 2
    assert out == ""
    assert err.startswith("hermes-tui: ")
    assert err.endswith((".\n", "`.\n"))
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_version_and_help_come_without_opening_anything(run, tmp_path):
    assert run("--version") == (0, "hermes-tui 0.1.0\n", "")
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert all(word in out for word in ("--data-dir", "--config", "--continue", "--resume", "replay", "sessions", "context"))
    for command in ("replay", "sessions", "context"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert "--json" in out
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nonsense",),
        ("nonsense",),
        ("--resume",),
        ("-c", "--resume", "abcdef"),
        ("-c", "sessions"),
        ("sessions", "--nonsense"),
        ("context",),
        ("context", "abcdef"),
        ("context", "abcdef", "--json"),
        ("context", "abc", "--sent", "--json"),
        ("replay",),
        ("replay", "/no/such/file.json"),
        ("replay", "--window", "many", "x.json"),
    ],
)
def test_a_wrong_command_line_is_told_so_in_one_sentence_and_makes_no_files(run, tmp_path, arguments):
    assert_one_sentence(*run(*arguments))
    assert not (tmp_path / "data").exists()


def test_the_app_without_a_terminal_says_what_runs_without_one(run):
    code, out, err = run()
    assert_one_sentence(code, out, err)
    assert "terminal" in err


def test_the_app_is_started_without_click_from_the_usual_options():
    assert app_options([]) == AppOptions()
    assert app_options(["-c"]) == app_options(["--continue"]) == AppOptions(continue_last=True)
    assert app_options(["--data-dir", "/d", "--config=/c", "--resume", "abcdef"]) == AppOptions("/d", "/c", "abcdef")
    for odd in (["--version"], ["-h"], ["sessions"], ["--data-dir"], ["--data-dir", "-c"], ["--resume="], ["-c", "--resume=x"]):
        assert app_options(odd) is None


def test_no_conversations_yet_is_no_failure_and_makes_no_files(run, tmp_path):
    assert run("sessions", "--json") == (0, "", "")
    assert run("sessions") == (0, "No conversations yet.\n", "")
    assert not (tmp_path / "data").exists()


def newer(path: Path) -> None:
    from hermes_tui.store.store import Store

    Store.open(path).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE bookmarks (url TEXT)")
    database.close()


def cut_off(path: Path) -> None:
    from hermes_tui.store.store import Store

    Store.open(path).close()
    path.write_bytes(path.read_bytes()[:6000])


@pytest.mark.parametrize("make", [newer, foreign, cut_off, lambda path: path.write_bytes(b"no database at all" * 400)])
def test_a_database_that_is_not_ours_to_open_is_left_byte_for_byte(run, tmp_path, make):
    folder = tmp_path / "data"
    folder.mkdir()
    make(folder / "hermes.db")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    recording = tmp_path / "recording.json"
    recording.write_text('[{"role": "user", "content": "Hello."}]')
    for arguments in (("sessions", "--json"), ("context", "abcdef", "--json"), ("replay", str(recording), "--keep", "--json")):
        code, out, err = run(*arguments)
        assert_one_sentence(code, out, err)
        assert "hermes.db" in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_data_folder_that_cannot_be_is_named(run, tmp_path):
    (tmp_path / "file").write_text("")
    code, out, err = run("--data-dir", str(tmp_path / "file"), "sessions")
    assert_one_sentence(code, out, err)
    assert "not a folder" in err


def test_options_of_place_are_taken_after_the_command_too(run, tmp_path):
    (tmp_path / "file").write_text("")
    assert run("sessions", "--data-dir", str(tmp_path / "file"))[0] == 2
    assert run("--data-dir", str(tmp_path / "file"), "sessions", "--data-dir", str(tmp_path))[0] == 0


def test_an_error_nobody_foresaw_is_one_sentence_and_its_traceback_goes_to_the_log_without_what_was_said(
    run, tmp_path, monkeypatch
):
    import hermes_tui.cli.sessions as module

    said = "my " + "secret"

    def fail(paths):
        raise ZeroDivisionError(said)

    monkeypatch.setattr(module, "open_store", fail)
    code, out, err = run("sessions")
    assert_one_sentence(code, out, err)
    log = tmp_path / "data" / "hermes.log"
    assert str(log) in err
    assert "ZeroDivisionError" in log.read_text()
    assert "in fail" in log.read_text()
    assert said not in log.read_text() + err
    assert log.stat().st_mode & 0o777 == 0o600


def opened_by_reader(fifo: Path, process: subprocess.Popen[bytes]) -> int:
    """FIFO open to write, as soon as PROCESS has opened it to read."""
    while process.poll() is None:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as problem:
            if problem.errno != errno.ENXIO:
                raise
    raise AssertionError(f"it ended before it read: {process.returncode}")


def test_ctrl_c_and_a_reader_that_goes_away_end_a_command_quietly(tmp_path):
    environment = {**os.environ, "HERMES_TUI_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "hermes_tui", "--help"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "hermes_tui", "replay", str(fifo)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        writing = opened_by_reader(fifo, process)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        os.close(writing)
        assert process.stdout.read() + process.stderr.read() == b""
