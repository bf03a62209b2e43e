"""Importer ``memoryscope``: the Elasticsearch index of MemoryScope 0.1, or its documents as JSON lines.

A source is ``http://host:9200/index`` (credentials in the URL, if any), or a file of documents or of search hits.
Observations come with the sentence they were taken from, insights with their subject; expired ones are closed. Its
``target_name`` is the user. Nothing is unpickled: ``key_vector`` is left where it is.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memscope.errors import InputError, StoreUnavailable
from memscope.records import Interval
from memscope.transfer.importers import ImportedMemory, Item, NotTaken, time_of
from memscope.transfer.importers.files import mapping, read_json

PAGE, KEEP, TIMEOUT_S = 500, "2m", 30
EXCLUDED = ["embedding", "metadata.key_vector", "metadata.vector", "metadata._node_content"]
OBSERVED = {"observation", "obs_customized"}


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the memories of every source, oldest first within a file."""
    for source in sources:
        url = str(source).startswith(("http://", "https://"))
        for found in _documents(str(source)) if url else read_json(source):
            document = mapping(mapping(found).get("_source", found))
            yield _item(document, mapping(document.get("metadata")) or document)


def _item(document: Mapping[str, Any], node: Mapping[str, Any]) -> Item:
    text, said = node.get("content") or document.get("content"), time_of(node.get("timestamp"))
    kind = node.get("memory_type")
    if said is None or not (isinstance(text, str) and text and node.get("memory_id") and node.get("target_name")):
        return NotTaken("no memory of MemoryScope, or one without content or timestamp")
    if not isinstance(kind, str) or kind not in OBSERVED | {"insight"}:
        return NotTaken(f"memory_type {str(kind)[:40]}")
    about = mapping(node.get("meta_data"))
    insight, conversation = kind == "insight", about.get("conversation")
    return ImportedMemory(
        id=str(node["memory_id"]),
        text=text,
        said=said,
        user=str(node["target_name"]),
        source={"content": conversation} if isinstance(conversation, str) and conversation and not insight else None,
        closed=said if node.get("store_status") == "expired" else None,
        happened=None if insight else _happened(about),
        subject=str(node.get("key") or "") or text[:80] if insight else None,
        data={"memoryscope": {"id": str(node["memory_id"]), "type": kind, "assistant": str(node.get("user_name", ""))}},
    )


def _happened(about: Mapping[str, Any]) -> Interval | None:
    """The inferred year, month and day of an observation as an interval in UTC; -1 and words are unknown."""
    year, month, day = (_number(about.get(f"event_{part}")) for part in ("year", "month", "day"))
    try:
        start = datetime(year, month or 1, day if month and day else 1, tzinfo=UTC)
        days = 1 if month and day else 31 if month else 366
        end = start + timedelta(days=days)
    except (ValueError, OverflowError):
        return None
    return Interval(start, end if days == 1 else end.replace(month=end.month if month else 1, day=1))


MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip


def _number(value: Any) -> int:
    """A part of a date as MemoryScope wrote it: "2022", "May", "5月", "12日"; 0 where it is unknown."""
    text = str(value or "").strip().lower().rstrip("年月日号")
    if text in MONTHS:
        return MONTHS.index(text) + 1
    return int(text) if text.isdecimal() else 0


# ---------------------------------------------------------------------------------------------------------------- index


def _documents(url: str) -> Iterator[Mapping[str, Any]]:
    """Yield the hits of an index page by page, by the scroll API, which every server version has."""
    parts = urllib.parse.urlsplit(url)
    index = parts.path.strip("/")
    if not index or "/" in index:
        raise InputError("the URL must end with the name of the index", hint="http://localhost:9200/memory_index")
    root = urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
    login = f"{parts.username}:{parts.password or ''}" if parts.username else ""
    body = {"size": PAGE, "sort": ["_doc"], "_source": {"excludes": EXCLUDED}}
    page = _ask(f"{root}/{index}/_search?scroll={KEEP}", body, login)
    try:
        while hits := page["hits"]["hits"]:
            yield from hits
            page = _ask(f"{root}/_search/scroll", {"scroll": KEEP, "scroll_id": page["_scroll_id"]}, login)
    finally:
        _ask(f"{root}/_search/scroll", {"scroll_id": page["_scroll_id"]}, login, "DELETE")


def _ask(url: str, body: Mapping[str, Any], login: str, method: str = "POST") -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method
    )
    if login:
        user, _, password = login.partition(":")
        plain = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}"
        request.add_header("Authorization", "Basic " + base64.b64encode(plain.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise InputError(
            f"the server of MemoryScope's index answered {error.code}", hint="see the index's name"
        ) from error
    except (OSError, ValueError) as error:
        raise StoreUnavailable("the server of MemoryScope's index does not answer", hint="see its address") from error
