"""What a request reads from a warm cache and writes to it, on sequences that one can follow by hand."""

from __future__ import annotations

from hermes_tui.context.engine import EngineState, Usage
from hermes_tui.context.messages import Message, text_block
from hermes_tui.context.prompt_cache import CacheUse, Prompt, cache_use, prompt_of
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from tests.strategies import count

BLANK = EngineState()


def prompt(*parts: tuple[str, int]) -> Prompt:
    return Prompt(tuple(text for text, _ in parts), tuple(tokens for _, tokens in parts), sum(tokens for _, tokens in parts))


def test_the_first_request_writes_all_of_itself():
    assert cache_use(None, prompt(("system", 100), ("a", 10))) == CacheUse(0, 110, broken=False)


def test_what_is_only_appended_is_read_whole_and_the_new_rows_are_written():
    before = prompt(("system", 100), ("a", 10), ("b", 20))
    now = prompt(("system", 100), ("a", 10), ("b", 20), ("c", 30), ("d", 5))
    assert cache_use(before, now) == CacheUse(130, 35, broken=False)
    assert cache_use(now, now) == CacheUse(165, 0, broken=False)


def test_an_edit_in_the_middle_is_read_up_to_it_and_breaks_the_cache():
    before = prompt(("system", 100), ("a", 10), ("b", 2_000), ("c", 30))
    now = prompt(("system", 100), ("a", 10), ("pruned", 5), ("c", 30), ("d", 7))
    assert cache_use(before, now) == CacheUse(110, 42, broken=True)
    assert cache_use(now, before) == CacheUse(110, 2_030, broken=True)


def test_another_system_prompt_leaves_nothing_to_read():
    assert cache_use(prompt(("one", 100), ("a", 10)), prompt(("two", 90), ("a", 10))) == CacheUse(0, 100, broken=True)


def test_rows_that_are_cut_off_at_the_end_break_it_too():
    assert cache_use(prompt(("system", 9), ("a", 1), ("b", 2)), prompt(("system", 9), ("a", 1))) == CacheUse(10, 0, broken=True)


def said(sequence: int, text: str) -> Message:
    role, origin = ("user", "user") if sequence % 2 == 0 else ("assistant", "model")
    return Message(f"m{sequence}", sequence, role, (text_block(text),), origin, "m" if origin == "model" else None)


def sized(view: ContextView, state: EngineState, meter: Meter) -> Prompt:
    return prompt_of(view, meter.size(view, state).tokens, meter.scale(view, state), meter)


def test_a_views_prompt_has_the_gauges_size_and_every_row_that_is_sent():
    meter, view = Meter(count), ContextView("c", "s", 0, "m", "Be brief.")
    for n in range(6):
        view = view.append(said(n, f"what was said as number {n} " * 20))
    state = meter.measured(BLANK, view, Usage(input=5_000))
    now = sized(view, state, meter)
    assert now.size == sum(now.tokens) == 5_000, "what was measured beyond the rows is the system's share"
    assert len(now.parts) == 1 + len(sent_rows(view))
    grown = sized(view.append(said(6, "more")), state, meter)
    use = cache_use(now, grown)
    assert (use.read, use.broken) == (5_000, False)
    assert use.written == grown.size - 5_000 > 0


def test_an_edit_costs_the_cache_from_its_place_on():
    meter, view = Meter(count), ContextView("c", "s", 0, "m", "Be brief.")
    for n in range(6):
        view = view.append(said(n, f"what was said as number {n} " * 20))
    first = view.entries[2]
    edited = view.apply(Change((4,), (Entry(4, first.message, None, Treatment.PRUNED, (text_block("gone"),)),)))
    before, now = sized(view, BLANK, meter), sized(edited, BLANK, meter)
    use = cache_use(before, now)
    assert use.broken
    assert use.read == sum(before.tokens[:3])
    assert use.written == sum(now.tokens[3:])
