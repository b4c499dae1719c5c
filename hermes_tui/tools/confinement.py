"""Confinement: which paths a tool may touch, and how files are walked and read within bounds."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hermes_tui.tools.tools import ToolFailed

NOT_ENTERED: Final = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache",
     ".tox", ".hypothesis", ".idea", ".cache"}
)  # fmt: skip
"""Folders that hold what tools made, not what people wrote: listed, never walked into unless named."""
MAX_FILE: Final = 20_000_000
"""Bytes; a larger file is not read."""
SNIFFED: Final = 8_192
"""Bytes looked at to tell a binary file."""


def confined(asked: str, directory: Path) -> Path:
    """The real path that ASKED names, if it lies in DIRECTORY (which is resolved); links count as what they point to.

    Raises:
        ToolFailed: it lies outside, does not exist, or is no path at all.
    """
    if "\0" in asked:
        raise ToolFailed("A path cannot hold a NUL character.")
    try:
        path = Path(os.path.expanduser(asked) if asked.startswith("~") else asked or ".")
        real = (directory / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolFailed(f"{asked!r} cannot be followed: {error}.") from None
    if not real.is_relative_to(directory):
        raise ToolFailed(f"{asked} lies outside the working directory; only what is inside can be read.")
    try:
        real.lstat()
    except FileNotFoundError:
        raise ToolFailed(f"{asked} does not exist.") from None
    except OSError as error:
        raise ToolFailed(f"{asked}: {error.strerror or error}.") from None
    return real


def leads_out(link: Path, directory: Path) -> bool:
    """Whether LINK points out of DIRECTORY, or nowhere."""
    try:
        return not link.resolve(strict=True).is_relative_to(directory)
    except (OSError, RuntimeError):
        return True


def shown(path: Path, directory: Path) -> str:
    """PATH as it is shown: relative to DIRECTORY, with / between the parts, control characters escaped."""
    text = path.relative_to(directory).as_posix()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """What FOLDER holds, by name; folders among the files.

    Raises:
        ToolFailed: it cannot be listed.
    """
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise ToolFailed(f"The folder cannot be listed: {error.strerror or error}.") from None


def files_under(start: Path, directory: Path, check: Callable[[], None]) -> Iterator[Path]:
    """Files in START and below it, by name; links that lead out of DIRECTORY and NOT_ENTERED folders are left out."""
    if start.is_file():
        yield start
        return
    waiting = [start]
    while waiting:
        check()
        folder = waiting.pop()
        try:
            entries = entries_of(folder)
        except ToolFailed:
            continue
        deeper = []
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in NOT_ENTERED:
                        deeper.append(Path(entry.path))
                elif entry.is_symlink():
                    if entry.is_file() and not leads_out(Path(entry.path), directory):
                        yield Path(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
            except OSError:
                continue
        waiting.extend(reversed(deeper))


def read_text(path: Path, name: str, limit: int = MAX_FILE) -> str:
    """The text of the regular file at PATH; bytes that are no UTF-8 become U+FFFD.

    Raises:
        ToolFailed: no regular file, over LIMIT bytes, binary, or unreadable. NAME is what it is called in the sentence.
    """
    try:
        # Without O_NONBLOCK a FIFO would hold the thread until somebody writes to it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {error.strerror or error}.") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
        os.close(handle)
        if stat.S_ISDIR(status.st_mode):
            raise ToolFailed(f"{name} is a folder; list_files shows what is in it.")
        if not stat.S_ISREG(status.st_mode):
            raise ToolFailed(f"{name} is not a regular file.")
        raise ToolFailed(f"{name} is too large: {status.st_size:,} bytes, at most {limit:,} are read.")
    with os.fdopen(handle, "rb") as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise ToolFailed(f"{name} cannot be read: {error.strerror or error}.") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:SNIFFED]:
        raise ToolFailed(f"{name} is a binary file ({status.st_size:,} bytes).")
    return data.decode("utf-8-sig", "replace")
