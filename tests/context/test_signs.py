"""A text is never cut inside a sign that is made of several characters."""

from __future__ import annotations

import regex
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.acts import strings_in
from hermes_tui.context.facts import beginning, clip
from hermes_tui.context.messages import Message
from hermes_tui.context.placeholders import Origin, clipped_result
from hermes_tui.context.prompts import clipped_result as shown_to_a_summariser
from hermes_tui.context.pruning import AGED, Pruner
from hermes_tui.context.signs import cut_after, cut_before

SIGNS = ("👩‍👩‍👧", "🇩🇪", "e\u0301", "你", "👍🏽", "a", " ", "한", "각", "1\ufe0f\u20e3", "न\u093f", "\n")
TEXTS = st.lists(st.sampled_from(SIGNS), min_size=1, max_size=300).map("".join)


def boundaries(text: str) -> list[int]:
    """Where TEXT may be cut, as a library that knows all of Unicode says."""
    return [0, *(found.end() for found in regex.finditer(r"\X", text))]


@given(TEXTS, st.data())
def test_the_places_for_cuts_are_those_of_unicode(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    places = boundaries(text)
    assert cut_before(text, at) == max(place for place in places if place <= at)
    assert cut_after(text, at) == min(place for place in places if place >= at)


def test_marks_without_end_are_no_sign_and_are_cut_anywhere() -> None:
    text = "a" + "\u0301" * 10_000
    assert (cut_before(text, 5_000), cut_after(text, 5_000)) == (5_000, 5_000)
    assert len(clip(text, 100)) <= 100


@given(st.lists(st.sampled_from(SIGNS), min_size=150, max_size=400).map("".join))
def test_no_text_of_ours_is_cut_inside_a_sign(text: str) -> None:
    call = {"type": "tool_use", "id": "t", "name": "run", "input": {"command": text, "text": text}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": True}
    calls = Message("m0001", 1, "assistant", (call,), "model", "model-a")
    results = Message("m0002", 2, "user", (result,), "tool")
    pruner = Pruner()
    written = [clip(text, 120), beginning(text, 60), shown_to_a_summariser(text, 200)]
    written += [*strings_in(pruner.call(calls, results)), *strings_in(pruner.results(calls, results, [AGED]))]
    written += strings_in(clipped_result(result, 300, Origin("m0002")))
    whole = {*SIGNS, *(sign.strip() for sign in SIGNS)}
    for line in written:
        assert not [sign for sign in regex.findall(r"\X", line) if not sign.isascii() and sign not in {*whole, "…", "·"}]
