"""Rooms for tests of the app: all of the product, with a provider and tools that answer from a recording."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hermes_tui.config import load_settings
from hermes_tui.context.acts import Declaration
from hermes_tui.context.engine import Usage
from hermes_tui.context.messages import Block
from hermes_tui.llm.choose import Choice
from hermes_tui.llm.keys import Keys
from hermes_tui.llm.provider import ModelRequest, ReplyEnded, StreamEvent
from hermes_tui.llm.recorded import RecordedProvider, RecordedReply
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.memory.registry import memory_of
from hermes_tui.paths import Paths, make_private_folder
from hermes_tui.store.store import Store
from hermes_tui.tools.recorded import RecordedTools
from hermes_tui.tui.room import Room

MODEL = "claude-sonnet-5-5"


class Measured(RecordedProvider):
    """A recording that measures what it is sent, as a provider would, and plays a cache that reads what prompts share."""

    _last = ""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The next recorded reply, with the usage of REQUEST."""
        count = load_counter()
        prompt = json.dumps([request.body.get("system"), request.body.get("tools"), request.body["messages"]])
        shared = next((n for n, (a, b) in enumerate(zip(self._last, prompt, strict=False)) if a != b), len(self._last))
        self._last = prompt
        async for event in super().stream(request):
            if isinstance(event, ReplyEnded):
                tokens, output = count(prompt), count(json.dumps([dict(b) for b in event.content]))
                read = tokens * shared // len(prompt)
                event = replace(event, usage=Usage(input=tokens - read, output=output, cache_read=read))
            yield event


Pace = Callable[[int], Awaitable[None]]


def said(words: str) -> RecordedReply:
    """A reply of one text."""
    return RecordedReply(({"type": "text", "text": words},))


def recorded_room(
    replies: Sequence[RecordedReply | Sequence[Block]],
    *,
    results: Sequence[Block] = (),
    schemas: Sequence[Any] = (),
    declarations: dict[str, Declaration] | None = None,
    summaries: Sequence[RecordedReply] = (),
    pace: Pace | None = None,
    summary_pace: Pace | None = None,
    directory: Path | None = None,
    **settings: Any,
) -> Callable[[Paths], Room]:
    """What the app loads in place of its own room.

    Args:
        replies: the recorded replies, in order.
        results: the recorded tool results, in order.
        schemas: the tools on offer.
        declarations: tool name -> how its calls and results are read.
        summaries: what the summarising model answers; without any, summaries are made by rule.
        pace: awaited before each piece of a reply.
        summary_pace: the same for summaries.
        directory: the working directory that is named to the model.
        settings: by dotted key, dots written as two underscores.
    """

    def load(paths: Paths) -> Room:
        make_private_folder(paths.data)
        overrides = {key.replace("__", "."): value for key, value in settings.items()}
        overrides.setdefault("summary.engine", "model" if summaries else "deterministic")
        provider = Measured(replies, pace, MODEL)
        loaded, store = load_settings(paths.config, overrides=overrides, environment={}), Store.open(paths.database)
        return Room(
            paths=paths,
            settings=loaded,
            store=store,
            memory=memory_of(loaded.memory.providers, store.notes),
            keys=Keys(paths.key_file, {}, use_keyring=False),
            choice=Choice(provider, MODEL, "claude-haiku-5-5", "a recording"),
            count=load_counter(),
            tools=RecordedTools(results, schemas, declarations) if schemas else None,
            directory=directory or paths.data,
            model=MODEL,
            summary_provider=RecordedProvider(summaries, summary_pace, "claude-haiku-5-5") if summaries else None,
        )

    return load
