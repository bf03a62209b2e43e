"""Administration of a memory beside its verbs: export and import, backup, recovery, closing."""

from __future__ import annotations

import asyncio
import json
import secrets

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ClosedError, ConfigError, InputError, StoreError
from memscope.records import ChangeSet, Observation, Select, Turn, TurnInsert
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope.transfer import copy, jsonl
from memscope.transfer.export_lines import EXPORT_FORMAT
from memscope_cli.sqlite_recovery import recover, restore
from memscope_elasticsearch import ElasticsearchStore, parse_location
from memscope_testing.records import ids, inserts, insight, observation, remember, turn
from stores.elasticsearch.node import location, needs_node, remove

BERLIN = {"role": "user", "content": "I moved to Berlin last May."}


@pytest.fixture(params=["memory", "sqlite"])
async def memory(request, tmp_path):
    place = ":memory:" if request.param == "memory" else tmp_path / "memory.db"
    async with AsyncMemoryScope(place, settings={}) as opened:
        yield opened


async def texts(memory, query, **scope):
    return [hit.text for hit in await memory.retrieve(query, **scope)]


async def test_an_export_read_elsewhere_is_the_same_memory(memory, tmp_path):
    await memory.add_turns(
        [BERLIN | {"metadata": {"a": 1}}, {"role": "user", "content": "gone"}], user="alice", session="s"
    )
    made = await memory.add_memory("Tea.", user="alice", name="drink", data={"n": 1})
    await memory.update(made.id, user="alice", text="Green tea.")
    await memory.forget(user="alice", text="gone")
    written = await memory.admin.export(tmp_path / "all.jsonl")
    assert (written["turn"], written["observation"], written["forgotten"]) == (2, 1, 1)
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        assert (await other.admin.import_(tmp_path / "all.jsonl"))["turn_stored"] == 2
        again = await other.admin.import_(tmp_path / "all.jsonl")
        assert (again["turn_duplicate"], again["observation"]) == (2, 0)
        strip = [
            (r.text, r.scope, getattr(r, "key", ""), getattr(r, "data", None)) for r in await memory.list(user="alice")
        ]
        assert strip == [
            (r.text, r.scope, getattr(r, "key", ""), getattr(r, "data", None)) for r in await other.list(user="alice")
        ]
        assert [old.text for old in await other.history(made.id, user="alice")] == ["Tea.", "Green tea."]
        shown = await other.add_turns(
            [BERLIN, {"role": "user", "content": "gone"}], user="alice", session="s", replay=True
        )
        assert (shown.duplicates, shown.forgotten) == (1, 1)
        assert (await other.admin.status())["pending"] == (await memory.admin.status())["pending"]


async def test_a_broken_line_is_counted_or_refuses_the_whole_file(memory, tmp_path):
    await memory.add_turns([{"role": "user", "content": f"fact {n}"} for n in range(5)], user="alice")
    path = tmp_path / "all.jsonl"
    await memory.admin.export(path)
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:20]
    path.write_text("\n".join(lines))
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        with pytest.raises(InputError, match="line 4"):
            await other.admin.import_(path)
        assert (await other.admin.status())["turns"] == 0
        counts = await other.admin.import_(path, strict=False)
        assert (counts["turn_stored"], counts["broken"], counts["first_broken_line"]) == (4, 1, 4)


async def test_without_a_chat_model_nothing_is_lost_and_nothing_is_wrong(memory):
    await memory.add_turns([BERLIN], user="alice")
    for report in (await memory.consolidate(user="alice"), await memory.reflect(user="alice")):
        assert report.model == "none"
    assert (await memory.admin.status())["pending"]["consolidate"] == 1


async def test_a_closed_memory_says_so(memory):
    await memory.close()
    await memory.close()
    with pytest.raises(ClosedError):
        await memory.retrieve("Berlin", user="alice")


async def test_fifty_users_at_once_never_mix(memory):
    async def live(user):
        for n in range(5):
            await memory.add_turns([{"role": "user", "content": f"canary-{user} fact {n}"}], user=user)
            assert all(user == hit.turn.scope.user for hit in await memory.retrieve("canary fact", user=user, k=50))
        return await memory.list(user=user)

    lists = await asyncio.gather(*(live(f"u{n}") for n in range(50)))
    assert all(len(records) == 5 and isinstance(records[0], Turn) for records in lists)


async def test_memories_are_dated_by_their_statement(memory):
    made = await memory.add_memory("Moved.", user="alice", time="2024-02-03T10:00:00+00:00")
    assert isinstance(made, Observation) and made.said.year == 2024


async def test_a_backup_taken_in_use_is_restored(tmp_path):
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        await memory.add_turns([BERLIN], user="alice")
        await memory.admin.backup(tmp_path / "copy.db")
        await memory.forget(user="alice", everything=True)
    await restore(tmp_path / "copy.db", tmp_path / "memory.db")
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        assert await texts(memory, "Berlin", user="alice") == [BERLIN["content"]]
        await memory.add_turns([{"role": "user", "content": "Berlin is grey"}], user="alice")
        assert (await memory.admin.status())["turns"] == 2


async def test_a_damaged_file_is_refused_and_recovered_into_a_new_one(tmp_path):
    path = tmp_path / "memory.db"
    async with AsyncMemoryScope(path, settings={}) as memory:
        turns = [{"role": "user", "content": f"fact {n} " + "x" * 500} for n in range(200)]
        await memory.add_turns(turns, user="alice")
    damaged = bytearray(path.read_bytes())
    damaged[8192 * 20 : 8192 * 21] = b"\xff" * 8192
    path.write_bytes(damaged)
    report = await recover(path, tmp_path / "saved.db")
    assert bytes(damaged) == path.read_bytes()
    async with AsyncMemoryScope(tmp_path / "saved.db", settings={}) as saved:
        assert 100 < (await saved.admin.status())["turns"] <= 200
    assert report["lost"]


@pytest.mark.parametrize("other", [":memory:", "other.db"])
async def test_superseded_memories_without_earlier_versions_travel_too(memory, tmp_path, other):
    for place in ("Paris", "Berlin"):
        await memory.add_memory(f"I live in {place}.", user="alice", name="home")
    await memory.add_memory("I drink tea.", user="alice")
    await memory.admin.export(tmp_path / "all.jsonl")
    place = other if other == ":memory:" else tmp_path / other
    async with AsyncMemoryScope(place, settings={}) as copy:
        assert (await copy.admin.import_(tmp_path / "all.jsonl"))["observation"] == 3
        assert await copy.list(user="alice", kinds=["observation"], superseded=True) == await memory.list(
            user="alice", kinds=["observation"], superseded=True
        )
        (current,) = await copy.list(user="alice", name="home")
        assert [old.text for old in await copy.history(current.id, user="alice")] == [
            "I live in Paris.", "I live in Berlin.",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, lambda line: line.update(secret="")), (0, lambda line: line.update(memscope=EXPORT_FORMAT + 1)),
        (1, lambda line: line["turn"].update(scope=[5, None, None])),
        (1, lambda line: line["turn"].update(scope=["", None, None])),
        (1, lambda line: line["turn"].update(scope=["alice", [], None])),
        (1, lambda line: line["turn"].update(text="\ud83d")), (1, lambda line: line["turn"].update(key=" ")),
        (1, lambda line: line["turn"].update(kind="insight")),
        (1, lambda line: line["turn"].update(metadata={"n": [float("nan")]})),
        (1, lambda line: line["turn"].update(metadata={"n": float("inf")})),
        (1, lambda line: line["turn"].update(metadata={"n": 10**4000})),
        (1, lambda line: line["turn"].update(metadata={"n": "\0"})),
        (1, lambda line: line["turn"].update(seq=10**4000)), (1, lambda line: line["turn"].update(seq=-1)),
        (1, lambda line: line["turn"].update(text="x" * 1_100_000)), (1, lambda line: line["turn"].update(text="a\0b")),
        (1, lambda line: line["turn"].update(speaker="\0" * 50_000)),
        (1, lambda line: line["turn"].update(time="0001-01-01T00:00:00+14:00")),
        (3, lambda line: line["observation"].update(name="\0" * 50_000)),
        (3, lambda line: line["observation"].update(namespace="n" * 257)),
        (3, lambda line: line["observation"].update(origin="")), (3, lambda line: line["observation"].update(level=4)),
        (3, lambda line: line["observation"].update(origin="o" * 50_000)),
        (3, lambda line: line["observation"].update(level=-1)), (3, lambda line: line["observation"].update(version=0)),
        (3, lambda line: line["observation"].update(version=10**30)),
        (3, lambda line: line["observation"].update(data={str(n): n for n in range(100)})),
        (3, lambda line: line["observation"].update(about="x" * 300_000)),
        (3, lambda line: line["observation"].update(quotes=[["k", "x" * 300_000]])),
        (3, lambda line: line["observation"].update(
            happened=["2024-02-01T00:00:00+00:00", "2024-01-01T00:00:00+00:00"])),
        (3, lambda line: line["versions"][0].update(data={"n": float("nan")})),
        (3, lambda line: line["versions"].append(line["versions"][0])),
        (3, lambda line: line.update(versions=5)), (3, lambda line: line.update(versions=["x"])),
        (3, lambda line: line["versions"][0].update(scope=["bob", None, None])),
        (3, lambda line: line["versions"][0].update(id="another")),
        (3, lambda line: line["observation"].update(quotes=[[5, None]])),
        (4, lambda line: line.pop("user")), (4, lambda line: line.update(user=5)),
        (4, lambda line: line.update(forgotten=None)),
    ],
)  # fmt: skip
async def test_a_line_that_no_export_has_is_refused_and_nothing_is_written(memory, tmp_path, number, change):
    await memory.add_turns([BERLIN, {"role": "user", "content": "gone", "id": "g"}], user="alice")
    made = await memory.add_memory("Tea.", user="alice")
    await memory.update(made.id, user="alice", text="Green tea.")
    await memory.forget(user="alice", ids=["g"])
    path = tmp_path / "all.jsonl"
    await memory.admin.export(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines[number])
    path.write_text("\n".join(map(json.dumps, lines)))
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        with pytest.raises(InputError, match=f"line {number + 1} "):
            await other.admin.import_(path)
        assert (await other.admin.status())["users"] == 0


async def test_limits_that_are_set_hold_for_imports(memory, tmp_path):
    await memory.add_turns([{"role": "user", "content": "x" * 3000}], user="alice")
    await memory.admin.export(tmp_path / "all.jsonl")
    async with AsyncMemoryScope(":memory:", settings={"limits": {"text": 2000}}) as other:
        with pytest.raises(InputError, match=r"line 2 .*2000.*3000"):
            await other.admin.import_(tmp_path / "all.jsonl")
    async with AsyncMemoryScope(":memory:", settings={"limits": {"text": 4000}}) as other:
        assert (await other.admin.import_(tmp_path / "all.jsonl"))["turn_stored"] == 1


async def test_an_export_of_a_newer_format_is_named_as_such(memory, tmp_path):
    path = tmp_path / "all.jsonl"
    path.write_text(json.dumps({"memscope": EXPORT_FORMAT + 1, "secret": "00" * 32}))
    with pytest.raises(InputError, match=r"line 1 .*update memscope"):
        await memory.admin.import_(path, strict=False)


async def test_what_json_cannot_hold_is_named_by_the_export(tmp_path):
    store = InMemoryStore()
    await store.append("alice", [TurnInsert(turn("k", metadata={"n": float("nan")}))])
    with pytest.raises(StoreError, match="'k'"):
        await jsonl.export(store, tmp_path / "all.jsonl", user=None, progress=None)
    assert list(tmp_path.iterdir()) == []


# ---- what waits


@pytest.fixture(params=["memory", "sqlite", pytest.param("elasticsearch", marks=needs_node)])
async def store(request, tmp_path):
    if request.param == "elasticsearch":
        made = ElasticsearchStore(parse_location(location(f"test-{secrets.token_hex(4)}")))
    else:
        made = InMemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.db")
    await made.open()
    yield made
    await made.close()
    if isinstance(made, ElasticsearchStore):
        await remove(made)


async def read(store, path):
    return await jsonl.import_(store, path, user=None, strict=True, progress=None, limits=jsonl.UNLIMITED)


async def written(store, tmp_path, name="all.jsonl"):
    await jsonl.export(store, tmp_path / name, user=None, progress=None)
    return tmp_path / name


async def consolidated(store, *memories):
    """One batch of all that waits, and what came of it."""
    (claim,) = await store.claim("consolidate", 10_000, 60)
    await store.complete(claim, ChangeSet(new=memories, done=claim.items))


async def test_turns_added_while_an_export_is_written_wait_in_it(store):
    pages = 3
    await store.append("alice", inserts(*(f"k{n}" for n in range(500 * pages))))
    await consolidated(store)
    lines = []
    async for line in jsonl.user_lines(store, "alice"):
        lines.append(line)
        if line.kind == "turn" and len(lines) % 400 == 0:
            await store.append("alice", inserts(f"meanwhile {len(lines)}"))
    told = {line.id: line.pending for line in lines if line.kind == "turn"}
    later = {key for key in told if key.startswith("meanwhile")}
    assert {key for key, pending in told.items() if pending} == later
    target = InMemoryStore()
    writer = jsonl.ImportWriter(target, jsonl.Counter())
    for line in lines:
        await writer.add(line)
    await writer.finish()
    assert set(await ids(target, pending="consolidate")) == later


async def test_an_older_export_leaves_waiting_what_a_forget_gave_back(store, tmp_path):
    await store.append("alice", inserts("a", "b"))
    await consolidated(store, observation("o", "a", "b"), observation("p", "a"), observation("q", "b"))
    (claim,) = await store.claim("reflect", 100, 60)
    await store.complete(claim, ChangeSet(new=(insight("i", "p", "q"),), done=claim.items))
    path = await written(store, tmp_path)
    await store.forget(Select("alice", ids=frozenset({"b"})))
    waits = {stage: await ids(store, pending=stage) for stage in ("consolidate", "reflect")}
    assert waits == {"consolidate": ["a"], "reflect": ["p"]}
    for _ in range(2):
        await read(store, path)
        assert {stage: await ids(store, pending=stage) for stage in waits} == waits
    assert await ids(store) == ["a", "p"]


async def test_an_export_that_knows_all_that_was_forgotten_here_settles_what_waits(store, tmp_path):
    await store.append("alice", inserts("a", "b", "small talk"))
    await store.forget(Select("alice", ids=frozenset({"b"})))
    target = InMemoryStore()
    await read(target, await written(store, tmp_path))
    assert await ids(target, pending="consolidate") == ["a", "small talk"]
    await consolidated(store, observation("o", "a"))
    await read(target, await written(store, tmp_path))
    assert (await ids(target, pending="consolidate"), await ids(target, pending="reflect")) == ([], ["o"])
    await store.apply("alice", ChangeSet(done=("o",)))
    copied = await copy.copy(store, target)
    assert (copied.unequal, await ids(target, pending="reflect")) == ((), [])


async def test_an_export_with_broken_lines_settles_nothing_that_waits(store, tmp_path):
    await store.append("alice", inserts("a"))
    target = InMemoryStore()
    await read(target, await written(store, tmp_path))
    await consolidated(store, observation("o", "a"))
    path = await written(store, tmp_path)
    path.write_text(path.read_text().replace('"observation": {', '"observation": {,'))
    counts = await jsonl.import_(target, path, user=None, strict=False, progress=None, limits=jsonl.UNLIMITED)
    assert counts["broken"] == 1
    assert await ids(target, pending="consolidate") == ["a"]


async def test_the_newest_version_arrives_where_one_between_is_missing(store, tmp_path):
    await store.append("alice", inserts("a"))
    await remember(store, observation("o", "a", text="first"))
    for version, text in enumerate(("second", "third"), 1):
        await store.apply("alice", ChangeSet(revised=(jsonl.Revision(observation("o", "a", text=text), version),)))
    path = await written(store, tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[2]["versions"][1]
    path.write_text("\n".join(map(json.dumps, lines)))
    target = InMemoryStore()
    await read(target, path)
    assert [old.text for old in await target.history("alice", "o")] == ["first", "third"]


async def test_a_copy_into_another_file_is_the_same_memory(memory, tmp_path):
    await memory.add_turns([BERLIN], user="alice")
    await memory.add_turns([BERLIN], user="bob")
    assert (await memory.admin.copy(tmp_path / "other.db", user="alice")).users == 1
    async with AsyncMemoryScope(tmp_path / "other.db", settings={}) as other:
        assert await other.admin.users() == ["alice"]
        assert await texts(other, "Berlin", user="alice") == [BERLIN["content"]]
        again = await memory.admin.copy(other.admin.runtime.services.store)
        assert (again.users, again.skipped, again.unequal) == (2, 1, ())
        assert await other.admin.users() == ["alice", "bob"]
        with pytest.raises(ConfigError, match="AsyncMemoryScope is no store"):
            await memory.admin.copy(other)
