"""``App(name=..., root_agent=agent, plugins=[MemoryScopePlugin()])``.

    before_run_callback    record history and the user's turn
    before_model_callback  recall, once per invocation and agent; add the block to every request, before the user's
                           text; add the tools
    on_event_callback      record an agent's text

Memory is only inserted into requests, never into a session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from memscope.adapters import kit
from memscope_google_adk.events import APP_NAME, agent_of, rewound, turns_of, with_memory, words_of

MAX_RUNS = 1000  # bounds the runs in memory, since ADK does not report the end of every run
Context = CallbackContext | InvocationContext


class MemoryScopePlugin(BasePlugin):
    """Long-term memory for all agents of an app.

    One plugin can serve many users and sessions concurrently.

    Args:
        user: The owner of the memory; by default the ``user_id`` of the run.
        session: The session of the turns; by default the ``session_id`` of the run.
        agent: Stored with every turn; recall is limited to its turns. ``{app_name}`` is replaced by the app's name,
            because ADK has one memory per app and user. None: one memory of the user for all apps.
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
        name: The name under which ADK registers the plugin.
    """

    def __init__(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = APP_NAME,
        memory: kit.MemoryLike = None,
        recall: kit.RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: kit.RecordWho = "both",
        tools: bool | kit.ToolSet = True,
        strict: bool = False,
        kinds: Sequence[kit.Kind] | None = None,
        zone: kit.Zone = None,
        name: str = "memscope",
    ) -> None:
        super().__init__(name)
        self._sessions = kit.SessionPool(
            memory, recall_from=recall, k=k, tokens=tokens, record_who=record, strict=strict, kinds=kinds, zone=zone
        )
        self.user, self.session, self.agent = user, session, agent
        self._sessions.to("anybody" if user is None else user, session or "any", agent=agent)  # raises for invalid ids
        self.tools = [_MemoryTool(self, tool, strict) for tool in kit.choose_tools(tools)]
        self._runs: dict[str, _Invocation] = {}

    def memory_session(self, context: Context) -> kit.MemorySession:
        """Return the memory of a run."""
        adk = context.session
        user = self.user if self.user is not None else adk.user_id
        return self._sessions.to(user, self.session or adk.id, agent=agent_of(self.agent, adk.app_name))

    def seen(self, context: CallbackContext) -> tuple[str, ...]:
        """Return the keys of the turns that the model of this agent sees in the run."""
        run = self._runs.get(context.invocation_id)
        memory = run.memories.get(context.agent_name) if run else None
        return memory.keys if memory else ()

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        await self._begin(invocation_context)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        memory = await self._recall(callback_context, llm_request.contents)
        if memory.text:
            llm_request.contents = with_memory(llm_request.contents, memory.text, callback_context.user_content)
        if llm_request.config.response_schema is None:  # models reject tools combined with a response schema
            llm_request.append_tools(list(self.tools))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        if isinstance(tool, AgentTool):
            kit.begin_tool_call(tool_context.agent_name, tool_args)

    async def after_tool_callback(self, *, tool: BaseTool, **_: Any) -> None:
        kit.end_tool_call()

    async def on_tool_error_callback(self, *, tool: BaseTool, **_: Any) -> None:
        kit.end_tool_call()

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        await self.memory_session(invocation_context).record(turns_of([event]))

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self._runs.pop(invocation_context.invocation_id, None)

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    async def _begin(self, context: Context) -> _Invocation:
        run = context.invocation_id
        if run not in self._runs:
            events = context.session.events
            earlier = turns_of(event for event in events if event.invocation_id != run)
            newest = turns_of(event for event in events if event.invocation_id == run)
            session = self.memory_session(context)
            recorded = await kit.record_run(session, [*earlier, *newest], new=len(earlier))
            self._runs[run] = _Invocation(recorded, len(newest), rewound(events))
            while len(self._runs) > MAX_RUNS:
                del self._runs[next(iter(self._runs))]
        return self._runs[run]

    async def _recall(self, context: CallbackContext, contents: Sequence[types.Content]) -> kit.RunMemory:
        run, agent = await self._begin(context), context.agent_name
        if agent not in run.memories:
            hidden = run.hidden_from("\n".join(map(words_of, contents)))
            run.memories[agent] = await kit.recall_run(self.memory_session(context), run.recorded, hidden=hidden)
        return run.memories[agent]


@dataclass
class _Invocation:
    """The turns it began with, the ids of events taken back before, and the memories shown to each agent."""

    recorded: kit.RecordedRun
    new: int  # number of turns of the invocation itself
    rewound: frozenset[str]
    memories: dict[str, kit.RunMemory] = field(default_factory=dict)

    def hidden_from(self, shown: str) -> set[int]:
        """Return the indexes of earlier turns that a request does not show, as after a compaction. A rewind takes
        turns back on purpose, so they do not count.
        """
        earlier = self.recorded.turns[: len(self.recorded.turns) - self.new]
        return {
            place
            for place, turn in enumerate(earlier)
            if turn.get("id") not in self.rewound and not all(line in shown for line in turn["content"].splitlines())
        }


class _MemoryTool(BaseTool):
    def __init__(self, plugin: MemoryScopePlugin, tool: kit.Tool, strict: bool) -> None:
        super().__init__(name=tool.__name__, description=kit.described(tool))
        self._plugin, self._tool, self._strict = plugin, tool, strict

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=kit.schema(self._tool)
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        session, seen = self._plugin.memory_session(tool_context), self._plugin.seen(tool_context)
        return await kit.tool_answer(self._tool, session, args, seen=seen, strict=self._strict)
