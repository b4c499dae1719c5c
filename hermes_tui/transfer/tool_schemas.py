"""The tools of a recorded conversation: its own schemas, and minimal ones for tools that were called and never described."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hermes_tui.context.messages import scrub_json
from hermes_tui.transfer.files import is_too_deep
from hermes_tui.transfer.transcripts import RecordedMessage


def tools_of(given: Iterable[Any], messages: Iterable[RecordedMessage]) -> tuple[Mapping[str, Any], ...]:
    """The tools in GIVEN (schemas of Anthropic or OpenAI), then one for each name called in MESSAGES that is not among them."""
    tools: dict[str, Mapping[str, Any]] = {}
    for item in given:
        schema = _schema(item)
        if schema is not None:
            tools.setdefault(schema["name"], schema)
    for message in messages:
        for block in message.content:
            if block["type"] == "tool_use":
                tools.setdefault(block["name"], {"name": block["name"], "input_schema": {"type": "object"}})
    return tuple(tools.values())


def _schema(item: Any) -> Mapping[str, Any] | None:
    """A tool in the API's shape, None where ITEM describes none that a client runs."""
    if not isinstance(item, Mapping) or is_too_deep(item):
        return None
    function = item.get("function", item)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    accepts = function.get("input_schema", function.get("parameters"))
    if not isinstance(accepts, Mapping):
        return None
    schema = {"name": function["name"], "input_schema": scrub_json({"type": "object", **accepts})}
    if isinstance(function.get("description"), str):
        schema["description"] = scrub_json(function["description"])
    return schema
