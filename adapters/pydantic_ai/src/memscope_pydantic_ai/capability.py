"""``Agent(model, capabilities=[MemoryScopeCapability(user="alice")])``.

    for_run              create a capability for this run, with its tools
    wrap_model_request   first request: record history and the user's turn; recall. Every request: prefix the block to
                         the user's newest message; record the model's text
    after_run            record an answer that is not text

Memory is only inserted into requests, never into a message history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import BinaryContent, DeferredToolRequests, FunctionToolset, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_core import SchemaValidator, core_schema, to_json

from memscope.adapters import kit
from memscope_pydantic_ai.messages import newest_prompt, newest_turns, turns_of, with_memory, words_of

if TYPE_CHECKING:
    from pydantic_ai.capabilities import WrapModelRequestHandler
    from pydantic_ai.messages import ModelResponse, ToolCallPart, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult


NO_ANSWERS = (DeferredToolRequests, BinaryContent, type(None))  # outputs without words: calls to approve, images
ARGUMENTS = SchemaValidator(core_schema.dict_schema())


class MemoryScopeCapability(AbstractCapability[Any]):
    """Long-term memory for an agent.

    One capability can serve many runs concurrently.

    Args:
        user: The owner of the memory; by default ``user_id`` of the run's ``deps``, an attribute or a key.
        session: The session of the turns; by default the run's ``conversation_id``.
        agent: Stored with every turn; recall is limited to this agent's turns.
        memory: Settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default the
            settings of the environment, else one SQLite file.
        recall: "user" for all of the user's sessions, "session" for this one.
        k: Maximum number of memories to show.
        tokens: Maximum number of tokens to show.
        record: "both", "user", "assistant" or "none".
        tools: True for search_memory, remember and forget; "core", "archival" or "all" for a set; False for none.
        strict: Raise if memory fails, instead of logging one warning and answering without it.
        kinds: Kinds of records to show: "turn", "observation", "insight"; by default all.
        zone: The user's time zone; by default that of the settings.
    """

    def __init__(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        memory: kit.MemoryLike = None,
        recall: kit.RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: kit.RecordWho = "both",
        tools: bool | kit.ToolSet = True,
        strict: bool = False,
        kinds: Sequence[kit.Kind] | None = None,
        zone: kit.Zone = None,
    ) -> None:
        super().__init__()
        self._sessions = kit.SessionPool(
            memory, agent=agent, recall_from=recall, k=k, tokens=tokens, record_who=record, strict=strict,
            kinds=kinds, zone=zone,
        )  # fmt: skip
        self._tools, self._strict = kit.choose_tools(tools), strict
        self.user, self.session = user, session
        if user is not None:
            self._sessions.to(user, session)  # raise for invalid ids now

    def memory_session(self, ctx: RunContext[Any]) -> kit.MemorySession:
        """Return the memory of a run. Raise ``ScopeError`` if no user is known."""
        user = self.user if self.user is not None else _user_of(ctx.deps)
        if user is None:
            raise kit.ScopeError("nobody said whose memory this is", hint="give user=, or deps with a user_id")
        return self._sessions.to(user, self.session or ctx.conversation_id)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        return _RunCapability(self.memory_session(ctx), self._tools, strict=self._strict)

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    async def __aenter__(self) -> MemoryScopeCapability:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _RunCapability(AbstractCapability[Any]):
    """Memory of one run: recalled at the first request and shown at the same place in every request."""

    def __init__(self, session: kit.MemorySession, tools: Sequence[kit.Tool], *, strict: bool) -> None:
        super().__init__()
        self._session, self._tools, self._strict = session, tools, strict
        self._memory: kit.RunMemory | None = None
        self._beside: UserPromptPart | None = None  # the prompt that memory is prefixed to
        self._newest: UserPromptPart | None = None  # the newest prompt of the last request
        self._answered = False

    def get_toolset(self) -> FunctionToolset[Any]:
        return FunctionToolset([self._tool(tool) for tool in self._tools])

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        messages = request_context.messages
        newest = newest_prompt(messages)
        if self._memory is None:
            self._memory, self._beside = await self._begin(turns_of(messages, ctx.prompt)), newest
        elif newest != self._newest:  # added during the run
            await self._session.record(newest_turns(messages))
        self._newest = newest
        if self._memory.text:
            shown = with_memory(messages, self._memory.text, self._beside)
            request_context = replace(request_context, messages=shown)
        response = await handler(request_context)
        words = words_of(response)
        self._answered = bool(words.strip())
        await self._session.record([kit.to_turn("assistant", words)])
        return response

    async def _begin(self, turns: Sequence[kit.TurnInput]) -> kit.RunMemory:
        """Record and recall. What a tool may have said is not recorded, and not recalled either."""
        spoken, unsure = ([turn for turn in turns if (turn["role"] == "tool") is tool] for tool in (False, True))
        run = await kit.record_run(self._session, spoken)
        run = replace(run, turns=(*run.turns, *unsure), keys=(*run.keys, *("" for _ in unsure)))
        return await kit.recall_run(self._session, run)

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Mapping[str, Any], handler: Any
    ) -> Any:
        kit.begin_tool_call(self._session.agent, args)
        try:
            return await handler(args)
        finally:
            kit.end_tool_call()

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        if not self._answered and not isinstance(result.output, NO_ANSWERS):
            answer = result.output if isinstance(result.output, str) else _json(result.output)
            await self._session.record([kit.to_turn("assistant", answer)])
        return result

    def _tool(self, tool: kit.Tool) -> Tool[Any]:
        async def call(**arguments: Any) -> str:
            seen = self._memory.keys if self._memory else ()
            return await kit.tool_answer(tool, self._session, arguments, seen=seen, strict=self._strict)

        tool_of_run: Tool[Any] = Tool.from_schema(
            call, name=tool.__name__, description=kit.described(tool), json_schema=kit.schema(tool)
        )
        tool_of_run.function_schema.validator = ARGUMENTS  # the default takes a list too, which would end the run
        return tool_of_run


def _user_of(deps: Any) -> str | None:
    user = deps.get("user_id") if isinstance(deps, Mapping) else getattr(deps, "user_id", None)
    return user


def _json(output: Any) -> str:
    return to_json(output, fallback=str).decode()
