"""Answers that are not Elasticsearch's: pages of a proxy, JSON of another shape. Typed, retried, one deadline."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memscope.errors import ConfigError, StoreCorrupt, StoreUnavailable
from memscope.records import ChangeSet, Scope, Search, Turn, TurnInsert
from memscope_elasticsearch import ElasticsearchStore, client, mapping, parse_location, session
from memscope_elasticsearch.client import BulkOperation, Cluster
from memscope_elasticsearch.mapping import IndexNames
from stores.elasticsearch.stub import PAGE, SECRET, Answer, Script, Stub, described, opened, refused

pytest.importorskip("elasticsearch")
Make = Callable[[Script], Stub]
NOW = datetime(2026, 11, 1, tzinfo=UTC)
HANGS = 60.0  # seconds after which a test that waits for nothing is stopped


def cluster_of(stub: Stub, *, deadline_s: float = 0.1, request_s: float = 10.0) -> Cluster:
    return Cluster(replace(parse_location(stub.place), deadline_s=deadline_s, request_s=request_s))


def store_of(stub: Stub, deadline_s: float = 0.15) -> ElasticsearchStore:
    return ElasticsearchStore(f"{stub.place}?deadline_s={deadline_s}")


OPERATION = BulkOperation("create", "x", "a", "r", {"n": 1})
REQUESTS: dict[str, Callable[[Cluster], Awaitable[Any]]] = {
    "documents": lambda cluster: cluster.documents([{"_id": "a"}]),
    "bulk": lambda cluster: cluster.bulk([OPERATION]),
    "searches": lambda cluster: cluster.searches("x", [{}], routing="r", paths=""),
    "search": lambda cluster: cluster.search("x", {}),
    "count": lambda cluster: cluster.count("x", {"match_all": {}}),
}
GARBAGE = [PAGE, b"", None, [], "text", 7]
OF_OTHER_SHAPE = {
    "documents": [{}, {"docs": None}, {"docs": []}, {"docs": [None]}, {"docs": {}}],
    "bulk": [{}, {"items": None}, {"items": []}, {"items": [{}]}, {"items": [{"create": {}}]}, {"items": [3]}],
    "searches": [{}, {"responses": None}, {"responses": []}, {"responses": ["x"]}],
    "count": [{}, {"count": None}],
}
WRONG = [(name, answer) for name in REQUESTS for answer in [*GARBAGE, *OF_OTHER_SHAPE.get(name, ())]]


@pytest.mark.parametrize(("name", "answer"), WRONG)
async def test_no_answer_of_elasticsearch_is_typed(
    stubbed: Make, monkeypatch: pytest.MonkeyPatch, name: str, answer: Any
) -> None:
    monkeypatch.setattr(client, "FIRST_RETRY_PAUSE_S", 2 * HANGS)  # so that it is not asked again
    cluster = cluster_of(stubbed(lambda *_: (200, answer)), deadline_s=HANGS)
    with pytest.raises(StoreUnavailable) as raised:
        await REQUESTS[name](cluster)
    await cluster.close()
    assert raised.value.retryable and "proxy" in raised.value.hint


async def test_a_server_that_is_not_there_is_named_without_its_password(stubbed: Make) -> None:
    stub = stubbed(lambda *_: (200, {}))
    cluster = cluster_of(stub)
    stub.stop()
    with pytest.raises(StoreUnavailable, match=rf"http://127.0.0.1:{stub.server.server_address[1]} ") as raised:
        await cluster.search("x", {})
    await cluster.close()
    assert SECRET not in str(raised.value) and "elastic:" not in str(raised.value)


async def test_a_server_without_tls_is_not_taken_for_one_with_a_bad_certificate(stubbed: Make) -> None:
    place = stubbed(lambda *_: (200, {})).place.replace("elasticsearch:", "elasticsearch+https:")
    cluster = Cluster(replace(parse_location(place), deadline_s=HANGS))
    with pytest.raises(ConfigError, match="speaks no TLS"):
        await cluster.search("x", {})
    await cluster.close()


@pytest.mark.parametrize("status", [404, 500, 502])
async def test_an_error_page_of_a_proxy_is_asked_again(stubbed: Make, status: int) -> None:
    answers = iter([(status, PAGE)])
    cluster = cluster_of(stubbed(lambda *_: next(answers, (200, {}))), deadline_s=HANGS)
    assert await cluster.search("x", {}) == {}
    await cluster.close()


async def test_json_of_another_server_is_refused_where_elasticsearch_answered_before(stubbed: Make) -> None:
    cluster = cluster_of(stub := stubbed(lambda *_: (200, {"status": "maintenance"})))
    await cluster.search("x", {})
    stub.product = ""
    with pytest.raises(StoreUnavailable):
        await cluster.search("x", {})
    await cluster.close()


async def test_a_call_succeeds_once_the_page_is_gone(stubbed: Make) -> None:
    answers = iter([(200, PAGE), (200, PAGE), (200, [])])
    cluster = cluster_of(stubbed(lambda *_: next(answers, (200, {"docs": [{"found": False}]}))), deadline_s=HANGS)
    assert await cluster.documents([{"_id": "a"}]) == [{"found": False}]
    await cluster.close()


async def test_a_store_opened_on_a_page_says_where_to_look(stubbed: Make) -> None:
    store = store_of(stubbed(lambda *_: (200, PAGE)))
    with pytest.raises(StoreUnavailable) as raised:
        await store.open()
    await store.close()
    assert "host" in raised.value.hint


# ---- the task that waits for a refresh


async def test_the_refresh_task_survives_every_answer(stubbed: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: list[Answer] = [(200, PAGE), (200, {}), (200, []), (500, PAGE), (400, {"error": "no"}), (200, {"shards": 7}),
                           (200, {"shards": [[]]}), (200, {"shards": [[{}]]})]  # fmt: skip
    marked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def script(method: str, path: str, body: bytes) -> Answer:
        if wrong:
            return wrong.pop()
        if path.endswith("/_search_shards"):
            return 200, {"shards": [[{"shard": 0}]]}
        loop.call_soon_threadsafe(marked.set)
        return 200, {"items": [{"index": {"status": 200}}]}

    monkeypatch.setattr(session, "REFRESH_RETRY_S", 0.001)
    cluster = cluster_of(stubbed(script), deadline_s=0.05)
    opened_session = session.Session(cluster, IndexNames("stub"), lambda: datetime.now(UTC))
    opened_session.wrote("alice", ["a"])
    async with asyncio.timeout(HANGS):
        await marked.wait()
        task = cluster.local().watch
        assert task is not None
        await task
    assert opened_session.unrefreshed.of("alice") == []
    await cluster.close()


# ---- one deadline for a call


def turn(text: str = "hello") -> TurnInsert:
    return TurnInsert(
        Turn(text=text, key=text, scope=Scope("alice"), role="user", speaker="user", time=NOW, recorded=NOW)
    )


CALLS: dict[str, Callable[[ElasticsearchStore], Awaitable[Any]]] = {
    "append": lambda store: store.append("alice", [turn()]),
    "apply": lambda store: store.apply("alice", ChangeSet()),
    "fetch": lambda store: store.fetch("alice", ["a"]),
    "history": lambda store: store.history("alice", "a"),
    "search": lambda store: store.search(Search(Scope("alice"), (1,))),
    "claim": lambda store: store.claim("consolidate", 10, 5),
    "stats": lambda store: store.stats("alice"),
    "tombstones": lambda store: store.tombstones("alice"),
    "users": lambda store: store.users(),
    "unpark": lambda store: store.unpark(),
    "searchable": lambda store: store.searchable("alice"),
}


@pytest.mark.parametrize("name", CALLS)
async def test_every_call_that_meets_a_page_is_typed(stubbed: Make, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(client, "FIRST_RETRY_PAUSE_S", 2 * HANGS)  # so that it is not asked again
    store = store_of(stubbed(opened(lambda *_: (200, PAGE))), HANGS)
    await store.open()
    async with asyncio.timeout(HANGS):
        with pytest.raises(StoreUnavailable):
            await CALLS[name](store)
        await store.close()


async def test_the_deadline_is_that_of_the_call(stubbed: Make) -> None:
    """Each request is refused for a twentieth of a deadline, so a single one succeeds."""
    clock, since = asyncio.get_running_loop().time, dict[bytes, float]()

    def script(method: str, path: str, body: bytes) -> Answer:
        begun = since.setdefault(body, clock())
        return refused(503, "") if clock() - begun < 0.1 else (200, {"docs": []})

    cluster = cluster_of(stubbed(script), deadline_s=2.0)
    await cluster.documents([])
    await REQUESTS["search"](cluster)
    with pytest.raises(StoreUnavailable):
        with cluster.one_deadline():
            for i in range(40):
                with cluster.one_deadline():  # that of the call holds within
                    await cluster.search("x", {"size": i})
    await cluster.close()


async def test_a_request_gets_no_more_time_than_the_call_has_left(stubbed: Make) -> None:
    ended = threading.Event()

    def script(method: str, path: str, body: bytes) -> Answer:
        ended.wait(HANGS)
        return 200, {}

    cluster = cluster_of(stubbed(script), deadline_s=0.2, request_s=HANGS)
    async with asyncio.timeout(HANGS / 2):
        with pytest.raises(StoreUnavailable), cluster.one_deadline():
            await cluster.search("x", {})
    ended.set()
    await cluster.close()


async def test_a_turn_waits_for_other_writers_no_longer_than_its_deadline(stubbed: Make) -> None:
    """The first group hangs; what waits behind it is refused in time, and never written."""
    ended, begun = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def script(method: str, path: str, body: bytes) -> Answer:
        loop.call_soon_threadsafe(begun.set)
        ended.wait(HANGS)
        return 503, {}

    store = store_of(stub := stubbed(opened(script)), 1.0)
    await store.open()
    first = asyncio.create_task(store.append("alice", [turn("first")]))
    async with asyncio.timeout(HANGS):
        await begun.wait()
        with pytest.raises(StoreUnavailable):
            await store.append("alice", [turn("second")])
        with pytest.raises(StoreUnavailable):
            await first
    ended.set()
    await store.close()
    assert not any(b"second" in body for _, _, body in stub.asked)


async def test_a_write_whose_caller_is_gone_ends_with_the_store(stubbed: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer leaves its intent to the next writer, and the event loop no complaint."""
    begun, complaints = asyncio.Event(), list[Any]()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    monkeypatch.setattr(client, "MAX_CLOSE_WAIT_S", 0.05)

    def script(method: str, path: str, body: bytes) -> Answer:
        loop.call_soon_threadsafe(begun.set)
        return 503, {}

    store = store_of(stubbed(opened(script)), 30)
    await store.open()
    caller = asyncio.create_task(store.apply("alice", ChangeSet(done=("one",))))
    async with asyncio.timeout(HANGS):
        await begun.wait()
        caller.cancel()
        await asyncio.wait([caller])
        await store.close()
        await asyncio.sleep(0)
    gc.collect()
    assert not complaints and not [task for task in asyncio.all_tasks() if task.get_name().startswith("memscope-")]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nobody closed its connections
def test_a_loop_that_ended_leaves_nothing(stubbed: Make) -> None:
    store = store_of(stubbed(opened(lambda method, path, body: (200, {"count": 0}))), 5)
    for _ in range(3):
        asyncio.run(store.cluster.count("x"))
    gc.collect()
    assert sum(isinstance(one, client.Local) for one in gc.get_objects()) == 1


# ---- indices of somebody else


NUMBER = f"-{mapping.MAPPING_VERSION:06d}"


def server(indices: dict[str, Any]) -> Script:
    """A server that has these indices by alias or name, and creates none."""

    def script(method: str, path: str, body: bytes) -> Answer:
        name = path.removeprefix("/").removesuffix("/_settings/index.uuid")
        if method == "PUT" and name in (f"stub-mem{NUMBER}", f"stub-work{NUMBER}"):
            return refused(400, "resource_already_exists_exception")
        found = indices.get(name)
        return (200, found) if found is not None else refused(404, "index_not_found_exception")

    return script


MINE = {"stub-work": described(mapping.WORK_FIELDS)}
FOREIGN = {
    "an index of the alias's name": {
        "stub-mem": described({"title": {"type": "text"}}, index="stub-mem", mappings={"_meta": {}})
    },
    "somebody else's behind the alias": {"stub-mem": {"theirs": {"mappings": {}, "settings": {"index": {}}}}},
    "notes of another kind": {"stub-mem": described(mapping.MEMORY_FIELDS, mappings={"_meta": {"memscope": "mine"}})},
    "no map of notes": {"stub-mem": described(mapping.MEMORY_FIELDS, mappings={"_meta": []})},
    "two indices behind the alias": {
        "stub-mem": {**described(mapping.MEMORY_FIELDS), **described(mapping.MEMORY_FIELDS, index="b")}
    },
    "the index without its alias": {},
    "a field of another type": {"stub-mem": described({**mapping.MEMORY_FIELDS, "words": {"type": "keyword"}})},
}


@pytest.mark.parametrize("case", FOREIGN)
async def test_an_index_of_somebody_else_is_refused_with_what_to_do(stubbed: Make, case: str) -> None:
    store = store_of(stub := stubbed(server({**MINE, **FOREIGN[case]})), HANGS)
    with pytest.raises(StoreCorrupt) as raised:
        await store.open()
    await store.close()
    assert raised.value.hint
    assert all(method == "GET" or path.endswith(NUMBER) for method, path, _ in stub.asked)  # nothing was changed
