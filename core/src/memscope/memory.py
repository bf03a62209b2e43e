"""AsyncMemoryScope: the operations, nothing else.

add_turns ──▶ consolidate ──▶ reflect        writing: the first is durable at once, the others run later
retrieve  ──▶ context                        reading: no chat model
add_memory, get, list, update, history, forget

``memory.blocks(user)`` is core memory, ``memory.entities(user)`` the people and things that are mentioned,
``memory.admin`` the work of operators.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from memscope import validation
from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.entities.operations import AsyncEntities
from memscope.errors import InputError, NotFound, hint_arguments
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
    Revision,
    Role,
    Scope,
    Select,
    Speak,
    Turn,
    WorkReport,
)
from memscope.runtime import assemble

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

    Every call names the ``user`` it concerns; no user ever sees another's memory. All errors that it raises are in
    ``memscope.errors``. "Today" and times that name no zone (datetimes, ISO 8601) are read in the ``zone`` of the call,
    else in that of the settings, else in the system's.

    Args:
        store: a path, a URL or a Store; by default that of the settings, else a SQLite file in the data folder.
        settings: a mapping, or the path of a YAML file; by default from the environment.
        chat: a chat model, instead of the one in the settings.
        embedder: an embedder, instead of the one in the settings.
        reranker: a rerank model, instead of the one in the settings.
        plugins: plugin objects, in addition to the installed plugins.
        clock: a function that returns the current time, for tests.

    Raises:
        ConfigError: a setting is unknown, missing or wrong.
        PluginError: a plugin cannot be loaded.
    """

    def __init__(
        self, store: Store | str | Path | None = None, *,
        settings: Settings | Mapping[str, Any] | str | Path | None = None, chat: ChatModel | None = None,
        embedder: Embedder | None = None, reranker: Reranker | None = None, plugins: Sequence[object] = (),
        clock: Callable[[], datetime] | None = None,
    ) -> None:  # fmt: skip
        self._runtime = assemble(store, settings, chat, embedder, reranker, plugins, clock)

    @property
    def admin(self) -> AsyncAdmin:
        """The work of operators: export and import, backup, status, approval, vectors, background work."""
        return AsyncAdmin(self._runtime)

    def blocks(self, user: str, *, agent: str | None = None) -> AsyncBlocks:
        """Core memory: the blocks of text that are in every context.

        Args:
            user: whose blocks.
            agent: the agent whose blocks they are; by default the blocks that all agents of the user share.

        Returns:
            Operations on these blocks.

        Raises:
            ScopeError: the user or agent is not a valid identifier.
        """
        return AsyncBlocks(self._runtime, user, agent)

    def entities(self, user: str, *, agent: str | None = None, session: str | None = None) -> AsyncEntities:
        """The people, places, organisations, things and topics that turns and memories name.

        Args:
            user: whose records.
            agent: only those of this agent.
            session: only those of this session.

        Returns:
            Operations on these entities.

        Raises:
            ScopeError: the user, agent or session is not a valid identifier.
        """
        return AsyncEntities(self._runtime, user, agent, session)

    async def __aenter__(self) -> Self:
        await self._runtime.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, *, drain_s: float = 5.0) -> None:
        """Finish running work and close, as leaving ``async with`` does. Other work stays pending in the store.

        Args:
            drain_s: seconds to wait for work under way.

        Raises:
            StoreError: the store could not be closed.
        """
        await self._runtime.close(drain_s)

    async def flush(self, *, timeout_s: float | None = None) -> bool:
        """Wait until the added turns have their vectors.

        Args:
            timeout_s: the maximum wait in seconds.

        Returns:
            True when all have them, False if ``timeout_s`` ran out.

        Raises:
            ModelError: the embedder failed.
        """
        if timeout_s is not None and (isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float)):
            raise InputError(f"timeout_s must be a number of seconds, got {type(timeout_s).__name__}")
        async with self._runtime.operation("flush"):
            self._runtime.work.wake()
            drained = await self._runtime.work.filler.drain(timeout_s)
            if self._runtime.work.filler.error is not None:
                raise self._runtime.work.filler.error
            return drained

    # ---- writing

    async def add_turns(
        self, turns: Sequence[Mapping[str, Any] | Turn], *, user: str, agent: str | None = None,
        session: str | None = None, replay: bool = False, wait: Literal["durable", "searchable"] = "durable",
        zone: Zone = None,
    ) -> AddReport:  # fmt: skip
        """Store turns. They are durable and searchable when this returns; no model is called.

        A turn is ``{"role", "content"}``, optionally with ``speaker``, ``time`` (or ``timestamp``, ``created_at``; a
        number is seconds since 1970), ``id``, ``session``, ``metadata``. One without id and time counts as said now. A
        turn is skipped if its id is stored already, or if a stored turn has the same speaker, words and time.

        Args:
            turns: dicts or ``Turn`` objects, at most 10,000; those without text are counted in ``empty``.
            user: who speaks with the agent.
            agent: the agent that takes part.
            session: the conversation; a turn may name its own.
            replay: True if the turns are a whole history; only the new ones are added.
            wait: ``"durable"``, or ``"searchable"``: return only when other processes can find them too.
            zone: the time zone of "tomorrow" and of times without one; by default the settings', else the system's.

        Returns:
            The keys of the turns, and how many were stored, known or empty.

        Raises:
            InputError: a turn is not valid; then none is stored.
            StoreError: the store cannot be written.
        """
        where = validation.scope(user, agent, session)
        validation.choice("wait", wait, "durable", "searchable")
        validation.choice("replay", replay, True, False)
        async with self._runtime.operation("add_turns") as services:
            report = await self._runtime.store_turns(turns, where, replay=replay, zone=validation.zone(zone))
            self._runtime.work.wake(user, report.stored)
            if wait == "searchable":
                await services.store.searchable(user)
            return report

    async def add_memory(
        self, text: str, *, user: str, agent: str | None = None, session: str | None = None,
        kind: Literal["observation", "insight"] = "observation", subject: str = "", name: str | None = None,
        namespace: str | None = None, data: Mapping[str, Json] | None = None, expires: datetime | str | None = None,
        time: datetime | str | None = None, speaker: str | None = None, role: Role = "user", zone: Zone = None,
    ) -> Observation | Insight:  # fmt: skip
        """Store a statement verbatim as a memory; no model is called.

        If a current memory has the same words, agent and data, it gains a source instead. A repeated call with the
        same ``time`` changes nothing.

        Args:
            text: the statement; may be empty with ``data``.
            user: whose memory.
            agent: the agent that remembers it; by default all agents do.
            session: the conversation it comes from.
            kind: ``"observation"``, or ``"insight"``, which sums up a ``subject`` and supersedes its earlier insight.
            subject: what an insight is about; an observation has none.
            name: makes the memory a document, one per name and namespace: a new text supersedes the old one.
            namespace: the namespace of ``name``.
            data: a JSON object to keep with the memory.
            expires: the time from which the memory is no longer found.
            time: when it was said; by default now.
            speaker: who said it.
            role: the speaker's role; facts from a person win over notes of an ``"assistant"``.
            zone: the time zone of times without one.

        Returns:
            The memory.

        Raises:
            InputError: an argument is not valid.
            Conflict: a statement with these words and this ``time`` was forgotten.
        """
        from memscope.reflection import statements

        where = validation.scope(user, agent, session)
        validation.choice("kind", kind, "observation", "insight")
        if (kind == "insight") != bool(validation.text("subject", subject or "", validation.Limits().query).strip()):
            raise InputError("an insight has a subject, an observation has none", hint='kind="insight", subject="diet"')
        async with self._runtime.operation("add_memory"):
            memory, is_new = await statements.add(
                self._runtime, {"role": role, "content": text, "speaker": speaker, "time": time}, where,
                subject=subject, name=name, namespace=namespace, data=data, expires=expires, zone=validation.zone(zone),
            )  # fmt: skip
            if is_new:
                self._runtime.work.wake(user, 1)
            return memory

    async def update(
        self, id: str, *, user: str, agent: str | None = None, text: str | None = None,
        data: Mapping[str, Json] | None = None, expires: datetime | str | None = None, version: int | None = None,
    ) -> Observation | Insight:  # fmt: skip
        """Correct a memory under its id; ``history`` keeps the old version.

        Args:
            id: the id of the memory.
            user: whose memory.
            agent: the agent that the memory must belong to.
            text: the new text; arguments that are left out change nothing.
            data: the new data.
            expires: the new time from which it is no longer found.
            version: the version that you read, to detect a change since.

        Returns:
            The memory in its new version.

        Raises:
            NotFound: no memory of this user has the id.
            Conflict: the memory has changed since ``version``.
            InputError: nothing to change is given, or the id is a turn's; turns are never altered.
        """
        from memscope.blocks.corrections import apply_correction

        where = validation.scope(user, agent)
        if (text, data, expires) == (None, None, None):
            raise InputError("update needs to know what", hint="give text, data or expires")
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
            raise InputError(f"version must be a whole number, got {type(version).__name__}")
        async with self._runtime.operation("update") as services:
            old = await self._memory(id, where)
            statement = {"role": "user", "content": old.text if text is None else text}
            turn, _ = await self._runtime.check_statement(statement, where, textless=text is None)
            changed = replace(
                old, text=turn.text,
                data=old.data if data is None else validation.json_object("data", data, services.limits),
                expires=old.expires if expires is None else validation.when("expires", expires, services.zone),
                recorded=max(old.recorded, services.clock()),  # clocks of two machines may differ
            )  # fmt: skip
            await apply_correction(services, old, Revision(changed, old.version if version is None else version))
            self._runtime.work.wake()
            return await self._memory(id, where)

    async def consolidate(self, *, user: str | None = None, preview: bool = False, zone: Zone = None) -> WorkReport:
        """Extract observations from pending turns now. Without a chat model they stay pending.

        Args:
            user: whose turns; by default those of all users.
            preview: return what would be made, and write nothing.
            zone: the user's time zone.

        Returns:
            What was made, rejected, failed, and is still pending.

        Raises:
            StoreError: the store cannot be read. Errors of models are in the report.
        """
        validation.owner(user)
        async with self._runtime.operation("consolidate"):
            consolidate, _ = self._runtime.stage_jobs()
            return await self._runtime.run(consolidate, user=user, preview=preview, zone=validation.zone(zone))

    async def reflect(self, *, user: str, preview: bool = False, zone: Zone = None) -> WorkReport:
        """Consolidate the user's pending turns, then update the insights. No model is called if nothing is new.

        Args:
            user: whose turns and observations.
            preview: return what would be made, and write nothing.
            zone: the user's time zone.

        Returns:
            What was made, rejected, failed, and is still pending.

        Raises:
            StoreError: the store cannot be read. Errors of models are in the report.
        """
        validation.scope(user)
        async with self._runtime.operation("reflect"):
            jobs = self._runtime.stage_jobs()
            return await self._runtime.run(*jobs, user=user, preview=preview, zone=validation.zone(zone))

    # ---- reading

    async def retrieve(
        self, query: str, *, user: str, agent: str | None = None, session: str | None = None, k: int = 10,
        as_of: datetime | str | None = None, exclude: Sequence[str] = (), filter: Mapping[str, Json] | None = None,
        kinds: Sequence[Kind] | None = None, explain: bool = False, zone: Zone = None, expand_lists: bool = False,
        speak: Speak | None = "always",
    ) -> Retrieval:  # fmt: skip
        """Find the best hits for a query. Calls the embedder at most once, and no chat model.

        Args:
            query: a question or words.
            user: whose memory.
            agent: only what this agent remembers.
            session: only what was said in this session.
            k: the maximum number of hits, 1 to 100.
            as_of: answer with what was known at this time.
            exclude: keys of turns that the caller shows anyway.
            filter: conditions on ``metadata`` of turns and ``data`` of memories.
            kinds: of ``"turn"``, ``"observation"``, ``"insight"``; by default all.
            explain: fill ``Retrieval.explanation``.
            zone: the time zone of "today" in the query.
            expand_lists: return up to 2.5 × ``k`` hits for list questions ("Which books did I read?").
            speak: ``"always"``, or ``"when_needed"``: no more hits than the message needs; None: as the settings say.

        Returns:
            The hits, the best first, each with its evidence and time; ``reason`` says why there are none.

        Raises:
            InputError: an argument is not valid.
        """
        where = validation.scope(user, agent, session)
        asked = self._runtime.query(query, where, k=k, as_of=as_of, exclude=exclude, filter=filter, kinds=kinds,
                                   explain=explain, zone=zone, expand_lists=expand_lists, speak=speak)  # fmt: skip
        async with self._runtime.operation("retrieve"):
            return await self._runtime.retrieve(asked)

    async def context(
        self, query: str, *, user: str, agent: str | None = None, session: str | None = None, k: int = 10,
        tokens: int = 1000, lines: Literal["memories", "turns"] = "memories", as_of: datetime | str | None = None,
        exclude: Sequence[str] = (), filter: Mapping[str, Json] | None = None, kinds: Sequence[Kind] | None = None,
        zone: Zone = None, assemble: bool = False, speak: Speak | None = None,
    ) -> str:  # fmt: skip
        """Render core memory, then the best hits as dated lines for a prompt, oldest first.

        The profile stands before the hits if the query is about the user, or if nothing was found. It takes at most 200
        of the tokens.

        Args:
            query: a question or words.
            user: whose memory.
            agent: only what this agent remembers.
            session: only what was said in this session. With ``assemble`` it only selects the recent turns; hits may
                come from any session.
            k: the maximum number of hits; 2.5 × ``k`` for list questions.
            tokens: the token budget of the text (estimated).
            lines: ``"memories"``: turns with the facts taken from them; ``"turns"``: turns in their own words alone.
            as_of: answer with what was known at this time.
            exclude: keys of turns that the caller shows anyway.
            filter: conditions on ``metadata`` of turns and ``data`` of memories.
            kinds: of ``"turn"``, ``"observation"``, ``"insight"``; by default all.
            zone: the time zone of "today" in the query.
            assemble: print the session's recent turns, core memory, the main entities and a summary too, all within
                ``tokens``.
            speak: ``"when_needed"``: nothing for a greeting or a task that brings its own material; ``"always"``:
                the best hits for any message; None: as the settings say.

        Returns:
            The text; "" if there is nothing to show.

        Raises:
            InputError: an argument is not valid.
        """
        from memscope import retrieval

        validation.choice("lines", lines, "memories", "turns")
        room = validation.count("tokens", tokens, 1_000_000)
        if as_of is not None:
            as_of = validation.when("as_of", as_of, validation.zone(zone) or self._runtime.services.zone)
        whole: AssembledContext | None = None
        if assemble:
            from memscope.chat import assembly

            async with self._runtime.operation("retrieve"):
                whole = await assembly.assemble(
                    self._runtime, validation.scope(user, agent, session), room, as_of=as_of
                )
            exclude, session = (*exclude, *whole.keys), None
        hits = await self.retrieve(
            query, user=user, agent=agent, session=session, k=k, as_of=as_of, exclude=exclude, filter=filter,
            kinds=kinds, zone=zone, expand_lists=True, speak=speak,
        )  # fmt: skip
        if whole is not None:
            return whole.text(hits, lines)
        retrieval.log_narrowed(self, user, session, hits)
        core = await self.blocks(user, agent=agent).text(as_of=as_of)
        return retrieval.context(hits, tokens=room, lines=lines, core=core)

    async def profile(
        self, user: str, *, agent: str | None = None, session: str | None = None, tokens: int = 200,
        as_of: datetime | str | None = None, zone: Zone = None,
    ) -> str:  # fmt: skip
        """Summarise the user as dated lines; no model is called.

        Insights first, then the best observations or, without a chat model, the user's own lasting statements.

        Args:
            user: whose memory.
            agent: only what this agent remembers.
            session: only what was said in this session.
            tokens: the token budget of the text (estimated).
            as_of: answer with what was known at this time.
            zone: the user's time zone.

        Returns:
            The lines; "" if nothing is known.

        Raises:
            InputError: an argument is not valid.
        """
        from memscope import retrieval

        where = validation.scope(user, agent, session)
        async with self._runtime.operation("retrieve"):
            asked = self._runtime.query("", where, k=1, as_of=as_of, zone=zone)
            room = validation.count("tokens", tokens, 1_000_000)
            result = await self._runtime.retrieve(replace(asked, asks_profile=True, profile_tokens=room))
            return "\n".join(retrieval.profile_lines(result.profile, room))

    async def get(self, id: str, *, user: str, agent: str | None = None) -> Record:
        """Get one turn or memory.

        Args:
            id: the key of a turn or the id of a memory.
            user: whose record.
            agent: the agent that the record must belong to.

        Returns:
            The record.

        Raises:
            NotFound: no record of this user (and agent) has the id.
        """
        from memscope.reconciliation.insight_sentences import with_own_sentences

        where = validation.scope(user, agent)
        async with self._runtime.operation("get") as services:
            record = (await services.store.fetch(user, [str(id)])).records.get(str(id))
            if record is None or (agent is not None and record.scope.agent != where.agent):
                raise NotFound(f"no record has the id {id!r}", hint="list shows the ids")
            return with_own_sentences(record)

    async def list(
        self, *, user: str, agent: str | None = None, session: str | None = None, kinds: Sequence[Kind] | None = None,
        filter: Mapping[str, Json] | None = None, period: Interval | tuple[Any, Any] | None = None,
        text: str | None = None, name: str | None = None, namespace: str | None = None, superseded: bool = False,
        limit: int | None = None,
    ) -> builtins.list[Record]:  # fmt: skip
        """List records in the order they were stored.

        Args:
            user: whose records.
            agent: only those of this agent.
            session: only those of this session.
            kinds: of ``"turn"``, ``"observation"``, ``"insight"``; by default all.
            filter: conditions on ``metadata`` of turns and ``data`` of memories.
            period: only what was said in it: a pair of dates or times, None for an open side.
            text: only those that contain these words.
            name: only the document of this name.
            namespace: only documents of this namespace.
            superseded: also list memories that no longer hold.
            limit: list at most this many records, the newest.

        Returns:
            The records, oldest first.

        Raises:
            InputError: an argument is not valid.
        """
        from memscope.retrieval.insights_as_of import without_expired_facts

        where = validation.scope(user, agent, session)
        validation.choice("superseded", superseded, True, False)
        async with self._runtime.operation("list") as services:
            select = validation.select(
                where, services.zone, kinds=kinds, filter=filter, period=period, text=text, name=name,
                namespace=namespace, current=not superseded, live_at=services.clock(),
            )  # fmt: skip
            if limit is not None:
                keys = (await services.store.keys(select))[-validation.count("limit", limit, 1_000_000) :]
                select = replace(select, ids=frozenset(key.id for key in keys))
            records = [record async for page in services.store.scan(select) for record in page]
            return await without_expired_facts(services.store, user, records, services.clock())

    async def history(self, id: str, *, user: str, agent: str | None = None) -> builtins.list[Observation | Insight]:
        """List all versions of a memory, with those it superseded and those that superseded it.

        Args:
            id: the id of the memory.
            user: whose memory.
            agent: only versions of this agent.

        Returns:
            The versions, oldest first.

        Raises:
            NotFound: no record of this user has the id.
        """
        await self.get(id, user=user, agent=agent)
        async with self._runtime.operation("history") as services:
            return [one for one in await services.store.history(user, id) if agent in (None, one.scope.agent)]

    # ---- an assistant

    def chat(
        self, text: str, *, user: str, agent: str | None = None, session: str | None = None,
        persona: str | None = None, k: int = 10, tokens: int = 1000, window: int = 3000,
    ) -> Answer:  # fmt: skip
        """Answer the user with the chat model and what is remembered; both sides are recorded.

        If memory fails, the model answers without it, and ``Answer.notes`` says so.

        Args:
            text: the user's words.
            user: who speaks.
            agent: the agent that answers.
            session: the conversation to continue.
            persona: the assistant's role; by default the block ``persona``.
            k: the maximum number of hits shown to the model.
            tokens: the token budget of the hits (estimated).
            window: the token budget of the session's recent turns (estimated).

        Returns:
            The answer: await it whole, or iterate over its pieces as they arrive.

        Raises:
            ConfigError: there is no chat model.
            ModelError: the model failed; raised by the answer.
        """
        from memscope.chat import ChatRequest, start

        return start(self._runtime, ChatRequest(text, Scope(user, agent, session), persona, k, tokens, window))

    # ---- forgetting

    async def forget(
        self, *, user: str, agent: str | None = None, session: str | None = None, ids: Sequence[str] | None = None,
        period: Interval | tuple[Any, Any] | None = None, text: str | None = None, name: str | None = None,
        namespace: str | None = None, filter: Mapping[str, Json] | None = None, everything: bool = False,
        dry_run: bool = False,
    ) -> ForgetReport:  # fmt: skip
        """Permanently delete the selected records and everything derived from them.

        Needs a condition besides ``user`` and ``agent``, or ``everything=True``. Records have to meet all conditions.

        Args:
            user: whose memory.
            agent: only what this agent remembers.
            session: what was said in this session.
            ids: keys of turns, ids of memories.
            period: what was said in it: a pair of dates or times, None for an open side.
            text: what contains these words.
            name: the document of this name.
            namespace: documents of this namespace.
            filter: conditions on ``metadata`` of turns and ``data`` of memories.
            everything: all records of the user (and agent).
            dry_run: count, and remove nothing.

        Returns:
            A receipt with counts, without content.

        Raises:
            InputError: there is no condition.
            NotFound: no record has one of the ids; then nothing is removed.
        """
        where = validation.scope(user, agent, session)
        validation.choice("everything", everything, True, False)
        validation.choice("dry_run", dry_run, True, False)
        if (text is not None and not str(text).strip()) or filter == {}:
            raise InputError("the text or filter is empty", hint="give words or conditions, or leave it out")
        async with self._runtime.operation("forget") as services:
            select = validation.select(
                where, services.zone, ids=ids, filter=filter, period=period, text=text, name=name, namespace=namespace
            )
            if not everything and select == Select(user, agent):
                raise InputError(
                    "forget needs to know what",
                    hint="give ids, session, period, text, name, namespace or filter, or everything=True",
                )
            for prepare in () if dry_run else self._runtime.before_forget:
                await prepare(select)
            for id in sorted(select.ids or ()):
                await self.get(id, user=user, agent=agent)
            return await self._runtime.forget(select, where, dry_run=dry_run)

    # ---- inside

    async def _memory(self, id: str, where: Scope) -> Observation | Insight:
        record = await self.get(id, user=where.user, agent=where.agent)
        if isinstance(record, Turn):
            raise InputError(f"{id!r} is a turn; turns are never altered", hint="forget it, or update what rests on it")
        return record
