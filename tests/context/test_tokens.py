"""What a request takes, in tokens: how near the meter comes to what providers counted, and what it takes images for."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from pathlib import Path

import pytest

from hermes_tui.context.engine import Anchor, EngineState, Usage
from hermes_tui.context.media import image_size, image_tokens, page_count
from hermes_tui.context.messages import Message, text_block
from hermes_tui.context.tokens import Meter, first_scale
from hermes_tui.context.view import ContextView
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.transfer.recognition import read_transcript
from tests.token_replay import at_quantile, next_requests, previews

DATA = Path(os.environ.get("HERMES_TUI_REAL_DATA") or Path(__file__).parents[3] / "shared" / "data")
SESSION = DATA / "pi_coding_session.jsonl"
real = pytest.mark.skipif(not SESSION.is_file(), reason="the real recordings are not on this machine")


@pytest.fixture(scope="module")
def recorded():
    return read_transcript(SESSION).conversations[0]


@real
def test_the_next_request_is_foretold_within_a_thousandth(recorded):
    anchored, bare, _ = next_requests(recorded, load_counter())
    assert len(anchored) > 400
    assert at_quantile(anchored, 0.5) <= 0.001
    assert at_quantile(anchored, 0.95) <= 0.01
    assert at_quantile(anchored, 0.95) < at_quantile(bare, 0.95) / 10, "what is measured is worth more than what is learned"


@real
@pytest.mark.parametrize(("window", "starts"), [(40_000, 16), (100_000, 30)])
def test_a_preview_tells_the_size_after_a_compression(recorded, window, starts):
    told = [reading for _, reading in previews(recorded, load_counter(), window=window, starts=starts)]
    assert len(told) >= 2
    assert at_quantile(told, 0.95) <= 0.07


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))


def jpeg(width: int, height: int) -> bytes:
    preview = b"\xff\xe1" + struct.pack(">H", 40_002) + b"\xff\xc0" * 20_000  # what looks like a frame inside a segment is none
    return b"\xff\xd8" + preview + b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(20)


def webp(kind: bytes, width: int, height: int) -> bytes:
    body = {
        b"VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": b"\x2f" + ((height - 1) << 14 | (width - 1)).to_bytes(4, "little") + bytes(5),
        b"VP8 ": b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }[kind]
    return b"RIFF" + struct.pack("<I", len(body) + 12) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


FILES = {
    "png": png,
    "jpeg": jpeg,
    "gif": gif,
    "webp": lambda w, h: webp(b"VP8 ", w, h),
    "webp, lossless": lambda w, h: webp(b"VP8L", w, h),
    "webp, extended": lambda w, h: webp(b"VP8X", w, h),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(256, 256, 177), (1024, 1024, 1446), (1920, 1080, 2768), (9000, 9000, 4000)]
)
def test_an_image_is_priced_by_its_pixels(kind, width, height, tokens):
    data = base64.b64encode(FILES[kind](width, height)).decode()
    assert image_size(data) == (width, height)
    assert image_tokens({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}) == tokens


@pytest.mark.parametrize(
    "data", ["", "!!!!", "AAAA", base64.b64encode(png(1, 1)[:20]).decode(), base64.b64encode(b"\xff\xd8").decode()]
)
def test_an_image_that_tells_no_size_is_taken_for_a_middling_one(data):
    assert image_tokens({"type": "image", "source": {"type": "base64", "data": data}}) == 1_500
    assert image_tokens({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}) == 1_500


def test_a_document_is_priced_by_its_pages():
    tree = b"%PDF-1.7\n" + b"x" * 900_000 + b"\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 12 >> endobj"
    assert page_count(base64.b64encode(tree).decode()) == 12
    assert page_count(base64.b64encode(b"nothing").decode()) is None


def view_of(*texts: str, model: str = "some-model") -> ContextView:
    view = ContextView("chain", "session", 0, model)
    for n, text in enumerate(texts):
        view = view.append(Message(str(n), n, "user" if n % 2 == 0 else "assistant", (text_block(text),), "user"))
    return view


def test_the_first_number_of_a_model_is_what_its_kin_take():
    meter, text = Meter(load_counter()), "The parser reads a row and hands it on. " * 200
    plain = meter.size(view_of(text), EngineState()).tokens
    new = meter.size(view_of(text, model="claude-sonnet-5-5"), EngineState()).tokens
    old = meter.size(view_of(text, model="claude-haiku-4-5-20251001"), EngineState()).tokens
    assert (new / plain, old / plain) == (pytest.approx(1.5, abs=0.01), pytest.approx(1.2, abs=0.01))
    assert first_scale("gpt-oss-120b") is None


def test_a_written_file_counts_as_its_text_not_as_json():
    meter, text = Meter(load_counter()), 'print("a\\nb")\n\t\tif x == "y":\n' * 100
    call = meter.block({"type": "tool_use", "id": "c", "name": "write", "input": {"path": "a.py", "content": text}})
    assert call - meter.block(text_block(text)) < 60


def test_a_long_conversation_is_not_taken_for_its_last_page():
    """One page of another kind of text moves a scale that much was read for only a little."""
    meter = Meter(load_counter())
    state = EngineState(scales={"some-model": 1.25}, evidence={"some-model": 100_000}, anchor=Anchor(1_000, 800, 0))
    view = view_of("word " * 3_000)
    after = meter.measured(state, view, Usage(input=1_000 + 2 * (meter.estimate(view) - 800)))
    assert 1.25 < after.scales["some-model"] < 1.3
