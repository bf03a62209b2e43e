"""Runtime: the settings, store, models, plugins and clock of one memory, and its operations on them.

``memory.admin.runtime`` is public to read: the chat, the commands and the server work with it.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from os import PathLike
from typing import TYPE_CHECKING, Any

from memscope import validation
from memscope.errors import ClosedError, ConfigError, PluginError
from memscope.jobs.in_process import InProcessWork, check_loop
from memscope.models import Usage
from memscope.pipeline import Worker, altered
from memscope.pipeline import assemble as steps
from memscope.records import (
    AddReport,
    ForgetReport,
    Interval,
    Json,
    Kind,
    Retrieval,
    Scope,
    Select,
    Speak,
    Turn,
    WorkReport,
)
from memscope.records.identity import inserts, match
from memscope.services import Services
from memscope.stores import block_rules, erased_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from memscope.config.settings import Settings
    from memscope.jobs.runner import StageJob
    from memscope.models import ChatModel, Embedder, Reranker
    from memscope.plugins.loader import Plugins
    from memscope.plugins.redaction import Redaction
    from memscope.retrieval import Request
    from memscope.stores import Store

CLOCK_REMEDY = "give a function that returns a time with its zone, such as lambda: datetime.now(UTC)"
MIN_CLOCK, MAX_CLOCK = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
SPAN_NAMES = {  # names from the GenAI memory conventions of OpenTelemetry
    "add_turns": "create_memory",
    "add_memory": "create_memory",
    "import": "create_memory",
    "update": "update_memory",
    "consolidate": "upsert_memory",
    "reflect": "upsert_memory",
    "retrieve": "search_memory",
    "forget": "delete_memory",
    "sweep": "delete_memory",
}


@dataclass
class Runtime:
    """Created by ``assemble``; the first operation opens the store."""

    services: Services
    plugins: Plugins
    redaction: Redaction
    location: str
    usage_by_operation: dict[str, Usage] = field(default_factory=dict)
    is_open: bool = False
    is_closed: bool = False
    before_close: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    before_forget: list[Callable[[Select], Coroutine[Any, Any, None]]] = field(default_factory=list)
    work: InProcessWork = field(init=False)
    _secret: bytes | None = field(default=None, repr=False)
    _retrieve_workers: list[Worker[Any]] | None = None
    _stage_jobs: tuple[StageJob, StageJob] | None = None

    def __post_init__(self) -> None:
        self.work = InProcessWork(self.services, self.stage_jobs, self.counting)

    # ---- open and closed

    async def open(self) -> None:
        """Open the store unless it is open. ``ClosedError`` after ``close``."""
        check_loop()
        if not (self.is_open or self.is_closed):
            await self.services.import_operations()
            await self.services.store.open()
            self.is_open = True
            if self.work.ended:  # closed meanwhile
                await self.close(0)
        if self.is_closed:
            raise ClosedError("this memory is closed", hint="make a new one")

    async def close(self, drain_s: float) -> None:
        """Finish work under way within ``drain_s`` seconds; the rest stays pending in the store."""
        try:
            while self.before_close:
                await self.before_close.pop()()
        finally:
            self.is_closed = self.work.ended = True
            if self.is_open:
                self.is_open = False
                await self.work.close(drain_s)

    @asynccontextmanager
    async def operation(self, name: str) -> AsyncIterator[Services]:
        """Open the store and yield the services, within a telemetry span; count usage of models under ``name``."""
        await self.open()
        with span(name), self.counting(name):
            yield self.services

    @contextmanager
    def counting(self, operation: str) -> Iterator[None]:
        """Count usage of models in total and per operation, including background tasks started inside."""
        with self.services.usage.counting(), self.usage_by_operation.setdefault(operation, Usage()).counting():
            yield

    # ---- writing

    async def secret(self) -> bytes:
        """Read the store's secret for turn keys, once."""
        if self._secret is None:
            self._secret = await self.services.store.secret()
        return self._secret

    async def store_turns(
        self, turns: Sequence[Mapping[str, Any] | Turn], where: Scope, *, replay: bool = False,
        zone: tzinfo | None = None, seen: MutableMapping[bytes, int] | None = None, tried: Interval | None = None,
    ) -> AddReport:  # fmt: skip
        """Validate turns, pass them through the plugins' hooks and append them durably.

        ``seen``: of a history that is replayed in parts, how often each turn came in earlier ones; this adds its own.
        ``tried``: when an earlier call for the same turns began and failed, perhaps after the store had taken them.
        """
        now = self.services.now(zone) if tried is None else tried.start
        valid = validation.turns(turns, where, now, zone or self.services.zone, self.services.limits)
        hooked = tuple(await self.plugins.before("add_turns", valid.turns, scope=where))
        same = len(hooked) == len(valid.turns)  # otherwise a plugin dropped some
        places, timed = (range(len(hooked)), valid.timed) if same else match(valid.turns, valid.timed, hooked)
        drafted = inserts(await self.secret(), hooked, timed, replay=replay, seen=seen)
        if tried is not None:
            from memscope.stores.repeated_appends import with_keys

            drafted = await with_keys(self.services.store, where.user, drafted, tried)
        report = valid.report(await self.services.store.append(where.user, drafted), places)
        await self.plugins.after("add_turns", report, scope=where)
        return report

    async def check_statement(
        self, statement: Mapping[str, Any], where: Scope, zone: tzinfo | None = None, *, textless: bool = False
    ) -> tuple[Turn, bool]:
        """Validate one statement and run the hooks. The second value tells whether the caller gave a time."""
        limits = replace(self.services.limits, text=self.services.limits.memory)
        valid = validation.turns(
            [statement], where, self.services.now(zone), zone or self.services.zone, limits, textless=textless, place=""
        )
        hooked = await self.plugins.before("add_turns", valid.turns, scope=where)
        if len(hooked) != 1:
            raise PluginError("a plugin left the statement out", hint="nothing was stored")
        return hooked[0], valid.timed[0]

    # ---- reading

    def query(
        self, text: str, where: Scope, *, k: int = 10, as_of: datetime | str | None = None,
        exclude: Sequence[str] = (), filter: Mapping[str, Json] | None = None, kinds: Sequence[Kind] | None = None,
        explain: bool = False, zone: validation.Zone = None, expand_lists: bool = False,
        speak: Speak | None = "always",
    ) -> Request:  # fmt: skip
        from memscope.retrieval import Request

        local = validation.zone(zone) or self.services.zone
        if speak is None:
            speak = self.services.settings.context.speak
        validation.choice("speak", speak, "when_needed", "always")
        return Request(
            text=validation.text("query", text, self.services.limits.query),
            scope=where,
            now=self.services.now(local),
            k=validation.count("k", k, self.services.limits.k),
            expand_lists=expand_lists,
            as_of=None if as_of is None else validation.when("as_of", as_of, local),
            exclude=frozenset(validation.ids("exclude", exclude)),
            filter=validation.filter(filter),
            kinds=validation.kinds(kinds),
            explain=explain,
            speak=speak,
        )

    async def retrieve(self, query: Request) -> Retrieval:
        from memscope import retrieval

        if self._retrieve_workers is None:
            names = self.services.settings.pipelines.retrieve
            await self.services.prepare_models()
            self._retrieve_workers = steps("retrieve", names, self.plugins.workers("retrieve"), retrieval.Query)
        where = query.scope
        self.work.user_seen(where.user)
        query = await self.plugins.before("retrieve", query, scope=where)
        hits = await retrieval.retrieve(query, altered(self.services, notes=[]), self._retrieve_workers)
        await self.plugins.after("retrieve", hits, scope=where)
        return hits

    async def forget(self, select: Select, where: Scope, *, dry_run: bool) -> ForgetReport:
        select = await self.plugins.before("forget", select, scope=where)
        if block_rules.selects_blocks(select) and not dry_run:
            await erased_blocks.mark(self.services.store, select)
        report = await self.services.store.forget(select, dry_run=dry_run)
        await self.plugins.after("forget", report, scope=where)
        return report

    # ---- the back end

    def stage_jobs(self) -> tuple[StageJob, StageJob]:
        """Build the jobs consolidate and reflect with the workers of the settings."""
        if self._stage_jobs is None:
            from memscope import consolidation, reflection
            from memscope.blocks.corrections import remove_outdated_lines
            from memscope.blocks.maintenance import maintain
            from memscope.reflection.summary import with_summary

            names, known = self.services.settings.pipelines, self.plugins.workers
            consolidate = steps("consolidate", names.consolidate, known("consolidate"), consolidation.FactBatch)
            reflect = steps("reflect", names.reflect, known("reflect"), reflection.TopicBatch)
            first = consolidation.job(self.services, consolidate, self.plugins, remove_outdated_lines)
            if self.services.settings.context.budget is not None:
                first = with_summary(first)
            self._stage_jobs = first, reflection.job(self.services, reflect, self.plugins, maintain)
        return self._stage_jobs

    async def run(self, *jobs: StageJob, user: str | None, preview: bool, zone: tzinfo | None) -> WorkReport:
        """Process pending work of ``user``, or of every user, stage by stage, and return one report."""
        from memscope.jobs.runner import run_until_idle

        services = replace(self.services, zone=zone or self.services.zone)
        report = await run_until_idle(services, *jobs, user=user, preview=preview)
        self.work.wake()
        return report


def assemble(
    store: Store | str | Path | None, settings: Settings | Mapping[str, Any] | str | Path | None,
    chat: ChatModel | None, embedder: Embedder | None, reranker: Reranker | None, plugins: Sequence[object],
    clock: Callable[[], datetime] | None,
) -> Runtime:  # fmt: skip
    """Assemble a memory without opening its store. Raise ``ConfigError`` or ``PluginError``."""
    from memscope.config.settings import hide_credentials, load
    from memscope.plugins.loader import Plugins, plugin_list
    from memscope.plugins.redaction import Redaction
    from memscope.prompts.loader import Prompts

    configured = load(settings)
    limits = validation.Limits(**configured.limits.model_dump())
    redaction = Redaction(configured.redaction.mask)
    loaded = Plugins(configured.plugins, extra=[*redaction.hooks, *plugin_list(plugins)], limits=limits)
    loaded.check_workers(configured.pipelines.model_dump())
    place = configured.store if store is None else store
    services = Services(
        store=redaction.store(loaded.make_store(place, configured)),
        settings=configured,
        clock=checked_clock(clock),
        usage=Usage(),
        chat=loaded.make_model("chat", configured, chat),
        embedder=loaded.make_model("embedding", configured, embedder),
        reranker=loaded.make_model("rerank", configured, reranker),
        prompts=Prompts(configured.prompts),
        zone=validation.zone(configured.timezone),
        limits=limits,
        features=loaded.features(),
        redact=redaction.redact,
    )
    location = hide_credentials(str(place)) if isinstance(place, str | PathLike) else type(place).__name__
    return Runtime(services, loaded, redaction, location)


def checked_clock(clock: Callable[[], datetime] | None) -> Callable[[], datetime]:
    """Check a clock, by default the system's; ``ConfigError`` for a time without zone or an implausible one."""
    if clock is None:
        return lambda: datetime.now(UTC)
    value: object = clock
    time: object = value() if callable(value) else None
    if not isinstance(time, datetime):
        kind = type(time if callable(value) else value).__name__
        raise ConfigError(f"the clock gives no time: {kind}", hint=CLOCK_REMEDY)
    if time.utcoffset() is None:
        raise ConfigError("the clock gives a time without a zone", hint=CLOCK_REMEDY)
    if not MIN_CLOCK <= time < MAX_CLOCK:
        raise ConfigError(f"the clock is in the year {time.year}", hint="set it")
    return clock


@contextmanager
def span(operation: str) -> Iterator[None]:
    """Trace an operation as a span if the application has loaded OpenTelemetry's API, which is not imported here.

    The span contains the operation's name and the error's code, never text.
    """
    trace, name = sys.modules.get("opentelemetry.trace"), SPAN_NAMES.get(operation)
    if trace is None or name is None:
        yield
        return
    unmarked = {"record_exception": False, "set_status_on_exception": False}  # both copy the message of an error
    with trace.get_tracer("memscope").start_as_current_span(name, **unmarked) as current:
        current.set_attribute("gen_ai.operation.name", name)
        try:
            yield
        except Exception as error:
            current.set_attribute("error.type", getattr(error, "code", type(error).__name__))
            current.set_status(trace.Status(trace.StatusCode.ERROR))
            raise
