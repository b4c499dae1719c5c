"""Copying says which way the text went, and claims no more than is known."""

from __future__ import annotations

import base64

import pytest

from hermes_tui.tui.clipboard import Copied, osc52


def test_a_terminal_is_asked_with_the_text_in_base64() -> None:
    request, route = osc52("héllo", {})
    assert route == "terminal"
    assert request.startswith("\x1b]52;c;")
    assert base64.b64decode(request[7:-1]).decode() == "héllo"


def test_inside_tmux_the_request_goes_to_tmux_and_through_it() -> None:
    request, route = osc52("x", {"TMUX": "/tmp/tmux-0/default,1,0"})
    assert route == "tmux"
    assert request == "\x1b]52;c;eA==\x07\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\"


def test_inside_screen_it_goes_in_pieces() -> None:
    request, route = osc52("x" * 3000, {"STY": "1.pts"})
    assert route == "screen"
    assert all(len(piece) < 768 for piece in request.split("\x1b\\"))


@pytest.mark.parametrize(
    ("copied", "sentence"),
    [
        (Copied(1, "desktop"), "Copied 1 character to the clipboard"),
        (Copied(1200, "tmux"), "Sent 1,200 characters to your terminal's clipboard through tmux (OSC 52)"),
        (
            Copied(99_999, "terminal", True),
            "Sent 99,999 characters to your terminal's clipboard (OSC 52); that is more than many terminals accept",
        ),
        (Copied(5, "none"), "Not copied: no clipboard was found for 5 characters"),
    ],
)
def test_the_words_are_honest(copied: Copied, sentence: str) -> None:
    assert copied.sentence == sentence
