"""Two processes in one conversation: tools that still run are waited for; those of a dead process are answered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hermes_tui.chat.events import NoticeRaised, TipAdopted, TurnEnded
from hermes_tui.context.messages import result_text, results_of
from tests.chat.hanging import Hanging
from tests.chat.stage import FakeApi, Stage


async def test_tools_of_a_living_process_are_left_alone_and_those_of_a_dead_one_answered(
    fake: Callable[..., FakeApi], stage: Callable[[FakeApi], Stage]
) -> None:
    on = stage(fake("--rate", "5000", "--words", "10"))
    conversation = await on.start(tools=Hanging())
    await conversation.send("hello")
    other = subprocess.Popen(  # noqa: ASYNC220 - it lives beside the test
        [sys.executable, "-m", "tests.chat.hanging", str(on.directory), on.address, conversation.chain],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "hanging\n"
        await conversation.send("me too")
        assert "still running" in on.said(NoticeRaised)[-1].text
        assert on.said(NoticeRaised)[-1].details["unsent"] == "me too"
        assert on.said(TipAdopted)
        before = await conversation.messages()
        assert [m.origin for m in before] == ["user", "model", "user", "model"]
    finally:
        other.kill()
        other.wait()
    await conversation.send("me too")
    said = await conversation.messages()
    assert [m.origin for m in said[4:]] == ["tool", "user", "model"]
    assert [result_text(r) for r in results_of(said[4])] == ["interrupted; outcome unknown"]
    assert on.said(TurnEnded)[-1].reason == "end_turn"
