"""The three read-only tools: list_files, read_file and search_files."""

from __future__ import annotations

import fnmatch
import io
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from hermes_tui.context.acts import Declaration
from hermes_tui.tools.confinement import NOT_ENTERED, confined, entries_of, files_under, leads_out, read_text, shown
from hermes_tui.tools.tools import Tool, ToolFailed, Work

MAX_ENTRIES: Final = 500
"""Lines of a listing."""
DEFAULT_LINES: Final = 1_000
"""Lines that read_file gives at a time unless asked for another number."""
MAX_CHARACTERS: Final = 50_000
"""Characters that read_file gives at a time, whatever the number of lines."""
MAX_MATCHES: Final = 100
MAX_LINE: Final = 300
"""Characters of a matching line that are shown."""
MAX_SEARCHED: Final = 4_000_000
"""Bytes; larger files are not searched (lock files, dumps)."""
SEARCH_SECONDS: Final = 10.0
"""A search ends then and says how far it came: no pattern can hang it."""


def list_files(arguments: Mapping[str, Any], work: Work) -> str:
    """The entries of a folder, or every file below it whose path fits a pattern."""
    asked = arguments.get("path", ".")
    folder = confined(asked, work.directory)
    if not folder.is_dir():
        raise ToolFailed(f"{asked} is a file; read_file shows what is in it.")
    pattern = arguments.get("pattern")
    lines: list[str] = []
    more = 0
    if pattern or arguments.get("recursive"):
        for path in files_under(folder, work.directory, work.check):
            name = shown(path, folder)
            if pattern and not fits(name, pattern):
                continue
            if len(lines) < MAX_ENTRIES:
                lines.append(f"{shown(path, work.directory)}{_size(path)}")
            else:
                more += 1
    else:
        for entry in entries_of(folder):
            path = Path(entry.path)
            if len(lines) >= MAX_ENTRIES:
                more += 1
            elif entry.is_dir(follow_symlinks=False):
                lines.append(f"{shown(path, work.directory)}/")
            elif entry.is_symlink():
                where = " out of the working directory, or to nothing" if leads_out(path, work.directory) else ""
                lines.append(f"{shown(path, work.directory)}  link{where}")
            else:
                lines.append(f"{shown(path, work.directory)}{_size(path)}")
    if not lines:
        return f"No file fits {pattern!r}." if pattern else "The folder is empty."
    if more:
        lines.append(f"[{more:,} more; narrow it with a path or a pattern]")
    return "\n".join(lines)


def read_file(arguments: Mapping[str, Any], work: Work) -> str:
    """A stretch of a text file, with where it stands when it is not all."""
    asked = arguments["path"]
    text = read_text(confined(asked, work.directory), asked)
    if not text:
        return "[the file is empty]"
    lines = list(io.StringIO(text))
    first = arguments.get("offset", 1)
    if first > len(lines):
        raise ToolFailed(f"{asked} has {len(lines):,} lines; line {first:,} is past its end.")
    last = min(len(lines), first - 1 + arguments.get("limit", DEFAULT_LINES))
    taken: list[str] = []
    size = 0
    for line in lines[first - 1 : last]:
        if taken and size + len(line) > MAX_CHARACTERS:
            break
        whole = len(line) <= MAX_CHARACTERS
        taken.append(line if whole else f"{line[:MAX_CHARACTERS]}[line of {len(line):,} characters cut here]\n")
        size += len(taken[-1])
    end = first - 1 + len(taken)
    body = "".join(taken)
    if first == 1 and end == len(lines):
        return body
    closing = "" if body.endswith("\n") else "\n"
    onward = f"; read on with offset {end + 1}" if end < len(lines) else ""
    return f"{body}{closing}[lines {first:,} to {end:,} of {len(lines):,}{onward}]"


def search_files(arguments: Mapping[str, Any], work: Work) -> str:
    """Lines that hold a text, or fit a regular expression, as ``path:line: text``."""
    wanted = arguments["pattern"]
    if not wanted:
        raise ToolFailed("The pattern is empty.")
    start = confined(arguments.get("path", "."), work.directory)
    ends = time.monotonic() + SEARCH_SECONDS
    find = _finder(wanted, is_regex=arguments.get("regex", False), ignore_case=arguments.get("ignore_case", False), ends=ends)
    glob = arguments.get("glob")
    most = min(arguments.get("limit", MAX_MATCHES), MAX_MATCHES)
    found: list[str] = []
    searched = 0
    try:
        for path in files_under(start, work.directory, work.check):
            name = shown(path, work.directory)
            if glob and not fits(name, glob):
                continue
            try:
                text = read_text(path, name, MAX_SEARCHED)
            except ToolFailed:
                continue
            searched += 1
            for number, line in find(text):
                if len(found) >= most:
                    return "\n".join([*found, f"[the first {most} matches; narrow the pattern, the path or the glob]"])
                found.append(f"{name}:{number}: {_clipped(line)}")
            work.check()
            if time.monotonic() > ends:
                raise TimeoutError
    except TimeoutError:
        found.append(f"[stopped after {SEARCH_SECONDS:g} s, {searched:,} files searched; use a simpler pattern or a path]")
        return "\n".join(found)
    return "\n".join(found) or f"No match for {wanted!r} in {searched:,} files."


def fits(name: str, pattern: str) -> bool:
    """Whether the relative path NAME fits a glob: ``*.py`` fits at any depth, ``src/**/*.py`` below src."""
    if "/" not in pattern:
        return fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)
    return fnmatch.fnmatchcase(name, pattern) or ("**/" in pattern and fnmatch.fnmatchcase(name, pattern.replace("**/", "")))


def _finder(wanted: str, *, is_regex: bool, ignore_case: bool, ends: float) -> Callable[[str], list[tuple[int, str]]]:
    """What finds the matching lines of a text, numbered from 1; raises TimeoutError at ENDS."""
    if not is_regex:
        needle = wanted.casefold() if ignore_case else wanted

        def find_text(text: str) -> list[tuple[int, str]]:
            if needle not in (text.casefold() if ignore_case else text):
                return []
            return [(n, line) for n, line in _lines(text) if needle in (line.casefold() if ignore_case else line)]

        return find_text

    # Unlike the standard library's it takes a time limit, and it lets the other threads run.
    import regex  # type: ignore[import-untyped]  # it ships no types

    try:
        compiled = regex.compile(wanted, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise ToolFailed(f"{wanted!r} is not a regular expression: {error}.") from None

    def find_regex(text: str) -> list[tuple[int, str]]:
        found = []
        for number, line in _lines(text):
            left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if compiled.search(line, timeout=left, concurrent=True):
                found.append((number, line))
        return found

    return find_regex


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line.rstrip("\r\n")) for number, line in enumerate(io.StringIO(text), 1)]


def _clipped(line: str) -> str:
    line = line.strip()
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… ({len(line):,} characters)"


def _size(path: Path) -> str:
    try:
        return f"  {path.stat().st_size:,}"
    except OSError:
        return ""


FILE_TOOLS: Final = (
    Tool(
        name="list_files",
        description=(
            "List the files and folders at a path inside the working directory, with sizes in bytes. With `recursive` or a "
            f"`pattern` every file below it, folders like {', '.join(sorted(NOT_ENTERED)[:4])} left out."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Folder, relative to the working directory. Default: \".\"."},
                "pattern": {"type": "string", "description": "Only files that fit this glob, such as *.py or src/**/*.toml."},
                "recursive": {"type": "boolean", "description": "List everything below the path. Default: false."},
            },
        },
        declaration=Declaration(main_argument="path", verb="searched"),
        function=list_files,
    ),
    Tool(
        name="read_file",
        description=(
            "Read a text file inside the working directory. A long file comes in stretches: the end of the result says where "
            "to read on. Line numbers are not part of the result."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File, relative to the working directory."},
                "offset": {"type": "integer", "minimum": 1, "description": "First line to read, from 1. Default: 1."},
                "limit": {"type": "integer", "minimum": 1, "description": f"Most lines to read. Default: {DEFAULT_LINES}."},
            },
            "required": ["path"],
        },
        declaration=Declaration(main_argument="path", verb="read"),
        function=read_file,
    ),
    Tool(
        name="search_files",
        description=(
            "Find lines in the files below a path inside the working directory. The pattern is plain text unless `regex` is "
            "true. Results read path:line: text."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "What to look for."},
                "path": {"type": "string", "description": "Folder or file to search. Default: the working directory."},
                "glob": {"type": "string", "description": "Only files whose path fits this glob, such as *.py."},
                "regex": {"type": "boolean", "description": "Read the pattern as a regular expression. Default: false."},
                "ignore_case": {"type": "boolean", "description": "Make no difference between capitals and small letters."},
                "limit": {"type": "integer", "minimum": 1, "description": f"Most matches, at most {MAX_MATCHES}."},
            },
            "required": ["pattern"],
        },
        declaration=Declaration(main_argument="pattern", verb="searched"),
        function=search_files,
    ),
)  # fmt: skip
"""The built-in tools."""
