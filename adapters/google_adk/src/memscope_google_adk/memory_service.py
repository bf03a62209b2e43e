"""``Runner(..., memory_service=MemoryScopeMemoryService())``: for ADK's own tools load_memory and preload_memory.

add_session_to_memory, add_events_to_memory ──▶ record under the events' ids; search_memory ──▶ recall
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from memscope.adapters import kit
from memscope_google_adk.events import APP_NAME, agent_of, spoken_by, turns_of, words_of

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.adk.sessions import Session

    from memscope.records import Hit


class MemoryScopeMemoryService(BaseMemoryService):
    """ADK's memory service, with one memory per app and user.

    Args:
        memory: Settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default the
            settings of the environment, else one SQLite file.
        agent: Stored with every turn; recall is limited to its turns. ``{app_name}`` is replaced by the app's name.
            None: one memory of the user for all apps.
        k: Maximum number of memories per search.
        tokens: Maximum number of tokens per search.
        strict: Raise if memory fails, instead of logging one warning and answering without it.
        kinds: Kinds of records to search: "turn", "observation", "insight"; by default all.
        zone: The user's time zone; by default that of the settings.
    """

    def __init__(
        self,
        memory: kit.MemoryLike = None,
        *,
        agent: str | None = APP_NAME,
        k: int = 10,
        tokens: int = 1000,
        strict: bool = False,
        kinds: Sequence[kit.Kind] | None = None,
        zone: kit.Zone = None,
    ) -> None:
        self._sessions = kit.SessionPool(
            memory, k=k, tokens=tokens, strict=strict, kinds=kinds, zone=zone, speak="always"
        )
        self.agent = agent

    def memory_session(self, app_name: str, user_id: str, session_id: str | None = None) -> kit.MemorySession:
        """Return the memory of a user in an app."""
        return self._sessions.to(user_id, session_id, agent=agent_of(self.agent, app_name))

    async def add_session_to_memory(self, session: Session) -> None:
        memory = self.memory_session(session.app_name, session.user_id, session.id)
        await memory.record(turns_of(session.events, dated=True))

    async def add_events_to_memory(
        self, *, app_name: str, user_id: str, events: Sequence[Event], session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        await self.memory_session(app_name, user_id, session_id).record(turns_of(events, dated=True))

    async def add_memory(
        self, *, app_name: str, user_id: str, memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        session = self.memory_session(app_name, user_id)
        for memory in memories:
            role, speaker = spoken_by(memory.author or memory.content.role)
            await session.remember(words_of(memory.content), time=memory.timestamp, role=role, speaker=speaker)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        recalled = await self.memory_session(app_name, user_id).recall(query)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in recalled.hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        if memory_id:
            await self.memory_session(app_name, user_id).forget([memory_id])

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()


def _entry(hit: Hit) -> MemoryEntry:
    speaker = hit.turn.speaker if hit.turn else None
    role = "model" if hit.turn and hit.turn.role == "assistant" else "user"
    return MemoryEntry(
        id=hit.id,
        content=types.Content(role=role, parts=[types.Part(text=hit.text)]),
        author=speaker,
        timestamp=hit.time.isoformat(),
        custom_metadata={"changed": hit.changed.isoformat()} if hit.changed else {},
    )
