"""Servers that answer, but not with what was asked for."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from memscope.errors import (
    ConfigError,
    InputError,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelReplyCut,
    ModelReplyError,
    ModelUnavailable,
)
from memscope.models import Message
from memscope.models.clients import OpenAIChat
from memscope.models.endpoint import endpoint
from memscope.models.http import Http

from .conftest import saying
from servers.faults import FaultServer

Connect = Callable[..., Any]
SAID = "cnry-what-the-user-said"
KEY = "sk-cnry-0123456789"
HELLO = [Message(role="user", content=SAID)]


def completion(text: str) -> str:
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [
        ("401 Unauthorized", ModelAuthError, "check key"),
        ("403 Forbidden", ModelAuthError, "check key"),
        ("404 Not Found", ModelRejected, "name of the model"),
        ("405 Method Not Allowed", ModelRejected, "base_url"),
        ("400 Bad Request", ModelRejected, "detail"),
        ("413 Content Too Large", ModelRejected, "detail"),
        ("422 Unprocessable", ModelRejected, "detail"),
        ("301 Moved Permanently", ModelRejected, "redirects are not followed"),
        ("308 Permanent Redirect", ModelRejected, "redirects are not followed"),
        ("429 Too Many Requests", ModelRateLimited, "later"),
        ("500 Internal Server Error", ModelUnavailable, "again"),
        ("503 Service Unavailable", ModelUnavailable, "again"),
        ("529 Overloaded", ModelUnavailable, "again"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_status_has_its_error(
    connect: Connect, status: str, kind: type[ModelError], hint: str, streamed: bool
) -> None:
    gateway = "Basic Z2F0ZXdheQ=="
    said = json.dumps({"error": {"message": f"about {SAID} with {KEY} by {gateway}"}})
    async with saying(said, status, Location="http://127.0.0.1:1/v1") as (url, _):
        model = connect("chat", url, key=KEY, headers={"X-Gateway": gateway, "X-Tier": "a"}, attempts=1)
        with pytest.raises(kind) as caught:
            if streamed:
                await anext(model.stream(HELLO))
            else:
                await model.chat(HELLO)
    assert hint in str(caught.value)
    assert SAID in caught.value.detail
    assert SAID not in str(caught.value)
    shown = f"{caught.value!r} {vars(caught.value)}"
    assert KEY not in shown and gateway.split()[1] not in shown and "about" in shown


async def test_a_redirect_sends_nothing_to_where_it_points(connect: Connect) -> None:
    for status in ("301 A", "302 B", "303 C", "307 D", "308 E"):
        async with saying(completion("stolen")) as (elsewhere, seen):
            async with saying("", status, Location=f"{elsewhere}/chat/completions") as (url, _):
                with pytest.raises(ModelRejected):
                    await connect("chat", url).chat(HELLO)
            assert seen == []


@pytest.mark.parametrize("headers", [{"Retry_After": "7"}, {"retry_after_ms": "7000"}])
async def test_retry_after_is_kept_for_whoever_tries_again(connect: Connect, headers: dict[str, str]) -> None:
    async with saying("{}", "429 Too Many Requests", **headers) as (url, seen):
        with pytest.raises(ModelRateLimited) as caught:
            await connect("chat", url).chat(HELLO, deadline_s=2)
    assert (caught.value.retry_after, len(seen)) == (7.0, 1)


@pytest.mark.parametrize("value", ["soon", "nan", "-5", "Wed, 21 Oct 2015 07:28:00 GMT", "inf", ""])
async def test_a_senseless_retry_after_does_no_harm(connect: Connect, value: str) -> None:
    async with saying("{}", "429 Too Many Requests", Retry_After=value) as (url, seen):
        with pytest.raises(ModelRateLimited):
            await connect("chat", url, attempts=2).chat(HELLO)
    assert len(seen) == 2


async def test_a_used_up_quota_is_not_asked_again_at_once(connect: Connect) -> None:
    said = json.dumps({"error": {"code": "insufficient_quota", "message": "pay"}})
    async with saying(said, "429 Too Many Requests") as (url, seen):
        with pytest.raises(ModelRateLimited, match="quota"):
            await connect("chat", url).chat(HELLO)
    assert len(seen) == 1


@pytest.mark.parametrize("kind", ["chat", "embed", "rerank"])
@pytest.mark.parametrize(
    ("body", "content_type", "error", "message"),
    [
        ("<!doctype html><p>Welcome", "text/html", ModelReplyError, "web page.*base_url"),
        ("<html>", "application/json", ModelReplyError, "web page"),
        ("OK", "text/plain", ModelReplyError, "not a JSON object.*base_url"),
        ("[]", "application/json", ModelReplyError, "not a JSON object"),
        ("null", "application/json", ModelReplyError, "not a JSON object"),
        ('{"choices": [', "application/json", ModelUnavailable, "broke off"),
        ('{"a":' * 50_000, "application/json", ModelUnavailable, "broke off"),
        ("", "application/json", ModelReplyError, "not a JSON object"),
        ('{"error": {"message": "busy", "code": 503}}', "application/json", ModelUnavailable, "answered 503"),
        ('{"error": {"message": "who?", "code": 401}}', "application/json", ModelAuthError, "answered 401"),
        ('{"error": "model is loading"}', "application/json", ModelUnavailable, "answered 502"),
        ('{"object": "list", "data": []}', "application/json", ModelError, ""),
        ("{}", "application/json", ModelError, "is this"),
        (b"\xff\xfe\x00", "application/json", ModelReplyError, "not a JSON object"),
    ],
)
async def test_an_answer_that_is_none(
    connect: Connect, kind: str, body: str | bytes, content_type: str, error: type[ModelError], message: str
) -> None:
    async with saying(body, Content_Type=content_type) as (url, _):
        model = connect(kind, url, attempts=1)
        with pytest.raises(error, match=f"(?s).*{message}"):
            await {"chat": lambda: model.chat(HELLO), "embed": lambda: model.embed([SAID])}.get(
                kind, lambda: model.rerank(SAID, ["a"])
            )()


async def test_a_reply_beyond_the_limit_is_not_read_to_its_end(connect: Connect) -> None:
    async with saying(gzip.compress(b" " * 10_000_000), Content_Encoding="gzip") as (url, _):
        with pytest.raises(ModelReplyError, match="1000"):
            await connect("chat", url, reply_bytes=1000).chat(HELLO)


async def test_what_is_sent_is_what_was_configured(connect: Connect) -> None:
    async with saying(completion("hi"), Set_Cookie="id=1") as (url, seen):
        model = connect(
            "chat", url, model="the-model", key=KEY, parameters={"temperature": 0.5}, headers={"X-Org": "mine"}
        )
        for _ in range(2):
            assert (await model.chat(HELLO)).text == "hi"
        azure = connect("chat", url, key=KEY, key_header="api-key")
        await azure.chat(HELLO)
        keyless = connect("chat", url)
        await keyless.chat(HELLO)
    head, _, body = seen[1].partition(b"\r\n\r\n")
    assert json.loads(body) == {"model": "the-model", "messages": HELLO, "temperature": 0.5}
    assert b"POST /v1/chat/completions " in head
    assert f"Authorization: Bearer {KEY}".encode() in head
    assert b"X-Org: mine" in head
    assert b"cookie" not in head.lower()
    assert f"api-key: {KEY}".encode() in seen[2]
    assert b"authorization" not in (seen[2] + seen[3]).lower()


async def test_proxies_of_the_environment_are_used_only_when_asked_for(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with saying(completion("from the proxy")) as (proxy, seen), saying(completion("direct")) as (url, _):
        monkeypatch.setenv("HTTP_PROXY", proxy.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert (await connect("chat", url).chat(HELLO)).text == "direct"
        assert seen == []
        assert (await connect("chat", url, trust_env=True).chat(HELLO)).text == "from the proxy"


async def test_without_the_http_library_the_extra_is_named(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memscope.models.http.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"memscope\[openai\]"):
        connect("chat", "http://127.0.0.1:9/v1")


async def test_a_key_that_was_not_sent_is_asked_for() -> None:
    with FaultServer(require_key=KEY) as server:
        model = OpenAIChat(endpoint("chat", base_url=server.base_url, model="m"))
        with pytest.raises(ModelAuthError, match=rf"{server.base_url}.*set key$"):
            await model.chat(HELLO)
        await model.close()


async def test_a_missing_key_is_told_before_the_network_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Http, "_client", lambda _: pytest.fail("the network was tried"))
    model = OpenAIChat(endpoint("chat", "openai", environ={}, model="m"))
    with pytest.raises(ModelAuthError, match=r"openai.*OPENAI_API_KEY"):
        await model.chat(HELLO)
    assert not Http(endpoint("chat", "openai", environ={}, model="m", headers={"X-Key": "k"}))._missing_key


async def test_nobody_listens(connect: Connect) -> None:
    with pytest.raises(ModelUnavailable, match=r"http://127\.0\.0\.1:9/v1.*base_url"):
        await connect("chat", "http://127.0.0.1:9/v1", attempts=2).chat(HELLO)


async def test_parameters_that_are_no_json_are_the_callers_mistake(connect: Connect) -> None:
    with pytest.raises(InputError, match="parameters"):
        await connect("chat", "http://127.0.0.1:9/v1", parameters={"x": {1, 2}}).chat(HELLO)


async def test_a_lone_surrogate_does_not_stop_a_request(connect: Connect) -> None:
    async with saying(completion("hi")) as (url, _):
        assert (await connect("chat", url).chat([Message(role="user", content="a \ud83d b")])).text == "hi"


EVENTS = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'


@pytest.mark.parametrize(
    ("body", "text", "error"),
    [
        (EVENTS + 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\n\n', "a", None),
        (": keep-alive\n\n" + EVENTS + 'data: {"choices":[{"finish_reason":"stop"}]}\n\n', "a", None),
        (EVENTS + 'data: {"choices":[{"delta":{},"finish_reason":"length"}]}\n\n', "a", ModelReplyCut),
        (EVENTS + 'data: {"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}\n\n', "a", ModelReplyError),
        (EVENTS + "data: [DONE]\n\n", "a", ModelReplyError),
        (EVENTS, "a", ModelReplyError),
        (EVENTS + "data: {broken\n\n", "a", ModelReplyError),
        (EVENTS + 'data: {"error": {"message": "busy"}}\n\n', "a", ModelUnavailable),
        ("", "", ModelReplyError),
    ],
)
async def test_a_stream_that_was_not_finished_ends_with_an_error(
    connect: Connect, body: str, text: str, error: type[ModelError] | None
) -> None:
    got = []
    async with saying(body, Content_Type="text/event-stream; charset=utf-8") as (url, seen):
        try:
            async for piece in connect("chat", url).stream(HELLO):
                got.append(piece)
            raised = None
        except ModelError as caught:
            raised = type(caught)
    assert ("".join(got), raised) == (text, error)
    assert json.loads(seen[0].partition(b"\r\n\r\n")[2])["stream"] is True


async def test_a_server_that_does_not_stream_gives_it_all_at_once(connect: Connect) -> None:
    async with saying(completion("whole")) as (url, _):
        assert [piece async for piece in connect("chat", url).stream(HELLO)] == ["whole"]


async def test_connections_of_other_loops_are_closed_too(fault_server: FaultServer, connect: Connect) -> None:
    model = connect("chat", fault_server.base_url)
    await model.chat(HELLO)
    loop, ready = asyncio.new_event_loop(), asyncio.Event()
    here = asyncio.get_running_loop()

    def work() -> None:
        loop.run_until_complete(model.chat(HELLO))
        here.call_soon_threadsafe(ready.set)
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = asyncio.create_task(asyncio.to_thread(work))
    await ready.wait()
    await model.close()
    assert (await model.chat(HELLO)).text, "a closed model connects again"
    loop.call_soon_threadsafe(loop.stop)
    await thread


async def test_the_logs_hold_neither_key_nor_text(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with saying(completion(SAID)) as (url, _):
        await connect("chat", url, key=KEY).chat(HELLO)
    assert caplog.records, "the HTTP library says something at DEBUG"
    assert SAID not in caplog.text
    assert KEY not in caplog.text
