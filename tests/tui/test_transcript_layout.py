"""Rows and blocks find each other, and the view keeps its place while heights change above it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.tui.glyphs import UNICODE
from hermes_tui.tui.transcript.blocks import Divider, Queued, ReplySaid, Thought, ToolCard, UserSaid
from hermes_tui.tui.transcript.layout import Anchor, Heights, anchor_at, top_of
from hermes_tui.tui.transcript.rows import Page
from hermes_tui.tui.transcript.slots import KEPT_ROWS, Slots

PAGE = Page(60, UNICODE)


@given(st.lists(st.tuples(st.sampled_from(["set", "insert", "remove"]), st.integers(0, 30), st.integers(1, 9)), max_size=60))
def test_sums_are_right_after_any_changes(changes: list[tuple[str, int, int]]) -> None:
    heights, plain = Heights(), []
    for what, where, size in changes:
        if what == "insert":
            at = where % (len(plain) + 1)
            heights.insert(at, [size, 1])
            plain[at:at] = [size, 1]
        elif plain and what == "set":
            heights[where % len(plain)] = size
            plain[where % len(plain)] = size
        elif plain:
            heights.remove(where % len(plain))
            del plain[where % len(plain)]
        if where % 3 == 0:
            assert heights.total == sum(plain)
    rows = [index for index, size in enumerate(plain) for _ in range(size)]
    assert heights.total == len(rows)
    assert [heights.at(row) for row in range(len(rows))] == rows
    assert [heights.top(index) for index in range(len(plain))] == [sum(plain[:index]) for index in range(len(plain))]


@given(st.lists(st.integers(1, 20), min_size=3, max_size=40), st.data())
def test_correcting_heights_does_not_move_what_is_anchored(sizes: list[int], data: st.DataObject) -> None:
    heights = Heights()
    heights.insert(0, sizes)
    top = data.draw(st.integers(0, max(0, heights.total - 10)))
    exact = [data.draw(st.booleans()) for _ in sizes]
    anchor = anchor_at(heights, exact, top, 10)
    seen = heights.top(anchor.block) - top
    for index in range(anchor.block):
        if not exact[index]:
            heights[index] = data.draw(st.integers(1, 30))
    assert heights.top(anchor.block) - top_of(heights, anchor) == seen or top_of(heights, anchor) == 0


def test_the_anchor_is_a_block_whose_height_is_known() -> None:
    heights = Heights()
    heights.insert(0, [10, 10, 10])
    assert anchor_at(heights, [False, True, True], 5, 20) == Anchor(1, -5)
    assert anchor_at(heights, [False, False, False], 5, 20) == Anchor(0, 5)


def names(slots: Slots) -> list[str]:
    return [slots[index].block.id for index in range(len(slots))]


def test_what_is_queued_stays_last() -> None:
    slots = Slots(PAGE)
    slots.set([UserSaid("u", "hi"), Queued("q", "next")])
    slots.append(ReplySaid("r", "hello"))
    slots.append(Queued("q2", "and then"))
    assert names(slots) == ["u", "r", "q", "q2"]
    assert [slots.index(name) for name in names(slots)] == [0, 1, 2, 3]


def test_older_pages_come_in_above_and_known_blocks_are_not_doubled() -> None:
    slots = Slots(PAGE)
    slots.set([UserSaid("b", "b")])
    assert slots.prepend([UserSaid("a", "a"), UserSaid("b", "b")]) == 1
    slots.prepend([UserSaid("0", "0")])
    assert names(slots) == ["0", "a", "b"]
    assert [slots.index(name) for name in names(slots)] == [0, 1, 2]


def test_one_name_stands_over_all_that_hermes_says_in_a_row() -> None:
    slots = Slots(PAGE)
    said = [UserSaid("u", "hi", "10:42"), Thought("t", "hm"), ToolCard("c", "ls"), ReplySaid("r", "x")]
    slots.set([*said, Divider("d", "y"), ReplySaid("s", "z")])
    leads = [[row.text for row in slots[index].lead] for index in range(len(slots))]
    assert leads == [["you · 10:42"], ["", "hermes"], [], [], [""], ["", "hermes"]]


def test_taking_a_block_out_mends_what_follows() -> None:
    slots = Slots(PAGE)
    slots.set([UserSaid("u", "hi"), Thought("t", "hm"), ReplySaid("r", "x"), UserSaid("v", "so")])
    slots.remove("t")
    assert [slots.index(name) for name in names(slots)] == [0, 1, 2]
    assert [row.text for row in slots.slot("r").lead] == ["", "hermes"]
    slots.remove("u")
    slots.remove("v")
    slots.remove("r")
    assert len(slots) == 0
    slots.append(UserSaid("w", "again"))
    assert slots.index("w") == 0


def test_rows_not_seen_for_long_are_dropped_and_their_heights_kept() -> None:
    slots = Slots(PAGE)
    slots.set([UserSaid(str(n), "line\n" * 999 + "end") for n in range(40)])
    for index in range(40):
        slots.lay_out(index)
        slots.trim(range(index, index + 1))
    kept = [index for index in range(40) if slots[index].body is not None]
    assert sum(len(slots[index].body or ()) for index in kept) <= KEPT_ROWS
    assert kept[-1] == 39
    assert slots.exact == [True] * 40
    assert slots.heights.total == sum(len(list(slots[index].lead)) + 1000 for index in range(40))


def test_folded_thinking_is_one_row_and_its_text_is_not_laid_out() -> None:
    slots = Slots(PAGE)
    slots.set([Thought("t", "secret " * 100, 4.2, 312)])
    slots.lay_out(0)
    assert [row.text for row in slots[0].rows()] == ["hermes", "▸ thought for 4 s" + " " * 40 + "312"]
    slots.toggle("t")
    assert len(list(slots[0].rows())) > 5


def test_folded_thinking_that_streams_is_one_row_too() -> None:
    slots = Slots(PAGE)
    slots.open(Thought("t", ""))
    slot = slots.slot("t")
    assert slot.growth is not None
    slot.growth.grow("hm\n" * 500)
    slots.flush(0)
    assert slots.heights[0] == 2
    assert slot.growth.rows == []


def test_a_long_result_is_cut_on_the_screen_and_says_so() -> None:
    slots = Slots(PAGE)
    slots.set([ToolCard("c", "cat", "f", result="line\n" * 5000)])
    slots.toggle("c")
    assert slots.heights[0] < 420
    assert "4,600 more lines" in list(slots[0].rows())[-1].text
