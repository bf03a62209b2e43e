"""``Runner.run(agent, "...", session=session, run_config=session.run_config())``.

    get_items               the conversation so far, from memory's own turns or from another session
    call_model_input_filter first call: history and the user's turn ──▶ record; recall. Every call: the block before the
                            user's newest words
    add_items               what is new ──▶ record

The filter changes only what is sent: memory is in no session. Without it both sides are recorded, and nothing is shown.
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
from memscope_openai_agents.items import item_of, turn_of, turns_of, users_newest, with_memory

TurnWords: TypeAlias = tuple[str, str]  # role and text


class MemoryScopeSession:
    """A session of the SDK that keeps its conversation in memory, and shows what other sessions hold.

    One object serves one conversation; make one per run, or keep it.

    Args:
        session_id: The conversation. The same id goes on with it, in another process too.
        user: The user whose memory it is.
        agent: Written with every turn; on reading it narrows to this agent's turns.
        memory: Settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default what the
            environment says, else one SQLite file.
        history: A session of the SDK that keeps the items whole, with tool calls and their results. By default the
            words alone are kept, as turns of memory.
        history_tokens: The most tokens of this conversation that a run shows where its words alone are kept; earlier
            turns are recalled like those of other sessions.
        recall: "user" for all of the user's sessions, "session" for this one.
        k: The most memories that are shown.
        tokens: The most tokens that are shown.
        record: "both", "user", "assistant" or "none"; without ``history`` it is "both".
        strict: Raise when memory fails, instead of one warning and an answer without it.
        kinds: Only these are shown: "turn", "observation", "insight".
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
        self.session_id = session_id
        self.memory_session = kit.MemorySession(
            user=user, agent=agent, session=session_id, memory=memory, recall_from=recall, k=k, tokens=tokens,
            record_who=record, strict=strict, kinds=kinds, zone=zone,
        )  # fmt: skip
        self._history, self._history_tokens = history, history_tokens
        self._memory: kit.RunMemory | None = None  # of the current run
        self._said: Counter[TurnWords] = Counter()  # recorded by the filter, before the runner adds them
        self._added: Counter[TurnWords] = Counter()  # added by the runner, before the filter sees them

    # ---- a session of the SDK

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the conversation so far, the latest ``limit`` items of it; a run begins with this."""
        self._memory = None
        self._said.clear()
        self._added.clear()
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if self._history is not None:
            return await self._history.get_items(limit)
        return [item_of(turn) for turn in await self._recent(limit)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if self._history is not None:
            await self._history.add_items(items)
        turns = [turn for turn in turns_of(items) if not _take(self._said, turn)]
        await self.memory_session.record(turns)
        self._added.update(map(_words, turns))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take back the newest item; its turn is forgotten."""
        item = await self._history.pop_item() if self._history is not None else None
        newest = await self._recent(1)
        if self._history is None:
            item = item_of(newest[0]) if newest else None
        turn = turn_of(item) if item is not None else None
        if newest and turn is not None and _words(turn) == (newest[0].role, newest[0].text):
            await self.memory_session.forget([newest[0].key])
        return item

    async def clear_session(self) -> None:
        """Forget this conversation for good, and all that was derived from it."""
        if self._history is not None:
            await self._history.clear_session()
        await self.memory_session.clear()

    # ---- a run

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """Return ``config`` with the filter that shows memory, after a filter that it may have."""
        base = config or RunConfig()
        first = base.call_model_input_filter

        async def filter(data: CallModelData[Any]) -> ModelInputData:
            if first is not None:
                changed = first(data)
                data = replace(data, model_data=await changed if inspect.isawaitable(changed) else changed)
            return await self.show_memory(data)

        return replace(base, call_model_input_filter=filter)

    async def show_memory(self, data: CallModelData[Any]) -> ModelInputData:
        """A ``call_model_input_filter``: record what the user said, and show what is remembered about it."""
        items = data.model_data.input
        if self._memory is None:
            turns = turns_of(items)
            fresh = users_newest(items) == len(items) - 1  # else a run that was interrupted goes on
            newest = turns[-1:] if fresh and turns and not _take(self._added, turns[-1]) else []
            self._memory = await kit.begin_run(self.memory_session, turns, new=len(turns) - len(newest))
            self._said.update(map(_words, newest))
        text = self._memory.text
        return ModelInputData(with_memory(items, text) if text else items, data.model_data.instructions)

    def tools(self, which: bool | kit.ToolSet = True) -> list[FunctionTool]:
        """Make tools over this session's memory, for ``Agent(tools=...)``.

        Args:
            which: True for search_memory, remember and forget, "core", "archival" or "all" for those sets.
        """
        return [self._function_tool(tool) for tool in kit.choose_tools(which)]

    async def close(self) -> None:
        """Release the memory; the last release closes it. Using this one again opens it again."""
        await self.memory_session.close()

    # ---- inside

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


def _take(counter: Counter[TurnWords], turn: kit.TurnInput) -> bool:
    words = _words(turn)
    if not counter[words]:
        return False
    counter[words] -= 1
    return True


def _words(turn: kit.TurnInput) -> TurnWords:
    return turn["role"], turn["content"]
