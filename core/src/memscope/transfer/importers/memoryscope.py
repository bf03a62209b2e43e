"""Importer ``memoryscope``: the Elasticsearch index of MemoryScope 0.1, or its documents as JSON lines.

A source is ``http://host:9200/index`` (credentials in the URL, if any), or a file of documents or of search hits.
Observations come with their source sentence, insights with their subject; expired ones are closed. ``target_name`` is
the user. Nothing is unpickled: ``key_vector`` is not read.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from itertools import takewhile
from typing import Any

from memscope.dates.iso import parse
from memscope.errors import InputError, LimitError, MemscopeError, StoreUnavailable
from memscope.languages import registered
from memscope.records import Interval
from memscope.transfer.importers import ImportedMemory, Item, NotTaken, time_of
from memscope.transfer.importers.files import mapping, read_json, values, word

SCROLL_PAGE_HITS, SCROLL_KEEP_ALIVE, REQUEST_TIMEOUT_S = 500, "2m", 30
EXCLUDED = ["embedding", "metadata.key_vector", "metadata.vector", "metadata._node_content"]
OBSERVATION_TYPES = {"observation", "obs_customized"}


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the memories of every source, oldest first within a file."""
    for source in sources:
        url = str(source).startswith(("http://", "https://"))
        for hit in _documents(str(source)) if url else (value for _, value in read_json(source)):
            document = mapping(mapping(hit).get("_source", hit))
            yield _item(document, mapping(document.get("metadata")) or document)


def _item(document: Mapping[str, Any], node: Mapping[str, Any]) -> Item:
    text, time = node.get("content") or document.get("content"), time_of(node.get("timestamp"))
    kind, id, user = (word(node.get(name)) for name in ("memory_type", "memory_id", "target_name"))
    if time is None or not (isinstance(text, str) and text and id and user):
        return NotTaken("not a memory of MemoryScope, or one without content or timestamp")
    if kind not in OBSERVATION_TYPES | {"insight"}:
        return NotTaken(f"memory_type {kind[:40]}")
    about = mapping(node.get("meta_data"))
    insight, conversation = kind == "insight", about.get("conversation")
    return ImportedMemory(
        id=id,
        text=text,
        said=time,
        user=user,
        source={"content": conversation} if isinstance(conversation, str) and conversation and not insight else None,
        closed=time if node.get("store_status") == "expired" else None,
        happened=None if insight else _happened(about),
        subject=word(node.get("key")) or text[:80] if insight else None,
        data={"memoryscope": {"id": id, "type": kind, "assistant": word(node.get("user_name"))}},
    )


def _happened(about: Mapping[str, Any]) -> Interval | None:
    """Build a UTC interval from the inferred year, month and day; -1 and unparsable words mean unknown."""
    year, *parts = (_number(about.get(f"event_{part}")) for part in ("year", "month", "day"))
    return parse("-".join([f"{year:04}", *map(str, takewhile(bool, parts))]), UTC)


_PART = re.compile(r"(\d{1,4})\D?")


def _number(value: Any) -> int:
    """Parse a part of a date: "2022", "May", the Chinese "day 12"; 0 if unknown."""
    text = word(value).strip().casefold()
    for language in registered():
        if text in (months := [name.casefold() for name in language.phrases.months]):
            return months.index(text) + 1
    part = _PART.fullmatch(text)
    return int(part[1]) if part else 0


# ---------------------------------------------------------------------------------------------------------------- index


def _documents(url: str) -> Iterator[Mapping[str, Any]]:
    """Yield the hits of an index by the scroll API, which every server version has."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        raise InputError("not a URL of an index", hint="http://localhost:9200/memory_index") from None
    index = parts.path.strip("/")
    if not index or "/" in index:
        raise InputError("the URL must end with the name of the index", hint="http://localhost:9200/memory_index")
    root = urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
    login = f"{parts.username}:{parts.password or ''}" if parts.username else ""
    body = {"size": SCROLL_PAGE_HITS, "sort": ["_doc"], "_source": {"excludes": EXCLUDED}}
    page = _request(f"{root}/{index}/_search?scroll={SCROLL_KEEP_ALIVE}", body, login)
    try:
        while hits := _hits(page):
            yield from hits
            page = _request(
                f"{root}/_search/scroll", {"scroll": SCROLL_KEEP_ALIVE, "scroll_id": page.get("_scroll_id")}, login
            )
    finally:
        with suppress(MemscopeError):  # otherwise the server expires the scroll itself
            _request(f"{root}/_search/scroll", {"scroll_id": page.get("_scroll_id")}, login, "DELETE")


def _hits(page: Mapping[str, Any]) -> list[Any]:
    hits = mapping(page.get("hits")).get("hits")
    if not isinstance(hits, list):
        raise InputError("the server of MemoryScope's index returned no hits", hint="check its address")
    return hits


def _request(url: str, body: Mapping[str, Any], login: str, method: str = "POST") -> Mapping[str, Any]:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method
    )
    if login:
        user, _, password = login.partition(":")
        plain = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}"
        request.add_header("Authorization", "Basic " + base64.b64encode(plain.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT_S) as reply:
            return mapping(next(value for _, value in values(reply, "the answer of MemoryScope's server")))
    except urllib.error.HTTPError as error:
        hint = "check the name of the index"
        raise InputError(f"the server of MemoryScope's index answered {error.code}", hint=hint) from error
    except LimitError:
        raise
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise StoreUnavailable("the server of MemoryScope's index does not answer", hint="check its address") from error
