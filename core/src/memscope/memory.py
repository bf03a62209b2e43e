"""AsyncMemoryScope: the operations, nothing else.

add_turns ──▶ consolidate ──▶ reflect        writing: the first is durable at once, the others run later
retrieve  ──▶ context                        reading: no chat model
add_memory, get, list, update, history, forget

The other methods (moving, wiping, vectors, status) are the functions of ``administration.py``.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from memscope import administration, validation
from memscope.administration import as_method
from memscope.blocks import AsyncBlocks
from memscope.entities import operations as entity_operations
from memscope.errors import InputError, NotFound, hint_arguments
from memscope.records import (
    AddReport,
    ChangeSet,
    ForgetReport,
    Insight,
    Interval,
    Json,
    Kind,
    Observation,
    Record,
    Retrieval,
    Revision,
    Scope,
    Select,
    Turn,
    WorkReport,
)
from memscope.runtime import Runtime, assemble

if TYPE_CHECKING:
    from pathlib import Path

    from memscope.chat import Answer
    from memscope.chat.assembly import AssembledContext
    from memscope.config.settings import Settings
    from memscope.models import ChatModel, Embedder, Reranker
    from memscope.stores import Store
    from memscope.validation import Zone


@hint_arguments
class AsyncMemoryScope:
    """Long-term memory for agents, over one store.

    ``store``: a path, a URL, a Store; by default what the settings say, else one SQLite file in the platform's data
    folder. Models are optional and come from the settings unless given. ``user`` is required everywhere: nothing of
    one user is ever seen by another. Raises the errors of ``memscope.errors`` and no others.
    """

    def __init__(
        self,
        store: Store | str | Path | None = None,
        *,
        settings: Settings | Mapping[str, Any] | str | Path | None = None,
        chat: ChatModel | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        plugins: Sequence[object] = (),
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._runtime = assemble(store, settings, chat, embedder, reranker, plugins, clock)

    @property
    def runtime(self) -> Runtime:
        """The settings, store, models, plugins and clock that this memory works with."""
        return self._runtime

    async def __aenter__(self) -> Self:
        await self.runtime.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ---- writing

    async def add_turns(
        self,
        turns: Sequence[Mapping[str, Any] | Turn],
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        replay: bool = False,
        wait: Literal["durable", "searchable"] = "durable",
        zone: Zone = None,
    ) -> AddReport:
        """Keep turns: durable and searchable when this returns, no model asked.

        A turn is ``{"role", "content"}``, optionally with ``speaker``, ``time`` (or ``timestamp``; a number is seconds
        since 1970), ``id``, ``session``, ``metadata``. One without text is left out and counted in ``empty``. Without
        id and time it counts as said now. A repeated id or time adds nothing. ``replay=True``: the turns are a history
        shown again, of which only what is new is added. ``wait="searchable"``: other processes find it too. ``zone``:
        the user's time zone, by default that of the settings, else the system's; "now" and times without a zone are
        local to it, and it is kept with them.
        """
        where = validation.scope(user, agent, session)
        validation.choice("wait", wait, "durable", "searchable")
        async with self.runtime.operation("add_turns") as runtime:
            report = await runtime.store_turns(turns, where, replay=replay, zone=validation.zone(zone))
            runtime.work.wake(user, report.stored)
            if wait == "searchable":
                await runtime.store.searchable(user)
            return report

    add_memory = as_method(administration.add_memory)

    async def update(
        self,
        id: str,
        *,
        user: str,
        agent: str | None = None,
        text: str | None = None,
        data: Mapping[str, Json] | None = None,
        expires: datetime | str | None = None,
        version: int | None = None,
    ) -> Observation | Insight:
        """Correct a memory under its id; ``history`` keeps the old version. ``Conflict`` if ``version`` is outdated."""
        where = validation.scope(user, agent)
        async with self.runtime.operation("update") as runtime:
            old = await self._memory(id, where)
            given = {"role": "user", "content": old.text if text is None else text}
            turn, _ = await runtime.check_statement(given, where)
            changed = replace(
                old, text=turn.text,
                data=old.data if data is None else validation.json_object("data", data, runtime.limits),
                expires=old.expires if expires is None else validation.when("expires", expires, runtime.zone),
                origin="user", recorded=runtime.clock(),
            )  # fmt: skip
            expected = old.version if version is None else version
            await runtime.store.apply(user, ChangeSet(revised=(Revision(changed, expected),)))
            runtime.work.wake()
            return await self._memory(id, where)

    async def consolidate(self, *, user: str | None = None, preview: bool = False, zone: Zone = None) -> WorkReport:
        """Turn what is pending (of every user by default) into observations now. Without a chat model it stays so."""
        validation.owner(user)
        async with self.runtime.operation("consolidate") as runtime:
            consolidate, _ = runtime.stage_jobs()
            return await runtime.run(consolidate, user=user, preview=preview, zone=validation.zone(zone))

    async def reflect(self, *, user: str, preview: bool = False, zone: Zone = None) -> WorkReport:
        """Consolidate the user's pending turns, then bring the insights up to date. Nothing new: no call."""
        validation.scope(user)
        async with self.runtime.operation("reflect") as runtime:
            return await runtime.run(*runtime.stage_jobs(), user=user, preview=preview, zone=validation.zone(zone))

    # ---- reading

    async def retrieve(
        self,
        query: str,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        k: int = 10,
        as_of: datetime | str | None = None,
        exclude: Sequence[str] = (),
        filter: Mapping[str, Json] | None = None,
        kinds: Sequence[Kind] | None = None,
        explain: bool = False,
        zone: Zone = None,
        widen: bool = False,
    ) -> Retrieval:
        """The ``k`` best hits for a query: evidence, its time, what found it. No chat model, at most one embedding.

        ``as_of``: what could be known then. ``exclude``: turn keys that the caller has anyway. ``explain`` fills
        ``Retrieval.explanation``. A query without words gives no hits and says so in ``reason``. ``zone``: that of
        "today" in the query, as in ``add_turns``. ``widen``: 2.5 times ``k`` for a question for all of a class.
        """
        where = validation.scope(user, agent, session)
        asked = self.runtime.query(query, where, k=k, as_of=as_of, exclude=exclude, filter=filter, kinds=kinds,
                                   explain=explain, zone=zone, widen=widen)  # fmt: skip
        async with self.runtime.operation("retrieve") as runtime:
            return await runtime.retrieve(asked)

    async def context(
        self,
        query: str,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        k: int = 10,
        tokens: int = 1000,
        lines: Literal["memories", "turns"] = "memories",
        as_of: datetime | str | None = None,
        exclude: Sequence[str] = (),
        filter: Mapping[str, Json] | None = None,
        kinds: Sequence[Kind] | None = None,
        zone: Zone = None,
        assemble: bool = False,
    ) -> str:
        """Blocks of core memory, then the best hits that fit into ``tokens`` as dated lines for a prompt, oldest first.

        At most ``k`` hits, 2.5 times as many for a question for all of a class ("Which books did I read?"). A query
        about the user, or one for which nothing is found, gets the profile, at most 200 of the tokens. ``assemble``:
        ``tokens`` are for all: core memory, the top entities, hits, the session's recent turns.
        """
        from memscope import retrieval

        validation.choice("lines", lines, "memories", "turns")
        room = validation.count("tokens", tokens, 1_000_000)
        whole = await self._assembled(validation.scope(user, agent, session), room, as_of) if assemble else None
        if whole is not None:
            exclude, session = (*exclude, *whole.keys), None
        found = await self.retrieve(
            query, user=user, agent=agent, session=session, k=k, as_of=as_of, exclude=exclude, filter=filter,
            kinds=kinds, zone=zone, widen=True,
        )  # fmt: skip
        if whole is not None:
            return whole.text(found, lines)
        core = await self.blocks(user, agent=agent).text(as_of=as_of)
        return retrieval.context(found, tokens=room, lines=lines, core=core)

    async def _assembled(self, where: Scope, tokens: int, as_of: datetime | str | None) -> AssembledContext:
        from memscope.chat.assembly import assemble

        then = None if as_of is None else validation.when("as_of", as_of, self.runtime.zone)
        async with self.runtime.operation("retrieve"):
            return await assemble(self.runtime, where, tokens, as_of=then)

    async def profile(
        self,
        user: str,
        *,
        agent: str | None = None,
        session: str | None = None,
        tokens: int = 200,
        as_of: datetime | str | None = None,
        zone: Zone = None,
    ) -> str:
        """Returns a summary of the user as dated lines within ``tokens``; no model is asked.

        Insights first, then the best observations or, without a chat model, the user's own lasting statements.
        """
        from memscope import retrieval

        where = validation.scope(user, agent, session)
        async with self.runtime.operation("retrieve") as runtime:
            asked = runtime.query("", where, k=1, as_of=as_of, zone=zone)
            room = validation.count("tokens", tokens, 1_000_000)
            found = await runtime.retrieve(replace(asked, about_user=True, profile_tokens=room))
            return "\n".join(retrieval.profile_lines(found.profile, room))

    async def get(self, id: str, *, user: str, agent: str | None = None) -> Record:
        """The turn or memory with this key or id. ``NotFound`` for a missing one and for another's alike."""
        where = validation.scope(user, agent)
        async with self.runtime.operation("get") as runtime:
            record = (await runtime.store.fetch(user, [str(id)])).records.get(str(id))
            if record is None or (agent is not None and record.scope.agent != where.agent):
                raise NotFound(f"nothing has the id {id!r} here", hint="list shows what there is")
            return record

    async def list(
        self,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        kinds: Sequence[Kind] | None = None,
        filter: Mapping[str, Json] | None = None,
        period: Interval | tuple[Any, Any] | None = None,
        text: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        superseded: bool = False,
        limit: int | None = None,
    ) -> builtins.list[Record]:
        """Records in the order they were stored, the newest ``limit`` of them; superseded ones only if asked for."""
        where = validation.scope(user, agent, session)
        async with self.runtime.operation("list") as runtime:
            select = validation.select(
                where, runtime.zone, kinds=kinds, filter=filter, period=period, text=text, name=name,
                namespace=namespace, current=not superseded, live_at=runtime.clock(),
            )  # fmt: skip
            if limit is not None:
                keys = (await runtime.store.keys(select))[-validation.count("limit", limit, 1_000_000) :]
                select = replace(select, ids=frozenset(key.id for key in keys))
            return [record async for page in runtime.store.scan(select) for record in page]

    async def history(self, id: str, *, user: str, agent: str | None = None) -> builtins.list[Observation | Insight]:
        """All versions of a memory, with those it superseded and those that superseded it, oldest first."""
        await self.get(id, user=user, agent=agent)
        async with self.runtime.operation("history") as runtime:
            versions = await runtime.store.history(user, id)
            return [memory for memory in versions if agent in (None, memory.scope.agent)]

    def blocks(self, user: str, *, agent: str | None = None) -> AsyncBlocks:
        """Core memory: the texts that this user's agents, or this one, have in every context."""
        return AsyncBlocks(self.runtime, user, agent)

    entities = as_method(entity_operations.entities)
    entity = as_method(entity_operations.entity)
    timeline = as_method(entity_operations.timeline)
    stream = as_method(entity_operations.stream)
    graph = as_method(entity_operations.graph)
    merge_entities = as_method(entity_operations.merge_entities)
    split_entities = as_method(entity_operations.split_entities)

    # ---- an assistant

    def chat(
        self,
        text: str,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        persona: str | None = None,
        k: int = 10,
        tokens: int = 1000,
        window: int = 3000,
    ) -> Answer:
        """Answer the user with the chat model and what is remembered; both sides are recorded.

        Iterate over the answer for its pieces, or await it; where memory fails it comes all the same, and ``notes`` say
        so. The model is shown the ``persona``, the session's recent turns within ``window`` tokens, and ``k`` hits
        that these do not hold, within ``tokens``. ``ConfigError`` without a chat model.
        """
        from memscope.chat import ChatRequest, start

        return start(self.runtime, ChatRequest(text, Scope(user, agent, session), persona, k, tokens, window))

    # ---- forgetting

    async def forget(
        self,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        ids: Sequence[str] | None = None,
        period: Interval | tuple[Any, Any] | None = None,
        text: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        filter: Mapping[str, Json] | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> ForgetReport:
        """Remove what is selected and all that was derived from it, for good; a receipt without content.

        At least one of ``session``, ``ids``, ``period``, ``text``, ``name``, ``namespace``, ``filter`` or
        ``everything=True``; several narrow each other. ``NotFound`` for an id that is not there; then nothing goes.
        """
        where = validation.scope(user, agent, session)
        validation.choice("everything", everything, True, False)
        async with self.runtime.operation("forget") as runtime:
            select = validation.select(
                where, runtime.zone, ids=ids, filter=filter, period=period, text=text, name=name, namespace=namespace
            )
            if not everything and select == Select(user, agent):
                raise InputError(
                    "forget needs to know what",
                    hint="give ids, session, period, text, name, namespace or filter, or everything=True",
                )
            for id in sorted(select.ids or ()):
                await self.get(id, user=user, agent=agent)
            return await runtime.forget(select, where, dry_run=dry_run)

    # ---- administration

    sweep = as_method(administration.sweep)
    audit = as_method(administration.audit)
    receipts = as_method(administration.receipts)
    start = as_method(administration.start)
    stop = as_method(administration.stop)
    unpark = as_method(administration.unpark)
    proposals = as_method(administration.proposals)
    accept = as_method(administration.accept)
    reject = as_method(administration.reject)
    compact = as_method(administration.compact)
    export = as_method(administration.export)
    import_ = as_method(administration.import_)
    import_from = as_method(administration.import_from)
    backup = as_method(administration.backup)
    restore = as_method(administration.restore)
    recover = as_method(administration.recover)
    reembed = as_method(administration.reembed)
    flush = as_method(administration.flush)
    users = as_method(administration.users)
    status = as_method(administration.status)
    close = as_method(administration.close)

    # ---- inside

    async def _memory(self, id: str, where: Scope) -> Observation | Insight:
        record = await self.get(id, user=where.user, agent=where.agent)
        if isinstance(record, Turn):
            raise InputError(f"{id!r} is a turn; turns are never altered", hint="forget it, or update what rests on it")
        return record
