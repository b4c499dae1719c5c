"""How the transcript holds up: key-to-screen latency while text streams in, beside the same in an empty chat.

    python tests/benchmarks/bench_transcript.py [--messages 2000] [--words 6000] [--rate 200] [--keys 60]
                                                [--kinds words,mixed,list,code]

Each case is a program of its own in a pseudo-terminal: a transcript with a text area below it. Letters are typed, and the time
until they stand on the terminal's screen is taken. Absolute times depend on the machine and on what else it does; the ratios
are what counts. Also printed: the time to open a long chain, to page up through it, and the memory it takes.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import re
import resource
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

TEXT = "the reader holds a lock while the writer waits for room in the queue and nothing moves at all"
WORDS = TEXT.split()

SEQUENCE = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")

REPLY = """Take the lock *after* the row is ready, **not before**; see `importer.py`.

1. The reader parses the row without the lock.
2. It takes the lock only to put the row into the queue.

```python
def pump(queue, rows):
    for row in rows:
        with lock:
            queue.put(row)
```

| file | before | after |
|---|---:|---:|
| importer.py | 412 | 380 |
"""


def words(kind: str, count: int) -> Iterator[str]:
    """COUNT pieces of a streamed reply."""
    for n in range(count):
        word = WORDS[n % len(WORDS)] + " "
        if kind == "list" and n % 12 == 0:
            word = f"\n- {word}"
        elif kind == "code":
            word = "```python\n" if n == 0 else f"{word.strip()} = {n}\n" if n % 4 == 0 else f"def {word.strip()}_{n}(): pass  "
        elif kind == "mixed" and n % 60 == 0:
            word = f"\n\n{REPLY}\n"
        yield word


def child(options: argparse.Namespace) -> None:
    """The program that is measured."""
    import asyncio

    from textual.app import App, ComposeResult
    from textual.widgets import TextArea

    from hermes_tui.tui.themes import FALLBACK_VARIABLES
    from hermes_tui.tui.transcript import Block, ReplySaid, ToolCard, Transcript, UserSaid

    def chain() -> Iterator[Block]:
        for n in range(options.messages):
            if n % 3 == 0:
                yield UserSaid(f"u{n}", f"Question {n}: why does this happen?", "10:42")
            elif n % 3 == 1:
                yield ToolCard(f"c{n}", "read_file", f"src/file{n}.py", "{}", "line\n" * 40, tokens=1200)
            else:
                yield ReplySaid(f"r{n}", REPLY)

    class Bench(App[None]):
        CSS = "TextArea { height: 4; }"

        def get_theme_variable_defaults(self) -> dict[str, str]:
            return FALLBACK_VARIABLES

        def compose(self) -> ComposeResult:
            yield Transcript()
            yield TextArea()

        def on_mount(self) -> None:
            self.query_one(TextArea).focus()
            self.call_after_refresh(lambda: self.run_worker(self.begin()))

        async def begin(self) -> None:
            transcript = self.query_one(Transcript)
            blocks = tuple(chain())
            before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
            transcript.set_blocks(blocks)
            await asyncio.sleep(0)
            opened = time.perf_counter() - started
            await asyncio.sleep(0.2)  # until scrolling is possible
            pages = []
            for _ in range(20 if blocks else 0):
                started = time.perf_counter()
                transcript.scroll_relative(y=-30, animate=False)
                pages.append(time.perf_counter() - started)
            transcript.scroll_to_end()
            await asyncio.sleep(3)  # until parser and lexers are loaded, as they are before a person has typed a message
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            page = statistics.median(pages) if pages else 0
            found = {"open_ms": 1e3 * opened, "page_ms": 1e3 * page, "rss_mb": grown / 1024}
            Path(options.report).write_text(json.dumps(found))  # noqa: ASYNC240 - nothing else runs yet
            if options.kind != "idle":
                self.run_worker(self.stream(transcript))
            self.query_one(TextArea).text = "READY"
            self.query_one(TextArea).move_cursor((0, 5))

        async def stream(self, transcript: Transcript) -> None:
            transcript.stream_open(ReplySaid("stream", ""))
            started, text = time.perf_counter(), ""
            for n, word in enumerate(words(options.kind, options.words)):
                text += word
                transcript.stream_grow("stream", word)
                await asyncio.sleep(max(0, started + n / options.rate - time.perf_counter()))
            transcript.stream_close("stream", ReplySaid("stream", text))

    Bench().run()


class Terminal:
    """A pseudo-terminal with the program in it.

    What it writes is searched as bytes: a terminal emulator in Python would be slower than what is measured.
    """

    def __init__(self, command: list[str], columns: int = 120, lines: int = 40) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", COLUMNS=str(columns), LINES=str(lines))
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def drain(self, seconds: float) -> bytes:
        """What is written within ``seconds``, or until there is something."""
        return os.read(self.fd, 1 << 20) if select.select([self.fd], [], [], max(0, seconds))[0] else b""

    def shows(self, text: str, timeout: float = 30) -> bool:
        """Read until ``text`` is written, whatever the styles of its letters."""
        deadline, seen = time.perf_counter() + timeout, b""
        while text.encode() not in SEQUENCE.sub(b"", seen):
            if time.perf_counter() > deadline:
                return False
            seen += self.drain(0.05)
        return True

    def close(self) -> None:
        """End the program."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def measure(kind: str, messages: int, options: argparse.Namespace) -> dict[str, float]:
    """Latencies of one case, in milliseconds."""
    report = os.path.join(tempfile.gettempdir(), f"bench_transcript.{os.getpid()}.json")
    terminal = Terminal(
        [
            sys.executable,
            __file__,
            "--child",
            "--kind",
            kind,
            "--messages",
            str(messages),
            "--report",
            report,
            "--words",
            str(options.words),
            "--rate",
            str(options.rate),
        ]
    )
    if not terminal.shows("READY"):
        raise SystemExit("the program did not start")
    generator, typed, latencies = random.Random(1), "", []
    duration = options.words / options.rate
    for _ in range(options.keys):
        deadline = time.perf_counter() + (duration / options.keys if kind != "idle" else 0.05) * generator.uniform(0.7, 1.2)
        while (left := deadline - time.perf_counter()) > 0:
            terminal.drain(left)
        letter = generator.choice("abcdefghijklmnopqrstuvwxyz")
        typed += letter
        started = time.perf_counter()
        os.write(terminal.fd, letter.encode())
        if not terminal.shows(typed[-6:], 10):
            raise SystemExit(f"a key was lost: {typed}")
        latencies.append(1e3 * (time.perf_counter() - started))
    terminal.close()
    found: dict[str, float] = json.loads(Path(report).read_text())
    os.unlink(report)
    latencies.sort()
    return found | {
        "p50": statistics.median(latencies),
        "p95": latencies[int(0.95 * (len(latencies) - 1))],
        "worst": latencies[-1],
    }


def main() -> None:
    """Run the cases and print them with their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--words", type=int, default=6000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--kinds", default="words,mixed,list,code")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--kind", default="idle", help=argparse.SUPPRESS)
    parser.add_argument("--report", default=os.devnull, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    for kind in ("idle", *options.kinds.split(",")):
        empty = measure(kind, 0, options)
        full = measure(kind, options.messages, options)
        print(
            f"{kind:6} key p50/p95/worst ms: empty {empty['p50']:.0f}/{empty['p95']:.0f}/{empty['worst']:.0f}"
            f"  {options.messages} messages {full['p50']:.0f}/{full['p95']:.0f}/{full['worst']:.0f}"
            f"  p95 ratio {full['p95'] / empty['p95']:.2f}"
            f"  open {full['open_ms']:.0f} ms  page {full['page_ms']:.1f} ms  +{full['rss_mb']:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
