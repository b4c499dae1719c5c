"""A tool runner that answers from a transcript: nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_tui.context.acts import Declarations
from hermes_tui.context.messages import INTERRUPTED, Block
from hermes_tui.tools.tools import result_of


class RecordedTools:
    """Answers the n-th call with the n-th recorded result.

    By position, never by id: transcripts reuse ids. The results are those of a transcript in the order in which their calls
    were made; a result of None, or one past the end, says that the outcome is not recorded.

    Args:
        results: tool_result blocks in the order of their calls.
        schemas: the transcript's own tools, or minimal ones.
        declarations: tool name -> how its calls and results are read, where known.
    """

    def __init__(
        self,
        results: Sequence[Block | None],
        schemas: Sequence[Mapping[str, Any]] = (),
        declarations: Declarations | None = None,
    ) -> None:
        self._results = list(results)
        self._next = 0
        self._schemas = tuple(schemas)
        self._declarations = declarations or {}

    @property
    def schemas(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as they stand in a request."""
        return self._schemas

    @property
    def declarations(self) -> Declarations:
        """Tool name -> how its calls and results are read."""
        return self._declarations

    @property
    def answered(self) -> int:
        """How many calls were answered so far."""
        return self._next

    def skip_to(self, result: int) -> None:
        """Go on with the result of that number, from 0: what a turn that ended early left over is not given to the next."""
        self._next = result

    async def run(self, call: Block) -> Block:
        """The recorded result of the next call, under CALL's id."""
        recorded = self._results[self._next] if self._next < len(self._results) else None
        self._next += 1
        if recorded is None:
            return result_of(call, INTERRUPTED, is_error=True)
        return {**recorded, "tool_use_id": call.get("id", "")}

    def close(self) -> None:
        """Nothing to free."""
