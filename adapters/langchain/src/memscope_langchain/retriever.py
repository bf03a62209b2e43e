"""``MemoryScopeRetriever``: memories of a user as documents."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr

from memscope.adapters.instances import wait_for
from memscope.adapters.session import RecallFrom, SessionPool
from memscope.records import Hit, Kind


class MemoryScopeRetriever(BaseRetriever):
    """The ``k`` best hits of one user's memory, each with its id, score, time and sources in the metadata.

    ``user`` is required. ``agent``, ``kinds`` and (with ``recall="session"``) ``session`` limit the search. ``memory``
    and ``zone`` work as in the middleware. ``invoke`` accepts ``k``, ``as_of``, ``filter``, ``kinds``, ``zone``, and
    ``user`` and ``session`` to override these.
    Errors are always raised.
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt argument would be ignored

    user: str
    agent: str | None = None
    session: str | None = None
    memory: Any = Field(default=None, exclude=True, repr=False)
    recall: RecallFrom = "user"
    k: int = 10
    kinds: list[Kind] | None = None
    zone: str | None = None
    _sessions: SessionPool = PrivateAttr()

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)  # the rest raises memscope's errors, which a validator would hide
        self._sessions = SessionPool(
            self.memory, agent=self.agent, recall_from=self.recall, k=self.k, kinds=self.kinds, zone=self.zone
        )
        self._sessions.to(self.user, self.session)  # raise for invalid ids now

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return wait_for(self._documents(query, **options))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return await self._documents(query, **options)

    async def _documents(
        self, query: str, *, user: str | None = None, session: str | None = None, **options: Any
    ) -> list[Document]:
        memory_session = self._sessions.to(self.user if user is None else user, session or self.session)
        return [document(hit) for hit in await memory_session.search(query, **options)]


def document(hit: Hit) -> Document:
    """Convert a hit. ``sources`` are keys of its turns, or ids of the observations behind an insight."""
    metadata: dict[str, Any] = {
        "id": hit.id,
        "kind": "insight" if hit.insight else "turn",
        "score": float(hit.score),
        "time": hit.time.isoformat(),
        "sources": list(hit.insight.sources) if hit.insight else [hit.turn.key] if hit.turn else [],
        "found_by": list(hit.found_by),
    }
    if hit.turn is not None:
        metadata |= {"speaker": hit.turn.speaker, "session": hit.turn.scope.session, "said": hit.turn.text}
    if hit.changed is not None:
        metadata["changed"] = hit.changed.isoformat()
    return Document(id=hit.id, page_content=hit.text, metadata=metadata)
