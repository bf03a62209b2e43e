"""Every fault of the fault server, with chat, embeddings and rerank: a typed error or the right answer, in time; and
when the fault is over, the same answer as if it had never been."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from memscope.errors import ModelError
from memscope.models import Message
from memscope.models.structured_output import ask

from .conftest import setup
from servers.faults import CHAT, EMBED, FAULTS, RERANK, FaultServer

DEADLINE_S, PATIENT_S = 1.0, 60.0
KEY = "sk-cnry-0123456789"
SAID = "cnry-tea"
TEXTS = [f"{SAID} {n}" for n in range(4)]
LASTING = {"hang": {"seconds": 30}, "stall": {"seconds": 30}, "drip": {"interval": 1}}  # for over ENDED_S
ENDED_S = 10.0
READ_ALL_THE_SAME = {"fenced", "prose", "think", "wrong_language", "no_done", "shuffled"}  # no_done spoils streams only


class Fact(BaseModel):
    text: str


class Facts(BaseModel):
    facts: list[Fact]


FACTS = {"facts": [{"text": SAID}, {"text": "second"}]}


async def chat(model: Any, deadline_s: float = PATIENT_S) -> Any:
    found = await ask(model, [Message(role="user", content=SAID)], Facts, deadline_s=deadline_s)
    return len(found.facts)


async def stream(model: Any, deadline_s: float) -> Any:
    said = [Message(role="user", content=SAID * 10)]
    return "".join([piece async for piece in model.stream(said, deadline_s=deadline_s)])


async def embed(model: Any, deadline_s: float = PATIENT_S) -> Any:
    return (await model.embed(TEXTS, deadline_s=deadline_s)).round(5).tolist()


async def rerank(model: Any, deadline_s: float) -> Any:
    return await model.rerank(SAID, TEXTS, deadline_s=deadline_s)


CALLS = {"chat": (chat, CHAT), "stream": (stream, CHAT), "embed": (embed, EMBED), "rerank": (rerank, RERANK)}
MATRIX = [(name, fault) for name, (_, at) in CALLS.items() for fault, strikes in FAULTS.items() if at & strikes]


@pytest.mark.parametrize(("name", "fault"), MATRIX)
async def test_a_fault_is_a_typed_error_or_does_no_harm(
    fault_server: FaultServer,
    connect: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    name: str,
    fault: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    call = CALLS[name][0]
    kind = {"stream": "chat"}.get(name, name)

    def model() -> Any:
        return connect(kind, fault_server.base_url, key=KEY, deadline_s=PATIENT_S, breaker_failures=1000)

    script = {SAID: FACTS} if name == "chat" else None
    setup(fault_server, script=script)
    expected = await call(model(), PATIENT_S)

    struck, said = model(), ""
    if name == "embed":
        await struck.measure()  # or the first length that comes, a wrong one too, would be taken for the right one
    setup(fault_server, {"fault": fault, "retry_after": 900, **LASTING.get(fault, {})}, script=script)
    began = time.monotonic()
    try:
        got = await call(struck, DEADLINE_S if fault in LASTING else PATIENT_S)
    except ModelError as error:
        got = None
        said = f"{error!r} {error} {error.hint} {''.join(traceback.format_exception(error))}"
    assert time.monotonic() - began < ENDED_S

    assert got is None or _same(got, expected) or (name == "stream" and fault in _CHANGES_TEXT)
    if fault in READ_ALL_THE_SAME and name != "stream":
        assert got is not None
    setup(fault_server, script=script)
    assert _same(await call(struck, PATIENT_S), expected), "the fault is over, and its traces too"
    for secret in (SAID, KEY):
        assert secret not in caplog.text
        assert secret not in said


#: In a plain stream there is nothing to compare with: these reply in full, but something else.
_CHANGES_TEXT = {"malformed_json", "wrong_schema", "wrong_language", "fenced", "prose", "think"}


def _same(got: Any, expected: Any) -> bool:
    return bool(np.array_equal(got, expected))


@pytest.mark.parametrize("variant", ["open", "single_quotes", "trailing_comma", "raw_newline", "comment", "twice"])
async def test_malformed_replies_lose_nothing(
    fault_server: FaultServer, connect: Callable[..., Any], variant: str
) -> None:
    """At first, or when asked once more: all the facts or an error, never fewer."""
    setup(fault_server, {"fault": "malformed_json", "variant": variant, "at": [1]}, script={SAID: FACTS})
    assert await chat(connect("chat", fault_server.base_url)) == 2
    setup(fault_server, {"fault": "malformed_json", "variant": variant}, script={SAID: FACTS})
    try:
        assert await chat(connect("chat", fault_server.base_url)) == 2
    except ModelError as error:
        assert error.code == "model_reply"


async def test_repeated_faults_cost_no_more_requests_than_allowed(
    fault_server: FaultServer, connect: Callable[..., Any]
) -> None:
    setup(fault_server, {"fault": "server_error"})
    model = connect("embed", fault_server.base_url, attempts=3, breaker_failures=5, breaker_s=60)
    for _ in range(50):
        with pytest.raises(ModelError):
            await embed(model)
    assert len(fault_server.requests) == 15
