"""Thinking goes back only onto the very words it was thought about, and what was sent stays the same bytes for the cache."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.ledger import Ledger
from hermes_tui.context.messages import Block, Message
from hermes_tui.context.rendering import carries_block, render, sent_rows
from hermes_tui.context.summaries import ProviderBlock, Summary
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from tests.strategies import conversations, count, view_of

MODELS = ("model-a", "model-b")
BLOCK = ProviderBlock("model-a", {"type": "compaction", "content": "What was said.", "signature": "s", "tool_changes": []})
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.just(0)),
        st.tuples(st.just("call"), st.just(0)),
        st.tuples(st.sampled_from(["prune", "drop", "summarise", "compact", "retell"]), st.integers(0, 30)),
        st.tuples(st.just("switch"), st.integers(0, 1)),
    ),
    min_size=2,
    max_size=18,
)


def digest(rows: Any) -> str:
    """What a thinking block is bound to: every message before it, as it was sent."""
    return hashlib.sha256(json.dumps([[r.role, [dict(b) for b in r.content]] for r in rows]).encode()).hexdigest()


def said(view: ContextView, role: str, *content: Block, model: str | None = None) -> ContextView:
    n = view.last_message.sequence + 1 if view.last_message else 0
    n = max(n, max((e.position // 2 + 1 for e in view.entries), default=0))
    origin = "model" if model else "tool" if content[0]["type"] == "tool_result" else "user"
    return view.append(Message(f"m{n}", n, role, content, origin, model))


def thought(view: ContextView) -> Block:
    return {"type": "thinking", "thinking": "hm", "signature": digest(sent_rows(view))}


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def edited(view: ContextView, kind: str, which: int) -> ContextView:
    """VIEW after an edit of KIND at about the WHICH-th entry; the newest turn is left alone, as an engine does."""
    last = max((i for i, e in enumerate(view.entries) if e.message and e.message.is_real_user), default=0)
    older = [e for e in view.entries[:last] if e.message is not None]
    if kind == "retell":
        entry = next((e for e in view.entries if e.summary is not None and e.summary.block is not None), None)
        if entry is None or entry.summary is None:
            return view
        return view.apply(Change((entry.position,), (replace(entry, summary=replace(entry.summary, id="r", block=None)),)))
    if not older:
        return view
    if kind in ("prune", "drop"):
        entry = older[which % len(older)]
        treatment = Treatment.PRUNED if kind == "prune" else Treatment.DROPPED
        sent = (text(f"pruned {view.generation}"),) if kind == "prune" else None
        if entry.message is None or any(b["type"].startswith("tool") for b in entry.message.content):
            return view
        return view.apply(Change((entry.position,), (replace(entry, treatment=treatment, sent=sent),)))
    summaries = [e for e in view.entries if e.summary is not None]
    summary = Summary(f"s{view.generation}", 1, (("Goal", "go on"),), Ledger(), block=BLOCK if kind == "compact" else None)
    closed = [*older, *summaries]
    return view.apply(Change(tuple(e.position for e in closed), (Entry(-1, summary=summary),)))


@given(STEPS)
def test_thinking_is_sent_if_and_only_if_its_prefix_and_its_model_are_those_it_was_written_with(steps) -> None:
    view = ContextView("c", "s", 0, MODELS[0], "Be brief.")
    written: dict[str, int] = {}  # signature -> edits when it was written
    edits = 0
    for kind, which in steps:
        if kind in ("say", "call"):
            view = said(view, "user", text(f"question {len(view.entries)}"))
            if kind == "call":
                block = thought(view)
                written[block["signature"]] = edits
                call = {"type": "tool_use", "id": f"t{len(view.entries)}", "name": "read_file", "input": {"path": "a"}}
                view = said(view, "assistant", block, call, model=view.model)
                view = said(view, "user", {"type": "tool_result", "tool_use_id": call["id"], "content": "a"})
            block = thought(view)
            written[block["signature"]] = edits
            view = said(view, "assistant", block, text("answer"), model=view.model)
        elif kind == "switch":
            view = replace(view, model=MODELS[which])
        else:
            before = view.generation
            view = edited(view, kind, which)
            edits += view.generation > before
        rows = sent_rows(view)
        sent: set[str] = set()
        for n, row in enumerate(rows):
            for block in row.content:
                if block["type"] == "thinking":
                    sent.add(block["signature"])
                    assert row.entry is not None
                    assert row.entry.message is not None
                    assert row.entry.message.model == view.model
                    assert block["signature"] == digest(rows[:n]), "the server would refuse it"
        alive = [e.message for e in view.entries if e.message and e.sent is None and e.treatment is Treatment.VERBATIM]
        for message in alive:
            for block in message.content:
                if block["type"] == "thinking" and message.model == view.model and written[block["signature"]] == edits:
                    assert block["signature"] in sent, "nothing was edited since it was written"


@given(STEPS)
def test_an_edit_leaves_every_byte_before_it_as_it_was(steps) -> None:
    view = ContextView("c", "s", 0, MODELS[0], "Be brief.", ({"name": "read_file", "input_schema": {"type": "object"}},))
    for kind, which in steps:
        if kind in ("say", "call"):
            view = said(view, "user", text(f"question {len(view.entries)}"))
            view = said(view, "assistant", thought(view), text("answer"), model=view.model)
        elif kind != "switch":
            after = edited(view, kind, which)
            if after is view:
                continue
            first = after.edit_marks[-1][1]
            one, two = (render(v, max_tokens=9, cache=False) for v in (view, after))
            untouched = sum(1 for row in sent_rows(view) if row.entry is not None and row.entry.position < first)
            assert one["system"] == two["system"]
            assert one["tools"] == two["tools"]
            kept = [row.content for row in sent_rows(view) if row.entry is not None and row.entry.position < first]
            assert [row.content for row in sent_rows(after) if row.entry is not None][:untouched] == kept
            view = after


@given(conversations(6), st.sampled_from(MODELS))
def test_a_providers_block_comes_first_untouched_for_its_model_alone_and_within_four_breakpoints(messages, model) -> None:
    summary = Summary("s", 1, (("Goal", "go on"),), Ledger(), block=BLOCK)
    view = replace(view_of(messages, "Be brief."), model=model)
    first = view.entries[0]
    view = view.apply(Change((first.position,), (Entry(-1, summary=summary),)))
    body = render(view, max_tokens=100)
    content = body["messages"][0]["content"]
    blocks = [b for m in body["messages"] for b in m["content"] if b["type"] == "compaction"]
    assert carries_block(view) is (model == "model-a")
    assert blocks == ([dict(BLOCK.block)] if model == "model-a" else [])
    assert content[0]["type"] == ("compaction" if model == "model-a" else "text")
    assert content[-1]["text"].startswith("<earlier_conversation>")
    assert json.dumps(body).count('"cache_control"') <= 4
    meter = Meter(count)
    sizes = [meter.row(row) for row in sent_rows(view)]
    assert sizes[0] == meter.content(summary.sent_to(model))
    assert meter.estimate(view) == meter.floor(view) + sum(sizes)
    task = Entry(-2, message=Message("task", 0, "user", (text("Ship it."),), "user"))
    moved = replace(view, entries=(task, *view.entries))  # something stands before the summary: no place for a block
    assert not carries_block(moved)
    assert not any(b["type"] == "compaction" for row in sent_rows(moved) for b in row.content)
