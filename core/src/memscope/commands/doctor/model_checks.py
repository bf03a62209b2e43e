"""Checks of ``doctor``: does each model answer, under its name, how fast, and in the store's space."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from memscope import AsyncMemoryScope
from memscope.commands.doctor.examination import Examination, Finding
from memscope.commands.language import say
from memscope.errors import MemscopeError, ModelError, nearest
from memscope.models import Message
from memscope.models.endpoint import presets
from memscope.pipeline import WorkerContext

DEADLINE_S = 15.0
SLOW_MS = {"chat": 10_000, "embedding": 1_000, "rerank": 1_000}  # what waits for a person is to be quicker
MODEL = 5  # exit code
WITHOUT = {
    "chat": "chat none (turns are found, not consolidated)",
    "embedding": "embedding none (search by words and dates)",
    "rerank": "rerank none",
}
#: Remedies by the code of a model's error; {section} is chat, embedding or rerank.
MENDS: Mapping[str, str] = {
    "model_auth": "set {section}.key, or MEMSCOPE_{upper}__KEY, or the variable of the preset (docs/models.md)",
    "model_rejected": "check {section}.model and {section}.base_url",
    "model_unavailable": "check {section}.base_url, and that the server is up",
    "model_timeout": "raise {section}.deadline_s, or take a faster model",
    "model_rate_limited": "wait, or lower {section}.concurrency",
    "budget_spent": "wait, or raise {section}.budget",
    "model_reply_cut": "raise max_tokens in {section}.parameters",
    "model_reply": "try {section}.structured: json_object, or another model",
    "embedding": "check that {section}.model is an embedding model",
    "embedding_mismatch": "memscope reembed",
}


def mend(code: str, section: str) -> str:
    return say(MENDS.get(code, ""), section=section, upper=section.upper())


async def models(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    ctx = memory.runtime.ctx
    for section, model in (("chat", ctx.chat), ("embedding", ctx.embedder), ("rerank", ctx.reranker)):
        if model is None:
            yield Finding("models", "ok", say(WITHOUT[section]))
            continue
        if variable := _unset_key(exam, section):
            told = say("{section}: no key is set; its preset takes it from {variable}", section=section,
                       variable=variable)  # fmt: skip
            yield Finding("models", "warn", told, f"export {variable}=...")
        yield await _asked(section, model, ctx)
    for finding in _space(exam, ctx):
        yield finding


def _unset_key(exam: Examination, section: str) -> str:
    """Returns the variable that a preset takes its key from, where neither it nor the settings have one."""
    chosen: Any = getattr(exam.settings, section, None)
    if chosen is None or chosen.key is not None or chosen.base_url is not None:
        return ""
    preset = chosen.preset or ("openai" if chosen.provider == "openai" else "")
    known = presets().get(preset, {})
    variable = str(known.get("key_env", ""))
    return "" if os.environ.get(variable) or os.environ.get(known.get("base_url_env", "")) else variable


async def _asked(section: str, model: Any, ctx: WorkerContext) -> Finding:
    name = model.space.model if section == "embedding" else model.name
    began = time.perf_counter()
    try:
        note = await ASK[section](model)
    except ModelError as error:
        return await _failed(section, name, model, error)
    took = (time.perf_counter() - began) * 1000
    told = say("{section} {model} answers in {took} ms", section=section, model=name, took=f"{took:,.0f}") + note
    slow = took > SLOW_MS[section]
    return Finding("models", "warn" if slow else "ok", told, mend("model_timeout", section) if slow else "")


async def _chat(model: Any) -> str:
    await model.chat([Message(role="user", content="Answer with one word: ready?")], deadline_s=DEADLINE_S)
    return ""


async def _embedding(model: Any) -> str:
    row = await model.embed_query("ready?", deadline_s=DEADLINE_S)
    return say(", vectors of {number}", number=len(row))


async def _rerank(model: Any) -> str:
    texts = ["The cat is in the garden.", "2 + 2 = 4"]
    near, far = await model.rerank("Where is the cat?", texts, deadline_s=DEADLINE_S)
    return "" if near > far else say(", and finds a sum nearer to a question about a cat than its answer")


ASK: Mapping[str, Callable[[Any], Awaitable[str]]] = {"chat": _chat, "embedding": _embedding, "rerank": _rerank}


async def _failed(section: str, name: str, model: Any, error: ModelError) -> Finding:
    told = say("{section} {model} does not answer: {reason}", section=section, model=name, reason=error.message)
    served = await _served(model) if error.code == "model_rejected" else None
    if served is not None and name not in served:
        told += say("; its endpoint has no model of that name ({nearest})", nearest=nearest(name, served))
    return Finding("models", "fail", told, mend(error.code, section) or error.hint, MODEL)


async def _served(model: Any) -> list[str] | None:
    """Returns the models of the endpoint; None where it does not list them."""
    try:
        names: list[str] | None = await model.served(deadline_s=DEADLINE_S)
    except (MemscopeError, AttributeError):
        return None
    return names


def _space(exam: Examination, ctx: WorkerContext) -> list[Finding]:
    """Whether the vectors in the store are those of the embedder."""
    space = exam.status["space"]
    if not space:
        return []
    held = say("the store holds vectors of {model} ({dims} numbers)", model=space["model"], dims=space["dims"])
    if ctx.embedder is None:
        mended = say("set embedding in the settings, or live with search by words")
        return [Finding("models", "warn", held + say(", and no embedder is set"), mended)]
    now = ctx.embedder.space
    if now.model != space["model"] or now.dims not in (0, space["dims"]):
        told = held + say(", the embedder is {model} ({dims})", model=now.model, dims=now.dims)
        return [Finding("models", "fail", told, "memscope reembed", MODEL)]
    return []
