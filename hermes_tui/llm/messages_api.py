"""The Messages API over the `anthropic` SDK: Anthropic itself, any compatible server, and the embedded one.

The SDK is imported in a thread at the first use (it costs 1 to 2 seconds) and does what it is good at: connections, headers,
authentication, server-sent events. The body is ours, byte by byte, so that what is stored is what was sent; so are retries.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from hermes_tui.llm.errors import error_for
from hermes_tui.llm.models import model_info
from hermes_tui.llm.provider import (
    COMPACTION_BETA,
    ModelInfo,
    ModelRequest,
    ProviderError,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    StreamEvent,
    Unauthorised,
    Unreachable,
)
from hermes_tui.llm.reply import Reply

ANTHROPIC: Final = "https://api.anthropic.com"
KEYLESS: Final = "none"
"""What a server without keys is sent; without an explicit key the SDK would look for one in the environment."""
CONNECT_SECONDS: Final = 10.0
FIRST_EVENT_SECONDS: Final = 600.0
"""A slow machine reads a long prompt for minutes before the first event."""
STALL_SECONDS: Final = 120.0
COUNTED: Final = ("model", "messages", "system", "tools", "tool_choice", "thinking")
"""What of a body count_tokens takes; it refuses the rest."""

log = logging.getLogger("hermes_tui.llm")


class MessagesApi:
    """A server that speaks the Messages API.

    Args:
        base_url: the server's address, without /v1.
        key: sent to this server and no other; None for a server that wants none.
        name: anthropic, compatible or embedded.
        stall_seconds: a reply silent for this long is broken off.
        label: what the status line calls it; the server's host unless given.
    """

    tools = True
    """Whether the models behind it can call tools."""
    breaks_control_tokens = False
    """Whether bodies must go through `prepared_for_llama` first."""
    request_extras: Mapping[str, Any] = {}
    """Parameters that whoever builds a body adds to it."""

    def __init__(
        self,
        base_url: str = ANTHROPIC,
        key: str | None = None,
        *,
        name: str = "anthropic",
        stall_seconds: float = STALL_SECONDS,
        label: str | None = None,
    ) -> None:
        self.name = name
        self.base_url = base_url.rstrip("/").removesuffix("/v1")
        self.server = label or urlsplit(self.base_url).netloc or self.base_url
        self.stall_seconds = stall_seconds
        self._key = key or KEYLESS
        self._client: Any = None
        self._counts = True
        self._building = asyncio.Lock()

    def describe(self) -> str:
        """Where the model is, for the status line."""
        return self.server

    async def warm(self) -> None:
        """Import the SDK and build the client, so that the first request is quick."""
        await self._ready()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Send REQUEST; see `Provider.stream`."""
        response = await self._post("/v1/messages", request.body, request.betas, stream=True)
        kind = str(response.headers.get("content-type", ""))
        if "event-stream" not in kind:
            await response.aclose()
            raise ServerFailed(f"{self.server} answered with {kind or 'something'} where a stream of events was due.")
        reply = Reply(self.server)
        events = _events_of(response)
        wait = FIRST_EVENT_SECONDS
        try:
            while True:
                try:
                    async with asyncio.timeout(wait):
                        event = await anext(events)
                except StopAsyncIteration:
                    break
                if not event.data:
                    continue
                wait = self.stall_seconds
                for found in reply.feed(self._decoded(event)):
                    yield found
                if reply.ended:
                    wait = 2.0  # read on to the end of the response, which leaves the connection to the next request
        except ProviderError:
            raise
        except TimeoutError:
            if not reply.ended:
                raise StreamBroken(f"{self.server} was silent for {wait:g} seconds in the middle of a reply.") from None
        except Exception as error:
            if not reply.ended:
                log.info("a reply broke off: %s", type(error).__name__)
                raise StreamBroken(f"The connection to {self.server} was lost in the middle of a reply.") from None
        finally:
            await events.aclose()
            await response.aclose()
        if not reply.ended:
            raise StreamBroken(f"{self.server} ended the reply before it was whole.")

    async def count_tokens(self, body: Mapping[str, Any]) -> int | None:
        """The server's count of the prompt in BODY; None where it has no such endpoint.

        Raises:
            ProviderError: it has, and could not answer.
        """
        if not self._counts:
            return None
        try:
            betas = (COMPACTION_BETA,) if _begins_compacted(body) else ()
            answer = await self._post("/v1/messages/count_tokens", {k: body[k] for k in COUNTED if k in body}, betas)
        except RequestRefused as error:
            if error.status in (404, 405, 501):
                self._counts = False
                return None
            raise
        except ServerFailed as error:
            if error.status == 501:
                self._counts = False
                return None
            raise
        count = answer.get("input_tokens") if isinstance(answer, Mapping) else None
        return int(count) if isinstance(count, int) else None

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models on offer, as the server lists them."""
        found: list[ModelInfo] = []
        after = ""
        # Anthropic tells of its compaction only whoever names the beta; a gateway may refuse a beta that it does not know.
        betas = (COMPACTION_BETA,) if self.name == "anthropic" else ()
        for _ in range(20):
            page = await self._get(f"/v1/models?limit=1000{f'&after_id={after}' if after else ''}", betas)
            entries = page.get("data") if isinstance(page, Mapping) else None
            if not isinstance(entries, list):
                raise ServerFailed(f"{self.server} lists its models in a form that is not known.")
            known = [entry for entry in entries if isinstance(entry, Mapping) and entry.get("id")]
            found += [model_info(entry) for entry in known]
            if any(entry.get("owned_by") == "llamacpp" for entry in known):
                self.breaks_control_tokens = True
            after = str(page.get("last_id") or "")
            if not page.get("has_more") or not after:
                break
        return tuple(found)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _decoded(self, event: Any) -> Mapping[str, Any]:
        try:
            data = json.loads(event.data)
        except ValueError:
            raise StreamBroken(f"{self.server} sent an event that is no JSON.") from None
        if not isinstance(data, Mapping):
            raise StreamBroken(f"{self.server} sent an event that is no JSON object.")
        # A server may name the event only in its `event:` line.
        return data if "type" in data or not event.event else {**data, "type": event.event}

    async def _post(self, path: str, body: Mapping[str, Any], betas: tuple[str, ...] = (), *, stream: bool = False) -> Any:
        await self._ready()  # the headers need the SDK, which is not to be imported on the loop
        options: dict[str, Any] = {"headers": self._headers(betas)}
        try:
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError) as error:  # lone surrogates are one of them
            raise RequestRefused(f"The request cannot be written as JSON: {error}.") from None
        return await self._call("post", path, str(body.get("model", "")), content=data, options=options, stream=stream)

    async def _get(self, path: str, betas: tuple[str, ...] = ()) -> Any:
        await self._ready()
        return await self._call("get", path, "", options={"headers": self._headers(betas)}, stream=False)

    async def _call(self, method: str, path: str, model: str, *, stream: bool, **arguments: Any) -> Any:
        if not (self._key.isascii() and self._key.isprintable() and " " not in self._key):
            raise Unauthorised(f"The key for {self.server} holds characters that no key has; copy it again.")
        client = await self._ready()
        import anthropic
        import httpx2

        if stream:  # the response itself, unread: the SDK's typed events would drop fields that they do not know
            arguments["stream_cls"] = anthropic.AsyncStream[Any]
        try:
            cast_to = httpx2.Response if stream else object
            return await getattr(client, method)(path, cast_to=cast_to, stream=stream, **arguments)
        except anthropic.APIStatusError as error:
            raise error_for(error.status_code, error.body, error.response.headers, server=self.server, model=model) from None
        except anthropic.APITimeoutError:
            raise Unreachable(f"{self.server} did not answer in time.") from None
        except anthropic.APIConnectionError as error:
            raise Unreachable(f"{self.server} cannot be reached: {_cause(error)}.") from None
        except anthropic.APIError as error:
            raise ServerFailed(f"{self.server} answered nonsense: {type(error).__name__}.") from None
        except ValueError:  # a 200 whose body is no JSON
            raise ServerFailed(f"{self.server} answered with something that is no JSON.") from None

    def _headers(self, betas: tuple[str, ...]) -> dict[str, Any]:
        """The last layer of headers, over whatever the SDK took from the environment."""
        from anthropic import omit

        headers: dict[str, Any] = {}
        if self.base_url != ANTHROPIC:
            # ANTHROPIC_CUSTOM_HEADERS is meant for Anthropic; it may hold a key.
            for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
                if ":" in line:
                    headers[line.partition(":")[0].strip().lower()] = omit
            headers["authorization"] = f"Bearer {self._key}"
            headers["x-api-key"] = self._key  # older gateways read only this one
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        return headers

    async def _ready(self) -> Any:
        if self._client is None:
            async with self._building:
                if self._client is None:
                    await asyncio.to_thread(import_sdk)
                    self._client = self._build()
        return self._client

    def _build(self) -> Any:
        import anthropic
        import httpx2

        timeout = httpx2.Timeout(FIRST_EVENT_SECONDS, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
        local = is_loopback(self.base_url)
        # llama.cpp closes a connection after a streamed reply; on loopback a new one costs nothing.
        limits = httpx2.Limits(max_keepalive_connections=0) if local else anthropic.DEFAULT_CONNECTION_LIMITS
        return anthropic.AsyncAnthropic(
            api_key=self._key,
            base_url=self.base_url,
            max_retries=0,
            timeout=timeout,
            open_telemetry=False,
            # Redirects could carry key and body elsewhere; a proxy has no business between us and our own machine.
            http_client=anthropic.DefaultAsyncHttpxClient(
                timeout=timeout, limits=limits, follow_redirects=False, trust_env=not local
            ),
        )


def _begins_compacted(body: Mapping[str, Any]) -> bool:
    """Whether BODY begins with the block of an earlier compaction."""
    content = next((m.get("content") for m in body.get("messages", ())), None)
    return isinstance(content, list) and bool(content) and content[0].get("type") == "compaction"


def is_loopback(url: str) -> bool:
    """Whether URL is on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _events_of(response: Any) -> AsyncGenerator[Any, None]:
    """The server-sent events of RESPONSE as they came."""
    from anthropic import AsyncStream

    return cast("AsyncGenerator[Any, None]", AsyncStream.raw_events(response))


def import_sdk() -> None:
    """Import what the first request needs; slow, so call it in a thread."""
    import anthropic
    import httpx2

    del anthropic, httpx2


def _cause(error: BaseException) -> str:
    """What the network said, in the system's own few words."""
    text = ""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.errno:  # negative for a name that is not known
            text = os.strerror(inner.errno) if inner.errno > 0 else str(inner.strerror)
        text = text or (str(inner) if type(inner).__module__ != "anthropic" else "")
        inner = inner.__cause__ or inner.__context__
    return " ".join(text.split())[:200].rstrip(".") or "no connection"
