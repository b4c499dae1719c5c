"""Numbers on the screen are short and say no more than is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.tui.numbers import counted, money, percent, seconds, short


@pytest.mark.parametrize(
    ("count", "written"),
    [
        (0, "0"), (31, "31"), (312, "312"), (999, "999"), (1_000, "1k"), (3_096, "3.1k"), (41_800, "41.8k"), (100_000, "100k"),
        (412_345, "412k"), (999_499, "999k"), (999_960, "1M"), (1_234_567, "1.2M"), (-3_096, "-3.1k"),
    ],
)  # fmt: skip
def test_tokens_are_written_short(count: int, written: str) -> None:
    assert short(count) == written


@given(st.integers(0, 10**12))
def test_a_short_number_takes_five_columns_at_most(count: int) -> None:
    assert len(short(count)) <= 5


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_greater_number_is_never_written_as_a_smaller_one(one: int, other: int) -> None:
    def value(text: str) -> float:
        return float(text.rstrip("kMG")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)

    small, great = sorted((one, other))
    assert value(short(small)) <= value(short(great))


def test_money_keeps_the_digits_that_matter() -> None:
    assert (money(0.42), money(0.0004), money(1234.5), money(0)) == ("$0.42", "$0.0004", "$1,234.50", "$0.00")


def test_durations_read_as_people_say_them() -> None:
    assert (seconds(4.9), seconds(80), seconds(7_500)) == ("4 s", "1 m 20 s", "2 h 05 m")


def test_a_noun_follows_its_number() -> None:
    assert (counted(1, "message"), counted(1_214, "message"), counted(2, "entry", "entries")) == (
        "1 message", "1,214 messages", "2 entries",
    )  # fmt: skip


def test_a_share_of_nothing_is_nothing() -> None:
    assert (percent(93, 100), percent(5, 0)) == ("93 %", "0 %")
