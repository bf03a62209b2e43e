"""Answers, core memory, entities and the work of operators without ``await``: the objects of a ``MemoryScope``."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack, overload

from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.blocks.operations import EditOptions
from memscope.entities.operations import AsyncEntities
from memscope.errors import hint_arguments
from memscope.records import BLOCK_LIMIT, Author, Block, ForgetReport, Hit, Insight, Json, Observation, Receipt
from memscope.sync.loop import run

if TYPE_CHECKING:
    from pathlib import Path

    from memscope.chat import Answer
    from memscope.entities.graph import EntityGraph
    from memscope.entities.results import By, Entity, EntityDetails, EntityMention, Timeline
    from memscope.reconciliation.audit import AuditFinding, AuditReport
    from memscope.runtime import Runtime
    from memscope.stores import Store
    from memscope.transfer import Progress
    from memscope.transfer.copy import Copied
    from memscope.transfer.importers import ImportReport
    from memscope.validation import Zone


class SyncAnswer:
    """``chat.Answer`` without ``await``: iterate over it for its pieces."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __iter__(self) -> SyncAnswer:
        return self

    def __next__(self) -> str:
        async def step() -> str | None:  # StopAsyncIteration cannot leave a future
            return await anext(self._answer, None)

        piece = run(step())
        if piece is None:
            raise StopIteration
        return piece

    @property
    def text(self) -> str:
        return self._answer.text

    @property
    def memories(self) -> tuple[Hit, ...]:
        return self._answer.memories

    @property
    def notes(self) -> list[str]:
        return self._answer.notes

    def close(self) -> None:
        """Stop the model's stream."""
        run(self._answer.aclose())


@hint_arguments
class SyncBlocks:
    """``AsyncBlocks`` without ``await``. ``blocks`` is the async object."""

    def __init__(self, blocks: AsyncBlocks) -> None:
        self.blocks = blocks

    def list(self, *, as_of: datetime | str | None = None) -> builtins.list[Block]:
        """List the blocks in the order of the context, including empty ones."""
        return run(self.blocks.list(as_of=as_of))

    def get(self, label: str, *, as_of: datetime | str | None = None) -> Block:
        """Get one block."""
        return run(self.blocks.get(label, as_of=as_of))

    def history(self, label: str) -> builtins.list[Block]:
        """List all versions of a block."""
        return run(self.blocks.history(label))

    def text(self, *, as_of: datetime | str | None = None) -> str:
        """Render the blocks as ``context`` shows them, within ``blocks.tokens`` of the settings."""
        return run(self.blocks.text(as_of=as_of))

    def create(
        self, label: str, value: str = "", *, limit: int = BLOCK_LIMIT, description: str = "",
        read_only: bool = False, order: int = 0, reason: str = "", author: Author = "person",
    ) -> Block:  # fmt: skip
        """Create a block: the agent's own if this view has an agent, else one that all agents of the user share."""
        return run(self.blocks.create(
            label, value, limit=limit, description=description, read_only=read_only, order=order, reason=reason,
            author=author,
        ))  # fmt: skip

    def configure(
        self, label: str, *, limit: int | None = None, description: str | None = None, read_only: bool | None = None,
        order: int | None = None, reason: str = "", author: Author = "person",
    ) -> Block:  # fmt: skip
        """Change the given properties of a block; its text stays."""
        return run(self.blocks.configure(
            label, limit=limit, description=description, read_only=read_only, order=order, reason=reason,
            author=author,
        ))  # fmt: skip

    def append(self, label: str, text: str, **more: Unpack[EditOptions]) -> Block:
        """Add a text as new lines at the end."""
        return run(self.blocks.append(label, text, **more))

    def replace(self, label: str, old: str, new: str, **more: Unpack[EditOptions]) -> Block:
        """Replace the only occurrence of a text."""
        return run(self.blocks.replace(label, old, new, **more))

    def remove(self, label: str, text: str, **more: Unpack[EditOptions]) -> Block:
        """Remove the only occurrence of a text."""
        return run(self.blocks.remove(label, text, **more))

    def insert(self, label: str, text: str, line: int = -1, **more: Unpack[EditOptions]) -> Block:
        """Insert a text so that it begins at a line."""
        return run(self.blocks.insert(label, text, line, **more))

    def rethink(self, label: str, value: str, **more: Unpack[EditOptions]) -> Block:
        """Replace the whole text."""
        return run(self.blocks.rethink(label, value, **more))

    def revert(self, label: str, version: int, *, reason: str = "", author: Author = "person") -> Block:
        """Restore an earlier version as a new one."""
        return run(self.blocks.revert(label, version, reason=reason, author=author))

    def erase(self, label: str, *, dry_run: bool = False) -> ForgetReport:
        """Remove the visible block and its whole history for good."""
        return run(self.blocks.erase(label, dry_run=dry_run))


@hint_arguments
class SyncEntities:
    """``AsyncEntities`` without ``await``. ``entities`` is the async object."""

    def __init__(self, entities: AsyncEntities) -> None:
        self.entities = entities

    def list(
        self, *, top: int = 20, since: datetime | str | None = None, kind: str | None = None,
        as_of: datetime | str | None = None,
    ) -> builtins.list[Entity]:  # fmt: skip
        """List the entities mentioned most often and most recently, best first (``Entity`` has the formula)."""
        return run(self.entities.list(top=top, since=since, kind=kind, as_of=as_of))

    def get(self, name: str, *, top: int = 20, as_of: datetime | str | None = None) -> EntityDetails:
        """Get all that is known about one entity."""
        return run(self.entities.get(name, top=top, as_of=as_of))

    def timeline(
        self, entity: str | None = None, *, by: By = "week", as_of: datetime | str | None = None,
        zone: Zone = None,
    ) -> Timeline:  # fmt: skip
        """Count turns per day, week or month, with bursts, rank changes and themes."""
        return run(self.entities.timeline(entity, by=by, as_of=as_of, zone=zone))

    def stream(self, *, limit: int = 100, as_of: datetime | str | None = None) -> builtins.list[EntityMention]:
        """List the newest mentions: which entity was named when and in which turn."""
        return run(self.entities.stream(limit=limit, as_of=as_of))

    def graph(
        self, names: Sequence[str] = (), *, depth: int = 2, top: int = 50, as_of: datetime | str | None = None,
    ) -> EntityGraph:  # fmt: skip
        """Build the graph of entities that are named in the same turns or related by a fact, with its words."""
        return run(self.entities.graph(names, depth=depth, top=top, as_of=as_of))

    def merge(self, name: str, other: str) -> Entity:
        """Say that ``other`` is the entity ``name``; a role is a name as well ("my sister")."""
        return run(self.entities.merge(name, other))

    def split(self, name: str, other: str) -> Entity:
        """Say that the alias ``other`` is not the entity ``name``; no rule joins ``other`` again."""
        return run(self.entities.split(name, other))

    def dismiss(self, name: str) -> None:
        """Say that ``name`` is not an entity; nothing lists it any more."""
        run(self.entities.dismiss(name))


@hint_arguments
class SyncAdmin:
    """``AsyncAdmin`` without ``await``. ``admin`` is the async object."""

    def __init__(self, admin: AsyncAdmin) -> None:
        self.admin = admin

    @property
    def runtime(self) -> Runtime:
        """The settings, store, models, plugins and clock of the memory."""
        return self.admin.runtime

    def users(self) -> list[str]:
        """List the users of the store. For operators only; never show one user to another."""
        return run(self.admin.users())

    def status(self, *, user: str | None = None) -> Mapping[str, Json]:
        """Report versions, store, models, plugins, counts, and work that is pending, failed or parked."""
        return run(self.admin.status(user=user))

    @overload
    def audit(self, *, user: str) -> list[AuditFinding]: ...

    @overload
    def audit(self, *, user: str, ask: int, preview: bool = False) -> AuditReport: ...

    @overload
    def audit(self, *, user: str, ask: int | None, preview: bool = False) -> list[AuditFinding] | AuditReport: ...

    def audit(self, *, user: str, ask: int | None = None, preview: bool = False) -> list[AuditFinding] | AuditReport:
        """Find near duplicates, contradictions, memories without a live source, and cycles, by rules."""
        return run(self.admin.audit(user=user, ask=ask, preview=preview))

    def start(self) -> None:
        """Consolidate and reflect in the background for all users: when a batch is full or a user falls silent."""
        run(self.admin.start())

    def stop(self, *, drain_s: float = 5.0) -> None:
        """Stop the background work; what is unfinished stays pending."""
        run(self.admin.stop(drain_s=drain_s))

    def unpark(self, *, user: str | None = None) -> int:
        """Make parked work pending again: batches that were set aside because they failed too often."""
        return run(self.admin.unpark(user=user))

    def proposals(self, *, user: str) -> list[Observation | Insight]:
        """List the memories that await a person's approval (setting ``approve``)."""
        return run(self.admin.proposals(user=user))

    def accept(self, ids: Sequence[str], *, user: str) -> int:
        """Approve proposals, which become memories: all of the ``ids``, or none."""
        return run(self.admin.accept(ids, user=user))

    def reject(self, ids: Sequence[str], *, user: str) -> int:
        """Reject proposals. They stay in the history, so that their turns are not processed again."""
        return run(self.admin.reject(ids, user=user))

    def sweep(self, *, user: str) -> ForgetReport:
        """Delete expired memories, which are already hidden from all reads."""
        return run(self.admin.sweep(user=user))

    def receipts(self, *, user: str) -> list[Receipt]:
        """List the receipts of ``forget``: counts and ids, no content."""
        return run(self.admin.receipts(user=user))

    def compact(self) -> ForgetReport:
        """Overwrite the bytes of forgotten records where the receipt of ``forget`` says "pending"."""
        return run(self.admin.compact())

    def export(
        self, path: str | Path, *, user: str | None = None, for_user: bool = False, progress: Progress | None = None,
    ) -> Mapping[str, int]:  # fmt: skip
        """Write records as JSON lines, which ``import_`` reads."""
        return run(self.admin.export(path, user=user, for_user=for_user, progress=progress))

    def import_(
        self, path: str | Path, *, user: str | None = None, strict: bool = True, progress: Progress | None = None,
    ) -> Mapping[str, int]:  # fmt: skip
        """Read a file that ``export`` wrote. What was forgotten here or there is forgotten; other records here stay."""
        return run(self.admin.import_(path, user=user, strict=strict, progress=progress))

    def import_from(
        self, name: str, *sources: object, user: str | None = None, dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:  # fmt: skip
        """Import the memory of another system. Records that exist already or were forgotten here are skipped."""
        return run(self.admin.import_from(name, *sources, user=user, dry_run=dry_run, progress=progress))

    def backup(self, path: str | Path) -> None:
        """Write a consistent copy of the store while it is in use."""
        run(self.admin.backup(path))

    def copy(self, target: Store | str | Path, *, user: str | None = None, progress: Progress | None = None) -> Copied:
        """Copy records into another store and compare counts and digests. Repeat an interrupted copy to resume it."""
        return run(self.admin.copy(target, user=user, progress=progress))

    def reembed(self, *, progress: Progress | None = None) -> int:
        """Recompute all vectors with the current embedder. Searches use the old ones until all are done."""
        return run(self.admin.reembed(progress=progress))
