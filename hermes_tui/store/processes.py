"""Which process owns a streaming reply, and whether it still lives.

An owner is written ``host:pid:start``: process ids are reused, so the time the process started tells two of them apart.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

FOREIGN_SILENCE: Final = 600.0
"""Seconds after which a draft of another host counts as abandoned: it is overwritten every second while it streams."""


def this_process() -> str:
    """The owner that this process is."""
    return _owner(os.getpid())


@cache
def _owner(pid: int) -> str:
    return f"{platform.node()}:{pid}:{_started(pid)}"


def is_alive(owner: str, silent_for: float) -> bool:
    """Whether the process OWNER lives; of another host's nothing is known but for how many seconds it was silent."""
    host, pid, started = owner.rsplit(":", 2)
    if host != platform.node():
        return silent_for < FOREIGN_SILENCE
    if not pid.isdigit() or not _exists(int(pid)):
        return False
    return _started(int(pid)) == started


def _exists(pid: int) -> bool:
    if sys.platform == "win32":
        listed = subprocess.run(["tasklist", "/FI", f"PID eq {pid}", "/NH"], capture_output=True, text=True, check=False).stdout
        return str(pid) in listed
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _started(pid: int) -> str:
    """When PID started, in whatever unit the system counts; "0" where it does not say."""
    try:
        # The name of the program stands in parentheses and may hold anything: the fields are counted after the last one.
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "0" if status[0] == "Z" else status[19]
    except (OSError, IndexError):
        pass
    if sys.platform in ("linux", "win32"):
        return "0"
    listed = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return listed.strip().replace(":", ".").replace(" ", "_") or "0"
