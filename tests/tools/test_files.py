"""The tools show what is in the working directory, nothing outside of it, and never too much."""

import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.tools import files
from hermes_tui.tools.files import FILE_TOOLS, MAX_ENTRIES, MAX_MATCHES
from hermes_tui.tools.tools import ToolFailed

LIST, READ, SEARCH = (next(t for t in FILE_TOOLS if t.name == name) for name in ("list_files", "read_file", "search_files"))
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small project, with a secret beside it."""
    (tmp_path / "secret.txt").write_text("the secret\n")
    (tmp_path / "project-two").mkdir()
    (tmp_path / "project-two" / "near.txt").write_text("a sibling\n")
    home = tmp_path / "project"
    (home / "src" / "deep").mkdir(parents=True)
    (home / ".git").mkdir()
    (home / ".git" / "config").write_text("needle in git\n")
    (home / "README.md").write_text("# Project\n\nA needle here.\n")
    (home / "src" / "app.py").write_text("def main():\n    return 'Needle'\n")
    (home / "src" / "deep" / "more.py").write_text("x = 1\n")
    (home / "data.bin").write_bytes(b"\x00\x01needle\x02")
    (home / "empty.txt").write_text("")
    return home


def run(tool: Any, folder: Path, **arguments: Any) -> str:
    return str(tool.run(arguments, folder))


def test_a_folder_is_listed_with_sizes(folder: Path) -> None:
    assert run(LIST, folder).splitlines() == [".git/", "README.md  26", "data.bin  9", "empty.txt  0", "src/"]
    assert run(LIST, folder, path="src").splitlines() == ["src/app.py  32", "src/deep/"]


def test_files_below_are_listed_by_pattern(folder: Path) -> None:
    assert run(LIST, folder, pattern="*.py").splitlines() == ["src/app.py  32", "src/deep/more.py  6"]
    assert run(LIST, folder, pattern="src/*.md") == "No file fits 'src/*.md'."
    assert run(LIST, folder, path="src", pattern="deep/*").splitlines() == ["src/deep/more.py  6"]
    assert ".git/config" not in run(LIST, folder, recursive=True)
    assert run(LIST, folder, path=".git", recursive=True) == ".git/config  14"


def test_a_long_listing_is_cut_and_says_so(tmp_path: Path) -> None:
    for n in range(MAX_ENTRIES + 7):
        (tmp_path / f"f{n:04}").touch()
    for arguments in ({}, {"recursive": True}):
        lines = run(LIST, tmp_path, **arguments).splitlines()
        assert len(lines) == MAX_ENTRIES + 1
        assert lines[-1].startswith("[7 more")


def test_a_file_is_read_whole_or_in_stretches(folder: Path) -> None:
    (folder / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 3_001)))
    assert run(READ, folder, path="src/app.py") == "def main():\n    return 'Needle'\n"
    first = run(READ, folder, path="long.txt")
    assert first.endswith("line 1000\n[lines 1 to 1,000 of 3,000; read on with offset 1001]")
    assert run(READ, folder, path="long.txt", offset=2_999) == "line 2999\nline 3000\n[lines 2,999 to 3,000 of 3,000]"
    assert run(READ, folder, path="long.txt", offset=5, limit=1) == "line 5\n[lines 5 to 5 of 3,000; read on with offset 6]"
    assert run(READ, folder, path="empty.txt") == "[the file is empty]"
    with pytest.raises(ToolFailed, match="has 3,000 lines"):
        run(READ, folder, path="long.txt", offset=3_001)


def test_reading_on_gives_the_whole_file(folder: Path) -> None:
    text = "".join(f"{n} " + "x" * (n % 700) + "\n" for n in range(2_500)) + "no newline at the end"
    (folder / "wide.txt").write_text(text)
    found, offset = "", 1
    while True:
        part = run(READ, folder, path="wide.txt", offset=offset)
        body, _, note = part.rpartition("[lines ")
        found += body
        if "read on" not in note:
            break
        offset = int(note.rsplit(" ", 1)[1].rstrip("]"))
    assert found.rstrip("\n") == text


def test_one_endless_line_is_cut(folder: Path) -> None:
    (folder / "one.json").write_text("y" * 400_000)
    assert len(run(READ, folder, path="one.json")) < 60_000


def test_lines_end_at_line_feeds_only(folder: Path) -> None:
    (folder / "odd.txt").write_bytes("a\x0cb\u2028c\nsecond\r\nthird".encode())
    assert run(READ, folder, path="odd.txt", offset=2, limit=1).startswith("second\r\n[lines 2 to 2 of 3")
    assert run(SEARCH, folder, pattern="second") == "odd.txt:2: second"


def test_text_of_other_encodings_is_read_as_well_as_it_can_be(folder: Path) -> None:
    (folder / "wide.txt").write_text("Grüße", encoding="utf-16")
    (folder / "old.txt").write_bytes("Grüße".encode("latin-1"))
    (folder / "marked.txt").write_text("Grüße", encoding="utf-8-sig")
    assert run(READ, folder, path="wide.txt") == "Grüße"
    assert run(READ, folder, path="old.txt") == "Gr\ufffd\ufffde"
    assert run(READ, folder, path="marked.txt") == "Grüße"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../secret.txt", "outside"),
        ("src/../../secret.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("../project-two/near.txt", "outside"),
        ("~/x", "outside"),
        ("", "is a folder"),
        ("src", "is a folder"),
        ("nowhere.txt", "does not exist"),
        ("README.md/x", "README.md/x"),
        ("a\0b", "NUL"),
        ("x" * 5_000, "x"),
        ("data.bin", "binary file"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(folder: Path, path: str, words: str) -> None:
    with pytest.raises(ToolFailed, match=words) as error:
        run(READ, folder, path=path)
    assert "the secret" not in str(error.value)


@needs_links
def test_links_are_what_they_point_to(folder: Path) -> None:
    (folder / "out.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "outdir").symlink_to(folder.parent)
    (folder / "in.txt").symlink_to("README.md")
    (folder / "loop").symlink_to("loop")
    (folder / "src" / "up").symlink_to("..")
    assert run(READ, folder, path="in.txt").startswith("# Project")
    assert run(READ, folder, path="src/up/README.md").startswith("# Project")
    for path in ("out.txt", "outdir/secret.txt", "loop"):
        with pytest.raises(ToolFailed):
            run(READ, folder, path=path)
    with pytest.raises(ToolFailed):
        run(LIST, folder, path="outdir")
    assert "out.txt  link out of the working directory" in run(LIST, folder)
    everything = run(LIST, folder, recursive=True)
    assert "in.txt" in everything
    assert "out.txt" not in everything
    assert "secret" not in run(SEARCH, folder, pattern="the secret").removeprefix("No match for 'the secret'")


def test_the_working_directory_may_itself_be_a_link(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert run(READ, link, path="README.md").startswith("# Project")
    assert run(READ, link, path=str(folder.resolve() / "README.md")).startswith("# Project")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_sockets_and_devices_are_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(folder)
        listening.bind("sock")
        for name in ("pipe", "sock"):  # whoever read one would wait for ever
            with pytest.raises(ToolFailed):
                run(READ, folder, path=name)
        run(SEARCH, folder, pattern="needle")


def test_a_huge_file_is_refused_with_its_size(folder: Path) -> None:
    with (folder / "huge.log").open("wb") as file:
        file.truncate(21_000_000)
    with pytest.raises(ToolFailed, match="21,000,000 bytes"):
        run(READ, folder, path="huge.log")


def test_matches_are_shown_with_path_and_line(folder: Path) -> None:
    assert run(SEARCH, folder, pattern="needle") == "README.md:3: A needle here."
    found = run(SEARCH, folder, pattern="needle", ignore_case=True).splitlines()
    assert found == ["README.md:3: A needle here.", "src/app.py:2: return 'Needle'"]
    assert run(SEARCH, folder, pattern=r"def \w+\(", regex=True, glob="*.py") == "src/app.py:1: def main():"
    assert run(SEARCH, folder, pattern="(", glob="*.py") == "src/app.py:1: def main():"
    assert run(SEARCH, folder, pattern="nothing of it") == "No match for 'nothing of it' in 4 files."
    assert run(SEARCH, folder, pattern="x", path="src/deep/more.py") == "src/deep/more.py:1: x = 1"
    assert run(SEARCH, folder, pattern="needle", path=".git") == ".git/config:1: needle in git"


def test_many_or_long_matches_are_cut_and_say_so(folder: Path) -> None:
    (folder / "many.txt").write_text("hit\n" * 500 + "wide hit " + "z" * 5_000 + "\n")
    lines = run(SEARCH, folder, pattern="hit").splitlines()
    assert len(lines) == MAX_MATCHES + 1
    assert lines[-1].startswith("[the first 100 matches")
    assert len(run(SEARCH, folder, pattern="wide").splitlines()[0]) < 400
    assert len(run(SEARCH, folder, pattern="hit", limit=3).splitlines()) == 4


def test_a_pattern_that_never_ends_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SEARCH_SECONDS", 0.3)
    (folder / "trap.txt").write_text("a" * 5_000 + "\n")
    began = time.monotonic()
    found = run(SEARCH, folder, pattern=r"(a|aa)+$b", regex=True)
    assert time.monotonic() - began < 60  # it would take longer than the world is old
    assert "stopped after 0.3 s" in found


def test_a_pattern_that_is_none_is_said_in_a_sentence(folder: Path) -> None:
    with pytest.raises(ToolFailed, match="not a regular expression"):
        run(SEARCH, folder, pattern="(", regex=True)
    with pytest.raises(ToolFailed, match="empty"):
        run(SEARCH, folder, pattern="")


@needs_links
def test_names_of_files_are_data(folder: Path) -> None:
    (folder / "two\nlines \x1b]52;c;x\x07.txt").write_text("needle")
    (folder / os.fsdecode(b"bad\xff.txt")).write_text("needle")
    for found in (run(LIST, folder), run(SEARCH, folder, pattern="needle")):
        assert "\x1b" not in found
        assert "two\\nlines" in found
        found.encode()
