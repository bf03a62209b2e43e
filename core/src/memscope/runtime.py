"""The parts of one memory put together: settings, store, models, plugins, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memscope import telemetry, validation
from memscope.errors import ConfigError, PluginError
from memscope.jobs.embedding import Filler, declare, embed_batch
from memscope.models import Usage
from memscope.pipeline import Worker, WorkerContext
from memscope.pipeline import assemble as steps
from memscope.records import AddReport, Json, Retrieval, Scope, Turn, WorkReport
from memscope.records.identity import inserts

if TYPE_CHECKING:
    from memscope.config.settings import Settings
    from memscope.jobs.background import Background
    from memscope.jobs.runner import StageJob
    from memscope.models import ChatModel, Embedder, Reranker
    from memscope.plugins.loader import Plugins
    from memscope.retrieval import Query
    from memscope.stores import Store


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Runtime:
    """Made by ``assemble``; the operations of ``memory.py`` are written against it."""

    settings: Settings
    store: Store
    plugins: Plugins
    ctx: WorkerContext
    clock: Callable[[], datetime]
    zone: tzinfo | None
    limits: validation.Limits
    location: str
    filler: Filler = field(default_factory=Filler)
    background: Background | None = None
    spent: dict[str, Usage] = field(default_factory=dict)  # of models, by operation
    _secret: bytes | None = None
    _retrieving: list[Worker[Any]] | None = None
    _duties: tuple[StageJob, StageJob] | None = None

    def now(self) -> datetime:
        """In the time zone of the settings."""
        return self.clock().astimezone(self.zone) if self.zone else self.clock()

    @contextmanager
    def span(self, operation: str) -> Iterator[None]:
        """Around one operation: a span for those who trace, and what it costs."""
        with telemetry.span(operation), self.counting(operation):
            yield

    @contextmanager
    def counting(self, operation: str) -> Iterator[None]:
        """Count what is asked of models, in all and for the operation; what it sets off in the background as well."""
        with self.ctx.usage.counting(), self.spent.setdefault(operation, Usage()).counting():
            yield

    async def secret(self) -> bytes:
        if self._secret is None:
            self._secret = await self.store.secret()
        return self._secret

    def wake(self, user: str = "", turns: int = 0) -> None:
        """There is something to embed, and (``turns`` of a user) to consolidate."""
        self.filler.wake(self.ctx)
        if self.background is not None and turns:
            self.background.told(user, turns)

    async def keep(self, turns: Sequence[Mapping[str, Any] | Turn], where: Scope, *, replay: bool = False) -> AddReport:
        """Turns checked, shown to the plugins, and durable."""
        taken = validation.turns(turns, where, self.clock(), self.zone, self.limits)
        kept = tuple(await self.plugins.before("add_turns", taken.turns, scope=where))
        same = len(kept) == len(taken.turns)  # else a plugin left some out, and places say nothing
        timed = taken.timed if same else [turn.time != turn.recorded for turn in kept]
        drafted = inserts(await self.secret(), kept, timed, replay=replay)
        report = taken.report(await self.store.append(where.user, drafted))
        await self.plugins.after("add_turns", report, scope=where)
        return report

    async def stated(self, given: Mapping[str, Any], where: Scope) -> tuple[Turn, bool]:
        """One statement, checked and shown to the plugins; and whether its time was given."""
        taken = validation.turns([given], where, self.clock(), self.zone, self.limits)
        kept = await self.plugins.before("add_turns", taken.turns, scope=where)
        if len(kept) != 1:
            raise PluginError("a plugin left the statement out", hint="nothing was stored")
        return kept[0], taken.timed[0]

    # ---- reading

    def question(self, query: str, where: Scope, **asked: Any) -> Query:
        from memscope.retrieval import Query

        return Query(query=query, scope=where, now=self.now(), **asked)

    async def retrieve(self, question: Query) -> Retrieval:
        from memscope import retrieval

        if self._retrieving is None:
            names = self.settings.pipelines.retrieve
            self._retrieving = steps("retrieve", names, self.plugins.workers("retrieve"), retrieval.Query)
        return await retrieval.retrieve(question, replace(self.ctx, notes=[]), self._retrieving)

    def context(self, found: Retrieval, *, tokens: int, lines: Literal["memories", "turns"]) -> str:
        from memscope import retrieval

        return retrieval.context(found, tokens=tokens, lines=lines)

    # ---- the back end

    async def consolidate(self, user: str | None, *, preview: bool) -> WorkReport:
        from memscope.jobs.runner import run_until_idle

        report = await run_until_idle(self.ctx, self.stage_jobs()[0], user, preview=preview)
        self.wake()
        return report

    async def reflect(self, user: str, *, preview: bool) -> WorkReport:
        from memscope.jobs.runner import merge_reports, run_until_idle

        reports = [await run_until_idle(self.ctx, job, user, preview=preview) for job in self.stage_jobs()]
        self.wake()
        return merge_reports("reflect", reports)

    def stage_jobs(self) -> tuple[StageJob, StageJob]:
        """Consolidate and reflect, with the workers of the settings: for a call, the background, or a process."""
        if self._duties is None:
            from memscope import consolidation, reflection

            names, known = self.settings.pipelines, self.plugins.workers
            consolidate = steps("consolidate", names.consolidate, known("consolidate"), consolidation.Batch)
            reflect = steps("reflect", names.reflect, known("reflect"), reflection.Batch)
            self._duties = (
                consolidation.job(self.ctx, consolidate, self.plugins),
                reflection.job(self.ctx, reflect, self.plugins),
            )
        return self._duties

    def start(self) -> None:
        from memscope.jobs.background import Background

        if self.background is None:
            self.background = Background(self.ctx, *self.stage_jobs(), after=self.wake)
        self.background.start()

    async def stop(self, drain_s: float) -> None:
        if self.background is not None:
            await self.background.stop(drain_s)
            self.background = None

    async def reembed(self, progress: Callable[[int, int | None], None] | None) -> int:
        if self.ctx.embedder is None:
            raise ConfigError("there is no embedder", hint="set embedding in the settings")
        await declare(self.ctx, replace=True)
        total, done = (await self.store.stats()).pending["embed"], 0
        while batch := await embed_batch(self.ctx):
            done += batch
            if progress:
                progress(done, total)
        return done

    async def flush(self, timeout_s: float | None) -> bool:
        self.wake()
        drained = await self.filler.drain(timeout_s)
        if self.filler.error is not None:
            raise self.filler.error
        return drained

    # ---- the whole

    async def status(self, user: str | None) -> Mapping[str, Json]:
        from memscope import __version__

        stats = asdict(await self.store.stats(user))
        ctx = self.ctx
        models = {"chat": ctx.chat and ctx.chat.name, "embedding": ctx.embedder and ctx.embedder.space.model,
                  "rerank": ctx.reranker and ctx.reranker.name}  # fmt: skip
        return {
            "version": __version__,
            "store": self.location,
            "capabilities": sorted(self.store.capabilities),
            "models": {kind: name or "none" for kind, name in models.items()},
            "plugins": [plugin.name for plugin in self.plugins.listed() if plugin.state == "loaded"],
            "usage": asdict(ctx.usage),
            "usage_by_operation": {name: asdict(usage) for name, usage in self.spent.items() if usage.calls},
            "embedding_error": self.filler.error.code if self.filler.error else None,
            **stats,
        }

    def reopen(self, place: str) -> None:
        """Another store in the place of one that was closed."""
        self.store = self.plugins.make_store(place, self.settings)
        self.ctx = replace(self.ctx, store=self.store)
        self._secret = self._duties = None

    async def close(self, drain_s: float) -> None:
        await self.stop(drain_s)
        await self.filler.stop(drain_s)
        await self.store.close()
        for model in (self.ctx.chat, self.ctx.embedder, self.ctx.reranker):
            if close := getattr(model, "close", None):
                await close()


def assemble(
    store: Store | str | Path | None,
    settings: Settings | Mapping[str, Any] | str | Path | None,
    chat: ChatModel | None,
    embedder: Embedder | None,
    reranker: Reranker | None,
    plugins: Sequence[object],
    clock: Callable[[], datetime] | None,
) -> Runtime:
    """Raises ``ConfigError`` or ``PluginError``; opens nothing yet."""
    from memscope.config.settings import load, shown
    from memscope.plugins.loader import Plugins
    from memscope.prompts.loader import Prompts

    configured = load(settings)
    loaded = Plugins(configured.plugins, extra=plugins)
    place = configured.store if store is None else store
    made = loaded.make_store(str(place), configured) if isinstance(place, str | Path) else place
    ctx = WorkerContext(
        store=made,
        settings=configured,
        clock=clock or utc_now,
        usage=Usage(),
        chat=chat or loaded.make_model("chat", configured),
        embedder=embedder or loaded.make_model("embedding", configured),
        reranker=reranker or loaded.make_model("rerank", configured),
        prompts=Prompts(configured.prompts),
    )
    return Runtime(
        settings=configured,
        store=made,
        plugins=loaded,
        ctx=ctx,
        clock=ctx.clock,
        zone=validation.zone(configured.timezone),
        limits=validation.Limits(**configured.limits.model_dump()),
        location=shown(str(place)) if isinstance(place, str | Path) else type(place).__name__,
    )
