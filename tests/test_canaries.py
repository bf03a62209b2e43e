"""No key and no word of a conversation in a log, an error, a repr or a dump: everything at DEBUG, under every fault."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from contextlib import suppress

import pytest

from memscope import AsyncMemoryScope
from memscope.config.settings import Settings
from memscope.errors import MemscopeError

from servers.faults import FAULTS, FaultServer, Plan

KEY = "sk-cnry-0123456789"
SAID = "cnrytea"  # in every text
VARIANTS = {
    "hang": {"seconds": 3},
    "stall": {"seconds": 3},
    "drip": {"interval": 0.1},
    "rate_limit": {"retry_after": 9},
}
QUOTED = {"server_error": {"status": 400, "message": f"cannot read {SAID} with key {KEY}"}}  # providers quote prompts


def settings(url):
    quick = {"base_url": url, "key": KEY, "headers": {"X-Other": KEY}, "attempts": 2, "first_pause_s": 0.01,
             "deadline_s": 0.3, "query_deadline_s": 0.2, "breaker_failures": 1000}  # fmt: skip
    return {"chat": {"model": "c", **quick}, "embedding": {"model": "e", **quick}, "rerank": {"model": "r", **quick}}


async def everything(memory):
    """Each operation once; the errors it ended with."""
    turns = [{"role": "user", "content": f"I like {SAID} number {n}."} for n in range(3)]
    errors = []
    for work in (
        lambda: memory.add_turns(turns, user="alice"),
        lambda: memory.flush(timeout_s=1),
        lambda: memory.chat(f"Which {SAID}?", user="alice", persona=f"You sell {SAID}.")._whole(),
        lambda: memory.retrieve(f"Which {SAID}?", user="alice", explain=True),
        lambda: memory.consolidate(user="alice"),
        lambda: memory.reflect(user="alice"),
        lambda: memory.admin.status(),
    ):
        try:
            await work()
        except MemscopeError as error:
            errors.append(error)
    return errors


def told_of(error):
    """An error as logs and reports show it, with its causes."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(error.args)


def shown(memory):
    """Everything somebody may print of a memory while looking for a mistake."""
    ctx = memory.admin.runtime.services
    parts = [
        memory,
        memory.admin.runtime.services.settings,
        ctx.settings,
        ctx.chat,
        ctx.embedder,
        ctx.reranker,
        ctx.usage,
        ctx.notes,
    ]
    parts += [model.endpoint for model in (ctx.chat, ctx.embedder, ctx.reranker)]
    parts += [vars(model) for model in (ctx.chat, ctx.embedder, ctx.reranker)]
    return "\n".join(map(repr, parts)) + memory.admin.runtime.services.settings.model_dump_json()


@pytest.mark.parametrize("fault", [None, *sorted(FAULTS)])
async def test_no_fault_brings_a_secret_to_light(caplog, capfd, tmp_path, fault):
    caplog.set_level(logging.DEBUG)
    with FaultServer() as server:
        if fault is not None:
            server.plan = Plan([{"fault": fault, **VARIANTS.get(fault, {}), **QUOTED.get(fault, {})}])
        async with AsyncMemoryScope(tmp_path / "memory.db", settings=settings(server.base_url)) as memory:
            errors = await everything(memory)
            seen = shown(memory) + json.dumps(await memory.admin.status(), default=str)
    out, err = capfd.readouterr()
    logged = "\n".join(f"{record.getMessage()} {record.args!r} {record.exc_text or ''}" for record in caplog.records)
    assert caplog.records  # the library of HTTP logs a lot at DEBUG, or nothing would be tested here
    for text in (logged, out, err, seen, *map(told_of, errors)):
        assert KEY not in text
        assert SAID not in text


def test_settings_are_not_pickled_with_their_keys():
    given = Settings(**settings("http://localhost/v1"))
    with suppress(TypeError, pickle.PicklingError):
        from memscope.models.endpoint import endpoint

        pickle.dumps(endpoint("chat", **given.chat.options()))
        raise AssertionError("an endpoint was pickled with its key")
    assert KEY not in repr(given) + str(given) + given.model_dump_json() + repr(given.chat)
