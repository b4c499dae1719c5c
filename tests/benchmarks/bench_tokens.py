"""How near the token meter comes to what a provider counted, over a recorded session.

    python -m tests.benchmarks.bench_tokens [FILE] [--starts 2]

FILE is a transcript whose replies carry their usage (default: the real coding session beside the project). Printed: the next
request foretold from the last measurement, and by the learned scale alone; and the size after the first compression at several
windows, begun at every STARTS-th user message. Errors are shares of the truth.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.transfer.recognition import read_transcript
from tests.token_replay import Reading, at_quantile, next_requests, previews

DATA = Path(os.environ.get("HERMES_TUI_REAL_DATA") or Path(__file__).parents[3] / "shared" / "data")
WINDOWS = (20_000, 40_000, 100_000, 200_000)


def row(name: str, readings: Sequence[Reading]) -> None:
    """One line of the table."""
    bias = sum(reading.error for reading in readings) / len(readings)
    shares = "  ".join(f"{at_quantile(readings, share):8.3%}" for share in (0.5, 0.95, 0.99, 1.0))
    print(f"{name:<34}{len(readings):>5}  {shares}  {bias:+8.3%}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=DATA / "pi_coding_session.jsonl")
    parser.add_argument("--starts", type=int, default=2)
    options = parser.parse_args()
    count = load_counter()
    for recorded in read_transcript(options.file).conversations:
        anchored, bare, scale = next_requests(recorded, count)
        if not anchored:
            continue
        print(f"{recorded.title}: learned scale {scale:.3f}")
        print(f"{'':<34}{'n':>5}  {'p50':>8}  {'p95':>8}  {'p99':>8}  {'most':>8}  {'mean':>8}")
        row("next request, from the anchor", anchored)
        row("next request, by the scale alone", bare)
        for window in WINDOWS:
            told = [reading for _, reading in previews(recorded, count, window=window, starts=options.starts)]
            if told:
                row(f"after a compression at {window:,}", told)


if __name__ == "__main__":
    main()
