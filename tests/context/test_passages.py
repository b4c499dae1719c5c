"""What is told of a text is understood by itself: nothing stands without what it belongs to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.extraction import Extractor
from hermes_tui.context.passages import PASSAGE_LIMIT, passages, pieces
from tests.context.test_extraction import chosen
from tests.context.test_ledger import act, cost, reply, user


def test_the_items_of_a_list_stand_behind_what_they_are_items_of() -> None:
    text = "It is done.\n\n**Option 1:**\n- **ATL to DFW**\n  - Number: HAT004\n  - Price: $122\n- DFW to EWR"
    assert list(passages(text)) == ["It is done.", "Option 1: ATL to DFW: Number: HAT004, Price: $122; DFW to EWR"]


def test_a_sentence_that_leans_on_another_stays_with_it() -> None:
    text = "The import of load_rows is cached by the build. It has to be built again before it is used."
    assert list(passages(text)) == [text]


def test_a_statement_over_several_lines_is_one_piece() -> None:
    code = "const start = Math.max(\n  0,\n  this.index - half,\n);\nrun(start);"
    assert [piece.text for piece in pieces(code)] == ["const start = Math.max( 0, this.index - half, );", "run(start);"]


def test_an_object_in_an_object_stays_with_it() -> None:
    told = [piece.text for piece in pieces('[{"number": "HAT069", "prices": {"economy": 121, "business": 239}}]' + " " * 90)]
    assert told == ["number: HAT069, prices (economy: 121, business: 239)"]


@given(st.text(alphabet=st.sampled_from('ab .:\n-*#|`1é汉？"([{}])'), max_size=400))
def test_any_text_is_told_in_short_lines_that_say_something(text: str) -> None:
    for passage in passages(text):
        assert 0 < len(passage) <= PASSAGE_LIMIT
        assert "\n" not in passage
        assert any(c.isalnum() for c in passage)


def test_what_was_run_and_said_stands_under_what_was_asked() -> None:
    sources = [
        user(0, "Find out why load_rows fails."),
        *act(1, "bash", "reader.py: load_rows raised KeyError", command="pytest tests/test_reader.py"),
        reply(3, "The header parse_header dropped the column row_id."),
    ]
    assert chosen(sources) == (
        "# Done\n“Find out why load_rows fails.”:\n  ran pytest tests/test_reader.py:\n"
        "    reader.py: load_rows raised KeyError\n  The header parse_header dropped the column row_id."
    )


def test_a_turn_that_a_compression_cut_through_goes_on_under_its_heading() -> None:
    asked = user(0, "Find out why load_rows fails.")
    before = Extractor([asked, reply(1, "The header parse_header dropped row_id.")]).choose(100, cost).prose
    text = chosen([reply(2, "The fix in fix_header keeps row_id.")], 100, earlier=before, beside=(asked,), told_before=2)
    assert text.count("“Find out why load_rows fails.”:") == 1
    assert "parse_header" in text
    assert "fix_header" in text


def test_lines_that_say_the_same_of_different_names_are_one() -> None:
    text = chosen([*act(0, "read", "\n".join(f"color_{n}: ColorValue," for n in range(4)), path="src/theme.ts")])
    assert "color_0, color_1, color_2, color_3: ColorValue," in text
