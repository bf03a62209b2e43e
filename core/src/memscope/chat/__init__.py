"""An assistant with memory over any chat model.

    read recent turns ──▶ record the user's turn ──▶ recall what the window lacks ──▶ prompt ──▶ stream ──▶ record
       window.py          (durable before the model is asked)                          prompt.py   answer.py
       assembly.py if ``context.budget`` is set: all parts within one budget

Memory steps that fail are listed in ``Answer.notes``; only a failure of the chat model ends an answer.
Between answers all state is in the store, so any process can give the next one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memscope import validation
from memscope.blocks import AsyncBlocks, render
from memscope.blocks.visible import PERSONA
from memscope.chat.answer import Answer
from memscope.chat.assembly import AssembledContext, assemble
from memscope.chat.prompt import build_prompt, fit_hits
from memscope.errors import ClosedError, ConfigError, InputError
from memscope.models import typed_errors
from memscope.prompts.memory_block import choose_query
from memscope.records import AddReport, Block, Retrieval, Scope
from memscope.retrieval.window import recent_turns
from memscope.text.surrogates import whole_characters
from memscope.text.terms import terms
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memscope.models import Message
    from memscope.runtime import Runtime

__all__ = ["Answer", "ChatRequest", "start"]
NO_MODEL_REMEDY = (
    "set chat in the settings (docs/models.md), for example MEMSCOPE_CHAT__PRESET and MEMSCOPE_CHAT__MODEL"
)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Input of an answer: recall ``k`` hits within ``tokens``, show ``window`` tokens of recent turns."""

    text: str
    scope: Scope
    persona: str | None = None
    k: int = 10
    tokens: int = 1000
    window: int = 3000

    def checked(self, limits: validation.Limits) -> ChatRequest:
        validation.scope(self.scope.user, self.scope.agent, self.scope.session)
        text = validation.text("text", self.text, limits.text)
        if not text.strip():
            raise InputError("text is empty", hint="there is nothing to answer")
        if self.persona is not None:
            validation.text("persona", self.persona, limits.text)
        validation.count("k", self.k, limits.k)
        validation.count("tokens", self.tokens, 1_000_000)
        validation.count("window", self.window, 1_000_000)
        return replace(self, text=text)


def start(runtime: Runtime, request: ChatRequest) -> Answer:
    """Return an answer that starts on the first read. Raise ``ConfigError`` without a chat model, ``InputError`` or
    ``ClosedError``."""
    request = request.checked(runtime.services.limits)
    _check_open(runtime)
    if runtime.services.chat is None:
        raise ConfigError("there is no chat model", hint=NO_MODEL_REMEDY)
    return Answer(lambda answer: _answer(runtime, request, answer), lambda: runtime.counting("chat"))


def _check_open(runtime: Runtime) -> None:
    """Raise ``ClosedError``, which is a mistake of the caller and no failed memory step."""
    if runtime.is_closed:
        raise ClosedError("this memory is closed", hint="make a new one")


async def _answer(runtime: Runtime, request: ChatRequest, answer: Answer) -> AsyncGenerator[str]:
    _check_open(runtime)
    persona, core = await answer.guard("core memory", _persona_and_blocks(runtime, request), (request.persona, []))
    minimal = AssembledContext(render(core, runtime.services.settings.blocks.tokens), left=request.tokens)
    whole = await answer.guard("recent turns", _assemble_parts(runtime, request, persona, core, minimal), minimal)
    report = await answer.guard("recording", _record(runtime, request.scope, "user", request.text), AddReport())
    stored = report.stored
    try:
        retrieval = await answer.guard("memories", _recall(runtime, request, (*report.keys, *whole.keys)), Retrieval())
        answer.notes += retrieval.notes
        answer.memories, lines = fit_hits(retrieval, whole.left)
        prompts, now = runtime.services.prompts, runtime.services.now()
        messages = build_prompt(request.text, prompts, persona, lines, whole.recent, now, whole.lead)
        async with aclosing(_stream(runtime, messages)) as pieces:
            async for piece in pieces:
                yield piece
        work = _record(runtime, request.scope, "assistant", answer.text)
        stored += (await answer.guard("recording", work, AddReport())).stored
    finally:  # embed both turns together, after streaming, so that the user does not wait for it
        runtime.work.wake()
        if stored:
            runtime.work.work_for(request.scope.user, stored)


async def _stream(runtime: Runtime, messages: list[Message]) -> AsyncGenerator[str]:
    """Stream the chat model's reply. Errors of a model of one's own become ``ModelError``, with their cause."""
    assert runtime.services.chat is not None
    stream = None
    try:
        with typed_errors(runtime.services.chat):
            stream = runtime.services.chat.stream(messages)
            async with aclosing(whole_characters(stream)) as pieces:
                async for piece in pieces:
                    yield piece
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


async def _assemble_parts(
    runtime: Runtime, request: ChatRequest, persona: str | None, core: list[Block], minimal: AssembledContext
) -> AssembledContext:
    """Assemble all parts within ``context.budget``; without a budget only add the recent turns to ``minimal``."""
    budget, where = runtime.services.settings.context.budget, request.scope
    async with runtime.operation("list"):
        if budget is not None:
            return await assemble(runtime, where, max(1, budget - estimate_tokens(persona or "")), blocks=core)
        recent = await recent_turns(runtime.services.store, where, runtime.services.clock(), request.window)
        return replace(minimal, recent=tuple(recent))


async def _record(runtime: Runtime, scope: Scope, role: str, text: str) -> AddReport:
    async with runtime.operation("add_turns"):
        return await runtime.store_turns([{"role": role, "content": text}], scope)


async def _persona_and_blocks(runtime: Runtime, request: ChatRequest) -> tuple[str | None, list[Block]]:
    """Return the persona (by default the block "persona") and the other blocks."""
    blocks = await AsyncBlocks(runtime, request.scope.user, request.scope.agent).list()
    written = {block.label: block.value for block in blocks}.get(PERSONA)
    return request.persona or written or None, [block for block in blocks if block.label != PERSONA]


async def _recall(runtime: Runtime, request: ChatRequest, exclude: tuple[str, ...]) -> Retrieval:
    query = choose_query([{"role": "user", "content": request.text}])
    if not terms(query):
        return Retrieval()
    where = Scope(request.scope.user, request.scope.agent)
    async with runtime.operation("retrieve"):
        asked = runtime.query(query, where, k=request.k, exclude=exclude, expand_lists=True, speak=None)
        return await runtime.retrieve(asked)
