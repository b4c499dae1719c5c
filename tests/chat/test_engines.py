"""Engines as plug-ins: anybody's engine can be chosen; one that is missing or fails gives way in sight, the chat goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hermes_tui.chat.conversation import Conversation
from hermes_tui.chat.events import Compressed, NoticeRaised, TurnEnded
from hermes_tui.context.compressor import ContextCompressor
from hermes_tui.context.engine import Compression, Decision, EngineState, Plan
from hermes_tui.context.view import Change, ContextView, Entry
from hermes_tui.llm.tokenizer import load_counter
from hermes_tui.store.ids import new_id
from tests.chat.stage import FakeApi, Stage
from tests.cli.test_replay import work


def hermes(path: Path, data: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), "HERMES_TUI_DATA_DIR": str(data)}
    command = [sys.executable, "-m", "hermes_tui", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_an_installed_engine_is_chosen_by_name_in_a_replay(example_engine: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording.json"
    recording.write_text(json.dumps(work(5)))
    done = hermes(example_engine, tmp_path / "data", "replay", recording, "--window", "6000", "--engine", "folding", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    compressions = [e for line in done.stdout.splitlines() if (e := json.loads(line))["event"] == "compression"]
    assert compressions
    assert {e["kind"] for e in compressions} == {"prune"}


async def test_an_installed_engine_runs_a_conversation(
    example_engine: Path, monkeypatch: pytest.MonkeyPatch, stage: Callable[..., Any], fake: Callable[..., FakeApi]
) -> None:
    monkeypatch.syspath_prepend(str(example_engine))
    on: Stage = stage(fake("--window", "8000", "--words", "30", "--rate", "100000"))
    on.configure(context__engine="folding", summary__engine="deterministic")
    (on.directory / "notes.txt").write_text("a line that is read again and again\n" * 300)
    conversation = await on.start(tools=on.tools(), foreground=True)
    for n in range(4):
        await conversation.send('!fault tool:read_file {"path": "notes.txt"}\n' + f"Look once more, {n}.")
    await conversation.send("!fault tool:count_folded {}\nHow many?")
    assert conversation.engine_status == "folding, 10 requests seen", "five turns of a call and an answer"
    assert on.said(Compressed)
    last = conversation.view.entries[-2].message
    assert last is not None
    assert last.content[0]["content"].endswith(f"results are folded in chain {conversation.chain}.")
    assert not last.content[0].get("is_error")
    assert conversation.size.kind != "stale", "the gauge is anchored though the engine measures nothing"
    assert conversation.state.anchor is not None
    await conversation.send('!fault tool:count_folded {"x": 1}\nHow many?')
    refused = conversation.view.entries[-2].message
    assert refused is not None
    assert (refused.content[0]["content"], refused.content[0]["is_error"]) == ("This tool takes no arguments.", True)
    assert not on.said(NoticeRaised)


class Hears(ContextCompressor):
    """Writes down which sessions it hears of."""

    def __init__(self) -> None:
        super().__init__(load_counter(), new_id)
        self.heard: list[tuple[str, str]] = []

    def on_session_start(self, session: str) -> None:
        self.heard.append(("start", session))

    def on_session_end(self, session: str) -> None:
        self.heard.append(("end", session))

    def on_session_reset(self, session: str) -> None:
        self.heard.append(("reset", session))

    def update_model(self, state: EngineState, model: str) -> EngineState:
        self.heard.append(("model", model))
        return super().update_model(state, model)


async def test_an_engine_hears_of_every_session_and_of_another_model(
    stage: Callable[..., Any], fake: Callable[..., FakeApi]
) -> None:
    on: Stage = stage(fake("--window", "8000", "--rate", "100000"))
    engine = Hears()
    conversation = await on.start(engine=engine, foreground=True)
    first = conversation.session.id
    for _ in range(6):
        await conversation.send("Tell me more about it.")
    await conversation.compress()
    second = conversation.session.id
    assert second != first
    await conversation.switch_model("another-model")
    await conversation.close()
    opened = await Conversation.open(await on.parts(engine=engine), second, model="another-model")
    await opened.close()
    heard = engine.heard
    assert heard[:2] == [("reset", first), ("start", first)]
    assert ("end", first) in heard
    assert heard[-5:] == [("start", second), ("model", "another-model"), ("end", second), ("start", second), ("end", second)]


class Odd(ContextCompressor):
    """Does all that an engine should not; which of it, `fault` says."""

    name: ClassVar[str] = "odd"

    def __init__(self, fault: str) -> None:
        super().__init__(load_counter(), new_id)
        self.fault = fault

    def _goes_wrong(self, method: str) -> None:
        if self.fault == method:
            raise RuntimeError("out of order")

    def update_from_response(self, state: Any, view: Any, usage: Any) -> Any:
        self._goes_wrong("update_from_response")
        if self.fault == "a state that cannot be stored":
            return EngineState(extra={"it": self})
        return None if self.fault == "no state" else super().update_from_response(state, view, usage)

    def should_compress(self, view: Any, state: Any, budgets: Any, now: float) -> Any:
        self._goes_wrong("should_compress")
        if self.fault == "a decision without its plan":
            return Decision("compress", "now", "at once")
        return "now" if self.fault == "no decision" else super().should_compress(view, state, budgets, now)

    def plan(self, view: Any, state: Any, budgets: Any, focus: Any = None) -> Any:
        self._goes_wrong("plan")
        made = super().plan(view, state, budgets, focus)
        if self.fault == "a plan for another chain":
            return Plan("elsewhere", made.generation, "", "prune", made.regions)
        return None if self.fault == "no plan" else made

    async def compress(self, plan: Any, summariser: Any) -> Any:
        self._goes_wrong("compress")
        made = await super().compress(plan, summariser)
        match self.fault:
            case "no compression":
                return None
            case "a message vanishes":
                return Compression(plan, Change((plan.view.entries[0].position,)), summary=made.summary)
            case "a message is forged":
                first: Entry = plan.view.entries[0]
                forged = Entry(first.position, type(first.message)("x", 0, "user", ({"type": "text", "text": "hi"},), "user"))
                return Compression(plan, Change((first.position,), (forged,)))
            case "a message is reworded":
                old: Entry = plan.view.entries[0]
                new = replace(old, message=replace(old.message, content=({"type": "text", "text": "hi"},)))
                return Compression(plan, Change((old.position,), (new,)))
            case "entries of nothing":
                return Compression(plan, Change((), (None,)))
        return made

    def resolved(self, view: ContextView, change: Change) -> Change:
        self._goes_wrong("resolved")
        return super().resolved(view, change)

    def on_session_start(self, session: str) -> None:
        self._goes_wrong("on_session_start")

    def on_session_end(self, session: str) -> None:
        self._goes_wrong("on_session_end")

    def on_session_reset(self, session: str) -> None:
        self._goes_wrong("on_session_reset")

    def tool_schemas(self) -> Any:
        self._goes_wrong("tool_schemas")
        shape = {"type": "object", "properties": {}}
        if self.fault == "a tool by a name that is taken":
            return ({"name": "read_file", "input_schema": shape},)
        return ({"name": "odd_tool", "input_schema": shape},)

    async def handle_tool_call(self, name: str, arguments: Any, view: Any, budgets: Any) -> Any:
        self._goes_wrong("handle_tool_call")
        return 7 if self.fault == "no text" else "odd indeed"

    def status(self, state: EngineState) -> str:
        self._goes_wrong("status")
        return "odd"


FAULTS = (
    "update_from_response", "a state that cannot be stored", "no state", "should_compress", "no decision",
    "a decision without its plan", "plan",
    "a plan for another chain", "no plan", "compress", "no compression", "a message vanishes", "a message is forged",
    "a message is reworded", "entries of nothing", "resolved", "on_session_start", "on_session_end", "on_session_reset",
    "tool_schemas", "a tool by a name that is taken", "handle_tool_call", "no text", "status",
)  # fmt: skip


@pytest.fixture(scope="module")
def shared_fake(tmp_path_factory: pytest.TempPathFactory) -> Any:
    fake = FakeApi(tmp_path_factory.mktemp("fake"), "--rate", "100000", "--window", "8000", "--words", "60")
    yield fake
    fake.stop()


@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_an_engine_does_the_chat_goes_on(fault: str, tmp_path: Path, shared_fake: FakeApi) -> None:
    on = Stage(tmp_path, shared_fake.address)
    on.configure(summary__engine="deterministic", context__threshold_percent=0.15)
    try:
        conversation = await on.start(engine=Odd(fault), foreground=True, tools=on.tools())
        first = conversation.session.id
        for n in range(2):
            await conversation.send(f"Tell me about rivers, {n}. " + "They are wide and slow. " * 60)
        await conversation.send("!fault tool:odd_tool {}\nTry the odd tool.")
        await conversation.compress()
        assert [e.reason for e in on.said(TurnEnded)] == ["end_turn"] * 3
        assert on.said(Compressed), "the built-in engine compresses in its place"
        assert conversation.session.id != first
        assert "engine odd is set aside" in conversation.engine_status
        notices = [n.text for n in on.said(NoticeRaised) if "engine odd" in n.text]
        assert len(notices) == 1, "said once"
        assert "The built-in compressor has taken over" in notices[0]
    finally:
        await on.close()


async def test_an_engine_that_is_missing_gives_way_in_sight(stage: Callable[..., Any], fake: Callable[..., FakeApi]) -> None:
    on: Stage = stage(fake("--rate", "100000"))
    on.configure(context__engine="nowhere")
    conversation = await on.start()
    (notice,) = on.said(NoticeRaised)
    assert notice.text.startswith("The engine nowhere is set aside: There is no context engine 'nowhere'.")
    assert "nowhere" in conversation.engine_status
    await conversation.send("Hello.")
    assert [e.reason for e in on.said(TurnEnded)] == ["end_turn"]
