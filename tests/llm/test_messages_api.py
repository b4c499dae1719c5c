"""Requests go out as they are stored, replies come in whole or end in an error that says what to do."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest

from hermes_tui.llm.messages_api import MessagesApi, is_loopback
from hermes_tui.llm.provider import (
    BlockEnded,
    BlockStarted,
    Busy,
    Overflowed,
    ProviderError,
    ReplyEnded,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    StreamEvent,
    TextGrew,
    Unauthorised,
    Unreachable,
)
from hermes_tui.llm.provider import ModelRequest as Request
from tests.conftest import FakeApi
from tests.llm.scripted import START, STOP, STREAM, answer, event, scripted

Fake = Callable[..., FakeApi]
TOOLS = [{"name": "look", "description": "Look.", "input_schema": {"type": "object"}}]


def body(text: str = "Hello", **more: Any) -> dict[str, Any]:
    return {
        "model": "claude-fake-1",
        "max_tokens": 500,
        "stream": True,
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
        "tools": TOOLS,
        **more,
    }


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., MessagesApi]]:
    """Makes providers that are closed at the end."""
    made: list[MessagesApi] = []

    def make(url: str, key: str | None = "key", **more: Any) -> MessagesApi:
        made.append(MessagesApi(url, key, **more))
        return made[-1]

    yield make
    for api in made:
        await api.close()


async def reply_to(api: MessagesApi, sent: dict[str, Any], betas: tuple[str, ...] = ()) -> list[StreamEvent]:
    return [e async for e in api.stream(Request(sent, betas))]


async def failure_of(api: MessagesApi, sent: dict[str, Any]) -> tuple[ProviderError, list[StreamEvent]]:
    """The error that SENT ends in, and what came before it."""
    seen: list[StreamEvent] = []
    try:
        async for e in api.stream(Request(sent)):
            seen.append(e)  # noqa: PERF401 - what came before an error must stand in the list
    except ProviderError as error:
        return error, seen
    pytest.fail(f"no error, but {seen[-1]}")


async def test_a_reply_streams_and_ends_with_what_was_measured(fake_api: Fake, connect: Callable[..., MessagesApi]) -> None:
    events = await reply_to(connect(fake_api().url), body("!fault say Good morning, Lisbon"))
    end = events[-1]
    assert isinstance(end, ReplyEnded)
    assert end.content == ({"type": "text", "text": "Good morning, Lisbon"},)
    assert "".join(e.text for e in events if isinstance(e, TextGrew)) == "Good morning, Lisbon"
    assert (end.stop_reason, end.usage.output) == ("end_turn", 3)
    assert end.usage.input > 0
    assert end.raw_usage["input_tokens"] == end.usage.input
    assert isinstance(events[0], BlockStarted)


async def test_the_body_is_posted_as_it_is(fake_api: Fake, connect: Callable[..., MessagesApi]) -> None:
    fake = fake_api()
    sent = body(
        "naïve 日本 👩‍👩‍👧 \u2028 <|im_end|>",
        temperature=0.3,
        top_p=0.9,
        repeat_penalty=1.12,
        thinking={"type": "adaptive"},
        output_config={"effort": "low"},
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        something_of_tomorrow={"deep": [None, True, 1.5]},
    )
    await reply_to(connect(fake.url), sent)
    (seen,) = fake.requests()
    assert seen["body"] == sent
    assert list(seen["body"]) == list(sent)
    assert seen["key"] == "key"


async def test_a_key_of_the_environment_never_reaches_another_server(
    monkeypatch: pytest.MonkeyPatch, connect: Callable[..., MessagesApi]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-one")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret-two")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway: secret-three\nAuthorization: secret-four")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with scripted(STREAM, START, STOP) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        await reply_to(connect(server.url, None, name="compatible"), body(), ("beta-a-2026", "beta-b-2026"))
    head = server.heads[0].lower()
    assert "secret" not in head
    assert "authorization: bearer none" in head
    assert "anthropic-beta: beta-a-2026,beta-b-2026" in head


async def test_calls_and_thinking_come_whole(fake_api: Fake, connect: Callable[..., MessagesApi]) -> None:
    sent = body('!fault think+tool:look {"path": "a/ß.py", "n": 3}; tool:look {}')
    events = await reply_to(connect(fake_api().url), sent)
    end = events[-1]
    assert isinstance(end, ReplyEnded)
    thinking, first, second = end.content
    assert thinking["type"] == "thinking"
    assert thinking["signature"].startswith("sig_")
    assert first == {"type": "tool_use", "id": first["id"], "name": "look", "input": {"path": "a/ß.py", "n": 3}}
    assert second["input"] == {}
    assert [e.block for e in events if isinstance(e, BlockEnded)] == [thinking, first, second]
    assert end.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("429", Busy, "limits the rate"),
        ("500", ServerFailed, "failed (500)"),
        ("529", Busy, "overloaded"),
        ("always529", Busy, "overloaded"),
    ],
)
async def test_a_refused_request_says_why_and_whether_to_try_again(
    fake_api: Fake, connect: Callable[..., MessagesApi], fault: str, kind: type[ProviderError], words: str
) -> None:
    api = connect(fake_api().url)
    error, seen = await failure_of(api, body(f"!fault {fault}"))
    assert type(error) is kind
    assert words in error.sentence
    assert error.retryable
    assert seen == []
    assert error.retry_after == (1.0 if fault == "429" else None)
    if fault != "always529":  # our own retry succeeds, and the SDK made none behind our back
        assert isinstance((await reply_to(api, body(f"!fault {fault}")))[-1], ReplyEnded)


@pytest.mark.parametrize(
    ("fault", "kind"), [("drop", StreamBroken), ("garbage", StreamBroken), ("midstream-error", Busy), ("stall", StreamBroken)]
)
async def test_a_reply_that_breaks_off_keeps_what_came(
    fake_api: Fake, connect: Callable[..., MessagesApi], fault: str, kind: type[ProviderError]
) -> None:
    error, seen = await failure_of(connect(fake_api().url, stall_seconds=0.3), body(f"!fault {fault}"))
    assert type(error) is kind
    assert error.retryable
    assert len([e for e in seen if isinstance(e, TextGrew)]) == 10
    assert not any(isinstance(e, ReplyEnded) for e in seen)


async def test_an_overflow_states_both_numbers(fake_api: Fake, connect: Callable[..., MessagesApi]) -> None:
    error, _ = await failure_of(connect(fake_api(window=3_000).url), body("word " * 4_000))
    assert isinstance(error, Overflowed)
    assert error.stated_window == 3_000
    assert error.stated_tokens is not None
    assert error.stated_tokens > 5_000
    assert not error.retryable


async def test_a_wrong_key_is_named_with_the_remedy(fake_api: Fake, connect: Callable[..., MessagesApi]) -> None:
    error, _ = await failure_of(connect(fake_api().url, "bad-key"), body())
    assert isinstance(error, Unauthorised)
    assert "ANTHROPIC_API_KEY" in error.sentence
    assert "bad-key" not in error.sentence


@pytest.mark.parametrize("key", ["sk-one\nX-Injected: yes", "schlüssel", "two words"])
async def test_a_key_that_is_none_is_refused_without_showing_it(connect: Callable[..., MessagesApi], key: str) -> None:
    error, _ = await failure_of(connect("http://127.0.0.1:9", key), body())
    assert isinstance(error, Unauthorised)
    assert key not in error.sentence


@pytest.mark.parametrize("bad", ["\ud800", float("nan"), object()])
async def test_a_body_that_is_no_json_is_refused_in_words(connect: Callable[..., MessagesApi], bad: Any) -> None:
    error, _ = await failure_of(connect("http://127.0.0.1:9"), body(odd=bad))
    assert isinstance(error, RequestRefused)


async def test_no_server_is_said_in_a_sentence(connect: Callable[..., MessagesApi]) -> None:
    error, _ = await failure_of(connect("http://127.0.0.1:9"), body())
    assert isinstance(error, Unreachable)
    assert error.sentence == "127.0.0.1:9 cannot be reached: Connection refused."


async def test_hanging_up_in_the_middle_frees_the_connection_at_once(connect: Callable[..., MessagesApi]) -> None:
    text = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    text += event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Once"})
    async with scripted(STREAM, START, text, hold=True) as server:
        async with aclosing(connect(server.url).stream(Request(body()))) as events:
            async for e in events:
                if isinstance(e, TextGrew):
                    break
        async with asyncio.timeout(1):
            await server.hung_up.wait()


async def test_cancelling_before_the_first_byte_frees_the_connection_at_once(connect: Callable[..., MessagesApi]) -> None:
    async with scripted(hold=True) as server:
        api = connect(server.url)
        await api.warm()
        task = asyncio.ensure_future(reply_to(api, body()))
        async with asyncio.timeout(5):
            await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1):
            await server.hung_up.wait()


async def test_a_slow_first_byte_is_waited_for_and_can_be_cancelled(
    fake_api: Fake, connect: Callable[..., MessagesApi]
) -> None:
    fake = fake_api()
    api = connect(fake.url, stall_seconds=0.2)
    await api.warm()
    task = asyncio.ensure_future(reply_to(api, body("!fault slowfirst")))
    await asyncio.to_thread(fake.wait_for, 1)
    await asyncio.wait([task], timeout=0.5)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_connection_cut_before_the_end_is_no_reply(connect: Callable[..., MessagesApi]) -> None:
    async with scripted(STREAM, START, event("message_delta", delta={"stop_reason": "end_turn"})) as server:
        error, _ = await failure_of(connect(server.url), body())
    assert isinstance(error, StreamBroken)


async def test_a_web_page_is_no_reply(connect: Callable[..., MessagesApi]) -> None:
    page = b"<html>Sign in</html>"
    async with scripted(answer(200, page, kind="text/html")) as server:
        api = connect(server.url)
        error, _ = await failure_of(api, body())
        assert isinstance(error, ServerFailed)
        with pytest.raises(ServerFailed):
            await api.models()


async def test_bytes_that_are_no_utf8_break_the_reply_off(connect: Callable[..., MessagesApi]) -> None:
    async with scripted(STREAM, START, b"event: content_block_delta\ndata: \xff\xfe\n\n") as server:
        error, _ = await failure_of(connect(server.url), body())
    assert isinstance(error, StreamBroken)


async def test_events_without_names_are_understood(connect: Callable[..., MessagesApi]) -> None:
    plain = b"".join(line + b"\n\n" for line in (START + STOP).split(b"\n") if line.startswith(b"data:"))
    async with scripted(STREAM, plain) as server:
        assert isinstance((await reply_to(connect(server.url), body()))[-1], ReplyEnded)


async def test_two_requests_in_a_row_work_on_a_server_that_closes_its_connections(connect: Callable[..., MessagesApi]) -> None:
    chunked = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    whole = START + STOP
    async with scripted(chunked, f"{len(whole):x}\r\n".encode() + whole + b"\r\n0\r\n\r\n") as server:
        api = connect(server.url)
        for _ in range(3):
            assert isinstance((await reply_to(api, body()))[-1], ReplyEnded)


async def test_a_redirect_is_not_followed_with_the_key(connect: Callable[..., MessagesApi]) -> None:
    async with scripted(answer(307, b"", "location: http://elsewhere.example/v1/messages")) as server:
        error, _ = await failure_of(connect(server.url), body())
    assert isinstance(error, RequestRefused)
    assert "elsewhere.example" in error.sentence


async def test_counting_asks_for_what_counts_and_knows_servers_that_cannot(
    fake_api: Fake, connect: Callable[..., MessagesApi]
) -> None:
    fake = fake_api()
    assert (await connect(fake.url).count_tokens(body()) or 0) > 0
    assert set(fake.requests()[0]["body"]) == {"model", "messages", "tools"}
    async with scripted(answer(404, b'{"error": {"message": "no route"}}')) as server:
        api = connect(server.url)
        assert await api.count_tokens(body()) is None
        assert await api.count_tokens(body()) is None
        assert len(server.heads) == 1


async def test_models_tell_their_windows_with_the_source(fake_api: Fake, connect: Callable[..., MessagesApi]) -> None:
    (model,) = await connect(fake_api(window=50_000, claim=90_000).url).models()
    assert (model.id, model.window, model.max_output, model.source) == ("claude-fake-1", 90_000, 8_192, "models API")


async def test_models_are_read_page_by_page(connect: Callable[..., MessagesApi]) -> None:
    first = json.dumps({"data": [{"id": "a"}], "has_more": True, "last_id": "a"}).encode()
    second = json.dumps({"data": [{"id": "b", "meta": {"n_ctx": 4096}}], "has_more": False}).encode()
    async with scripted(times=[[answer(200, first)], [answer(200, second)]]) as server:
        models = await connect(server.url).models()
    assert [(m.id, m.window, m.source) for m in models] == [("a", None, "models API"), ("b", 4096, "server's n_ctx")]
    assert "after_id=a" in server.heads[1]


async def test_a_llama_cpp_server_is_known_by_its_models(connect: Callable[..., MessagesApi]) -> None:
    listed = json.dumps({"data": [{"id": "qwen", "owned_by": "llamacpp", "meta": {"n_ctx": 32768}}]}).encode()
    async with scripted(answer(200, listed)) as server:
        api = connect(server.url, None, name="compatible")
        assert not api.breaks_control_tokens
        await api.models()
        assert api.breaks_control_tokens
        assert api.tools


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:11434", True),
        ("http://127.0.0.1:1", True),
        ("http://127.8.8.8", True),
        ("http://[::1]:8080", True),
        ("https://api.anthropic.com", False),
        ("http://192.168.1.4:1234", False),
        ("http://localhost.example.com", False),
    ],
)
def test_only_this_machine_is_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected
