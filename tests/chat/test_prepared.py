"""A prepared summary at its boundary: used as it is, made to fit what was edited meanwhile, or given up."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.chat.prepared import Prepared, fitted
from hermes_tui.context.budgets import Budgets, Sourced, budgets_for
from hermes_tui.context.check import violations
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import EngineState
from hermes_tui.context.gain import GAIN
from hermes_tui.context.messages import Message
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.store.ids import new_id
from tests.context import histories
from tests.strategies import SEEDS, conversation
from tests.strategies import said as said_in

STATE = EngineState()
TEXT = "The importer stalls on the second file because the reader holds the lock while the queue is full. "


def engine() -> ContextCompressor:
    return ContextCompressor(load_counter(), new_id)


def said(view: ContextView, origin: str, text: str) -> ContextView:
    """VIEW with one more message."""
    last = view.last_message
    sequence = last.sequence + 1 if last else 0
    role = "assistant" if origin == "model" else "user"
    block = {"type": "text", "text": text}
    return view.append(Message(f"m{sequence}", sequence, role, (block,), origin, "m" if origin == "model" else None))


def looked(view: ContextView) -> ContextView:
    """VIEW with a tool call and its long result."""
    sequence = view.last_message.sequence + 1 if view.last_message else 0
    call = {"type": "tool_use", "id": f"t{sequence}", "name": "look", "input": {"path": f"file{sequence}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{sequence}", "content": f"line {sequence}\n" + TEXT * 12}
    view = view.append(Message(f"m{sequence}", sequence, "assistant", (call,), "model", "m"))
    return view.append(Message(f"m{sequence + 1}", sequence + 1, "user", (result,), "tool"))


def talk(turns: int) -> ContextView:
    """A conversation with tools."""
    view = ContextView("chain", "session", 0, "m")
    for turn in range(turns):
        view = said(view, "user", f"{turn}: {TEXT * 2}")
        view = looked(view)
        view = said(view, "model", TEXT * 2)
    return view


def budgets() -> Budgets:
    return budgets_for(Sourced(20_000, "test"), 0)


def prepared(view: ContextView) -> Prepared:
    """What would be prepared for VIEW, its summary by code."""
    own = engine()
    plan = own.plan(view, STATE, budgets())
    assert plan.kind == "summarise"
    return Prepared(asyncio.run(own.compress(plan, None)), 1.0, 2.0)


def size(view: ContextView) -> int:
    return engine().meter.size(view, STATE).tokens


def test_what_was_said_since_joins_the_tail_word_for_word() -> None:
    view = talk(24)
    ready = prepared(view)
    later = said(said(view, "user", "and now?"), "model", TEXT)
    found = fitted(ready, later, None, size)
    assert found is not None
    after = later.apply(found.compression.change)
    assert [e.message.id for e in after.entries if e.message][-2:] == [e.message.id for e in later.entries if e.message][-2:]
    assert found.compression.tokens_after == size(after) <= GAIN * found.compression.tokens_before
    assert found.compression.plan.last_message == later.last_message.id


def test_a_summary_outlives_a_prune_of_what_it_tells() -> None:
    view = talk(24)
    ready = prepared(view)
    plan = ready.compression.plan
    one = next(e for e in plan.summarised if e.message and e.message.origin == "tool")
    assert one.message is not None
    short = {**one.message.content[0], "content": "[pruned]"}
    pruned = view.apply(Change((one.position,), (replace(one, treatment=Treatment.PRUNED, sent=(short,)),)))
    now = engine().plan(pruned, STATE, budgets())
    found = fitted(ready, pruned, now, size)
    assert found is not None
    change = found.compression.change
    assert change is not None
    assert not violations(pruned, change)
    assert found.compression.plan.generation == pruned.generation
    assert pruned.apply(change).summary == ready.compression.summary


def test_a_summary_is_given_up_when_a_message_it_tells_was_pinned() -> None:
    view = talk(24)
    ready = prepared(view)
    one = next(e for e in ready.compression.plan.summarised if e.message and e.message.origin == "user")
    pinned = view.apply(Change((one.position,), (replace(one, treatment=Treatment.PINNED),)))
    now = engine().plan(pinned, STATE, budgets())
    assert fitted(ready, pinned, now, size) is None


def test_a_summary_is_given_up_when_another_one_took_its_place() -> None:
    view = talk(24)
    ready, other = prepared(view), prepared(view)
    assert other.compression.change is not None
    elsewhere = view.apply(other.compression.change)
    now = engine().plan(elsewhere, STATE, budgets())
    assert fitted(ready, elsewhere, now, size) is None


def test_a_summary_of_another_chain_is_never_used() -> None:
    view = talk(24)
    assert fitted(prepared(view), replace(view, chain="another"), None, size) is None


def test_a_prune_that_was_undone_meanwhile_is_not_made_again_over_a_pin() -> None:
    view = talk(24)
    ready = prepared(view)
    extra = next(e for e in view.entries if e.message and e.message.origin == "tool")
    kept = [e for e in view.entries if e is not extra]
    assert isinstance(extra, Entry)
    assert len(kept) == len(view.entries) - 1
    gone = replace(view, entries=tuple(kept), generation=view.generation + 1)
    now = engine().plan(view, STATE, budgets())
    assert fitted(ready, gone, now, size) is None, "a context with a hole in it is not a place for any compression"


@pytest.mark.invariant
@given(histories.GROWN, SEEDS, st.integers(0, 3))
def test_a_summary_prepared_earlier_adds_exactly_what_was_said_since_to_the_tail(grown, seed, turns):
    """Invariant 11: whatever was said meanwhile, word for word, and nothing else; given up only where it gains too little."""
    made = histories.carried(grown, "")
    meanwhile = conversation(random.Random(seed), turns, grown.view.last_message.sequence + 1) if turns else ()
    view = said_in(grown.view, meanwhile)
    if made.change is None:
        return
    meter = histories.engine().meter
    ready = fitted(Prepared(made, 0.0, 0.0), view, None, meter.estimate)
    before, after = meter.estimate(view), meter.estimate(view.apply(made.change))
    if ready is None:
        assert after > GAIN * before
        return
    then = view.apply(ready.compression.change)
    assert then.entries[: -len(meanwhile) or None] == grown.view.apply(made.change).entries
    assert [e.message for e in then.entries[len(then.entries) - len(meanwhile) :]] == list(meanwhile)
    assert ready.compression.plan.regions == made.plan.regions
