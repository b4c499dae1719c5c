"""A conversation in a process of its own whose tool hangs: ``python -m tests.chat.hanging DIRECTORY ADDRESS CHAIN``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from hermes_tui.chat.conversation import Conversation
from hermes_tui.context.acts import Declaration
from tests.chat.stage import Stage


class Hanging:
    """A tool that never answers."""

    schemas = ({"name": "wait", "description": "Waits.", "input_schema": {"type": "object"}},)
    declarations: dict[str, Declaration] = {}  # noqa: RUF012

    async def run(self, call: Any) -> Any:
        print("hanging", flush=True)
        await asyncio.Event().wait()


async def main(directory: Path, address: str, chain: str) -> None:
    """Open the chain and have the tool called."""
    on = Stage(directory, address)
    conversation = await Conversation.open(await on.parts(tools=Hanging()), chain)
    await conversation.send("!fault tool:wait {}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
