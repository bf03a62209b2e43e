"""``MemoryScopeChatMessageHistory``: a session as messages, for users of ``RunnableWithMessageHistory``."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from memscope.adapters.kit import MemoryLike, MemorySession, Zone, wait_for
from memscope_langchain.messages import message_of, turns_of


class MemoryScopeChatMessageHistory(BaseChatMessageHistory):
    """The latest ``limit`` messages of user and assistant in one session.

    ``user`` and ``session`` are required. Only text is stored, without tool calls, tool results or instructions, so
    that models accept the messages. If memory fails, there are no messages and one warning is logged; ``strict=True``
    raises. ``zone``: the user's time zone. ``clear`` permanently forgets the session.
    """

    def __init__(
        self,
        *,
        user: str,
        session: str,
        agent: str | None = None,
        memory: MemoryLike = None,
        limit: int | None = None,
        strict: bool = False,
        zone: Zone = None,
    ) -> None:
        if session is None:
            raise TypeError("a chat history needs a session")
        self._session = MemorySession(user=user, session=session, agent=agent, memory=memory, strict=strict, zone=zone)
        self._limit = limit

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # upstream it is an attribute, read alike
        return wait_for(self.aget_messages())

    async def aget_messages(self) -> list[BaseMessage]:
        turns = await self._session.recent(tokens=None, limit=self._limit)
        return [message_of(turn) for turn in turns]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        wait_for(self.aadd_messages(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await self._session.record(turns_of(messages))

    def clear(self) -> None:
        wait_for(self.aclear())

    async def aclear(self) -> None:
        await self._session.clear()

    async def aclose(self) -> None:
        await self._session.close()
