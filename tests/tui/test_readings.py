"""The gauge: the bar clamps to its width, the number does not, and no region that holds anything goes unseen."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.ledger import Ledger
from hermes_tui.context.summaries import ProviderBlock, Summary
from hermes_tui.tui.readings import REGIONS, GaugeReading, UsageReading, bar_cells, spark_levels, tick
from hermes_tui.tui.surveys import summary_reading
from hermes_tui.tui.widgets.gauge import gauge_content
from hermes_tui.tui.widgets.usage import usage_lines

tokens = st.integers(0, 2_000_000)


@st.composite
def readings(draw: st.DrawFn) -> GaugeReading:
    """Gauges of every shape, over-full ones too."""
    window = draw(st.integers(2_048, 2_000_000))
    reserved = draw(st.integers(0, window // 4))
    shares = tuple((region, draw(tokens)) for region in REGIONS)
    threshold = draw(st.integers(1, window - reserved))
    return GaugeReading(
        tokens=draw(st.one_of(st.just(sum(n for _, n in shares)), tokens)),
        kind=draw(st.sampled_from(["measured", "estimated", "stale"])),
        window=window,
        reserved=reserved,
        threshold=threshold,
        warm=draw(st.integers(0, threshold)),
        shares=shares,
    )


@pytest.mark.invariant
@given(readings(), st.integers(10, 200))
def test_the_bar_fills_its_width_exactly(reading: GaugeReading, width: int) -> None:
    """Invariant 34: it clamps, whatever the size."""
    assert sum(cell.cells for cell in bar_cells(reading, width)) == width


@pytest.mark.invariant
@given(readings(), st.integers(10, 200))
def test_every_region_that_holds_anything_has_a_cell(reading: GaugeReading, width: int) -> None:
    """Invariant 34."""
    drawn = {cell.region for cell in bar_cells(reading, width)}
    assert drawn >= {region for region, count in reading.shares if count}


@pytest.mark.invariant
@given(readings(), st.integers(10, 200))
def test_the_number_is_never_clamped(reading: GaugeReading, width: int) -> None:
    """Invariant 34: and says whether it is measured or estimated."""
    from hermes_tui.tui.numbers import short

    first = gauge_content(reading, width).plain.split("\n")[0]
    assert short(reading.tokens) in first
    assert ("~" in first) is (reading.kind != "measured")


@given(readings(), st.integers(30, 120))
def test_no_line_of_the_gauge_is_wider_than_its_place(reading: GaugeReading, width: int) -> None:
    assert all(len(line) <= width for line in gauge_content(reading, width).plain.split("\n"))


def test_the_gauge_says_what_it_shows_as_the_tests_of_the_product_look_for_it() -> None:
    reading = GaugeReading(3_096, "estimated", 8_192, 2_048, 3_072, 2_621, (("system", 64), ("tail", 3_032)))
    first = gauge_content(reading, 44).plain.split("\n")[0]
    assert first.startswith("CONTEXT")
    assert first.endswith("~3.1k of 8.2k")


@given(st.integers(0, 10**7), st.integers(1, 10**6), st.integers(1, 300))
def test_a_mark_stays_on_the_bar(at: int, window: int, width: int) -> None:
    assert 0 <= tick(at, window, width) < width


@given(st.lists(tokens), st.integers(0, 80))
def test_the_line_of_requests_shows_the_newest_and_its_tallest_is_the_greatest(values: list[int], width: int) -> None:
    levels = spark_levels(values, width)
    assert len(levels) == min(width, len(values))
    assert all(0 <= level <= 7 for level in levels)
    if levels and max(values[-width:]):
        assert max(levels) == 7


def test_cache_and_cost_are_told_only_as_far_as_they_are_known_and_summaries_apart() -> None:
    assert usage_lines(UsageReading(), 44) == []
    known = UsageReading(known=True, read=12_300, written=1_200, missed=0, cost=0.43)
    assert usage_lines(known, 44) == ["cache read 12.3k · written 1.2k · missed 0", "cost $0.43"]
    edited = replace(known, edit_missed=23_000, summaries=0.02)
    told = ["cache read 12.3k · written 1.2k · missed 0", "last edit missed 23k · cost $0.43", "summaries $0.02"]
    assert usage_lines(edited, 44) == told
    assert all(len(line) <= width for width in range(12, 90) for line in usage_lines(edited, width))


def test_the_summary_panel_shows_what_the_provider_wrote_where_that_is_what_is_sent() -> None:
    block = ProviderBlock("model-a", {"type": "compaction", "content": "The importer stalls.", "signature": "s"})
    summary = Summary("s", 2, (("Goal", "by code"),), Ledger(), model="model-a", block=block)
    assert summary_reading(summary).prose == (("Compacted by the provider", "The importer stalls."),)
    assert summary_reading(replace(summary, block=None, model=None)).prose == (("Goal", "by code"),)
