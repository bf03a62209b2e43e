"""Convert lines of an export to JSON, and back with full validation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from memscope import validation
from memscope.errors import InputError, StoreError
from memscope.records import Kind, Record, Stage, Turn
from memscope.records.serialization import block_from_json, from_json, receipt_from_json, to_json
from memscope.stores.block_rules import by_key, check_limit
from memscope.stores.rules import Memory, record_id
from memscope.transfer.checks import check_record
from memscope.validation import Limits

EXPORT_FORMAT = 4
READABLE_FORMATS = (1, 2, 3, 4)  # format 1 has no blocks, 2 no receipts, 3 no last line
SECRET_BYTES = range(16, 65)
LINE_KINDS: tuple[Kind, ...] = ("turn", "observation", "insight")
STAGE_OF_KIND: dict[str, Stage] = {"turn": "consolidate", "observation": "reflect"}
Redact: TypeAlias = Callable[[Any], Any]  # masks secrets in a record; ``InputError`` for one in an id


class ExportLine(NamedTuple):
    """One line. ``record``: a record, receipt or block, a forgotten id, or the secret in hexadecimal.

    ``number``: in the header the format, in the last line the number of lines before it. ``size``: bytes when read.
    """

    kind: str
    user: str
    record: Any
    versions: tuple[Any, ...] = ()
    pending: bool = False
    number: int = 0
    size: int = 0

    @property
    def id(self) -> str:
        return record_id(self.record)

    @property
    def done(self) -> bool:
        return self.kind in STAGE_OF_KIND and not self.pending


def encoded(line: ExportLine) -> bytes:
    try:
        return json.dumps(as_object(line), ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except ValueError as error:
        hint = "forget it, or update it"
        raise StoreError(f"{line.kind} {line.id!r} has a value that JSON cannot represent", hint=hint) from error


def as_object(line: ExportLine) -> dict[str, Any]:
    if line.kind == "header":
        return {"memscope": EXPORT_FORMAT, **({"secret": line.record} if line.record else {})}
    if line.kind == "end":
        return {"end": line.number}
    if line.kind == "forgotten":
        return {"forgotten": line.record, "user": line.user}
    if line.kind == "receipt":
        return {"receipt": to_json(line.record)}
    if line.kind == "block":
        return {"block": to_json(line.record), "versions": [to_json(old) for old in line.versions]}
    versions = {"versions": [to_json(old) for old in line.versions]} if line.versions else {}
    return {line.kind: to_json(line.record), "pending": line.pending, **versions}


def redacted(line: ExportLine, redact: Redact | None) -> ExportLine:
    if redact is None or isinstance(line.record, str | None):  # secret, tombstone or last line
        return line
    return line._replace(record=redact(line.record), versions=tuple(map(redact, line.versions)))


def parsed(text: str | bytes, limits: Limits) -> ExportLine:
    return _line_of(json.loads(text), limits)._replace(size=len(text))


def _line_of(content: Mapping[str, Any], limits: Limits) -> ExportLine:
    if "memscope" in content:
        return ExportLine("header", "", _secret(content), number=content["memscope"])
    if "end" in content:
        return ExportLine("end", "", None, number=int(content["end"]))
    if "forgotten" in content:
        user = validation.identifier("user", content["user"])
        return ExportLine("forgotten", user, validation.identifier("forgotten", content["forgotten"]))
    if "receipt" in content:
        receipt = check_record(receipt_from_json(content["receipt"]), limits)
        return ExportLine("receipt", receipt.scope.user, receipt)
    if "block" in content:
        return _block_line(content, limits)
    kind = next((kind for kind in LINE_KINDS if kind in content), None)
    if kind is None or content[kind]["kind"] != kind:
        raise InputError("it has no record", hint="add lines of turns with 'memscope add - < FILE'")
    record = check_record(from_json(content[kind]), limits)
    versions = tuple(_version(old, record, limits) for old in content.get("versions", ()))
    if any(before.version >= after.version for before, after in pairwise(versions)):
        raise InputError("the versions are not in ascending order")
    return ExportLine(kind, record.scope.user, record, versions, bool(content.get("pending")))


def _block_line(content: Mapping[str, Any], limits: Limits) -> ExportLine:
    history = [check_record(block_from_json(version), limits) for version in (*content["versions"], content["block"])]
    if [block.version for block in history] != list(range(1, len(history) + 1)) or len(by_key(history)) != 1:
        raise InputError("the versions of a block are not consecutive")
    *older, block = history
    for version in history:
        check_limit(version)
    return ExportLine("block", block.scope.user, block, tuple(older))


def _secret(header: Mapping[str, Any]) -> str:
    if header["memscope"] not in READABLE_FORMATS:
        newer = isinstance(header["memscope"], int) and header["memscope"] > EXPORT_FORMAT
        hint = "update memscope" if newer else ""
        raise InputError(f"unknown format {str(header['memscope'])[:20]}; known: 1 to {EXPORT_FORMAT}", hint=hint)
    if "secret" not in header:  # an export ``for_user``
        return ""
    secret: str = header["secret"]
    if len(bytes.fromhex(secret)) not in SECRET_BYTES:
        raise InputError(f"a secret has {SECRET_BYTES.start} to {SECRET_BYTES.stop - 1} bytes")
    return secret


def _version(content: Mapping[str, Any], record: Record, limits: Limits) -> Memory:
    old = check_record(from_json(content), limits)
    same = type(old) is type(record) and (old.scope.user, record_id(old)) == (record.scope.user, record_id(record))
    if isinstance(old, Turn) or isinstance(record, Turn) or not same or old.version >= record.version:
        raise InputError("an earlier version belongs to another record, or is not earlier")
    return old
