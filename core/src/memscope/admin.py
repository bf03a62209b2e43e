"""``memory.admin``: the work of operators on a store: status, background work, approval, wiping, moving, vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, overload

from memscope import validation
from memscope.errors import VERSION, ConfigError, EmbeddingError, InputError, ModelError, hint_arguments
from memscope.records import ForgetReport, Insight, Json, Observation, Receipt, Select
from memscope.stores import MAX_ATTEMPTS

if TYPE_CHECKING:
    from pathlib import Path

    from memscope.reconciliation.audit import AuditFinding, AuditReport
    from memscope.records import WorkReport
    from memscope.runtime import Runtime
    from memscope.services import Services
    from memscope.stores import Store
    from memscope.transfer import Progress
    from memscope.transfer.copy import Copied
    from memscope.transfer.importers import ImportReport

MAX_AUDIT_CALLS = 1_000


@hint_arguments
class AsyncAdmin:
    """Operators' work on the store of a memory. Methods without a ``user`` concern all users."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def runtime(self) -> Runtime:
        """The settings, store, models, plugins and clock that the memory works with."""
        return self._runtime

    # ---- the whole

    async def users(self) -> list[str]:
        """List the users of the store. For operators only; never show one user to another.

        Returns:
            Their names, sorted.

        Raises:
            StoreError: the store cannot be read.
        """
        async with self._runtime.operation("users") as services:
            return sorted(await services.store.users())

    async def status(self, *, user: str | None = None) -> Mapping[str, Json]:
        """Report versions, store, models, plugins, counts, and work that is pending, failed or parked.

        Args:
            user: count this user's records only.

        Returns:
            A JSON object; docs/observability.md names its fields.

        Raises:
            StoreError: the store cannot be read.
        """
        from memscope.jobs import costs

        validation.owner(user)
        async with self._runtime.operation("status") as services:
            facts, refused = await costs.facts(services)
            error = self._runtime.work.filler.error
            usage = {name: asdict(usage) for name, usage in self._runtime.usage_by_operation.items() if usage.calls}
            stats, spent = await services.store.stats(user), await costs.costs(services, user)
            return {
                "version": VERSION,
                "store": self._runtime.location,
                "settings": dict(services.settings.origins),
                "capabilities": sorted(services.store.capabilities),
                "models": _model_names(services),
                "plugins": [plugin.name for plugin in self._runtime.plugins.listed() if plugin.state == "loaded"],
                "usage": asdict(services.usage),
                "usage_by_operation": usage,
                "costs": spent,
                "costs_per_1000_turns": costs.per_1000_turns(spent, stats),
                "budget": await costs.budget(services),
                "facts": facts,
                "refused": refused,
                "embedding_error": error.code if error else None,
                **asdict(stats),
            }

    @overload
    async def audit(self, *, user: str) -> list[AuditFinding]: ...

    @overload
    async def audit(self, *, user: str, ask: int, preview: bool = False) -> AuditReport: ...

    @overload
    async def audit(self, *, user: str, ask: int | None, preview: bool = False) -> list[AuditFinding] | AuditReport: ...

    async def audit(
        self, *, user: str, ask: int | None = None, preview: bool = False
    ) -> list[AuditFinding] | AuditReport:
        """Find near duplicates, contradictions, memories without a live source, and cycles, by rules.

        With ``ask`` the chat model also judges pairs of similar facts, within ``chat.budget``. Its verdicts are applied
        as in ``consolidate``, as far as the rules allow. Each pair is judged once.

        Args:
            user: whose memories.
            ask: the maximum number of model calls, each about 20 pairs, nearest first; by default none.
            preview: with ``ask``, call the model but write nothing.

        Returns:
            The findings. With ``ask`` a report: the remaining findings, and what was asked, applied and refused.

        Raises:
            ConfigError: ``ask`` is given, and there is no chat model.
            InputError: ``ask`` is not a number from 1 to 1,000, or ``preview`` is given without it.
            StoreError: the store cannot be read or written.
        """
        from memscope.reconciliation.audit import AuditReport

        validation.scope(user)
        validation.choice("preview", preview, True, False)
        if ask is None and preview:
            raise InputError("preview is for audit with ask", hint="give ask=1, or leave preview out")
        async with self._runtime.operation("audit") as services:
            if ask is None:
                return await _findings(services, user)
            work = await _ask_about_pairs(services, user, validation.count("ask", ask, MAX_AUDIT_CALLS), preview)
            self._runtime.work.wake()
            return AuditReport(tuple(await _findings(services, user)), work)

    # ---- the background

    async def start(self) -> None:
        """Consolidate and reflect in the background for all users: when a batch is full or a user falls silent.

        Raises:
            ClosedError: the memory is closed.
        """
        async with self._runtime.operation("background"):
            self._runtime.work.start()

    async def stop(self, *, drain_s: float = 5.0) -> None:
        """Stop the background work; what is unfinished stays pending.

        Args:
            drain_s: seconds to wait for work under way.

        Raises:
            ClosedError: the memory is closed.
        """
        await self._runtime.open()
        await self._runtime.work.stop(drain_s)

    async def unpark(self, *, user: str | None = None) -> int:
        """Make parked work pending again: batches that were set aside because they failed too often.

        Args:
            user: only this user's work.

        Returns:
            The number of items that are pending again.

        Raises:
            StoreError: the store cannot be written.
        """
        validation.owner(user)
        async with self._runtime.operation("unpark") as services:
            return await services.store.unpark(None, user)

    # ---- approval

    async def proposals(self, *, user: str) -> list[Observation | Insight]:
        """List the memories that await a person's approval (setting ``approve``).

        Args:
            user: whose proposals.

        Returns:
            The proposals, oldest first.

        Raises:
            StoreError: the store cannot be read.
        """
        from memscope.reconciliation import approval

        validation.scope(user)
        async with self._runtime.operation("proposals") as services:
            return await approval.proposals(services.store, user)

    async def accept(self, ids: Sequence[str], *, user: str) -> int:
        """Approve proposals, which become memories: all of the ``ids``, or none.

        Args:
            ids: the ids of the proposals.
            user: whose proposals.

        Returns:
            Their number.

        Raises:
            NotFound: an id is no proposal of this user.
            Conflict: one was accepted, rejected or corrected meanwhile.
        """
        from memscope.blocks.corrections import remove_outdated_lines
        from memscope.reconciliation import approval

        validation.scope(user)
        async with self._runtime.operation("accept") as services:
            accepted = await approval.accept(services.store, user, validation.ids("ids", ids), clock=services.clock)
            await remove_outdated_lines(services, user)
            return accepted

    async def reject(self, ids: Sequence[str], *, user: str) -> int:
        """Reject proposals. They stay in the history, so that their turns are not processed again.

        Args:
            ids: the ids of the proposals.
            user: whose proposals.

        Returns:
            Their number.

        Raises:
            NotFound: an id is no proposal of this user.
            Conflict: one was accepted, rejected or corrected meanwhile.
        """
        from memscope.reconciliation import approval

        validation.scope(user)
        async with self._runtime.operation("reject") as services:
            return await approval.reject(services.store, user, validation.ids("ids", ids), clock=services.clock)

    # ---- wiping

    async def sweep(self, *, user: str) -> ForgetReport:
        """Delete expired memories, which are already hidden from all reads.

        Args:
            user: whose memories.

        Returns:
            A receipt without content.

        Raises:
            StoreError: the store cannot be written.
        """
        validation.scope(user)
        async with self._runtime.operation("sweep") as services:
            return await services.store.forget(Select(user, expired_by=services.clock()))

    async def receipts(self, *, user: str) -> list[Receipt]:
        """List the receipts of ``forget``: counts and ids, no content.

        Args:
            user: whose receipts.

        Returns:
            The receipts, oldest first.

        Raises:
            StoreError: the store cannot be read.
        """
        validation.scope(user)
        async with self._runtime.operation("receipts") as services:
            return await services.store.receipts(user)

    async def compact(self) -> ForgetReport:
        """Overwrite the bytes of forgotten records where the receipt of ``forget`` says "pending".

        Returns:
            A receipt; its ``physical`` says whether any are left.

        Raises:
            StoreError: the store cannot be written.
        """
        async with self._runtime.operation("compact") as services:
            return await services.store.compact()

    # ---- moving

    async def export(
        self, path: str | Path, *, user: str | None = None, for_user: bool = False, progress: Progress | None = None
    ) -> Mapping[str, int]:
        """Write records as JSON lines, which ``import_`` reads.

        Args:
            path: a new file, or an earlier export, which is replaced.
            user: only this user's records.
            for_user: True for a file to hand to ``user``; it omits the store's secret.
            progress: called with the number done and the total.

        Returns:
            The number of records of each kind.

        Raises:
            InputError: the file cannot be written or is no export, or ``for_user`` is given without a user.
        """
        from memscope.transfer import jsonl

        validation.owner(user)
        if for_user and user is None:
            raise InputError("for_user needs a user", hint="an export of everybody is for operators")
        async with self._runtime.operation("export") as services:
            place = validation.path(path)
            return await jsonl.export(services.store, place, user=user, secret=not for_user, progress=progress)

    async def import_(
        self, path: str | Path, *, user: str | None = None, strict: bool = True, progress: Progress | None = None
    ) -> Mapping[str, int]:
        """Read a file that ``export`` wrote. What was forgotten here or there is forgotten; other records here stay.

        Args:
            path: the file.
            user: only this user's records.
            strict: write nothing if a line cannot be read; False skips such lines and counts them.
            progress: called with the number done and the total, None where that is unknown.

        Returns:
            The number of records stored, known, removed and broken, by kind.

        Raises:
            InputError: the file or one of its lines cannot be read.
        """
        from memscope.transfer import jsonl

        validation.owner(user)
        async with self._runtime.operation("import") as services:
            counts = await jsonl.import_(
                services.store, validation.path(path), user=user, strict=strict, progress=progress,
                limits=services.limits, redact=services.redact,
            )  # fmt: skip
            self._runtime.work.wake()
            return counts

    async def import_from(
        self, name: str, *sources: object, user: str | None = None, dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:  # fmt: skip
        """Import the memory of another system. Records that exist already or were forgotten here are skipped.

        Args:
            name: the importer: ``"mem0"``, ``"openai"``, ... or one that a plugin registered.
            sources: paths, or objects that the importer takes.
            user: the owner of everything read; by default the users that the source names.
            dry_run: count, and write nothing.
            progress: called with the number done and the total, None where that is unknown.

        Returns:
            Counts of records that are new, known or broken.

        Raises:
            ConfigError: no importer has this name.
            InputError: a source cannot be read.
        """
        from memscope.transfer.importers.writer import import_items

        validation.owner(user)
        validation.choice("dry_run", dry_run, True, False)
        if not sources:
            raise InputError(f"import_from({name!r}) needs a source", hint="a path, or what the importer takes")
        async with self._runtime.operation("import"):
            importer = self._runtime.plugins.registered("importers")[name]
            report = await import_items(
                self._runtime, name, importer, sources, user=user, dry_run=dry_run, progress=progress
            )
            self._runtime.work.wake()
            return report

    async def backup(self, path: str | Path) -> None:
        """Write a consistent copy of the store while it is in use.

        Args:
            path: a new file.

        Raises:
            InputError: the file exists or cannot be written.
            StoreError: this store has no backup; ``export`` works with every store.
        """
        async with self._runtime.operation("backup") as services:
            await services.store.backup(validation.path(path))

    async def copy(
        self, target: Store | str | Path, *, user: str | None = None, progress: Progress | None = None
    ) -> Copied:
        """Copy records into another store and compare counts and digests. Repeat an interrupted copy to resume it.

        Vectors are not copied: ``reembed`` the target. The target's records stay unchanged; records forgotten here are
        forgotten there too.

        Args:
            target: a path, a URL, or an open Store.
            user: only this user's records.
            progress: called with the number of users done and the total.

        Returns:
            Counts, and the users whose memory in the target is not equal.

        Raises:
            ConfigError: the target is no store.
            StoreError: one of the stores cannot be read or written; the next call continues.
        """
        from memscope.transfer import copy

        validation.owner(user)
        async with self._runtime.operation("copy") as services:
            opened = await asyncio.to_thread(self._runtime.plugins.make_store, target, services.settings)
            if opened is target:
                return await copy.copy(services.store, opened, user=user, progress=progress)
            place = self._runtime.redaction.store(opened)
            try:
                await place.open()
                return await copy.copy(services.store, place, user=user, progress=progress)
            finally:
                await place.close()

    # ---- vectors

    async def reembed(self, *, progress: Progress | None = None) -> int:
        """Recompute all vectors with the current embedder. Searches use the old ones until all are done.

        A text that the embedder refuses five times is parked (``status``) and found by its words alone. The old vectors
        stay if that is so for half of the texts.

        Args:
            progress: called with the number done and the total.

        Returns:
            The number of vectors made.

        Raises:
            ConfigError: there is no embedder.
            ModelError: the embedder failed, or units wait because it failed shortly before; the next call continues.
        """
        from memscope.jobs.embedding import declare, embed_batch

        async with self._runtime.operation("reembed") as services:
            if services.embedder is None:
                raise ConfigError("there is no embedder", hint="set embedding in the settings")
            await declare(services, replace=True)
            await services.store.unpark("embed")
            total, done, idle = (await services.store.stats()).pending["embed"], 0, 0
            while idle <= MAX_ATTEMPTS:  # by then each refused batch is parked
                refusals: list[ModelError] = []
                if batch := await embed_batch(services, refusals=refusals):
                    done, idle = done + batch, 0
                    if progress:
                        progress(done, total)
                elif not refusals:
                    break
                else:
                    idle += 1
            else:
                raise refusals[0]
            if waiting := (await services.store.stats()).failed["embed"]:
                raise EmbeddingError(
                    f"the embedder failed shortly before; units that still wait: {waiting}",
                    hint="see memscope status, and run it again in a minute",
                )
            return done


async def _findings(services: Services, user: str) -> list[AuditFinding]:
    from memscope.reconciliation.audit import audit

    return audit([record async for page in services.store.scan(Select(user)) for record in page])


async def _ask_about_pairs(services: Services, user: str, calls: int, preview: bool) -> WorkReport:
    from memscope.blocks.corrections import remove_outdated_lines
    from memscope.consolidation.audit_pairs import audit_pairs

    if services.chat is None:
        raise ConfigError("there is no chat model to ask", hint="set chat in the settings, or leave ask out")
    work = await audit_pairs(services, user, calls=calls, preview=preview)
    if not work.preview:
        await remove_outdated_lines(services, user)
    return work


def _model_names(services: Services) -> Mapping[str, str]:
    chat, embedder, reranker = services.chat, services.embedder, services.reranker
    models = {"chat": chat and chat.name, "embedding": embedder and embedder.space.model,
              "rerank": reranker and reranker.name}  # fmt: skip
    return {kind: name or "none" for kind, name in models.items()}
