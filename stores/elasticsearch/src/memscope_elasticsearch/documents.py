"""Convert records to documents and back: one document per unit, the first of which contains the record."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from memscope.errors import InputError, StoreCorrupt
from memscope.languages.flags import Flag
from memscope.records import Observation, Record, Stage, Turn
from memscope.records.serialization import from_json, to_json
from memscope.search.units import (
    INSIGHT,
    NEVER_US,
    UNIT_COLUMNS,
    UNIT_STRUCT,
    Unit,
    make_units,
    microseconds,
    scope_key,
    units_version,
)
from memscope.stores.rules import record_id as id_of
from memscope.text.vectors import DIMENSIONS
from memscope_elasticsearch import metadata_tokens
from memscope_elasticsearch.client import Body

DERIVED_VERSION = f"{units_version}.es3"  # version of the derived fields; units of any other version are renewed
DOCUMENT_KINDS = ("turn", "observation", "insight")
GONE, BLANK = "gone", "blank"
BULKY_FIELDS = "words,header,facts,columns,packed"  # fields used only by searches
PART_BITS = 16  # low bits of ``seq``, for the part
ROW_BYTES = UNIT_STRUCT.size - DIMENSIONS  # bytes of a unit's columns without the built-in vector
ORDINAL_BITS = 20  # low bits of a place, for the ordinal in its conversation window
_COLUMN_NAMES = [name for name, _ in UNIT_COLUMNS]


def scope_hash(user: str) -> str:
    """Hash a user's name for filters, ids and routing."""
    return sha256(b"user\x1f" + user.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def document_id(scope: str, *parts: object) -> str:
    """Build an id that is unique across users."""
    whole = "\x1f".join(map(str, (scope, *parts)))
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def document_at(index: str, scope: str, *parts: object) -> Body:
    """Say where a user's document is, as a read needs it."""
    return {"_index": index, "_id": document_id(scope, *parts), "routing": scope}


def kind_of(record: Record) -> str:
    return "turn" if isinstance(record, Turn) else "observation" if isinstance(record, Observation) else "insight"


@dataclass(frozen=True, slots=True)
class Stored:
    """A record with its document (without ``BULKY_FIELDS`` fields) and the version it was read in."""

    record: Record
    source: Mapping[str, Any]
    id: str
    version: tuple[int, int]

    @property
    def number(self) -> int:
        return int(self.source["number"])

    @property
    def parts(self) -> int:
        return int(self.source["parts"])


def holds_record(document: Mapping[str, Any], scope: str) -> bool:
    """True for a document that contains a record of this user."""
    source = document.get("_source") or {}
    return source.get("scope") == scope and source.get("kind") in DOCUMENT_KINDS and source.get("part") == 0


def stored(document: Mapping[str, Any], scope: str) -> Stored | None:
    if not holds_record(document, scope):
        return None
    source = document["_source"]
    version = (document.get("_seq_no", -1), document.get("_primary_term", -1))
    return Stored(decode(source["body"]), source, document["_id"], version)


def encode(record: Record) -> str:
    return json.dumps(to_json(record), ensure_ascii=False, separators=(",", ":"))


def decode(body: str) -> Record:
    try:
        return from_json(json.loads(body))
    except (InputError, ValueError) as error:
        raise StoreCorrupt("a stored record cannot be read", hint="'memscope doctor' checks the indices") from error


# ---- a record's documents


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a turn's units: the conversation window, and the ordinal of its first unit there."""

    window: int
    ordinal: int

    @classmethod
    def at(cls, place: int) -> Place:
        return cls(place >> ORDINAL_BITS, place & ((1 << ORDINAL_BITS) - 1))

    def of(self, part: int) -> int:
        return (self.window << ORDINAL_BITS) + self.ordinal + part


def documents(
    record: Record,
    number: int,
    roots: Sequence[tuple[int, Turn]] = (),
    *,
    place: Place | None = None,
    places: Sequence[int] = (),
    wait: Stage | None = None,
    supersedes: Sequence[str] = (),
) -> dict[str, Body]:
    """Build the documents of a record, by id; the first contains the record.

    Args:
        record: The record.
        number: Its number.
        roots: Numbered turns from which a memory was derived.
        place: Place of a turn.
        places: Places of the turns of a memory.
        wait: Stage that the record waits for.
        supersedes: Ids of memories that this one supersedes.
    """
    scope = scope_hash(record.scope.user)
    names = {n: turn.key for n, turn in roots}
    bodies: dict[str, Body] = {}
    units = make_units(record, number=number, seq=number << PART_BITS, turns=roots)
    encoded = encode(record)
    size = len(encoded.encode("utf-8", "surrogatepass"))
    if place is not None:
        places = [place.of(part) for part in range(len(units))]
    for part, unit in enumerate(units):
        body = _unit(record, unit, part, names, scope) | {"size": size}
        if place is not None:
            body |= {"sitting": place.window, "place": places[part]}
        if part == 0:
            body |= _record(record, roots, wait, supersedes)
            body |= {"body": encoded, "parts": len(units), "places": list(places)}
        bodies[unit_id(scope, id_of(record), part, number)] = body
    return bodies


def unit_id(scope: str, record_id: str, part: int, number: int) -> str:
    """Build the id of a unit. The first depends only on the record's id, so ``create`` detects duplicates."""
    return document_id(scope, record_id) if part == 0 else document_id(scope, record_id, part, number)


def _unit(record: Record, unit: Unit, part: int, names: Mapping[int, str], scope: str) -> Body:
    column = dict(zip(_COLUMN_NAMES, UNIT_STRUCT.unpack(unit.columns), strict=True))
    header = column["n_header"] * 4
    body = {
        "scope": scope, "kind": kind_of(record), "rid": id_of(record), "part": part,
        "number": column["number"], "seq": column["seq"], "terms": DERIVED_VERSION,
        "target": names.get(column["target"], id_of(record)),
        "agent": str(column["agent"]), "session": str(column["session"]),
        "role": str(column["role"]), "speaker": column["speaker"], "time": column["time"],
        "closed": _known(column["closed"]), "expires": _known(column["expires"]),
        "proposed": bool(column["flags"] & Flag.PROPOSED),
        "spare": column["kind"] == INSIGHT and not column["flags"] & Flag.PRIMARY,
        "length": column["n_terms"], "columns": b64encode(unit.columns[:ROW_BYTES]).decode(),
        "packed": b64encode(column["meaning"]).decode() if any(column["meaning"]) else None,
        "topics": [str(topic) for topic in topics_of(column["topics"] | column["more_topics"] << 64)],
        "personal": bool(column["flags"] & Flag.PERSONAL), "named": _named(column),
        "meaning": column["meaning"].hex() if any(column["meaning"]) else None,
        "words": hashed(unit.terms[header:]), "header": hashed(unit.terms[:header]),
        "facts": metadata_tokens.tokens_of(record),
    }  # fmt: skip
    return body


def topics_of(bits: int) -> list[int]:
    return [topic for topic in range(bits.bit_length()) if bits >> topic & 1]


def _named(column: Mapping[str, Any]) -> list[Body]:
    """List the intervals that a unit mentions."""
    pairs = [(column["start"], column["end"]), (column["later_start"], column["later_end"])]
    return [{"gte": start, "lt": end} for start, end in pairs if end > start]


def _known(time: int) -> int | None:
    return None if time == NEVER_US else time


def hashed(terms: bytes) -> str:
    """Spell terms as words of eight hex digits, as in the index."""
    return terms.hex(" ", 4)


def spelled(term: int) -> str:
    """Spell a query's term as in the index."""
    return term.to_bytes(4, "little").hex()


def _record(record: Record, roots: Iterable[tuple[int, Turn]], wait: Stage | None, supersedes: Sequence[str]) -> Body:
    if isinstance(record, Turn):
        fields: Body = {"sessions": [_key(record.scope.session)], "current": True, "statement": record.statement}
        return {**fields, "wait": wait, "rev": 1}
    happened = record.happened
    return {
        "sessions": sorted({_key(turn.scope.session) for _, turn in roots}),
        "current": record.current,
        "statement": False,
        "name": record.name,
        "namespace": record.namespace,
        "sources": list(dict.fromkeys(record.sources)),
        "roots": [turn.key for _, turn in roots],
        "superseded_by": record.superseded_by,
        "supersedes": list(supersedes),
        "start": microseconds(happened.start) if happened else None,
        "end": microseconds(happened.end) if happened else None,
        "wait": wait,
        "rev": 1,
    }


def _key(name: str | None) -> str:
    return str(scope_key(name))


def tombstone(scope: str, record_id: str) -> Body:
    return {"scope": scope, "kind": GONE, "rid": record_id, "part": 0}


def blank(scope: str, at: int) -> Body:
    return {"scope": scope, "kind": BLANK, "at": at}


def without_vectors(vectors: Iterable[int]) -> Body:
    """Build a partial document that removes all vectors."""
    return {"space": None, **{f"vec_{number}": None for number in vectors}}
