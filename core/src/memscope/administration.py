"""Functions of a Runtime beside its operations: statements, approval, moving, wiping, vectors, status.

``AsyncMemoryScope`` has each as a method with the same arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, cast

from memscope import validation
from memscope.errors import VERSION, ConfigError, Conflict, InputError, NotFound, StoreError
from memscope.records import ChangeSet, ForgetReport, Insight, Json, Observation, Receipt, Select, Turn
from memscope.records.identity import statement
from memscope.runtime import Runtime

if TYPE_CHECKING:
    from pathlib import Path

    from memscope.reconciliation.audit import AuditFinding
    from memscope.transfer import Progress
    from memscope.transfer.importers import ImportReport
    from memscope.validation import Zone

P = ParamSpec("P")
R = TypeVar("R")


class HasRuntime(Protocol):
    @property
    def runtime(self) -> Runtime: ...


def as_method(
    function: Callable[Concatenate[Runtime, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[HasRuntime, P], Coroutine[Any, Any, R]]:
    """A function of a Runtime as a method, with its arguments and docstring."""

    @functools.wraps(function)
    async def call(self: HasRuntime, *args: P.args, **kwargs: P.kwargs) -> R:
        return await function(self.runtime, *args, **kwargs)

    return cast("Callable[Concatenate[HasRuntime, P], Coroutine[Any, Any, R]]", call)


# ----------------------------------------------------------------------------------------------------------- statements


async def add_memory(
    runtime: Runtime,
    text: str,
    *,
    user: str,
    agent: str | None = None,
    session: str | None = None,
    kind: Literal["observation", "insight"] = "observation",
    subject: str = "",
    name: str | None = None,
    namespace: str | None = None,
    data: Mapping[str, Json] | None = None,
    expires: datetime | str | None = None,
    time: datetime | str | None = None,
    speaker: str | None = None,
    zone: Zone = None,
) -> Observation | Insight:
    """Remember a statement as it is, no model asked. A second one under the same ``name`` supersedes the first.

    With ``data`` the text may be empty. With a ``time``, a repeated statement is the one that is here; ``Conflict``
    if that was forgotten. ``kind="insight"``: what is known about a ``subject``; it supersedes the insight there is.
    """
    where = validation.scope(user, agent, session)
    validation.choice("kind", kind, "observation", "insight")
    if (kind == "insight") != bool(subject.strip()):
        raise InputError("an insight has a subject, an observation has none", hint='kind="insight", subject="diet"')
    async with runtime.operation("add_memory"):
        given = {"role": "user", "content": text, "speaker": speaker, "time": time}
        turn, timed = await runtime.check_statement(given, where, validation.zone(zone), textless=bool(data))
        draft, memory = statement(
            await runtime.secret(), turn, timed=timed, data=validation.json_object("data", data, runtime.limits),
            name=None if name is None else validation.identifier("name", name),
            namespace=None if namespace is None else validation.identifier("namespace", namespace),
            expires=None if expires is None else validation.when("expires", expires, runtime.zone),
        )  # fmt: skip
        made = await _stated_insight(runtime, memory, subject) if subject else ChangeSet(new=(memory,))
        (outcome,) = (await runtime.store.append(user, [draft], made)).outcomes
        if outcome == "forgotten":
            raise Conflict("this statement of that time was forgotten", hint="leave the time out to say it anew")
        runtime.work.wake(user, 1)
        if outcome == "stored":
            return made.new[-1]
        stored = (await runtime.store.fetch(user, [made.new[-1].id])).records.get(made.new[-1].id)
        if stored is None or isinstance(stored, Turn):
            raise NotFound("this statement is here, its memory was forgotten", hint="leave the time out to say it anew")
        return stored


async def _stated_insight(runtime: Runtime, fact: Observation, subject: str) -> ChangeSet:
    from memscope.reflection.insights import stated_insight

    limited = validation.text("subject", " ".join(subject.split()), runtime.limits.query)
    return await stated_insight(runtime.store, fact, limited)


# --------------------------------------------------------------------------------------------------------- the back end


async def start(runtime: Runtime) -> None:
    """Consolidate and reflect in the background from now on: when a batch is full or a user falls silent."""
    async with runtime.operation("background"):
        runtime.work.start()


async def stop(runtime: Runtime, *, drain_s: float = 5.0) -> None:
    """Stop the background; work under way gets ``drain_s`` seconds, then it is given back and stays pending."""
    await runtime.open()
    await runtime.work.stop(drain_s)


async def unpark(runtime: Runtime, *, user: str | None = None) -> int:
    """Retry batches that failed too often; returns their number."""
    validation.owner(user)
    async with runtime.operation("unpark"):
        return await runtime.store.unpark(None, user)


# ------------------------------------------------------------------------------------------------------------- approval


async def proposals(runtime: Runtime, *, user: str) -> list[Observation | Insight]:
    """Memories that await a person's approval (setting ``approve``), oldest first."""
    from memscope.reconciliation import approval

    validation.scope(user)
    async with runtime.operation("proposals"):
        return await approval.proposals(runtime.store, user)


async def accept(runtime: Runtime, ids: Sequence[str], *, user: str) -> int:
    """Make proposals memories. ``NotFound`` for an id that is no proposal; then none is accepted."""
    from memscope.reconciliation import approval

    validation.scope(user)
    async with runtime.operation("accept"):
        return await approval.accept(runtime.store, user, validation.ids("ids", ids), clock=runtime.clock)


async def reject(runtime: Runtime, ids: Sequence[str], *, user: str) -> int:
    """Close proposals; they stay in the history, so that their turns are not read again."""
    from memscope.reconciliation import approval

    validation.scope(user)
    async with runtime.operation("reject"):
        return await approval.reject(runtime.store, user, validation.ids("ids", ids), clock=runtime.clock)


async def audit(runtime: Runtime, *, user: str) -> list[AuditFinding]:
    """Near doubles, contradictions, memories without a living source, loops; no model is asked, nothing is changed."""
    from memscope.reconciliation.audit import audit

    validation.scope(user)
    async with runtime.operation("audit"):
        return audit([record async for page in runtime.store.scan(Select(user)) for record in page])


# --------------------------------------------------------------------------------------------------------------- wiping


async def sweep(runtime: Runtime, *, user: str) -> ForgetReport:
    """Forget expired memories."""
    validation.scope(user)
    async with runtime.operation("sweep"):
        return await runtime.store.forget(Select(user, expired_by=runtime.clock()))


async def receipts(runtime: Runtime, *, user: str) -> list[Receipt]:
    """Return the receipts of what was forgotten, oldest first: counts and ids, no content."""
    validation.scope(user)
    async with runtime.operation("receipts"):
        return await runtime.store.receipts(user)


async def compact(runtime: Runtime) -> ForgetReport:
    """Wipe the bytes that a ``forget`` left whose receipt says "pending"."""
    async with runtime.operation("compact"):
        return await runtime.store.compact()


# --------------------------------------------------------------------------------------------------------------- moving


async def export(
    runtime: Runtime,
    path: str | Path,
    *,
    user: str | None = None,
    for_user: bool = False,
    progress: Progress | None = None,
) -> Mapping[str, int]:
    """Write all records (of one user, or of all) as JSON lines; returns the number of each kind.

    ``for_user``: to hand out to ``user``, without the store's secret.
    """
    from memscope.transfer import jsonl

    validation.owner(user)
    if for_user and user is None:
        raise InputError("for_user needs a user", hint="an export of everybody is for operators")
    async with runtime.operation("export"):
        place = validation.path(path)
        return await jsonl.export(runtime.store, place, user=user, secret=not for_user, progress=progress)


async def import_(
    runtime: Runtime,
    path: str | Path,
    *,
    user: str | None = None,
    strict: bool = True,
    progress: Progress | None = None,
) -> Mapping[str, int]:
    """Read a file that ``export`` wrote. Records already here stay as they are, forgotten ones stay forgotten.

    ``strict=False`` skips lines that cannot be read and counts them.
    """
    from memscope.transfer import jsonl

    validation.owner(user)
    async with runtime.operation("import"):
        counts = await jsonl.import_(
            runtime.store, validation.path(path), user=user, strict=strict, progress=progress, limits=runtime.limits
        )
        runtime.work.wake()
        return counts


async def import_from(
    runtime: Runtime,
    name: str,
    *sources: object,
    user: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Read the memory of another system: ``"mem0"``, ``"openai"``, ... or what a plugin registered, from its sources.

    A source is a path, or whatever the importer takes; ``user`` owns all of it. What was read before, or forgotten
    since, is not written again. ``dry_run`` counts and writes nothing.
    """
    from memscope.transfer.importers.writer import import_items

    validation.owner(user)
    if not sources:
        raise InputError(f"import_from({name!r}) needs a source", hint="a path, or what the importer takes")
    async with runtime.operation("import"):
        items = runtime.plugins.registered("importers")[name](sources)
        report = await import_items(runtime, name, items, user=user, dry_run=dry_run, progress=progress)
        runtime.work.wake()
        return report


async def backup(runtime: Runtime, path: str | Path) -> None:
    """Write a consistent copy of the store while it is in use."""
    async with runtime.operation("backup"):
        await runtime.store.backup(validation.path(path))


async def restore(runtime: Runtime, backup: str | Path) -> Mapping[str, Json]:
    """Replace this memory's file, which no other process may have open, by a backup, and go on with it."""
    from memscope.transfer import sqlite_recovery

    path = _file_of(runtime)
    await runtime.release_store()
    try:
        return await sqlite_recovery.restore(validation.path(backup), path)
    finally:
        runtime.reopen(str(path))


async def recover(runtime: Runtime, target: str | Path) -> Mapping[str, Json]:
    """Save the readable records of this memory's damaged file into a new one; the damaged one is only read."""
    from memscope.transfer import sqlite_recovery

    return await sqlite_recovery.recover(_file_of(runtime), validation.path(target))


def _file_of(runtime: Runtime) -> Path:
    from pathlib import Path

    path = getattr(runtime.store, "path", None)
    if not isinstance(path, Path):
        raise StoreError("this store is no file", hint="use export and import_")
    return path


# -------------------------------------------------------------------------------------------------------------- vectors


async def reembed(runtime: Runtime, *, progress: Progress | None = None) -> int:
    """Make all vectors anew with the current embedder; the old ones serve until then. Resumable."""
    from memscope.jobs.embedding import declare, embed_batch

    async with runtime.operation("reembed"):
        if runtime.ctx.embedder is None:
            raise ConfigError("there is no embedder", hint="set embedding in the settings")
        await declare(runtime.ctx, replace=True)
        total, done = (await runtime.store.stats()).pending["embed"], 0
        while batch := await embed_batch(runtime.ctx):
            done += batch
            if progress:
                progress(done, total)
        return done


async def flush(runtime: Runtime, *, timeout_s: float | None = None) -> bool:
    """Wait for the vectors of added turns; returns False on timeout."""
    async with runtime.operation("flush"):
        runtime.work.wake()
        drained = await runtime.work.filler.drain(timeout_s)
        if runtime.work.filler.error is not None:
            raise runtime.work.filler.error
        return drained


# ------------------------------------------------------------------------------------------------------------ the whole


async def users(runtime: Runtime) -> list[str]:
    """Return the users of the store, in the order of their names. For operators: a user sees no other."""
    async with runtime.operation("users"):
        return sorted(await runtime.store.users())


async def status(runtime: Runtime, *, user: str | None = None) -> Mapping[str, Json]:
    """Versions, store, models, plugins, counts; pending, failed and parked work with its errors."""
    from memscope.jobs import costs

    validation.owner(user)
    async with runtime.operation("status"):
        facts, refused = await costs.facts(runtime.ctx)
        ctx, error = runtime.ctx, runtime.work.filler.error
        usage = {name: asdict(usage) for name, usage in runtime.usage_by_operation.items() if usage.calls}
        return {
            "version": VERSION,
            "store": runtime.location,
            "capabilities": sorted(runtime.store.capabilities),
            "models": _models_of(runtime),
            "plugins": [plugin.name for plugin in runtime.plugins.listed() if plugin.state == "loaded"],
            "usage": asdict(ctx.usage),
            "usage_by_operation": usage,
            "costs": await costs.costs(ctx, user),
            "budget": await costs.budget(ctx),
            "facts": facts,
            "refused": refused,
            "embedding_error": error.code if error else None,
            **asdict(await runtime.store.stats(user)),
        }


def _models_of(runtime: Runtime) -> Mapping[str, str]:
    ctx = runtime.ctx
    models = {"chat": ctx.chat and ctx.chat.name, "embedding": ctx.embedder and ctx.embedder.space.model,
              "rerank": ctx.reranker and ctx.reranker.name}  # fmt: skip
    return {kind: name or "none" for kind, name in models.items()}


async def close(runtime: Runtime, *, drain_s: float = 5.0) -> None:
    """Finish work under way within ``drain_s`` seconds; the rest stays in the store for the next process."""
    await runtime.close(drain_s)
