"""``Runner.run(agent, "...", session=session, run_config=session.run_config())``.

    get_items               return the conversation so far, from memory's turns or from another session
    call_model_input_filter first call: record history and the user's turn; recall. Every call: prefix the block to the
                            user's newest message
    add_items               record new items

The filter only changes requests: no session stores memories. Without it both sides are recorded, but nothing is shown.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from agents import FunctionTool, RunConfig, Session, TResponseInputItem
from agents.memory import SessionSettings
from agents.run import CallModelData, ModelInputData

from memscope.adapters import kit
from memscope.validation import count
from memscope_openai_agents.items import item_of, turn_of, turns_of, users_newest, with_memory

TurnWords: TypeAlias = tuple[str, str]  # role and text


class MemoryScopeSession:
    """A session of the SDK that stores its conversation in memory, and recalls from the user's other sessions.

    Each object serves one conversation. Create one per run, or reuse it.

    Args:
        session_id: The conversation. The same id continues it, even in another process.
        user: The owner of the memory.
        agent: Stored with every turn; recall is limited to this agent's turns.
        memory: Settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default the
            settings of the environment, else one SQLite file.
        history: A session of the SDK that stores complete items, including tool calls and results. By default only
            texts are stored, as turns of the memory.
        history_tokens: Without ``history``, the maximum number of tokens of this conversation in a run; earlier turns
            are recalled like those of other sessions.
        recall: "user" for all of the user's sessions, "session" for this one.
        k: Maximum number of memories to show.
        tokens: Maximum number of tokens to show.
        record: "both", "user", "assistant" or "none"; without ``history`` it is "both".
        strict: Raise if memory fails, instead of logging one warning and answering without it.
        kinds: Kinds of records to show: "turn", "observation", "insight"; by default all.
        zone: The user's time zone; by default that of the settings.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        *,
        user: str,
        agent: str | None = None,
        memory: kit.MemoryLike = None,
        history: Session | None = None,
        history_tokens: int = 6000,
        recall: kit.RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: kit.RecordWho = "both",
        strict: bool = False,
        kinds: Sequence[kit.Kind] | None = None,
        zone: kit.Zone = None,
    ) -> None:
        if history is None and record != "both":
            raise kit.ConfigError(
                f"record={record!r} leaves the conversation without its history",
                hint="give history=, a session of the SDK that keeps the items",
            )
        if session_id is None:
            raise kit.InputError("a session needs an id")
        if history_tokens != 0:
            count("history_tokens", history_tokens, 1_000_000)
        self.session_id = session_id
        self.memory_session = kit.MemorySession(
            user=user, agent=agent, session=session_id, memory=memory, recall_from=recall, k=k, tokens=tokens,
            record_who=record, strict=strict, kinds=kinds, zone=zone,
        )  # fmt: skip
        self._history, self._history_tokens = history, history_tokens
        self._memory: kit.RunMemory | None = None  # recalled in the current run
        self._recorded: Counter[TurnWords] = Counter()  # recorded by the filter, before the runner adds them
        self._added: Counter[TurnWords] = Counter()  # added by the runner, before the filter sees them

    # ---- a session of the SDK

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest ``limit`` items of the conversation. Every run starts with this call."""
        self._memory = None
        self._recorded.clear()
        self._added.clear()
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if self._history is not None:
            return await self._history.get_items(limit)
        return [item_of(turn) for turn in await self._recent(limit)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if self._history is not None:
            await self._history.add_items(items)
        turns = [turn for turn in turns_of(items) if not _take_one(self._recorded, turn)]
        await self.memory_session.record(turns)
        self._added.update(map(_words, turns))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item, and forget its turn."""
        item = await self._history.pop_item() if self._history is not None else None
        newest = await self._recent(1)
        if self._history is None:
            item = item_of(newest[0]) if newest else None
        turn = turn_of(item) if item is not None else None
        if newest and turn is not None and _words(turn) == (newest[0].role, newest[0].text):
            await self.memory_session.forget([newest[0].key])
        return item

    async def clear_session(self) -> None:
        """Permanently forget this conversation and everything derived from it."""
        if self._history is not None:
            await self._history.clear_session()
        await self.memory_session.clear()

    # ---- a run

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """Add the filter that shows memory to ``config``. It runs after a filter that ``config`` has."""
        base = config or RunConfig()
        first = base.call_model_input_filter

        async def filter(data: CallModelData[Any]) -> ModelInputData:
            if first is not None:
                changed = first(data)
                data = replace(data, model_data=await changed if inspect.isawaitable(changed) else changed)
            return await self.show_memory(data)

        return replace(base, call_model_input_filter=filter)

    async def show_memory(self, data: CallModelData[Any]) -> ModelInputData:
        """Act as a ``call_model_input_filter``: record the user's message and insert related memories."""
        items = data.model_data.input
        if self._memory is None:
            turns = turns_of(items)
            fresh = users_newest(items) == len(items) - 1  # else this is a resumed run
            newest = turns[-1:] if fresh and turns and not _take_one(self._added, turns[-1]) else []
            self._memory = await kit.begin_run(self.memory_session, turns, new=len(turns) - len(newest))
            self._recorded.update(map(_words, newest))
        text = self._memory.text
        return ModelInputData(with_memory(items, text) if text else items, data.model_data.instructions)

    def tools(self, which: bool | kit.ToolSet = True) -> list[FunctionTool]:
        """Create tools for this session's memory, for ``Agent(tools=...)``.

        Args:
            which: True for search_memory, remember and forget; "core", "archival" or "all" for a set.
        """
        return [self._function_tool(tool) for tool in kit.choose_tools(which)]

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self.memory_session.close()

    # ---- private

    async def _recent(self, limit: int | None) -> tuple[kit.Turn, ...]:
        return await self.memory_session.recent(tokens=self._history_tokens, limit=limit)

    def _function_tool(self, tool: kit.Tool) -> FunctionTool:
        async def call(_: Any, arguments: str) -> str:
            try:
                fields = json.loads(arguments or "{}")
            except ValueError:
                return "Error: the arguments are not JSON"
            seen = self._memory.keys if self._memory else ()
            return await kit.tool_answer(
                tool, self.memory_session, fields, seen=seen, strict=self.memory_session.strict
            )

        return FunctionTool(
            name=tool.__name__, description=kit.described(tool), params_json_schema=kit.schema(tool),
            on_invoke_tool=call, strict_json_schema=False,
        )  # fmt: skip


def _take_one(counter: Counter[TurnWords], turn: kit.TurnInput) -> bool:
    words = _words(turn)
    if not counter[words]:
        return False
    counter[words] -= 1
    return True


def _words(turn: kit.TurnInput) -> TurnWords:
    return turn["role"], turn["content"]
