"""A reply's calls: run one after another, their results stored together as the one message that answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hermes_tui.chat.events import ToolEnded, ToolStarted
from hermes_tui.chat.interrupt import Interrupt, Interrupted
from hermes_tui.chat.standing import Standing, failed
from hermes_tui.context.engine import ToolCallRefused
from hermes_tui.context.messages import INTERRUPTED, Block, Message, calls_of, scrub
from hermes_tui.tools.tools import TIME_LIMIT, ToolRunner


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
        name, at = str(call.get("name", "")), self._at
        own = await at.ask_engine(lambda engine: {str(schema["name"]) for schema in engine.tool_schemas()})
        if name not in own:
            if self._tools is None:
                return _result(call, f"There is no tool {name!r}; there are none.", is_error=True)
            return await self._tools.run(call)
        arguments, engine, view, budgets = call.get("input"), at.engine, at.view, at.budgets
        given = arguments if isinstance(arguments, Mapping) else {}
        try:
            async with asyncio.timeout(TIME_LIMIT):
                text = await at.off.beside(lambda: engine.handle_tool_call(name, given, view, budgets))
            if not isinstance(text, str):
                raise TypeError(f"it gave {type(text).__name__} for a result")
        except ToolCallRefused as refused:
            return _result(call, str(refused), is_error=True)
        except TimeoutError:
            return _result(call, f"{name} took longer than {TIME_LIMIT:g} seconds and was stopped.", is_error=True)
        except Exception as problem:
            at.take_over(failed(problem))
            return _result(call, f"{name} failed: {type(problem).__name__}: {problem}", is_error=True)
        return _result(call, text)

    async def _store(self, results: list[Block]) -> None:
        await self._at.append("user", results, "tool")


def _interrupted(call: Block) -> Block:
    return _result(call, INTERRUPTED, is_error=True)


def _result(call: Block, text: str, *, is_error: bool = False) -> Block:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.get("id", ""), "content": scrub(text) or "(no output)"}
    return {**block, "is_error": True} if is_error else block
