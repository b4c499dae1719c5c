"""The provider's own compaction as a rung of the ladder: what it is asked, and what of its answer is taken.

It is sent the entries that the summary replaces as they stand in the context, so that they are read from the cache, and answers
with one signed block. Beside the block stand the ledger and the deterministic rung's prose: a model that the block is not of is
sent those, without another word, and so is every model once the provider refuses its own block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hermes_tui.context.engine import CompactionPrompt, Compression, Count, Plan, Summariser, SummariserFailed
from hermes_tui.context.messages import THINKING, Block
from hermes_tui.context.prompts import instructions
from hermes_tui.context.redaction import redact, redact_json
from hermes_tui.context.regions import Regions
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.summaries import ProviderBlock, Summary, fenced
from hermes_tui.context.summarising import LEAST_PROSE
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import Change, ContextView

_WORDS: Final = 0.6
"""Words asked for per token that there is room for."""
_ENDING: Final = "Call no tools; answer with the record alone."
MOST_INSTRUCTIONS: Final = 16_384
"""Characters that the API takes (Compaction on demand, Write your own summarization prompt)."""


async def provider_block(plan: Plan, told: Summary, summariser: Summariser, meter: Meter, cap: int) -> ProviderBlock:
    """What the provider makes of the messages of PLAN, for which code wrote TOLD; CAP is the most tokens the summary may take.

    Raises:
        SummariserFailed: it could not be reached, or what it made cannot be used.
    """
    if summariser.compact is None or plan.view is None:
        raise SummariserFailed("the provider does not compact by itself", transport=False)
    beside = meter.count(fenced((), told.ledger, for_anchor=told.for_anchor, reopening=told.reopening))
    view = replace(plan.view, entries=plan.summarised)
    size = meter.estimate(view)
    most = min(cap, (size - meter.floor(view) - 1) // 2) - beside
    if most < LEAST_PROSE:
        raise SummariserFailed(
            f"the provider was not asked: {max(0, most)} tokens beside the ledger are too few", transport=False
        )
    asked = ""
    if summariser.prompt.strip() or summariser.notes.strip() or (plan.focus or "").strip():
        words = max(40, int(most * _WORDS))
        asked = instructions(
            updating=plan.previous is not None, focus=plan.focus, notes=summariser.notes, words=words, tighter=False,
            own=summariser.prompt,
        )  # fmt: skip
        asked = f"{asked[: MOST_INSTRUCTIONS - len(_ENDING) - 2]}\n\n{_ENDING}"
    made = await summariser.compact(CompactionPrompt(view, asked, max(1, most), size))
    why = _refusal(made, most, meter.count)
    if why:
        raise SummariserFailed(why, transport=False)
    return made


def _refusal(made: ProviderBlock, most: int, count: Count) -> str:
    """Why what the provider MADE cannot stand for messages in MOST tokens, "" where it can."""
    text = str(made.block.get("content") or "")
    if not text.strip():
        return "the provider's compaction was empty"
    if count(text) > most:
        return f"the provider's compaction takes {count(text):,} tokens, more than the {max(0, most):,} that there are"
    if redact(text) != text:
        return "the provider's compaction holds what looks like a secret"
    return ""


def retold(view: ContextView, summary: str, why: str) -> Compression | None:
    """What takes the provider's block out of VIEW, which the provider refuses: what code wrote beside it, as a new version.

    Args:
        view: the context as it stands.
        summary: the id of the version.
        why: what the provider said.

    Returns None where VIEW holds no block. The sizes are left to whoever can measure.
    """
    entry = next((e for e in view.entries if e.summary is not None and e.summary.block is not None), None)
    if entry is None or entry.summary is None:
        return None
    old, last = entry.summary, view.last_message
    new = replace(old, id=summary, version=old.version + 1, previous=old.id, added=(), block=None, model=None)
    plan = Plan(
        chain=view.chain,
        generation=view.generation,
        last_message=last.id if last else "",
        kind="summarise",
        regions=Regions(),
        summarised=(entry,),
        previous=old,
        summary_position=entry.position,
        view=view,
    )
    return Compression(plan, Change((entry.position,), (replace(entry, summary=new),)), new, "deterministic", (why,))


def compaction_body(body: Mapping[str, Any], prompt: CompactionPrompt, whole: ContextView) -> dict[str, Any]:
    """The request that asks for the compaction of PROMPT: BODY is the request for its view alone, WHOLE what is compressed.

    Thinking stays where it stands on what it was thought about: where what is compacted is the beginning of the whole.
    """
    begins = [row.content for row in sent_rows(prompt.view)]
    wanted = {"type": "summarize", **({"instructions": prompt.instructions} if prompt.instructions else {})}
    follows = begins == [row.content for row in sent_rows(whole)][: len(begins)]
    return {**without_secrets(body, thinking=follows), "compaction": wanted}


def without_secrets(body: Mapping[str, Any], *, thinking: bool = True) -> dict[str, Any]:
    """BODY, a request, with the secrets in its messages taken out; a block that a provider signed stays as it is.

    Where nothing was taken out it is the same bytes as before, and the cache is read. Otherwise thinking goes too: it would no
    longer stand on what it was thought about. THINKING: it does so far.
    """
    messages = [{**m, "content": [_clean(b) for b in m["content"]]} for m in body["messages"]]
    if not thinking or messages != body["messages"]:
        messages = [{**m, "content": [b for b in m["content"] if b.get("type") not in THINKING]} for m in messages]
    return {**body, "messages": messages}


def _clean(block: Block) -> Block:
    kind = block.get("type")
    if kind == "text":
        return {**block, "text": redact(block["text"])}
    if kind == "tool_use":
        return {**block, "input": redact_json(block.get("input"))}
    if kind == "tool_result" and "content" in block:
        inner = block["content"]
        clean = redact(inner) if isinstance(inner, str) else [_clean(b) for b in inner or ()]
        return {**block, "content": clean}
    return block
