"""The setting ``redaction.mask``: a secret in any text of any write is in no file, and one in an id is refused."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import UTC, datetime

import pytest

from memscope import AsyncMemoryScope
from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.entities.operations import AsyncEntities
from memscope.errors import InputError, MemscopeError, NotFound
from memscope.jobs.costs import CounterStore
from memscope.records import Select
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope.text.secrets import SECRET_KINDS
from memscope.transfer.importers import ImportedBlock, ImportedMemory, ImportedTurn
from memscope_testing.models import IdealChat, ScriptedChat

KEY = "sk-cnry0123456789abcdef"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
MASK = {"redaction": {"mask": [*SECRET_KINDS, "email"]}}
SAID = {"role": "user", "content": "My sister Anna lives in Berlin."}


def opened(folder, **more):
    settings = {**MASK, "pipelines": {"consolidate": [], "reflect": []}}
    chat = ScriptedChat(lambda messages: "All right.")
    return AsyncMemoryScope(folder / "memory.db", settings=settings, chat=chat, **more)


def turn(**more):
    return lambda memory, path: memory.add_turns([{**SAID, **more}], user="alice")


def stated(*words, **more):
    return lambda memory, path: memory.add_memory(*(words or ("I like tea.",)), **{"user": "alice", **more})


def block(method, *words, **more):
    return lambda memory, path: getattr(
        memory.blocks(more.pop("user", "alice"), agent=more.pop("agent", None)), method
    )(*words, **more)


def imported(item):
    return lambda memory, path: memory.admin.import_from("given", [item], user="alice")


def exported(*path, kind="turn"):
    """Import an export in which a value is replaced."""

    async def write(memory, file):
        async with AsyncMemoryScope(":memory:", settings={}) as other:
            turn = {**SAID, "id": "t", "speaker": "Bo", "session": "s", "metadata": {"a": "b"}}
            await other.add_turns([turn], user="alice")
            await other.add_memory("I like tea.", user="alice", name="n", namespace="s", data={"a": ["b"]})
            await other.add_memory("Likes tea.", user="alice", kind="insight", subject="drinks")
            notes = other.blocks("alice")
            await notes.create("plans", "x", description="d", reason="r")
            await notes.append("plans", "y", reason="why", sources=["t"])
            await other.admin.export(file)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        place = next(line[kind] for line in lines if kind in line)  # the first of them has every field
        for step in path[:-1]:
            place = place[step]
        assert path == ("about",) or place[path[-1]]  # which is not written where it is the user
        place[path[-1]] = KEY
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        await memory.admin.import_(file)

    return write


async def known(memory):
    """A store with something to change."""
    await memory.add_turns([{**SAID, "id": "t1"}], user="alice")
    await memory.add_memory("I like tea.", user="alice")
    await memory.blocks("alice").create("notes", "one\ntwo")


async def fact(memory):
    return (await memory.list(user="alice", kinds=["observation"]))[-1].id


async def updated(memory, **changes):
    await memory.update(await fact(memory), user="alice", **changes)


#: Per method and argument: a write with the key in it. "refused": it is an id.
WRITES = {
    "add_turns": {
        "turns": turn(content=f"it is {KEY}"),
        "turns.metadata": turn(metadata={"a": [{"b": KEY}]}),
        "turns.metadata keys": turn(metadata={KEY: 1}),
        "turns.speaker": turn(speaker=KEY),
        "turns.session, refused": turn(session=KEY),
        "turns.id, refused": turn(id=KEY),
        "user, refused": lambda memory, path: memory.add_turns([SAID], user=KEY),
        "agent, refused": lambda memory, path: memory.add_turns([SAID], user="alice", agent=KEY),
        "session, refused": lambda memory, path: memory.add_turns([SAID], user="alice", session=f"chat {KEY}"),
    },
    "add_memory": {
        "text": stated(f"it is {KEY}"),
        "data": stated(data={"a": KEY, KEY: 1}),
        "subject": stated("x", kind="insight", subject=f"about {KEY}"),
        "speaker": stated(speaker=KEY),
        "name, refused": stated(name=KEY),
        "namespace, refused": stated(name="n", namespace=KEY),
        "user, refused": stated(user=KEY),
        "agent, refused": stated(agent=KEY),
        "session, refused": stated(session=KEY),
    },
    "update": {
        "text": lambda memory, path: updated(memory, text=f"it is {KEY}"),
        "data": lambda memory, path: updated(memory, data={"a": {"b": KEY}}),
    },
    "entities.merge": {
        "name": lambda memory, path: memory.entities("alice").merge(KEY, "Anna"),
        "other": lambda memory, path: memory.entities("alice").merge("Anna", KEY),
    },
    "entities.dismiss": {"name": lambda memory, path: memory.entities("alice").dismiss(KEY)},
    "entities.split": {"other": lambda memory, path: memory.entities("alice").split("Anna", KEY)},
    "chat": {
        "text": lambda memory, path: whole(memory.chat(f"it is {KEY}", user="alice")),
        "persona": lambda memory, path: whole(memory.chat("Hello.", user="alice", persona=KEY)),
        "session": lambda memory, path: whole(memory.chat("Hello.", user="alice", session=KEY)),
    },
    "forget": {
        "ids": lambda memory, path: memory.forget(user="alice", ids=[KEY]),
        "session": lambda memory, path: memory.forget(user="alice", session=KEY),
        "text": lambda memory, path: memory.forget(user="alice", text=KEY),
        "name": lambda memory, path: memory.forget(user="alice", name=KEY),
    },
    "admin.accept": {"ids": lambda memory, path: memory.admin.accept([KEY], user="alice")},
    "admin.reject": {"ids": lambda memory, path: memory.admin.reject([KEY], user="alice")},
    "admin.import_": {
        "turn text": exported("text"),
        "turn speaker": exported("speaker"),
        "turn metadata": exported("metadata", "a"),
        "turn key, refused": exported("key"),
        "turn session, refused": exported("scope", 2),
        "fact text": exported("text", kind="observation"),
        "fact about": exported("about", kind="observation"),
        "fact quote": exported("quotes", 0, 1, kind="observation"),
        "fact data": exported("data", "a", 0, kind="observation"),
        "fact name, refused": exported("name", kind="observation"),
        "fact origin, refused": exported("origin", kind="observation"),
        "fact source, refused": exported("sources", 0, kind="observation"),
        "insight subject": exported("subject", kind="insight"),
        "block value": exported("value", kind="block"),
        "block description": exported("description", kind="block"),
        "block reason": exported("reason", kind="block"),
        "block sources, refused": exported("sources", 0, kind="block"),
    },
    "admin.import_from": {
        "turn": imported(ImportedTurn({**SAID, "content": KEY})),
        "turn session": imported(ImportedTurn({**SAID, "session": KEY})),
        "memory text": imported(ImportedMemory("1", KEY, NOW)),
        "memory of a source": imported(ImportedMemory("1", KEY, NOW, source=SAID)),
        "memory data": imported(ImportedMemory("1", "x", NOW, data={"a": KEY})),
        "memory subject": imported(ImportedMemory("1", "x", NOW, subject=KEY)),
        "memory name": imported(ImportedMemory("1", "x", NOW, name=KEY)),
        "memory id": imported(ImportedMemory(KEY, "x", NOW)),
        "memory successor": imported(ImportedMemory("1", "x", NOW, closed=NOW, superseded_by=KEY)),
        "block value": imported(ImportedBlock("persona", KEY)),
        "block label": imported(ImportedBlock(KEY, "x")),
        "block description": imported(ImportedBlock("persona", "x", description=KEY)),
    },
    "blocks.create": {
        "label, refused": block("create", KEY, "x"),
        "value": block("create", "b", KEY),
        "description": block("create", "b", "x", description=KEY),
        "reason": block("create", "b", "x", reason=KEY),
        "user, refused": block("create", "b", "x", user=KEY),
        "agent, refused": block("create", "b", "x", agent=KEY),
    },
    "blocks.configure": {
        "description": block("configure", "notes", description=KEY),
        "reason": block("configure", "notes", order=2, reason=KEY),
    },
    "blocks.append": {
        "text": block("append", "notes", KEY),
        "reason": block("append", "notes", "x", reason=KEY),
        "sources, refused": block("append", "notes", "x", sources=[KEY]),
    },
    "blocks.replace": {
        "old": block("replace", "notes", KEY, "x"),
        "new": block("replace", "notes", "one", KEY),
        "reason": block("replace", "notes", "one", "x", reason=KEY),
    },
    "blocks.remove": {
        "text": block("remove", "notes", KEY),
        "reason": block("remove", "notes", "one", reason=KEY),
    },
    "blocks.insert": {
        "text": block("insert", "notes", KEY, 1),
        "reason": block("insert", "notes", "x", 1, reason=KEY),
    },
    "blocks.rethink": {
        "value": block("rethink", "notes", KEY),
        "reason": block("rethink", "notes", "x", reason=KEY),
    },
    "blocks.revert": {"reason": block("revert", "notes", 1, reason=KEY)},
    "blocks.erase": {"label": block("erase", KEY)},
}
#: Methods that write nothing that they are given.
OTHERS = set(
    """
    retrieve context profile get list history blocks entities flush close consolidate reflect
    entities.list entities.get entities.timeline entities.stream entities.graph
    blocks.list blocks.get blocks.text blocks.history
    admin.audit admin.receipts admin.proposals admin.users admin.status admin.export admin.backup admin.copy
    admin.reembed admin.start admin.stop admin.compact admin.sweep admin.unpark
""".split()
)
CASES = [(method, argument) for method, arguments in WRITES.items() for argument in arguments]


class Given:
    """An importer of the items that it is given."""

    def memscope_register_importers(self, register):
        register("given", lambda sources: iter(sources[0]))


async def whole(answer):
    return "".join([piece async for piece in answer])


def test_every_method_is_known_to_write_or_not():
    public = {name for name, _ in inspect.getmembers(AsyncMemoryScope, inspect.isfunction) if name[0] != "_"}
    for place, cls in {"blocks": AsyncBlocks, "entities": AsyncEntities, "admin": AsyncAdmin}.items():
        public |= {f"{place}.{name}" for name, _ in inspect.getmembers(cls, inspect.isfunction) if name[0] != "_"}
    assert WRITES.keys() | OTHERS == public


@pytest.mark.parametrize(("method", "argument"), CASES, ids=[" ".join(case) for case in CASES])
async def test_a_secret_in_any_text_of_any_write_is_in_no_file(tmp_path, method, argument):
    (tmp_path / "store").mkdir()
    file = tmp_path / "export.jsonl"
    async with opened(tmp_path / "store", plugins=[Given()]) as memory:
        await known(memory)
        before = await content_of(memory)
        try:
            await WRITES[method][argument](memory, file)
        except MemscopeError as error:
            if argument.endswith("refused"):
                assert isinstance(error, InputError) and "seems to contain a secret" in str(error)
                assert await content_of(memory) == before
            assert KEY not in str(error) or not argument.endswith("refused")
        else:
            assert not argument.endswith("refused")
        assert KEY not in await content_of(memory)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())
    assert KEY.encode() not in stored


async def content_of(memory):
    """Everything that a store holds, as the store's own methods read it."""
    store = memory.admin.runtime.services.store
    users = await store.users(forgotten=True)
    parts = [users]
    for user in users:
        records = [one async for page in store.scan(Select(user)) for one in page]
        parts += [record_of(one) for one in records]
        parts += [await store.blocks(user, versions=True), await store.tombstones(user), await store.receipts(user)]
    return repr(parts)


def record_of(one):
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


async def test_what_is_returned_is_what_is_stored(tmp_path):
    async with opened(tmp_path) as memory:
        made = await memory.add_memory(f"it is {KEY}", user="alice", data={"a": KEY})
        assert made == await memory.get(made.id, user="alice")
        assert (made.text, made.data) == ("it is [api key]", {"a": "[api key]"})
        written = await memory.blocks("alice").create("b", KEY, description=KEY, reason=KEY)
        assert written == await memory.blocks("alice").get("b")
        assert written.value == written.description == written.reason == "[api key]"


async def test_masked_speakers_are_told_apart_and_the_same_ones_are_not(tmp_path):
    at = {"role": "person", "content": "ok", "time": "2026-06-01T10:00+00:00"}
    async with opened(tmp_path) as memory:
        for _ in range(2):
            turns = [{**at, "speaker": f"{name}@example.org"} for name in ("anna", "bo")]
            report = await memory.add_turns(turns, user="alice")
        assert (report.stored, report.duplicates) == (0, 2)
        first, second = [one.speaker for one in await memory.list(user="alice")]
        assert first.startswith("[email ") and second.startswith("[email ") and first != second


async def test_a_user_is_named_as_their_application_names_them(tmp_path):
    async with opened(tmp_path) as memory:
        for user in ("anna@example.org", "4111111111111111"):
            await memory.add_turns([{**SAID, "content": f"I am {user}"}], user=user)
            (stored,) = await memory.list(user=user)
            assert user not in stored.text


async def test_a_number_in_one_piece_is_an_id_and_in_groups_a_card(tmp_path):
    async with opened(tmp_path) as memory:
        await memory.add_turns([{**SAID, "id": "t_4111111111111111"}], user="alice", session="4111111111111111")
        with pytest.raises(InputError, match=r"session.*card number"):
            await memory.add_turns([SAID], user="alice", session="4111 1111 1111 1111")
        with pytest.raises(InputError, match=r"session.*email"):
            await memory.add_turns([SAID], user="alice", session="anna@example.org")


@pytest.mark.parametrize("id", ["6a1c4111-1111-4111-8111-1111111111aa", "a4111111111111111b41111111111111"])
async def test_a_uuid_is_no_card_number(tmp_path, id):
    async with opened(tmp_path) as memory:
        assert (await memory.add_turns([{**SAID, "id": id, "session": id}], user="alice")).keys == (id,)


async def test_values_that_would_stand_under_one_name_are_kept(tmp_path):
    async with opened(tmp_path) as memory:
        data = {KEY: 1, f"{KEY}2": 2, "[api key] 2": 3, "number": 4111111111111111, "flag": True, "n": 41}
        made = await memory.add_memory("x", user="alice", data=data)
        assert sorted(map(str, made.data.values())) == ["1", "2", "3", "41", "True", "[card number]"]
        assert "[api key] 2" in made.data and KEY not in str(made.data)


async def test_what_was_stored_before_can_be_read_worked_on_and_forgotten(tmp_path):
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        await memory.add_turns([{**SAID, "id": KEY}], user="alice", session=KEY)
        kept = await memory.add_memory(f"it is {KEY}", user="alice", name=KEY)
    async with opened(tmp_path) as memory:
        assert (await memory.retrieve("Where does Anna live?", user="alice", session=KEY)).hits
        assert (await memory.update(kept.id, user="alice", text="something else")).text == "something else"
        await memory.forget(user="alice", session=KEY)
        assert [record.scope.session for record in await memory.admin.receipts(user="alice")] == [None]
        with pytest.raises(NotFound):
            await memory.get(KEY, user="alice")


async def test_facts_of_turns_that_were_stored_before_are_masked(tmp_path):
    said = f"I use {KEY} at work."
    note = {"turns": [0], "quote": said, "text": f"The user uses {KEY} at work.", "about": "user", "when": "",
            "keywords": [KEY], "level": 3}  # fmt: skip
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        await memory.add_turns([{"role": "user", "content": said}], user="alice")
    async with AsyncMemoryScope(
        tmp_path / "memory.db", settings=MASK, chat=IdealChat([{"text": said}], [note])
    ) as memory:
        assert (await memory.consolidate(user="alice")).new == 1
        (fact,) = await memory.list(user="alice", kinds=["observation"])
        assert fact.text == "The user uses [api key] at work." and KEY not in repr(record_of(fact))


@pytest.mark.parametrize("make", [lambda path: InMemoryStore(), SQLiteStore], ids=["in memory", "sqlite"])
async def test_a_redacted_store_is_still_all_that_it_was(make, tmp_path):
    plain = make(tmp_path / "memory.db")
    async with AsyncMemoryScope(plain, settings=MASK) as memory:
        store = memory.admin.runtime.services.store
        assert store.capabilities == plain.capabilities
        assert isinstance(store, CounterStore) == isinstance(plain, CounterStore)
        assert getattr(store, "path", None) == getattr(plain, "path", None)
        await asyncio.gather(*(memory.add_turns([SAID], user="alice") for _ in range(20)))
        assert (await memory.admin.status())["turns"] == 20
