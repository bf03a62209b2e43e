"""Vector spaces: one that serves, and at most one that is being filled to replace it. Vectors never mix.

Each space has a field of its own, ``vec_<number>``, added to the mapping when it is declared. A unit's field ``space``
says which one it was embedded for last: units with another wait for the stage embed.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from memscope.errors import StoreBusy
from memscope.records import Stage, Turn, VectorSpace
from memscope.stores.spaces import check_declared, check_replaceable, check_space, checked_vectors
from memscope.text.terms import term
from memscope.text.units import make_units
from memscope_elasticsearch.client import Body, BulkOperation
from memscope_elasticsearch.documents import KINDS, PARTS, scope_hash, unit_id
from memscope_elasticsearch.mapping import META_ID, META_ROUTING
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.user_lock import Batch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
_ROW = "scope,kind,seq,space,words,header,rid,part,number"


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
        """Returns the space of new vectors: the one being filled, else the one that serves."""
        return next((known for known in self.known if not known.active), self.active)

    # ---- the document that all share

    async def meta(self) -> tuple[dict[str, Any], tuple[int, int]]:
        names = self._session.names
        (found,) = await self._session.cluster.documents(
            [{"_index": names.work, "_id": META_ID, "routing": META_ROUTING}]
        )
        state = found["_source"]["state"]
        self.known = [
            VectorField(one["number"], VectorSpace(one["model"], one["dims"]), one["active"]) for one in state["spaces"]
        ]
        return state, (found["_seq_no"], found["_primary_term"])

    async def change(self, step: Callable[[dict[str, Any]], T]) -> T:
        for _ in range(20):
            state, version = await self.meta()
            result = step(state)
            body = {"scope": "memscope", "kind": "meta", "state": state}
            operation = BulkOperation("index", self._session.names.work, META_ID, META_ROUTING, body, version)
            if (await self._session.cluster.bulk([operation]))[0].ok:
                await self.meta()
                return result
        raise StoreBusy("the description of the store changes all the time", hint="try again")

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
            kept = [one for one in state["spaces"] if used and one["active"]]
            if any(one["model"] == space.model and one["dims"] == space.dims for one in kept):
                state["spaces"] = kept
                return 0
            number = int(state.get("last_space", 0)) + 1
            state["last_space"] = number
            state["spaces"] = [*kept, {"number": number, "model": space.model, "dims": space.dims, "active": not kept}]
            return number

        number = await self.change(step)
        if number:
            await self._session.cluster.request(
                "PUT",
                f"/{self._session.names.memory}/_mapping",
                body={"properties": {f"vec_{number}": self._field(space)}},
            )

    def _field(self, space: VectorSpace) -> Body:
        """Returns the field's mapping; small or odd lengths are kept as plain floats."""
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
        """Let the filled space serve once no user's unit waits for it."""
        target = self.target
        if target is None or target.active:
            return
        await self._session.refresh()
        if await self._count({"bool": self.waiting("embed")}):
            return

        def step(state: dict[str, Any]) -> None:
            last = state["spaces"][-1]
            if last["number"] == target.number:
                state["spaces"] = [{**last, "active": True}]

        await self.change(step)

    async def _count(self, query: Body) -> int:
        return await self._session.cluster.count(self._session.names.memory, query)

    # ---- what waits

    def waiting(self, stage: Stage) -> Body:
        """Returns the parts of a bool query for records that wait for a stage."""
        if stage != "embed":
            return {"filter": [{"term": {"wait": stage}}]}
        target = self.target
        if target is None:
            return {"filter": [{"match_none": {}}]}
        return {"filter": [{"terms": {"kind": list(KINDS)}}], "must_not": [{"term": {"space": target.number}}]}

    async def form(self, user: str, limit: int, taken: Set[str]) -> Batch | None:
        """Returns units without a vector: those just written by this process, and those a search finds."""
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
        """Yields ids of units, page by page: a search still finds units that got a vector up to a second ago."""
        yield await self._session.fresh(user)
        async for hits in self._session.walk(user, self.waiting("embed"), "seq", size=limit, _source=False):
            yield [hit["_id"] for hit in hits]

    async def _rows(self, scope: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns current units of this user."""
        rows = {}
        for document in await self._session.documents(scope, ids, includes=_ROW):
            source = document.get("_source", {})
            if source.get("scope") == scope and source.get("kind") in KINDS:
                version = (document["_seq_no"], document["_primary_term"])
                rows[document["_id"]] = {**source, "version": version, "rev": _revision(source)}
        return rows

    async def texts(self, user: str, batch: Batch) -> tuple[str, ...]:
        """Returns the text to embed per item, made from the records again; "" for a removed one."""
        scope = scope_hash(user)
        rows = await self._rows(scope, [id for id, _ in batch.units])
        records = await self._session.load(user, {row["rid"] for row in rows.values()})
        roots = {root for one in records.values() for root in one.source.get("roots") or ()}
        turns = {
            record_id: one
            for record_id, one in (await self._session.load(user, roots)).items()
            if isinstance(one.record, Turn)
        }
        made: dict[str, str] = {}
        for record_id, one in records.items():
            on = [(turns[root].number, turns[root].record) for root in one.source.get("roots") or () if root in turns]
            for part, unit in enumerate(
                make_units(one.record, number=one.number, seq=one.number << PARTS, turns=sorted(on))  # type: ignore[arg-type]
            ):
                made[unit_id(scope, record_id, part, one.number)] = unit.text
        return tuple(made.get(id, "") for id, _ in batch.units)

    # ---- vectors

    async def put(self, user: str, batch: Batch, vectors: Mapping[str, Sequence[float] | NDArray[np.float32]]) -> None:
        await self.meta()
        target = self.target
        check_declared(target.space if target else None, self.declared)
        if target is None:
            return
        units = dict(zip(batch.items, batch.units, strict=True))
        given = checked_vectors(vectors, target.space)
        encoded = {item: encoded_vector(vector) for item, vector in given.items() if item in units}
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
        raise StoreBusy("records change all the time", hint="try again")


def _revision(source: Mapping[str, Any]) -> str:
    """Returns a checksum of the words that a unit's vector is made from."""
    return f"{term(str(source.get('header')) + ' ' + str(source.get('words'))):08x}"


def encoded_vector(values: NDArray[np.float32]) -> str:
    """Encode a vector of length one as base64 of big-endian floats; "" for one that has no direction."""
    import numpy as np

    norm = float(np.linalg.norm(values.astype(np.float64)))
    return b64encode((values / norm).astype(">f4").tobytes()).decode() if norm > 1e-30 else ""
