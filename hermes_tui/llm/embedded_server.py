"""The embedded model's own process: llama.cpp's server on loopback, ended with its parent whatever becomes of that.

Run as a script, it imports nothing of this package. One JSON line comes in on stdin (model, key, context, alias, parent); one
goes out on stdout: {"url": …} when the model is ready, or {"error": …}. After that stdin says nothing; its end is the end of
the process.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from typing import Any

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h: have the kernel send a signal when the parent dies, even if it is killed."""
SLOTS = 2
"""Conversations at once: the chat, and the summary written beside it. Each has context / SLOTS tokens of its own."""
BATCH = 64
"""Tokens of a prompt read at a time. A cancelled request is noticed between two batches: 0.2 s instead of 10 with 2,048."""
NICE = 10
"""Typing comes first."""


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when PARENT dies (Linux; elsewhere the end of stdin alone does it)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)


def end_with(stream: int) -> None:
    """End this process when STREAM ends."""

    def wait() -> None:
        while True:
            try:
                if not os.read(stream, 4096):
                    break
            except OSError:
                break
        os._exit(0)

    threading.Thread(target=wait, name="stdin", daemon=True).start()


def threads() -> int:
    """Cores to compute on: all that this process may use but one, at most 8.

    Threads wait for each other at every layer: where another program holds one of the cores, all of them stand still with it.
    Measured on two busy cores: 1.6 tokens/s with two threads, 22 with one.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, cores - 1))


def serve(order: dict[str, Any]) -> str:
    """Start the server that ORDER describes; returns its address once the model is loaded."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.model_alias = {order["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["key"]]
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * int(order["context"])
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    params.cache_ram_mib = 0  # both slots keep their own; the spare copies would take gigabytes
    params.verbosity = -1
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.offline = True
    global server
    server = xllamacpp.Server(params)
    return str(server.listening_address)


def main() -> None:
    """Read the order, start, report, and wait for the end of stdin."""
    out = os.dup(1)  # llama.cpp may write to stdout and stderr; only our line goes to the parent
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the terminal is the parent's
    order = json.loads(sys.stdin.buffer.readline())
    die_with_parent(int(order["parent"]))
    end_with(0)
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        report = {"url": serve(order)}
    except BaseException as error:
        report = {"error": f"{type(error).__name__}: {error}"}
    os.write(out, json.dumps(report).encode() + b"\n")
    os.close(out)
    if "error" in report:
        os._exit(1)
    threading.Event().wait()


server = None
"""Kept for as long as the process lives."""

if __name__ == "__main__":
    main()
