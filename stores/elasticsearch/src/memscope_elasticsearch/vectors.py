"""Vector spaces: one serves searches, at most one is being filled to replace it, and vectors never mix.

Each space has its own field ``vec_<number>``, added to the mapping when the space is declared. A unit's field ``space``
names the space of its latest vector; units with another value wait for stage embed.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from memscope.errors import StoreBusy
from memscope.records import Stage, Turn, VectorSpace
from memscope.search.units import make_units
from memscope.stores.spaces import check_declared, check_replaceable, check_space, checked_vectors, is_complete
from memscope.text.terms import term
from memscope_elasticsearch.client import Body, BulkOperation, version_of
from memscope_elasticsearch.documents import DOCUMENT_KINDS, PART_BITS, scope_hash, unit_id
from memscope_elasticsearch.mapping import META_ID, META_ROUTING
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.user_lock import Batch, troubled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
MAX_PARKED_UNITS = 10_000  # beyond that, the old space goes on serving
_ROW_FIELDS = "scope,kind,seq,space,words,header,rid,part,number"


@dataclass(frozen=True, slots=True)
class VectorField:
    """A declared space and its field."""

    number: int
    space: VectorSpace
    active: bool

    @property
    def field(self) -> str:
        return f"vec_{self.number}"


class VectorFields:
    """Known vector spaces of this process."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.known: list[VectorField] = []
        self.declared: VectorSpace | None = None

    def numbers(self) -> list[int]:
        return [known.number for known in self.known]

    @property
    def active(self) -> VectorField | None:
        return next((known for known in self.known if known.active), None)

    @property
    def target(self) -> VectorField | None:
        """The space of new vectors: the one being filled, else the serving one."""
        return next((known for known in self.known if not known.active), self.active)

    # ---- the shared meta document

    async def meta(self) -> tuple[dict[str, Any], tuple[int, int] | None]:
        names = self._session.names
        (document,) = await self._session.cluster.documents(
            [{"_index": names.work, "_id": META_ID, "routing": META_ROUTING}]
        )
        state = document["_source"]["state"]
        self.known = [
            VectorField(known["number"], VectorSpace(known["model"], known["dims"]), known["active"])
            for known in state["spaces"]
        ]
        return state, version_of(document)

    async def change(self, step: Callable[[dict[str, Any]], T]) -> T:
        for _ in range(20):
            state, version = await self.meta()
            result = step(state)
            body = {"scope": "memscope", "kind": "meta", "state": state}
            operation = BulkOperation("index", self._session.names.work, META_ID, META_ROUTING, body, version)
            if (await self._session.cluster.bulk([operation]))[0].ok:
                await self.meta()
                return result
        raise StoreBusy("too many processes change the vector spaces at once", hint="try again")

    # ---- declaring

    async def use(self, space: VectorSpace, *, replace: bool) -> None:
        check_space(space)
        await self.meta()
        serving = self.active
        if space not in [known.space for known in self.known] or (
            replace and len(self.known) > 1 and serving and serving.space == space
        ):
            await self._declare(space, replace)
        self.declared = space
        await self.switch_when_full()

    async def _declare(self, space: VectorSpace, replace: bool) -> None:
        await self._session.refresh()
        serving = self.active
        used = serving is not None and await self._count({"exists": {"field": serving.field}})
        if serving is not None and used and not replace:
            check_replaceable(serving.space, space)

        def step(state: dict[str, Any]) -> int:
            remaining = [known for known in state["spaces"] if used and known["active"]]
            if any(known["model"] == space.model and known["dims"] == space.dims for known in remaining):
                state["spaces"] = remaining
                return 0
            number = int(state.get("last_space", 0)) + 1
            state["last_space"] = number
            declared = {"number": number, "model": space.model, "dims": space.dims, "active": not remaining}
            state["spaces"] = [*remaining, declared]
            return number

        number = await self.change(step)
        if number:
            await self._session.cluster.request(
                "PUT",
                f"/{self._session.names.memory}/_mapping",
                body={"properties": {f"vec_{number}": self._field(space)}},
            )

    def _field(self, space: VectorSpace) -> Body:
        """Build the mapping of a vector field; bbq needs 64 dimensions, shorter vectors stay plain floats."""
        kind = self._session.cluster.options.vectors
        if kind.startswith("bbq") and space.dims < 64:
            kind = "flat"
        return {
            "type": "dense_vector",
            "dims": space.dims,
            "similarity": "dot_product",
            "index": True,
            "index_options": {"type": kind},
        }

    async def switch_when_full(self) -> None:
        """Activate the space being filled once no unit of any user waits for it."""
        target = self.target
        if target is None or target.active:
            return
        await self._session.refresh()
        if await self._count({"bool": self.waiting("embed")}) and not await self._only_parked(target):
            return

        def step(state: dict[str, Any]) -> None:
            last = state["spaces"][-1]
            if last["number"] == target.number:
                state["spaces"] = [{**last, "active": True}]

        await self.change(step)

    async def _only_parked(self, target: VectorField) -> bool:
        """Return whether parked units alone lack a vector, and few enough of them."""
        states = [state async for _, state in troubled(self._session)]
        parked = [one for state in states for one in state.batches if one.parked and one.stage == "embed"]
        ids, waiting = [id for batch in parked for id, _ in batch.units], self.waiting("embed")
        if not parked or len(ids) > MAX_PARKED_UNITS:
            return False
        others = {**waiting, "must_not": [*waiting["must_not"], {"ids": {"values": ids}}]}
        return not await self._count({"bool": others}) and is_complete(
            len(ids), await self._count({"term": {"space": target.number}})
        )

    async def _count(self, query: Body) -> int:
        return await self._session.cluster.count(self._session.names.memory, query)

    # ---- waiting work

    def waiting(self, stage: Stage) -> Body:
        """Build the parts of a bool query for records that wait for a stage."""
        if stage != "embed":
            return {"filter": [{"term": {"wait": stage}}]}
        target = self.target
        if target is None:
            return {"filter": [{"match_none": {}}]}
        return {"filter": [{"terms": {"kind": list(DOCUMENT_KINDS)}}], "must_not": [{"term": {"space": target.number}}]}

    async def form(self, user: str, limit: int, taken: Set[str]) -> Batch | None:
        """Form a batch of units without a vector: this process's unrefreshed ones, then those from a search."""
        await self.meta()
        target = self.target
        if target is None or target.space != self.declared:
            return None
        fresh: dict[int, list[str]] = {}  # by seq: id and revision
        async for ids in self._lacking(user, limit):
            rows = await self._rows(scope_hash(user), ids)
            fresh |= {
                row["seq"]: [id, row["rev"]] for id, row in rows.items()
                if row.get("space") != target.number and str(row["seq"]) not in taken
            }  # fmt: skip
            if len(fresh) >= limit:
                break
        chosen = sorted(fresh)[:limit]
        if not chosen:
            return None
        items, units = [str(seq) for seq in chosen], [fresh[seq] for seq in chosen]
        return Batch(secrets.token_hex(16), "embed", items=items, units=units)

    async def _lacking(self, user: str, limit: int) -> AsyncIterator[list[str]]:
        """Yield pages of ids of units that may lack a vector; a search is up to a second behind."""
        yield await self._session.fresh(user)
        async for hits in self._session.walk(user, self.waiting("embed"), "seq", size=limit, _source=False):
            yield [hit["_id"] for hit in hits]

    async def _rows(self, scope: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Read the current units of this user."""
        rows = {}
        for document in await self._session.documents(scope, ids, includes=_ROW_FIELDS):
            source = document.get("_source", {})
            if source.get("scope") == scope and source.get("kind") in DOCUMENT_KINDS:
                rows[document["_id"]] = {**source, "version": version_of(document), "rev": _revision(source)}
        return rows

    async def texts(self, user: str, batch: Batch) -> tuple[str, ...]:
        """Rebuild the text to embed of each item; "" for a removed one."""
        scope = scope_hash(user)
        rows = await self._rows(scope, [id for id, _ in batch.units])
        records = await self._session.load(user, {row["rid"] for row in rows.values()})
        roots = {root for entry in records.values() for root in entry.source.get("roots") or ()}
        turns = {
            record_id: (entry.number, entry.record)
            for record_id, entry in (await self._session.load(user, roots)).items()
            if isinstance(entry.record, Turn)
        }
        texts: dict[str, str] = {}
        for record_id, entry in records.items():
            of_memory = sorted(turns[root] for root in entry.source.get("roots") or () if root in turns)
            units = make_units(entry.record, number=entry.number, seq=entry.number << PART_BITS, turns=of_memory)
            for part, unit in enumerate(units):
                texts[unit_id(scope, record_id, part, entry.number)] = unit.text
        return tuple(texts.get(id, "") for id, _ in batch.units)

    # ---- vectors

    async def put(self, user: str, batch: Batch, vectors: Mapping[str, Sequence[float] | NDArray[np.float32]]) -> None:
        await self.meta()
        target = self.target
        check_declared(target.space if target else None, self.declared)
        if target is None:
            return
        units = dict(zip(batch.items, batch.units, strict=True))
        checked = checked_vectors(vectors, target.space)
        encoded = {item: encoded_vector(vector) for item, vector in checked.items() if item in units}
        scope, left = scope_hash(user), dict(encoded)
        for _ in range(20):
            rows = await self._rows(scope, [units[item][0] for item in left])
            operations, sent = [], []
            for item, vector in left.items():
                id, revision = units[item]
                row = rows.get(id)
                if row is not None and row["rev"] == revision:
                    body = {"space": target.number, **({target.field: vector} if vector else {})}
                    operations.append(
                        BulkOperation("update", self._session.names.memory, id, scope, body, row["version"])
                    )
                    sent.append(item)
            outcomes = await self._session.cluster.bulk(operations)
            self._session.wrote()
            left = {item: left[item] for item, outcome in zip(sent, outcomes, strict=True) if not outcome.ok}
            if not left:
                return
        raise StoreBusy("too many processes write these records at once", hint="try again")


def _revision(source: Mapping[str, Any]) -> str:
    """Checksum of the words from which a unit's vector is computed."""
    return f"{term(str(source.get('header')) + ' ' + str(source.get('words'))):08x}"


def encoded_vector(values: NDArray[np.float32]) -> str:
    """Normalise a vector and encode it as base64 of big-endian floats; "" for a zero vector."""
    import numpy as np

    norm = float(np.linalg.norm(values.astype(np.float64)))
    return b64encode((values / norm).astype(">f4").tobytes()).decode() if norm > 1e-30 else ""
