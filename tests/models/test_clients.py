"""The three models against a server that speaks the protocol."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from memscope.errors import (
    EmbeddingError,
    EmbeddingMismatch,
    InputError,
    LimitError,
    ModelAuthError,
    ModelRejected,
    ModelReplyError,
)
from memscope.models import Message, Usage
from memscope.models.clients import OpenAIEmbedder
from memscope.models.structured_output import ask, schema_text

from .conftest import saying, setup
from servers.embeddings import EmbeddingServer
from servers.faults import FaultServer

Connect = Callable[..., Any]
HELLO = [Message(role="user", content="hello")]


class Fact(BaseModel):
    text: str


class Facts(BaseModel):
    facts: list[Fact]


TEA = {"facts": [{"text": "likes tea"}]}
ABOUT_TEA = [Message(role="user", content="tea")]


def test_nothing_heavy_is_loaded_before_a_model_is_used() -> None:
    heavy = "pydantic openai httpx2 numpy yaml".split()
    code = f"import sys, memscope.models, memscope.models.clients as o; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_the_client_is_made_of_is_there_before_openai_calls() -> None:
    """Version 2 of openai failed in the agent's thread while a background thread imported httpx2 for the first time."""
    code = (
        "import sys, types; sys.modules['openai'] = types.ModuleType('openai'); "
        "from memscope.models.endpoint import Endpoint; from memscope.models.http import Http; "
        "Http(Endpoint(model='m', base_url='http://localhost/v1')); print('httpx2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


async def test_the_server_sees_the_model_that_was_chosen(fault_server: FaultServer, connect: Connect) -> None:
    """MemoryScope asked for gpt-3.5-turbo and ada-002 whatever its setting said."""
    url = fault_server.base_url
    await connect("chat", url, model="my-chat").chat(HELLO)
    await connect("embed", url, model="my-embed").embed(["a"])
    await connect("rerank", url, model="my-rerank").rerank("a", ["a"])
    assert [row["model"] for row in fault_server.requests] == ["my-chat", "my-embed", "my-rerank"]


async def test_the_key_is_sent_and_a_wrong_one_is_named_not_shown(connect: Connect) -> None:
    with FaultServer(require_key="right") as server:
        assert (await connect("chat", server.base_url, key="right").chat(HELLO)).text == "echo: hello"
        with pytest.raises(ModelAuthError, match="check key") as caught:
            await connect("chat", server.base_url, key="sk-wrong").chat(HELLO)
        assert "sk-wrong" not in f"{caught.value!r} {vars(caught.value)}"


async def test_the_models_that_are_served_can_be_listed(fault_server: FaultServer, connect: Connect) -> None:
    assert await connect("chat", fault_server.base_url).served() == ["test-chat", "test-embed"]


# ----------------------------------------------------------------------------------------------------------------- chat


async def test_a_plain_reply(fault_server: FaultServer, connect: Connect) -> None:
    reply = await connect("chat", fault_server.base_url).chat(HELLO)
    assert (reply.text, reply.parsed, reply.finish) == ("echo: hello", None, "stop")
    assert (reply.usage.calls, reply.usage.prompt_characters, reply.usage.prompt_tokens) == (1, 5, 2)
    assert "hello" not in repr(reply)


async def test_a_reply_in_pieces(fault_server: FaultServer, connect: Connect) -> None:
    said = [Message(role="user", content="hello " * 20)]
    usage = Usage()
    with usage.counting():
        pieces = [piece async for piece in connect("chat", fault_server.base_url).stream(said)]
    assert len(pieces) > 3
    assert "".join(pieces) == "echo: " + "hello " * 20
    assert (usage.calls, usage.prompt_characters) == (1, 120)


async def test_a_reply_to_a_schema(fault_server: FaultServer, connect: Connect) -> None:
    setup(fault_server, script={"tea": TEA})
    reply = await connect("chat", fault_server.base_url).chat(ABOUT_TEA, schema=Facts)
    assert reply.parsed == Facts.model_validate(TEA)
    assert reply.usage.prompt_characters == len("tea") + len(schema_text(Facts))


@pytest.mark.parametrize("bad", [[], [{"role": "user", "content": None}], [{"role": 1, "content": "a"}]])
async def test_messages_are_checked_before_anything_is_sent(connect: Connect, bad: Any) -> None:
    with pytest.raises(InputError):
        await connect("chat", "http://127.0.0.1:9/v1").chat(bad)


async def test_a_prompt_has_a_limit(connect: Connect) -> None:
    with pytest.raises(LimitError):
        await connect("chat", "http://127.0.0.1:9/v1").chat([Message(role="user", content="a" * 2_000_001)])


def refusing(server: FaultServer, *refused: str) -> list[str]:
    """Let ``server`` answer 400 to these response formats; the formats it was asked for, in order."""
    asked: list[str] = []
    measure = server._measure

    def check(endpoint: str, body: dict[str, Any], row: dict[str, Any]) -> str:
        asked.append((body.get("response_format") or {}).get("type", "prompt"))
        if asked[-1] in refused:
            body["messages"] = []  # which the server answers with 400
        return measure(endpoint, body, row)

    server._measure = check  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize(
    ("refused", "asked"),
    [
        ([], ["json_schema", "json_schema"]),
        (["json_schema"], ["json_schema", "json_object", "json_object"]),
        (["json_schema", "json_object"], ["json_schema", "json_object", "prompt", "prompt"]),
    ],
)
async def test_what_an_endpoint_refused_is_remembered(
    fault_server: FaultServer, connect: Connect, refused: list[str], asked: list[str]
) -> None:
    setup(fault_server, script={"tea": TEA})
    model, seen = connect("chat", fault_server.base_url), refusing(fault_server, *refused)
    for _ in range(2):
        assert await ask(model, ABOUT_TEA, Facts) == Facts.model_validate(TEA)
    assert seen == asked


async def test_what_worked_is_not_doubted(fault_server: FaultServer, connect: Connect) -> None:
    setup(fault_server, script={"tea": TEA})
    model, refused = connect("chat", fault_server.base_url), []
    await ask(model, ABOUT_TEA, Facts)
    refused = refusing(fault_server, "json_schema", "json_object", "prompt")
    for _ in range(2):
        with pytest.raises(ModelRejected):
            await ask(model, ABOUT_TEA, Facts)
    assert refused == ["json_schema"] * 2


async def test_a_schema_that_is_taken_and_not_obeyed_goes_into_the_prompt(
    fault_server: FaultServer, connect: Connect
) -> None:
    setup(fault_server, script=[{"match": "tea", "in": "user", "reply": ["tea? nice", TEA, TEA], "sequence": True}])
    model, seen = connect("chat", fault_server.base_url), refusing(fault_server)
    for _ in range(2):
        assert await ask(model, ABOUT_TEA, Facts) == Facts.model_validate(TEA)
    assert seen == ["json_schema", "json_object", "json_object"]


# ----------------------------------------------------------------------------------------------------------- embeddings


async def test_vectors_are_those_of_the_texts_whatever_the_order_and_the_coding(
    fault_server: FaultServer, connect: Connect
) -> None:
    texts = ["green tea", "black coffee", "green tea", "喝茶"]
    plain = await connect("embed", fault_server.base_url).embed(texts)
    assert plain.shape == (4, 256)
    assert plain.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(plain, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(plain[0], plain[2])
    setup(fault_server, {"fault": "shuffled"})
    coded = connect("embed", fault_server.base_url, parameters={"encoding_format": "base64"}, batch_texts=2)
    np.testing.assert_allclose(await coded.embed(texts), plain, atol=1e-6)
    assert sorted(row["items"] for row in fault_server.requests) == [1, 2], "a text given twice is sent once"


async def test_a_text_seen_lately_is_not_sent_again(fault_server: FaultServer, connect: Connect) -> None:
    model = connect("embed", fault_server.base_url, query_prefix="query: ")
    usage = Usage()
    with usage.counting():
        first = await model.embed_query("tea")
        np.testing.assert_array_equal(await model.embed_query("tea"), first)
        np.testing.assert_array_equal((await model.embed(["query: tea", "tea"]))[0], first)
    assert (usage.calls, usage.prompt_characters) == (2, len("query: tea") + len("tea"))


async def test_the_space_is_known_after_the_first_call(fault_server: FaultServer, connect: Connect) -> None:
    model = connect("embed", fault_server.base_url, model="e")
    assert (model.space.model, model.space.dims) == ("e", 0)
    assert (await model.measure()).dims == 256
    assert model.space == await model.measure()
    assert len(fault_server.requests) == 1
    assert (await model.embed([])).shape == (0, 256)


async def test_another_length_than_before_is_a_mismatch(fault_server: FaultServer, connect: Connect) -> None:
    model = connect("embed", fault_server.base_url)
    await model.embed(["a"])
    fault_server.dimensions = 100
    with pytest.raises(EmbeddingMismatch, match=r"256 .* 100 .*memscope reembed"):
        await model.embed(["b"])
    assert model.space.dims == 256


async def test_no_more_at_once_than_allowed(connect: Connect) -> None:
    with FaultServer(latency={"dist": "constant", "seconds": 0.1}) as server:
        model = connect("embed", server.base_url, concurrency=3, batch_texts=2)
        await model.embed([f"text {n}" for n in range(24)])
        assert (len(server.requests), server.max_in_flight) == (12, 3)


async def test_a_batch_that_fails_stops_the_others(fault_server: FaultServer, connect: Connect) -> None:
    model = connect("embed", fault_server.base_url, batch_texts=1, concurrency=1)
    setup(fault_server, {"fault": "zero", "at": [1]}, {"fault": "hang", "after": 1, "seconds": 120})
    with pytest.raises(EmbeddingError, match="zero"):
        await asyncio.wait_for(model.embed(["a", "b", "c"], deadline_s=120), 60)


@pytest.mark.parametrize("texts", ["one text", ["a", ""], ["a", "  "], [None], [b"x"]])
async def test_texts_are_checked_before_anything_is_sent(connect: Connect, texts: Any) -> None:
    with pytest.raises(InputError):
        await connect("embed", "http://127.0.0.1:9/v1").embed(texts)


async def test_real_vectors_know_what_is_near(embedding_server: EmbeddingServer, connect: Connect) -> None:
    model = connect("embed", embedding_server.base_url, model="all-MiniLM-L6-v2", languages={"en"})
    assert model.languages == {"en"}
    near, far, query = await model.embed(["She plays the violin.", "The bill is due.", "Does she make music?"])
    assert (await model.measure()).dims == 384
    assert query @ near > query @ far


def test_one_embedder_serves_several_event_loops(fault_server: FaultServer) -> None:
    from memscope.models.endpoint import Endpoint

    model = OpenAIEmbedder(Endpoint(model="m", base_url=fault_server.base_url))

    async def use(text: str) -> tuple[int, ...]:
        try:
            return (await model.embed([text])).shape  # type: ignore[no-any-return]
        finally:
            await model.close()

    assert [asyncio.run(use(text)) for text in "abc"] == [(1, 256)] * 3


# --------------------------------------------------------------------------------------------------------------- rerank


async def test_documents_are_scored_in_the_order_given(fault_server: FaultServer, connect: Connect) -> None:
    scores = await connect("rerank", fault_server.base_url).rerank("green tea", ["coffee", "tea", "green tea"])
    assert sorted(range(3), key=scores.__getitem__) == [0, 1, 2]
    assert len(scores) == 3


async def test_dashscopes_own_shape(connect: Connect) -> None:
    answer = '{"output": {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]}}'
    async with saying(answer) as (url, seen):
        path = "/services/rerank/text-rerank/text-rerank"
        model = connect("rerank", url, shape="dashscope", path=path, model="gte-rerank-v2")
        assert await model.rerank("q", ["a", "b"]) == [0.1, 0.9]
    assert b"POST /v1" + path.encode() in seen[0]
    assert b'"input": {"query": "q", "documents": ["a", "b"]}' in seen[0]


async def test_no_documents_no_call_and_not_too_many(connect: Connect) -> None:
    model = connect("rerank", "http://127.0.0.1:9/v1")
    assert await model.rerank("q", []) == []
    with pytest.raises(LimitError):
        await model.rerank("q", ["a"] * 1001)


async def test_a_rerank_reply_about_other_documents_is_refused(fault_server: FaultServer, connect: Connect) -> None:
    setup(fault_server, {"fault": "bad_index"})
    with pytest.raises(ModelReplyError):
        await connect("rerank", fault_server.base_url).rerank("q", ["a", "b"])
