"""A reply's calls: run one after another, their results stored together as the one message that answers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_tui.chat.events import ToolEnded, ToolStarted
from hermes_tui.chat.interrupt import Interrupt, Interrupted
from hermes_tui.chat.standing import Standing
from hermes_tui.context.messages import Block, Message, calls_of, scrub
from hermes_tui.tools.tools import ToolRunner

INTERRUPTED = "interrupted; outcome unknown"
"""The result of a call that was stopped, or never begun because the user stopped the turn."""


class Calls:
    """Runs the calls of replies with the conversation's tools and the engine's own."""

    def __init__(self, standing: Standing, tools: ToolRunner | None, interrupt: Interrupt) -> None:
        self._at, self._tools, self._interrupt = standing, tools, interrupt

    async def answer(self, reply: Message) -> bool:
        """Run the calls of REPLY and store their results; False where the user stopped it.

        What finished always reaches the model; a call that was stopped, or not begun, says that its outcome is unknown.

        Raises:
            StoreError: another process answered the calls.
        """
        results: list[Block] = []
        calls = calls_of(reply)
        stopped = False
        for call in calls:
            if not stopped:
                try:
                    self._at.publish(ToolStarted(call))
                    result = await self._interrupt.run(self._run(call))
                except Interrupted:
                    stopped = True
                    result = _interrupted(call)
                except BaseException:
                    await self._store([*results, *(_interrupted(c) for c in calls[len(results) :])])
                    raise
                self._at.publish(ToolEnded(call, result))
            else:
                result = _interrupted(call)
            results.append(result)
        await self._store(results)
        return not stopped

    async def _run(self, call: Block) -> Block:
        name = str(call.get("name", ""))
        if not any(schema.get("name") == name for schema in self._at.engine.tool_schemas()):
            if self._tools is None:
                return _result(call, f"There is no tool {name!r}; there are none.", is_error=True)
            return await self._tools.run(call)
        arguments = call.get("input")
        try:
            text = await self._at.engine.handle_tool_call(name, arguments if isinstance(arguments, Mapping) else {})
        except Exception as problem:
            return _result(call, f"{name} failed: {type(problem).__name__}: {problem}", is_error=True)
        return _result(call, text)

    async def _store(self, results: list[Block]) -> None:
        await self._at.append("user", results, "tool")


def _interrupted(call: Block) -> Block:
    return _result(call, INTERRUPTED, is_error=True)


def _result(call: Block, text: str, *, is_error: bool = False) -> Block:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.get("id", ""), "content": scrub(text) or "(no output)"}
    return {**block, "is_error": True} if is_error else block
