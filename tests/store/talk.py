"""Conversations in a store, and compressions of them, made the short way."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import settings

from hermes_tui.context.engine import Compression, Plan
from hermes_tui.context.fidelity import Fidelity, LostFact
from hermes_tui.context.ledger import Fact, Ledger
from hermes_tui.context.messages import Block, Message, text_block
from hermes_tui.context.regions import Regions
from hermes_tui.context.summaries import Summary
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from hermes_tui.store.ids import new_id
from hermes_tui.store.records import Applied, Moved, SessionRecord
from hermes_tui.store.store import Store

SOME = settings(max_examples=max(5, settings.default.max_examples // 4))
"""For properties whose every example writes a whole conversation."""
CALL: Block = {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x"}}
STARTED: Block = {"type": "tool_use", "id": "a", "name": "read_file", "input": {}}
"""A call as it begins to stream: it looks whole."""
TOOLS = ({"name": "read_file", "description": "", "input_schema": {"type": "object"}},)


def start(store: Store, title: str = "A talk", **more: Any) -> str:
    """A new chain; its id."""
    return store.create_chain(title=title, model="model-a", system="Be brief.", tools=TOOLS, **more).chain


def say(store: Store, chain: str, text: str) -> Message:
    """A person says TEXT."""
    return store.append(chain, role="user", content=[text_block(text)], origin="user")[0]


def reply(store: Store, chain: str, text: str) -> Message:
    """The model answers TEXT."""
    return store.append(chain, role="assistant", content=[text_block(text)], origin="model", model="model-a")[0]


def turns(store: Store, chain: str, count: int) -> None:
    """COUNT questions and answers."""
    for n in range(count):
        say(store, chain, f"question {n}")
        reply(store, chain, f"answer {n}")


def prune(view: ContextView, positions: tuple[int, ...]) -> Compression:
    """A prune of the entries at POSITIONS."""
    opened = tuple(
        Entry(
            e.position,
            message=e.message,
            treatment=Treatment.PRUNED,
            sent=(text_block(f"[pruned {e.position}]"),),
            written=e.written,
        )
        for e in view.entries
        if e.position in positions
    )
    return _compression(view, "prune", Change(positions, opened), None, ())


def summarise(view: ContextView, first: int, last: int) -> Compression:
    """A summary in place of the entries FIRST to LAST (indexes, LAST not included); an older one in the view is among them."""
    gone = [e for i, e in enumerate(view.entries) if first <= i < last or e.summary]
    told = tuple(e.message for e in gone if e.message)
    added = tuple(m.id for m in told)
    before = view.summary
    summary = Summary(
        id=new_id(),
        version=before.version + 1 if before else 1,
        prose=(("Goal", "make the importer resumable"), ("Next", "run the tests \U0001f389")),
        ledger=Ledger((("rules", (Fact("never touch the schema", added[0] if added else "", 2.5, 1),)),)),
        previous=before.id if before else None,
        added=added,
        covered=(before.covered if before else frozenset()) | frozenset(added),
        model="model-b",
        for_anchor=bool(len(added) % 2),
        omitted=len(added),
    )
    kept = [e for e in view.entries if e not in gone and e.message and e.position < min(g.position for g in gone)]
    position = kept[-1].position + 1 if kept else -1
    change = Change(tuple(e.position for e in gone), (Entry(position, summary=summary),))
    return _compression(view, "summarise", change, summary, told)


def _compression(
    view: ContextView, kind: Any, change: Change, summary: Summary | None, told: tuple[Message, ...]
) -> Compression:
    last = view.last_message
    plan = Plan(
        view.chain,
        view.generation,
        last.id if last else "",
        kind,
        Regions(),
        sources=told,
        focus="ports",
        view=view,
    )
    lost = (LostFact("file", "src/a.py", told[0].id),) if told else ()
    return Compression(
        plan,
        change,
        summary,
        "model" if summary else "",
        ("the model was busy",),
        tokens_before=5000,
        tokens_after=1200,
        fidelity=Fidelity((("file", 3, 4), ("rule", 1, 1)), lost),
    )


def begin_request(store: Store, chain: str) -> str:
    """A request for the context as it is goes out; its id."""
    view = store.view(chain)
    return store.begin_request(
        chain=chain,
        session=view.session,
        generation=view.generation,
        last_message=view.last_message.id if view.last_message else None,
        purpose="turn",
        model="model-a",
        parameters={"max_tokens": 100},
        renderer=1,
        body={"messages": []},
    )


def ask(store: Store, chain: str) -> str:
    """A person asks, and the request for the answer goes out; its id."""
    say(store, chain, "why?")
    return begin_request(store, chain)


def apply(store: Store, compression: Compression) -> Applied | Moved:
    """Carry COMPRESSION out as the conversation does."""
    split = compression.plan.kind == "summarise"
    return store.apply(compression, trigger="manual", duration_ms=12.5, cost=0.25, split=split)


def applied(store: Store, compression: Compression) -> Applied:
    """The same, where nobody else is there."""
    done = apply(store, compression)
    assert isinstance(done, Applied)
    return done


def check_lineage(links: tuple[SessionRecord, ...]) -> None:
    """What holds of any chain: consecutive ordinals and spans, each link the child of the one before, one of them live."""
    assert [link.ordinal for link in links] == list(range(1, len(links) + 1))
    assert {link.chain for link in links} == {links[0].id}
    assert links[0].parent is None or links[0].relation in ("fork", "import")
    for parent, child in itertools.pairwise(links):
        assert (child.parent, child.relation) == (parent.id, "compression")
        assert child.first_generation == parent.last_generation + 1
        assert parent.end_reason == "compression"
        assert parent.ended is not None
    assert links[-1].end_reason is None
    assert links[-1].ended is None
    assert len({(link.title, link.cwd) for link in links}) == 1
