"""A cluster's refusals, simulated: each failure is a typed error, in time, no secret in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memscope.errors import (
    ConfigError,
    LimitError,
    MemscopeError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from memscope_elasticsearch import ElasticsearchStore, Options, mapping, parse_location
from memscope_elasticsearch.client import BulkOperation, Cluster
from stores.elasticsearch.stub import SECRET, Answer, Script, Stub, described, refused

pytest.importorskip("elasticsearch")


async def error_of(stub: Stub, deadline_s: float = 60) -> MemscopeError:
    store = ElasticsearchStore(f"{stub.place}?deadline_s={deadline_s}")
    try:
        with pytest.raises(MemscopeError) as raised:
            await store.open()
    finally:
        await store.close()
    assert SECRET not in str(raised.value) + repr(raised.value) + raised.value.hint
    return raised.value


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (refused(401, "security_exception"), ConfigError),
        (refused(403, "security_exception"), ConfigError),
        (
            refused(403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/8/index write (api)]"),
            StoreReadOnly,
        ),
        (refused(429, "cluster_block_exception", "disk usage exceeded flood-stage watermark"), StoreFull),
        (refused(429, "circuit_breaking_exception"), StoreBusy),
        (refused(503, "cluster_block_exception_recovering"), StoreUnavailable),
        (refused(502, ""), StoreUnavailable),
        (refused(413, ""), LimitError),
        (refused(400, "media_type_header_exception"), StoreError),
        (refused(400, "mapper_parsing_exception", f"text of {SECRET}"), StoreError),
        ((500, {"what": "is this"}), StoreError),
    ],
)
async def test_every_answer_is_a_typed_error(
    stubbed: Callable[[Script], Stub], answer: Answer, expected: type[MemscopeError]
) -> None:
    waits = issubclass(expected, StoreBusy | StoreUnavailable)  # and asks again
    error = await error_of(stubbed(lambda *_: answer), 1 if waits else 60)
    assert type(error) is expected


async def test_another_product_is_refused(stubbed: Callable[[Script], Stub]) -> None:
    stub = stubbed(lambda *_: (200, {}))
    stub.product = ""
    assert "not Elasticsearch" in str(await error_of(stub))


async def test_a_full_disk_is_not_asked_again(stubbed: Callable[[Script], Stub]) -> None:
    stub = stubbed(lambda *_: refused(429, "cluster_block_exception", "flood-stage"))
    await error_of(stub)
    assert len(stub.asked) == 1


async def test_a_busy_server_is_asked_again_until_the_deadline(stubbed: Callable[[Script], Stub]) -> None:
    stub = stubbed(lambda *_: refused(429, "es_rejected_execution_exception"))
    assert (await error_of(stub, deadline_s=3)).retryable
    assert len(stub.asked) > 2


async def test_a_server_that_is_away_is_a_retryable_error() -> None:
    store = ElasticsearchStore("elasticsearch://127.0.0.1:1/x?deadline_s=0.2")
    with pytest.raises(StoreUnavailable) as raised:
        await store.open()
    assert raised.value.retryable
    await store.close()


async def test_a_missing_index_is_gone(stubbed: Callable[[Script], Stub]) -> None:
    stub = stubbed(lambda *_: refused(404, "index_not_found_exception"))
    cluster = Cluster(parse_location(stub.place))
    with pytest.raises(StoreGone):
        await cluster.search("x", {})
    await cluster.close()


def bulk(item: Callable[[str, int], dict[str, Any]]) -> tuple[Script, dict[str, int]]:
    """A script for bulks; ``item`` gets the id and how often it came."""
    seen: dict[str, int] = {}

    def script(method: str, path: str, body: bytes) -> Answer:
        items = []
        for line in body.decode().splitlines():
            about = json.loads(line)
            if "create" in about:
                id = about["create"]["_id"]
                seen[id] = seen.get(id, 0) + 1
                items.append({"create": item(id, seen[id])})
        return 200, {"errors": True, "items": items}

    return script, seen


def creates(*ids: str) -> list[BulkOperation]:
    return [BulkOperation("create", "x", id, "r", {"n": 1}) for id in ids]


async def test_only_refused_items_of_a_bulk_are_sent_again(stubbed: Callable[[Script], Stub]) -> None:
    def item(id: str, times: int) -> dict[str, Any]:
        if id == "busy" and times < 3:
            return {"status": 429, "error": {"type": "es_rejected_execution_exception"}}
        return (
            {"status": 409, "error": {"type": "version_conflict_engine_exception"}}
            if id == "there"
            else {"status": 201}
        )

    script, seen = bulk(item)
    cluster = Cluster(parse_location(stubbed(script).place))
    outcomes = await cluster.bulk(creates("a", "busy", "there"))
    await cluster.close()
    assert [outcome.status for outcome in outcomes] == [201, 201, 409]
    assert seen == {"a": 1, "busy": 3, "there": 1}


async def test_what_a_bulk_refuses_of_one_is_the_error_of_that_one(stubbed: Callable[[Script], Stub]) -> None:
    answers = {"wrong": (400, "document_parsing_exception"), "read-only": (403, "cluster_block_exception")}

    def item(id: str, times: int) -> dict[str, Any]:
        status, kind = answers.get(id, (201, ""))
        return {"status": status, **({"error": {"type": kind, "reason": SECRET}} if kind else {})}

    cluster = Cluster(parse_location(stubbed(bulk(item)[0]).place))
    outcomes = await cluster.attempt(creates("a", "wrong", "read-only", "b"))
    assert [type(outcome.error) for outcome in outcomes] == [type(None), StoreError, StoreReadOnly, type(None)]
    assert all(SECRET not in str(outcome.error) for outcome in outcomes)
    with pytest.raises(StoreError):
        await cluster.bulk(creates("wrong"))
    await cluster.close()


async def test_an_error_in_one_of_several_searches_is_raised(stubbed: Callable[[Script], Stub]) -> None:
    wrong = {"error": {"type": "search_phase_execution_exception"}, "status": 400}
    cluster = Cluster(parse_location(stubbed(lambda *_: (200, {"responses": [{"hits": {}}, wrong]})).place))
    with pytest.raises(StoreError):
        await cluster.searches("x", [{}, {}], routing="r", paths="")
    await cluster.close()


async def test_credentials_go_to_the_server_and_nowhere_else(stubbed: Callable[[Script], Stub]) -> None:
    stub = stubbed(lambda *_: refused(401, "security_exception"))
    await error_of(stub)
    assert stub.headers[0]["authorization"].startswith("Basic ")
    chosen = parse_location(stub.place, {"api_key": SECRET})
    assert SECRET not in repr(chosen) + str(chosen)
    cluster = Cluster(parse_location(stub.place.replace(f"elastic:{SECRET}@", ""), {"api_key": SECRET}))
    with pytest.raises(ConfigError):
        await cluster.search("x", {})
    await cluster.close()
    assert stub.headers[-1]["authorization"] == f"ApiKey {SECRET}"


# ---- addresses


def test_an_address_becomes_options() -> None:
    chosen = parse_location("elasticsearch+https://me:p%40ss@a:1,b/mine?replicas=2&verify_certs=false&deadline_s=3")
    assert chosen.client == {
        "hosts": ["https://a:1", "https://b:9200"],
        "basic_auth": ("me", "p@ss"),
        "verify_certs": False,
    }
    assert (chosen.prefix, chosen.replicas, chosen.deadline_s) == ("mine", 2, 3.0)
    configured = {"cloud_id": "x:y", "api_key": "k", "prefix": "p"}
    client = {"cloud_id": "x:y", "api_key": "k"}
    assert parse_location("elasticsearch://", configured) == Options(client=client, prefix="p")
    assert parse_location("elasticsearch://h/own", {"prefix": "p"}).prefix == "own"


@pytest.mark.parametrize(
    "location",
    [
        "elasticsearch://",
        "elasticsearch://h/Upper",
        "elasticsearch://h/a*b",
        "elasticsearch://h/-mem",
        "elasticsearch://h?shards=many",
        "elasticsearch://h?shards=0",
        "elasticsearch://h?pasword=x",
        "elasticsearch://h?verify_certs=perhaps",
    ],
)
def test_a_wrong_address_is_a_configuration_error(location: str) -> None:
    with pytest.raises(ConfigError):
        parse_location(location)


# ---- indices that are not as they were made


def test_an_index_as_it_was_made_passes() -> None:
    mapping.check("x-work", mapping.WORK_FIELDS, *described().items())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (described(mappings={"_meta": {}}), StoreCorrupt),
        (described(mappings={"_meta": {mapping.META: {"version": mapping.MAPPING_VERSION + 1}}}), StoreTooNew),
        (described(mappings={"dynamic": "true"}), StoreCorrupt),
        (described(mappings={"_routing": {}}), StoreCorrupt),
        (described(mappings={"properties": {}}), StoreCorrupt),
        (described(translog={"durability": "ASYNC"}), StoreCorrupt),
        (described(index="x-work"), StoreCorrupt),
    ],
)
def test_an_index_that_was_changed_is_refused(answer: dict[str, Any], expected: type[StoreError]) -> None:
    with pytest.raises(expected):
        mapping.check("x-work", mapping.WORK_FIELDS, *answer.items())
