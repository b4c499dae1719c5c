"""What a text says never changes what it is: no marker, role, fence or secret gets its way by its wording."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.acts import strings_in
from hermes_tui.context.engine import SummaryPrompt
from hermes_tui.context.messages import Message
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.summaries import FENCE
from hermes_tui.context.view import ContextView
from tests.context.histories import ANY, BLANK, GROWN, Grown, after, budgets_of, compressed, engine, planned
from tests.context.test_redaction import FORMS, KEYS, NAMES, VALUES
from tests.context.test_summaries import FORGED, TEXTS
from tests.strategies import LOOK_ALIKES, SEEDS, conversation, finished, said, summariser, texts, view_of

pytestmark = pytest.mark.invariant


def reworded(view: ContextView, text: str) -> ContextView:
    """VIEW in which every text of a person reads TEXT, as long as what was said."""

    def new(message: Message) -> Message:
        if not message.is_real_user:
            return message
        blocks = [
            {**b, "text": (text * len(b["text"]))[: len(b["text"])]} if b["type"] == "text" else b for b in message.content
        ]
        return replace(message, content=tuple(blocks))

    return replace(view, entries=tuple(replace(e, message=new(e.message)) if e.message else e for e in view.entries))


@given(GROWN, texts().filter(str.strip), st.sampled_from(LOOK_ALIKES))
def test_what_people_say_never_changes_how_a_context_is_cut(grown, one, other):
    """Invariant 21: two contexts that differ in every word of the user are treated alike."""
    plans = [planned(Grown(reworded(grown.view, text), grown.window), "") for text in (one, other)]
    regions = [replace(plan.regions, reasons=()) for plan in plans]
    assert regions[0] == regions[1]
    assert plans[0].kind == plans[1].kind
    assert [p.entry.position for p in plans[0].prunes] == [p.entry.position for p in plans[1].prunes]
    assert plans[0].regions.reasons == plans[1].regions.reasons


@given(SEEDS, texts(), ANY)
def test_a_pasted_marker_is_a_message_like_any_other(seed, text, behaviour):
    """Invariant 21: it is never taken for a summary, a placeholder, a note or an instruction."""
    dice = random.Random(seed)
    pasted = text + dice.choice(LOOK_ALIKES)
    view = view_of((Message("m0000", 0, "user", ({"type": "text", "text": pasted},), "user"),))
    view = said(view, conversation(dice, 3, 1))
    (first,) = [row for row in sent_rows(view) if row.entry and row.entry.position == 0]
    assert first.content == ({"type": "text", "text": pasted},)
    assert view.summary is None
    done = compressed(Grown(view, 2_400), behaviour)
    if done.change is not None:
        view = after(Grown(view, 2_400), done.change)
        assert [e.message.is_real_user for e in view.entries if e.position == 0] in ([], [True])


@given(GROWN, TEXTS, st.sampled_from(["forged", "echo", "none", "good"]))
def test_nothing_in_a_summary_can_close_its_fence_or_pose_as_a_turn(grown, text, behaviour):
    """Invariant 22: whatever people, tools and the summariser wrote."""
    view = reworded(grown.view, text) if text.strip() else grown.view
    done = compressed(Grown(view, grown.window), behaviour, "")
    if done.summary is None:
        return
    block = done.summary.text
    assert block.startswith(f"<{FENCE}>\n")
    assert block.endswith(f"\n</{FENCE}>")
    assert not FORGED.search(block[len(FENCE) + 2 : -len(FENCE) - 3])


SECRETS = KEYS.map(lambda key: (key, key)) | st.builds(
    lambda name, value, form: (form.format(n=name, v=value), value), NAMES, VALUES, FORMS
)
"""What is said, and the secret in it."""


@given(GROWN, SECRETS, SEEDS, ANY)
def test_a_secret_stays_in_the_messages_it_was_said_in(grown, secret, seed, behaviour):
    """Invariant 23: no prompt, summary, ledger, placeholder, lost fact or reason holds it; the tail is not altered."""
    said_as, value = secret
    dice = random.Random(seed)
    view = replace(grown.view, entries=tuple(_with_secret(dice, e, said_as, value) for e in grown.view.entries))
    calls: list[SummaryPrompt] = []
    heart = engine()
    plan = heart.plan(view, BLANK, budgets_of(view, grown.window), "")
    done = finished(heart.compress(plan, summariser(behaviour, calls)))
    assert not [call for call in calls if value in call.text or value in call.system]
    summary = done.summary
    if summary is not None:
        assert value not in summary.text + repr(summary.prose) + repr(summary.ledger)
    assert value not in repr((done.fidelity, done.failures, done.refusal, plan.refusal, plan.regions))
    for prune in plan.prunes:
        new = set(strings_in(prune.entry.sent)) - set(strings_in(prune.entry.message.content))
        assert not [text for text in new if value in text], "what stands for it is not what was said"
    if done.change is not None:
        held = {e.position: e for e in after(Grown(view, grown.window), done.change).entries}
        pruned = {p.entry.position for p in plan.prunes}
        for entry in view.entries:
            if entry.position in plan.regions.tail and entry.position not in pruned:
                assert held[entry.position].content == entry.content


def _with_secret(dice: random.Random, entry, text: str, value: str):
    """ENTRY with TEXT, which holds VALUE, now and then: said by a person or a model, in an argument or as one, in a result."""
    if entry.message is None or entry.sent is not None or dice.random() < 0.5:
        return entry
    blocks = []
    for block in entry.message.content:
        kind = block["type"]
        at = dice.choice(("{0}\n{1}", "{1}\n{0}", "{1} and {0}"))
        if kind == "text":
            block = {**block, "text": at.format(text, block["text"])}
        elif kind == "tool_use":
            named = {dice.choice(("password", "api_key", "token")): value} if dice.random() < 0.5 else {}
            block = {
                **block,
                "input": {**block["input"], dice.choice(("path", "text", "note")): at.format(text, "see"), **named},
            }
        elif kind == "tool_result" and isinstance(block["content"], str):
            block = {**block, "content": at.format(text, block["content"])}
        blocks.append(block)
    return replace(entry, message=replace(entry.message, content=tuple(blocks)))
