"""The fault server against the real ``openai`` client.

Every fault is provoked once and the client's reaction is pinned down, so that the table in ``faults/README.md`` stays
true for the installed client.
"""

from __future__ import annotations

import asyncio
import json
import math
import operator
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import openai
from openai import AsyncOpenAI

from servers.faults import MALFORMED, FaultServer, embed

TESTS = Path(__file__).parents[1]
FACTS = {"facts": [{"text": "The user likes tea", "who": "user"}]}
SCRIPT = [{"match": "remember", "in": "user", "reply": FACTS}]
ASK = [{"role": "system", "content": "Extract facts as JSON."}, {"role": "user", "content": "remember: I like tea"}]


def run(case):
    """Run an ``async def case(server, client)`` against a fresh server."""

    def test(**options):
        async def go():
            options.setdefault("script", SCRIPT)
            async with FaultServer(**options) as server:
                async with AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0, timeout=30) as client:
                    return await case(server, client)

        return asyncio.run(asyncio.wait_for(go(), 120))

    return test


async def chat(client, **options):
    return await client.chat.completions.create(model="m", messages=ASK, **options)


async def failure(awaitable):
    """The exception that the awaitable raises, or None."""
    try:
        await awaitable
    except Exception as exc:
        return exc
    return None


def once(fault, **fields):
    return {"faults": [{"fault": fault, "times": 1, **fields}]}


# ------------------------------------------------------------------ good behaviour


def test_plain_chat_scripts_usage_and_unicode():
    async def case(server, client):
        reply = await chat(client)
        assert json.loads(reply.choices[0].message.content) == FACTS and reply.usage.prompt_tokens > 0
        echo = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "héllo 世界"}])
        assert echo.choices[0].message.content == "echo: héllo 世界"
        assert [m.id async for m in client.models.list()] == ["test-chat", "test-embed"]

    run(case)()


def test_streaming_gives_the_same_text_and_usage():
    async def case(server, client):
        text, usage = "", None
        async for chunk in await chat(client, stream=True, stream_options={"include_usage": True}):
            usage = chunk.usage or usage
            text += "".join(c.delta.content or "" for c in chunk.choices)
        assert json.loads(text) == FACTS and usage.completion_tokens > 0

    run(case)()


def test_script_sequence_expand_and_mapping():
    async def say(client, text):
        reply = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        return reply.choices[0].message.content

    async def case(server, client):
        assert [await say(client, "next") for _ in range(3)] == ["one", "two", "two"]
        assert await say(client, "my name is Ada") == "hello Ada"

    run(case)(
        script=[
            {"match": "next", "reply": ["one", "two"], "sequence": True},
            {"match": r"name is (?P<n>\w+)", "reply": r"hello \g<n>", "expand": True},
        ]
    )

    async def mapped(server, client):
        assert await say(client, "ping please") == "pong"

    run(mapped)(script={"ping": "pong"})


def test_tools_streamed_or_not():
    tool = {
        "type": "function",
        "function": {
            "name": "save",
            "parameters": {
                "type": "object",
                "required": ["text", "score"],
                "properties": {"text": {"type": "string", "minLength": 3}, "score": {"type": "integer", "minimum": 1}},
            },
        },
    }

    async def case(server, client):
        reply = await chat(client, tools=[tool], tool_choice="required")
        assert reply.choices[0].finish_reason == "stop" and reply.choices[0].message.content  # the script wins
        free = [{"role": "user", "content": "anything"}]
        reply = await client.chat.completions.create(model="m", messages=free, tools=[tool], tool_choice="required")
        call = reply.choices[0].message.tool_calls[0].function
        assert call.name == "save" and json.loads(call.arguments) == {"text": "xxx", "score": 1}
        text = ""
        async for chunk in await client.chat.completions.create(
            model="m", messages=free, tools=[tool], tool_choice="required", stream=True
        ):
            for part in chunk.choices[0].delta.tool_calls or []:
                text += part.function.arguments or ""
        assert json.loads(text) == {"text": "xxx", "score": 1}

    run(case)()


def test_json_schema_is_honoured():
    schema = {
        "type": "object",
        "required": ["items", "kind"],
        "$defs": {"K": {"enum": ["a", "b"]}},
        "properties": {
            "items": {"type": "array", "minItems": 2, "items": {"type": "string"}},
            "kind": {"$ref": "#/$defs/K"},
        },
    }

    async def case(server, client):
        reply = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "x"}],
            response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema}},
        )
        assert json.loads(reply.choices[0].message.content) == {"items": ["x", "x"], "kind": "a"}

    run(case)()


def test_embeddings_are_stable_unit_and_similar_when_words_are_shared():
    def dot(a, b):
        return sum(map(operator.mul, a, b))

    async def case(server, client):
        texts = ["the cat sat on the mat", "a cat sat on a mat", "quarterly revenue rose"]
        packed = await client.embeddings.create(model="e", input=texts)  # base64 by default
        plain = await client.embeddings.create(model="e", input=texts, encoding_format="float", dimensions=256)
        a, b, c = (row.embedding for row in packed.data)
        assert max(map(abs, map(operator.sub, a, plain.data[0].embedding))) < 1e-6
        assert abs(dot(a, a) - 1) < 1e-5 and dot(a, b) > dot(a, c) + 0.2
        small = await client.embeddings.create(model="e", input="one text", dimensions=32)
        assert len(small.data) == 1 and len(small.data[0].embedding) == 32
        assert isinstance(await failure(client.embeddings.create(model="e", input=[""])), openai.BadRequestError)

    run(case)()
    code = "from servers.faults import embed; print(embed('the cat', 8))"
    other = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "5"},
        cwd=TESTS,
        check=True,
    )
    assert json.loads(other.stdout) == embed("the cat", 8)


def test_rerank_and_control_routes():
    def call(url, body=None):
        request = urllib.request.Request(
            url, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    with FaultServer() as server:
        root = server.base_url.removesuffix("/v1")
        ask = {
            "model": "r",
            "query": "green tea",
            "documents": ["coffee", {"text": "green tea from Uji"}],
            "return_documents": True,
        }
        ranked = call(server.base_url + "/rerank", ask)["results"]
        assert [r["index"] for r in ranked] == [1, 0] and ranked[0]["document"]["text"] == "green tea from Uji"
        call(root + "/control/faults", [{"fault": "bad_index", "at": [2]}])
        assert max(r["index"] for r in call(server.base_url + "/rerank", ask)["results"]) == 7
        assert call(root + "/control/stats")["by_fault"] == {"bad_index": 1}
        call(root + "/control/reset", {})
        assert call(root + "/control/requests") == []


# ------------------------------------------------------------------------- faults


def test_every_transport_fault_has_its_client_error():
    wanted = {
        "rate_limit": openai.RateLimitError,
        "server_error": openai.InternalServerError,
        "hang": openai.APITimeoutError,
        "stall": openai.APITimeoutError,
        "disconnect": openai.APIConnectionError,
        "reset": openai.APIConnectionError,
        "short_body": openai.APIConnectionError,
        "truncated_json": ValueError,
    }
    for fault, error in wanted.items():

        async def case(server, client, error=error, fault=fault):
            timeout = 0.5 if error is openai.APITimeoutError else 30
            got = await failure(chat(client.with_options(timeout=timeout)))
            assert isinstance(got, error), (fault, got)
            assert await failure(chat(client)) is None, fault  # and the next call works
            assert server.stats()["by_fault"] == {fault: 1}

        run(case)(**once(fault))


def test_retry_after_is_obeyed_and_retries_recover():
    async def case(server, client):
        begin = asyncio.get_running_loop().time()
        await chat(client.with_options(max_retries=2))
        assert asyncio.get_running_loop().time() - begin >= 0.3 and len(server.requests) == 2

    run(case)(**once("rate_limit", retry_after=0.3))

    async def gone(server, client):
        assert isinstance(await failure(chat(client)), openai.BadRequestError)

    run(gone)(**once("server_error", status=400, code="context_length_exceeded"))


def test_drip_outlives_the_read_timeout():
    """The client's timeout is per read: a slow server needs a deadline of the caller's own."""

    async def case(server, client):
        got = await failure(asyncio.wait_for(chat(client.with_options(timeout=1.0)), 2.0))
        assert isinstance(got, asyncio.TimeoutError) and not isinstance(got, openai.OpenAIError), got

    run(case)(**once("drip", interval=0.1))


def test_html_reply_is_not_a_completion():
    async def case(server, client):
        reply = await chat(client)
        assert not hasattr(reply, "choices")  # the client hands back the page's text

    run(case)(**once("html"))


def test_content_faults():
    async def content(server, client):
        return (await chat(client)).choices[0]

    choice = run(content)
    good = json.dumps(FACTS)
    for variant in MALFORMED:
        text = choice(**once("malformed_json", variant=variant)).message.content
        try:
            json.loads(text)
        except ValueError:
            continue
        assert variant == "raw_newline", (variant, text)
    assert choice(**once("empty")).message.content.strip() == ""
    assert choice(**once("null")).message.content is None
    assert choice(**once("refusal")).message.refusal
    assert choice(**once("fenced")).message.content.count("```") == 2
    assert choice(**once("prose")).message.content.find(good) > 0
    assert choice(**once("think")).message.content.startswith("<think>")
    assert choice(**once("cut")).finish_reason == "length" and len(choice(**once("cut")).message.content) < len(good)
    assert choice(**once("content_filter")).finish_reason == "content_filter"
    assert "facts" not in str(choice(**once("wrong_schema")).message.content)
    foreign = json.loads(choice(**once("wrong_language")).message.content)
    assert not foreign["facts"][0]["text"].isascii()

    async def nothing(server, client):
        assert (await chat(client)).choices == []

    run(nothing)(**once("no_choices"))


def test_broken_streams():
    async def case(server, client):
        text, done = "", None
        async for chunk in await chat(client, stream=True):
            text += chunk.choices[0].delta.content or ""
            done = chunk.choices[0].finish_reason or done
        return text, done

    for fault in ("reset", "short_body", "truncated_json", "stall"):

        async def broken(server, client, fault=fault):
            timeout = 0.5 if fault == "stall" else 30
            got = await failure(case(server, client.with_options(timeout=timeout)))
            assert got is not None, fault

        run(broken)(**once(fault))
    text, done = run(case)(**once("no_done"))  # half a reply, and no error from the client
    assert 0 < len(text) < len(json.dumps(FACTS)) and done is None


def test_embedding_faults():
    async def case(server, client):
        texts = ["one two", "three four", "five six"]
        return (await client.embeddings.create(model="e", input=texts)).data

    vectors = run(case)
    assert len(vectors(**once("wrong_dim", dimensions=100))[0].embedding) == 100
    assert sum(math.isnan(x) for row in vectors(**once("nan")) for x in row.embedding) == 1
    assert any(not any(row.embedding) for row in vectors(**once("zero")))
    assert len(vectors(**once("missing"))) == 2
    assert [row.index for row in vectors(**once("shuffled"))] == [2, 1, 0]


# ------------------------------------------------------------------- determinism


def test_same_seed_same_faults_other_seed_other_faults():
    def faults(seed, concurrent=False, draw="order"):
        async def case(server, client):
            asks = [
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"q{i}"}])
                for i in range(60)
            ]
            if concurrent:
                await asyncio.gather(*map(failure, asks))
            else:
                for ask in asks:
                    await failure(ask)
            return [(r["fault"], r["body"]["messages"][0]["content"]) for r in server.requests]

        rules = [{"fault": "server_error", "ratio": 0.2}, {"fault": "fenced", "ratio": 0.2}]
        return run(case)(faults=rules, seed=seed, draw=draw, bodies=True)

    assert faults(1) == faults(1) != faults(2)
    assert 4 <= sum(f == "server_error" for f, _ in faults(1)) <= 22
    assert sorted(map(str, faults(1, True, "content"))) == sorted(map(str, faults(1, False, "content")))


def test_record_latency_and_concurrency(tmp_path):
    async def case(server, client):
        await asyncio.gather(*(chat(client) for _ in range(8)))
        return server.stats()

    path = tmp_path / "requests.jsonl"
    stats = run(case)(record=path, latency={"dist": "uniform", "low": 0.05, "high": 0.1})
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = sum(len(message["content"]) for message in ASK) + 1
    assert len(rows) == 8 and stats["max_in_flight"] > 1
    assert all(row["prompt_chars"] == asked and row["items"] == 2 for row in rows)
    assert all(row["seconds"] >= 0.05 for row in rows) and "body" not in rows[0]
    assert stats["by_endpoint"]["chat"]["prompt_chars"] == 8 * asked


def test_command_line():
    command = [sys.executable, "-m", "servers.faults", "--port", "0", "--fault", "server_error=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) as child:
        try:
            url = child.stdout.readline().split()[2]

            async def go():
                async with AsyncOpenAI(base_url=url, api_key="k", max_retries=0, timeout=60) as client:
                    return await failure(chat(client))

            assert isinstance(asyncio.run(go()), openai.InternalServerError)
        finally:
            child.terminate()
