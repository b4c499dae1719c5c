"""What a tool is, and running one: a call block in, a result block out, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from hermes_tui.context.acts import Declaration, Declarations
from hermes_tui.context.messages import Block, scrub

MAX_RESULT: Final = 60_000
"""Characters of a result; what is over is cut and said so (some 15 K tokens: more than one result should take)."""
TIME_LIMIT: Final = 20.0
"""Seconds a call may take before its result says that it took too long."""

log = logging.getLogger("hermes_tui.tools")


class ToolFailed(Exception):
    """A call could not be carried out. The message's first line is what the model and the user read."""


class Stopped(Exception):
    """The call was cancelled while it ran."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a running tool works in.

    Attributes:
        directory: the folder it is confined to, resolved.
        check: call it now and then; it raises `Stopped` once nobody waits for the result any more.
    """

    directory: Path
    check: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool offered to the model.

    Attributes:
        name: what the model calls it by.
        description: when and how to use it, for the model.
        input_schema: JSON schema of its arguments.
        declaration: how its calls and results are read, by placeholders and the ledger: main argument, exit code, error line.
        function: does the work in a thread and returns the result's text; raises `ToolFailed`.
        read_only: nothing changes by it, so nobody needs to be asked.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    declaration: Declaration
    function: Callable[[Mapping[str, Any], Work], str]
    read_only: bool = True

    def run(self, arguments: Mapping[str, Any], directory: Path, check: Callable[[], None] = lambda: None) -> str:
        """The result's text for ARGUMENTS, which are checked against the schema first.

        Raises:
            ToolFailed: wrong arguments, or what the tool itself could not do.
        """
        return self.function(checked(arguments, self.input_schema), Work(directory.resolve(), check))


class ToolRunner(Protocol):
    """Whatever answers calls: the tools themselves, or a transcript."""

    @property
    def schemas(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as they stand in a request; the same bytes every time."""

    @property
    def declarations(self) -> Declarations:
        """Tool name -> how its calls and results are read; a tool that declares nothing is left out."""

    async def run(self, call: Block) -> Block:
        """The tool_result of a tool_use block. Never raises for what a model may ask; cancelling stops the work."""


class Tools:
    """Runs tools in threads of its own, confined to one folder."""

    def __init__(self, tools: Sequence[Tool], directory: Path, *, time_limit: float = TIME_LIMIT) -> None:
        self.tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self.directory = directory
        self.time_limit = time_limit
        self._threads: ThreadPoolExecutor | None = None

    @property
    def schemas(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as they stand in a request, by name."""
        return schemas(tuple(self.tools.values()))

    @property
    def declarations(self) -> Declarations:
        """Tool name -> how its calls and results are read."""
        return {name: tool.declaration for name, tool in self.tools.items()}

    async def run(self, call: Block) -> Block:
        """The result of CALL; failures are results too (is_error)."""
        name, arguments = str(call.get("name", "")), call.get("input")
        tool = self.tools.get(name)
        if tool is None:
            return result_of(call, f"There is no tool {name!r}; there are: {', '.join(self.tools)}.", is_error=True)
        if not isinstance(arguments, Mapping):
            return result_of(call, f"The arguments of {name} must be a JSON object.", is_error=True)
        stopped = False

        def check() -> None:
            if stopped:
                raise Stopped

        if self._threads is None:
            self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="tool")
        work = asyncio.get_running_loop().run_in_executor(self._threads, tool.run, arguments, self.directory, check)
        try:
            async with asyncio.timeout(self.time_limit):
                return result_of(call, await work)
        except TimeoutError:
            return result_of(call, f"{name} took longer than {self.time_limit:g} seconds and was stopped.", is_error=True)
        except ToolFailed as failure:
            return result_of(call, str(failure), is_error=True)
        except Exception as error:
            log.exception("tool %s failed", name)
            return result_of(call, f"{name} failed: {type(error).__name__}: {error}", is_error=True)
        finally:
            stopped = True

    def close(self) -> None:
        """Let the threads end; what still runs sees that nobody waits."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


def schemas(tools: Sequence[Tool]) -> tuple[Mapping[str, Any], ...]:
    """TOOLS in the API's shape, ordered by name, so that the prompt's first bytes never change."""
    ordered = sorted(tools, key=lambda tool: tool.name)
    return tuple({"name": t.name, "description": t.description, "input_schema": t.input_schema} for t in ordered)


def result_of(call: Block, text: str, *, is_error: bool = False) -> Block:
    """The tool_result block that answers CALL with TEXT (never empty: an empty text is refused on the wire)."""
    shown = scrub(text) if text.strip() else "(no output)"
    if len(shown) > MAX_RESULT:
        shown = f"{shown[:MAX_RESULT]}\n[cut here: {len(shown):,} characters in all, {MAX_RESULT:,} shown]"
    content = [{"type": "text", "text": shown}]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.get("id", ""), "content": content}
    if is_error:
        block["is_error"] = True
    return block


def checked(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """ARGUMENTS if they fit SCHEMA (an object of strings, whole numbers and booleans).

    Numbers sent as text, a common slip of small models, are read as numbers. Unknown arguments are refused: a model that
    invents one believes that it did something.

    Raises:
        ToolFailed: naming the argument and what it must be.
    """
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            raise ToolFailed(f"The argument {name!r} is missing.")
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in properties:
            raise ToolFailed(f"There is no argument {name!r}; there are: {', '.join(properties)}.")
        kind = properties[name].get("type")
        if kind == "integer" and isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            value = int(value)
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        fits = {
            "string": isinstance(value, str),
            "integer": isinstance(value, int) and not isinstance(value, bool),
            "boolean": isinstance(value, bool),
        }.get(str(kind), True)
        if not fits:
            raise ToolFailed(f"The argument {name!r} must be {'an' if kind == 'integer' else 'a'} {kind}.")
        least = properties[name].get("minimum")
        if least is not None and value < least:
            raise ToolFailed(f"The argument {name!r} must be at least {least}.")
        found[name] = value
    return found
