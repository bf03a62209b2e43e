"""MemoryScope: ``AsyncMemoryScope`` without ``await``, over a private event loop in its own thread.

Each method runs the async method of the same name and signature, which documents the arguments. A test compares them.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from memscope.errors import hint_arguments
from memscope.memory import AsyncMemoryScope
from memscope.records import (
    AddReport,
    ForgetReport,
    Insight,
    Interval,
    Json,
    Kind,
    Observation,
    Record,
    Retrieval,
    Role,
    Speak,
    Turn,
    WorkReport,
)
from memscope.sync.loop import run
from memscope.sync.views import SyncAdmin, SyncAnswer, SyncBlocks, SyncEntities

if TYPE_CHECKING:
    from pathlib import Path

    from memscope.config.settings import Settings
    from memscope.models import ChatModel, Embedder, Reranker
    from memscope.stores import Store
    from memscope.validation import Zone


@hint_arguments
class MemoryScope:
    """Long-term memory for agents. ``memory`` is the wrapped ``AsyncMemoryScope``, which documents the arguments."""

    def __init__(
        self, store: Store | str | Path | None = None, *,
        settings: Settings | Mapping[str, Any] | str | Path | None = None, chat: ChatModel | None = None,
        embedder: Embedder | None = None, reranker: Reranker | None = None, plugins: Sequence[object] = (),
        clock: Callable[[], datetime] | None = None,
    ) -> None:  # fmt: skip
        self.memory = AsyncMemoryScope(
            store, settings=settings, chat=chat, embedder=embedder, reranker=reranker, plugins=plugins, clock=clock,
        )  # fmt: skip

    @property
    def admin(self) -> SyncAdmin:
        """The work of operators: export and import, backup, status, approval, vectors, background work."""
        return SyncAdmin(self.memory.admin)

    def __repr__(self) -> str:
        return f"MemoryScope({self.memory.admin.runtime.location!r})"

    def __enter__(self) -> MemoryScope:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def blocks(self, user: str, *, agent: str | None = None) -> SyncBlocks:
        """Core memory: the blocks of text that are in every context."""
        return SyncBlocks(self.memory.blocks(user, agent=agent))

    def entities(self, user: str, *, agent: str | None = None, session: str | None = None) -> SyncEntities:
        """The people, places, organisations, things and topics that turns and memories name."""
        return SyncEntities(self.memory.entities(user, agent=agent, session=session))

    def close(self, *, drain_s: float = 5.0) -> None:
        """Finish running work and close, as leaving ``async with`` does. Other work stays pending in the store."""
        if not sys.is_finalizing():  # else in a __del__, and no work is under way any more
            run(self.memory.close(drain_s=drain_s))

    def flush(self, *, timeout_s: float | None = None) -> bool:
        """Wait until the added turns have their vectors."""
        return run(self.memory.flush(timeout_s=timeout_s))

    def add_turns(
        self, turns: Sequence[Mapping[str, Any] | Turn], *, user: str, agent: str | None = None,
        session: str | None = None, replay: bool = False, wait: Literal["durable", "searchable"] = "durable",
        zone: Zone = None,
    ) -> AddReport:  # fmt: skip
        """Store turns. They are durable and searchable when this returns; no model is called."""
        return run(self.memory.add_turns(
            turns, user=user, agent=agent, session=session, replay=replay, wait=wait, zone=zone,
        ))  # fmt: skip

    def add_memory(
        self, text: str, *, user: str, agent: str | None = None, session: str | None = None,
        kind: Literal["observation", "insight"] = "observation", subject: str = "", name: str | None = None,
        namespace: str | None = None, data: Mapping[str, Json] | None = None, expires: datetime | str | None = None,
        time: datetime | str | None = None, speaker: str | None = None, role: Role = "user", zone: Zone = None,
    ) -> Observation | Insight:  # fmt: skip
        """Store a statement verbatim as a memory; no model is called."""
        return run(self.memory.add_memory(
            text, user=user, agent=agent, session=session, kind=kind, subject=subject, name=name, namespace=namespace,
            data=data, expires=expires, time=time, speaker=speaker, role=role, zone=zone,
        ))  # fmt: skip

    def update(
        self, id: str, *, user: str, agent: str | None = None, text: str | None = None,
        data: Mapping[str, Json] | None = None, expires: datetime | str | None = None, version: int | None = None,
    ) -> Observation | Insight:  # fmt: skip
        """Correct a memory under its id; ``history`` keeps the old version."""
        return run(self.memory.update(
            id, user=user, agent=agent, text=text, data=data, expires=expires, version=version,
        ))  # fmt: skip

    def consolidate(self, *, user: str | None = None, preview: bool = False, zone: Zone = None) -> WorkReport:
        """Extract observations from pending turns now. Without a chat model they stay pending."""
        return run(self.memory.consolidate(user=user, preview=preview, zone=zone))

    def reflect(self, *, user: str, preview: bool = False, zone: Zone = None) -> WorkReport:
        """Consolidate the user's pending turns, then update the insights. No model is called if nothing is new."""
        return run(self.memory.reflect(user=user, preview=preview, zone=zone))

    def retrieve(
        self, query: str, *, user: str, agent: str | None = None, session: str | None = None, k: int = 10,
        as_of: datetime | str | None = None, exclude: Sequence[str] = (), filter: Mapping[str, Json] | None = None,
        kinds: Sequence[Kind] | None = None, explain: bool = False, zone: Zone = None, expand_lists: bool = False,
        speak: Speak | None = "always",
    ) -> Retrieval:  # fmt: skip
        """Find the best hits for a query. Calls the embedder at most once, and no chat model."""
        return run(self.memory.retrieve(
            query, user=user, agent=agent, session=session, k=k, as_of=as_of, exclude=exclude, filter=filter,
            kinds=kinds, explain=explain, zone=zone, expand_lists=expand_lists, speak=speak,
        ))  # fmt: skip

    def context(
        self, query: str, *, user: str, agent: str | None = None, session: str | None = None, k: int = 10,
        tokens: int = 1000, lines: Literal["memories", "turns"] = "memories", as_of: datetime | str | None = None,
        exclude: Sequence[str] = (), filter: Mapping[str, Json] | None = None, kinds: Sequence[Kind] | None = None,
        zone: Zone = None, assemble: bool = False, speak: Speak | None = None,
    ) -> str:  # fmt: skip
        """Render core memory, then the best hits as dated lines for a prompt, oldest first."""
        return run(self.memory.context(
            query, user=user, agent=agent, session=session, k=k, tokens=tokens, lines=lines, as_of=as_of,
            exclude=exclude, filter=filter, kinds=kinds, zone=zone, assemble=assemble, speak=speak,
        ))  # fmt: skip

    def profile(
        self, user: str, *, agent: str | None = None, session: str | None = None, tokens: int = 200,
        as_of: datetime | str | None = None, zone: Zone = None,
    ) -> str:  # fmt: skip
        """Summarise the user as dated lines; no model is called."""
        return run(self.memory.profile(user, agent=agent, session=session, tokens=tokens, as_of=as_of, zone=zone))

    def get(self, id: str, *, user: str, agent: str | None = None) -> Record:
        """Get one turn or memory."""
        return run(self.memory.get(id, user=user, agent=agent))

    def list(
        self, *, user: str, agent: str | None = None, session: str | None = None, kinds: Sequence[Kind] | None = None,
        filter: Mapping[str, Json] | None = None, period: Interval | tuple[Any, Any] | None = None,
        text: str | None = None, name: str | None = None, namespace: str | None = None, superseded: bool = False,
        limit: int | None = None,
    ) -> builtins.list[Record]:  # fmt: skip
        """List records in the order they were stored."""
        return run(self.memory.list(
            user=user, agent=agent, session=session, kinds=kinds, filter=filter, period=period, text=text, name=name,
            namespace=namespace, superseded=superseded, limit=limit,
        ))  # fmt: skip

    def history(self, id: str, *, user: str, agent: str | None = None) -> builtins.list[Observation | Insight]:
        """List all versions of a memory, with those it superseded and those that superseded it."""
        return run(self.memory.history(id, user=user, agent=agent))

    def chat(
        self, text: str, *, user: str, agent: str | None = None, session: str | None = None,
        persona: str | None = None, k: int = 10, tokens: int = 1000, window: int = 3000,
    ) -> SyncAnswer:  # fmt: skip
        """Answer the user with the chat model and what is remembered; both sides are recorded."""
        return SyncAnswer(self.memory.chat(
            text, user=user, agent=agent, session=session, persona=persona, k=k, tokens=tokens, window=window,
        ))  # fmt: skip

    def forget(
        self, *, user: str, agent: str | None = None, session: str | None = None, ids: Sequence[str] | None = None,
        period: Interval | tuple[Any, Any] | None = None, text: str | None = None, name: str | None = None,
        namespace: str | None = None, filter: Mapping[str, Json] | None = None, everything: bool = False,
        dry_run: bool = False,
    ) -> ForgetReport:  # fmt: skip
        """Permanently delete the selected records and everything derived from them."""
        return run(self.memory.forget(
            user=user, agent=agent, session=session, ids=ids, period=period, text=text, name=name,
            namespace=namespace, filter=filter, everything=everything, dry_run=dry_run,
        ))  # fmt: skip
