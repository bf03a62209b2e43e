"""Replies of plugins and workers: another user is refused, and so is what is none of memscope's objects."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError, MemscopeError, PluginError
from memscope.pipeline import Worker, worker
from memscope.records import Interval
from memscope_testing.models import IdealChat

NAIVE = datetime.fromisoformat("2026-01-01")
SAID = [{"role": "user", "content": "I like green tea.", "id": "one"}]
GARBAGE = [5, "words", {"user": "alice"}, [5], [None], object()]


def plugin(hook, reply):
    """A plugin whose only hook returns ``reply(value)``."""
    first = {"add_turns": "turns", "retrieve": "query", "forget": "select", "consolidate": "turns"}
    name = first.get(hook, "observations")
    namespace: dict = {}
    exec(f"def memscope_before_{hook}(self, {name}): return self.reply({name})", namespace)
    made = type("Meddling", (), {**namespace, "reply": staticmethod(reply)})
    return made()


def memory_with(hook, reply, **more):
    return AsyncMemoryScope(":memory:", settings={}, plugins=[plugin(hook, reply)], **more)


async def refused(call):
    with pytest.raises(PluginError, match="'Meddling'") as caught:
        await call
    assert "green tea" not in str(caught.value)


def chat_model():
    fact = {"text": "The user likes green tea.", "turns": [0], "quote": "I like green tea."}
    fact |= {"about": "user", "when": "", "keywords": ["tea"], "level": 3}
    return IdealChat([{"text": "I like green tea."}], [fact])


def of_bob(record):
    return replace(record, scope=replace(record.scope, user="bob"))


TURNS = [
    *[lambda turns, reply=reply: reply for reply in GARBAGE],
    lambda turns: [of_bob(turn) for turn in turns],
    lambda turns: [replace(turn, scope=replace(turn.scope, agent="another")) for turn in turns],
    lambda turns: [replace(turn, text=5) for turn in turns],
    lambda turns: [replace(turn, text="x" * 2_000_000) for turn in turns],
    lambda turns: [replace(turn, role="king") for turn in turns],
    lambda turns: [replace(turn, time=NAIVE) for turn in turns],
    lambda turns: [replace(turn, speaker="") for turn in turns],
    lambda turns: [replace(turn, metadata={"x": object()}) for turn in turns],
    lambda turns: [replace(turn, key=" ") for turn in turns],
]


@pytest.mark.parametrize("reply", TURNS)
async def test_before_add_turns(reply):
    async with memory_with("add_turns", reply) as memory:
        await refused(memory.add_turns(SAID, user="alice"))
        await refused(memory.add_memory("I like green tea.", user="alice"))
        assert (await memory.admin.status())["turns"] == 0


async def test_turns_may_be_altered_left_out_and_added():
    def reply(turns):
        return [replace(turn, text=turn.text.upper(), metadata={"masked": True}) for turn in turns for _ in (1, 2)]

    async with memory_with("add_turns", reply) as memory:
        report = await memory.add_turns([{"role": "user", "content": "tea"}], user="alice", session="s")
        assert report.stored == 2
        assert [turn.text for turn in await memory.list(user="alice", session="s")] == ["TEA", "TEA"]


QUERIES = [
    *[lambda query, reply=reply: reply for reply in GARBAGE],
    of_bob,
    lambda query: replace(query, scope=replace(query.scope, agent="another")),
    lambda query: replace(query, text=5),
    lambda query: replace(query, k=-1),
    lambda query: replace(query, as_of=NAIVE),
    lambda query: replace(query, kinds=frozenset({"king"})),
    lambda query: replace(query, filter={"a": {"$x": 1}}),
    lambda query: replace(query, exclude="one"),
    lambda query: replace(query, now=NAIVE),
]


@pytest.mark.parametrize("reply", QUERIES)
async def test_before_retrieve(reply):
    async with memory_with("retrieve", reply) as memory:
        for user in ("alice", "bob"):
            await memory.add_turns(SAID, user=user, agent="mine")
        await refused(memory.retrieve("green tea?", user="alice", agent="mine"))


async def test_a_question_may_be_altered_and_narrowed():
    def reply(query):
        return replace(query, text="green tea", scope=replace(query.scope, session="s"))

    async with memory_with("retrieve", reply) as memory:
        await memory.add_turns(SAID, user="alice", session="s")
        await memory.add_turns([{"role": "user", "content": "green tea"}], user="alice", session="t")
        assert [hit.id for hit in await memory.retrieve("what?", user="alice")] == ["one"]


SELECTS = [
    *[lambda select, reply=reply: reply for reply in GARBAGE],
    lambda select: replace(select, user="bob"),
    lambda select: replace(select, agent=None),
    lambda select: replace(select, session=None),
    lambda select: replace(select, agent="another"),
    lambda select: replace(select, kinds={"turn": 1}),
    lambda select: replace(select, ids=["one"]),
    lambda select: replace(select, ids=frozenset({5})),
    lambda select: replace(select, period=(NAIVE, NAIVE)),
    lambda select: replace(select, period=Interval(NAIVE, NAIVE)),
    lambda select: replace(select, text=5),
    lambda select: replace(select, filter={"a": {"$x": 1}}),
    lambda select: replace(select, expired_by="now"),
    lambda select: replace(select, current="yes"),
]


@pytest.mark.parametrize("reply", SELECTS)
async def test_before_forget(reply):
    async with memory_with("forget", reply) as memory:
        for user in ("alice", "bob"):
            await memory.add_turns(SAID, user=user, agent="mine", session="s")
        await refused(memory.forget(user="alice", agent="mine", session="s"))
        assert (await memory.admin.status())["turns"] == 2


async def test_another_selection_of_the_same_user_may_be_forgotten():
    async with memory_with("forget", lambda select: replace(select, ids=frozenset({"one"}))) as memory:
        await memory.add_turns([*SAID, {"role": "user", "content": "I like coffee.", "id": "two"}], user="alice")
        assert (await memory.forget(user="alice", everything=True)).turns == 1


STAGED = [
    *[lambda turns, reply=reply: reply for reply in GARBAGE],
    lambda turns: [of_bob(turn) for turn in turns],
    lambda turns: [replace(turn, text=5) for turn in turns],
    lambda turns: [*turns, *turns],
]


@pytest.mark.parametrize("hook", ["consolidate", "reflect"])
@pytest.mark.parametrize("reply", STAGED)
async def test_before_consolidate_and_reflect(hook, reply):
    async with memory_with(hook, reply, chat=chat_model()) as memory:
        await memory.add_turns(SAID, user="alice")
        report = await memory.reflect(user="alice")
        assert dict(report.errors) == {"plugin": 1} and report.pending == 1
        waiting = (await memory.admin.status())["failed"]
        assert waiting[hook] == 1, "what was refused is not lost"


# ---- workers

WORKERS = [
    *[lambda batch, reply=reply: reply for reply in GARBAGE],
    lambda batch: None,
    lambda batch: batch.garbage,
]


def registering(name, made):
    class Mine:
        def memscope_register_workers(self, register):
            register(name, made)

    return Mine()


@pytest.mark.parametrize("reply", WORKERS)
async def test_a_worker_of_retrieve_that_returns_garbage(reply):
    @worker(reads=("text",), writes=("hits",))
    async def odd(batch, ctx):
        return reply(batch)

    settings = {"pipelines": {"retrieve": ["understand", "odd"]}}
    async with AsyncMemoryScope(":memory:", settings=settings, plugins=[registering("retrieve.odd", odd)]) as memory:
        with pytest.raises(PluginError, match="'odd'"):
            await memory.retrieve("tea?", user="alice")


FACTS = [
    *[lambda batch, reply=reply: reply for reply in GARBAGE],
    lambda batch: tuple(of_bob(fact) for fact in batch.facts),
    lambda batch: tuple(replace(fact, text=5) for fact in batch.facts),
    lambda batch: tuple(replace(fact, text="\ud800") for fact in batch.facts),
    lambda batch: tuple(replace(fact, sources=()) for fact in batch.facts),
    lambda batch: tuple(replace(fact, level="high") for fact in batch.facts),
    lambda batch: tuple(replace(fact, data={"x": float("nan")}) for fact in batch.facts),
    lambda batch: tuple(replace(fact, valid_to=NAIVE) for fact in batch.facts),
]


@pytest.mark.parametrize("store", [":memory:", "memory.db"])
@pytest.mark.parametrize("reply", FACTS)
async def test_a_worker_of_consolidate_that_makes_garbage_leaves_the_turn_pending(reply, store, tmp_path):
    @worker(reads=("facts",), writes=("facts",))
    async def odd(batch, ctx):
        return replace(batch, facts=reply(batch))

    settings = {"pipelines": {"consolidate": ["extract", "filter", "odd"]}}
    chat, plugins = chat_model(), [registering("consolidate.odd", odd)]
    place = store if store == ":memory:" else tmp_path / store
    async with AsyncMemoryScope(place, settings=settings, plugins=plugins, chat=chat) as memory:
        await memory.add_turns(SAID, user="alice")
        report = await memory.consolidate(user="alice")
        assert report.pending == 1 and report.new == 0 and set(report.errors) <= {"plugin", "worker"}
        assert (await memory.list(user="alice", kinds=["observation"])) == []
        assert len(await memory.retrieve("tea?", user="alice")) == 1


async def test_a_worker_that_is_none():
    settings = {"pipelines": {"retrieve": ["odd"]}}
    async with AsyncMemoryScope(":memory:", settings=settings, plugins=[registering("retrieve.odd", len)]) as memory:
        with pytest.raises(PluginError, match=r"retrieve\.odd.*no worker.*memscope\.pipeline\.worker"):
            await memory.retrieve("tea?", user="alice")


async def test_a_worker_that_is_not_async():
    odd = Worker("odd", ("text",), ("text",), lambda batch, ctx: batch)
    settings = {"pipelines": {"retrieve": ["odd"]}}
    async with AsyncMemoryScope(":memory:", settings=settings, plugins=[registering("retrieve.odd", odd)]) as memory:
        with pytest.raises(PluginError, match="'odd'"):
            await memory.retrieve("tea?", user="alice")


async def test_an_error_of_ours_in_a_worker_stays_what_it_is():
    @worker(reads=("text",), writes=("hits",))
    async def odd(batch, ctx):
        raise ConfigError("odd needs a setting")

    settings = {"pipelines": {"retrieve": ["odd"]}}
    async with AsyncMemoryScope(":memory:", settings=settings, plugins=[registering("retrieve.odd", odd)]) as memory:
        with pytest.raises(ConfigError, match="odd needs"):
            await memory.retrieve("tea?", user="alice")
        assert issubclass(ConfigError, MemscopeError)


class Dropping:
    """Drop what is secret, and mask a number elsewhere."""

    def memscope_before_add_turns(self, turns):
        return [replace(turn, text=turn.text.replace("555", "***")) for turn in turns if "secret" not in turn.text]


async def test_keys_stand_at_the_places_of_their_turns_when_a_plugin_drops_some():
    async with AsyncMemoryScope(":memory:", settings={}, plugins=[Dropping()]) as memory:
        texts = ["a secret", "fine", "", "call 555", "fine"]
        report = await memory.add_turns([{"role": "user", "content": text} for text in texts], user="alice")
        stored = {turn.key: turn.text for turn in await memory.list(user="alice")}
        assert (report.stored, len(stored)) == (3, 3)
        assert [stored.get(key, "") for key in report.keys] == ["", "fine", "", "", "fine"]


class AwaitsWhatWasCancelled:
    """Awaits a task of its own that somebody cancelled."""

    async def wait(self):
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task

    async def memscope_after_add_turns(self, report, scope):
        await self.wait()

    async def memscope_before_retrieve(self, query, scope):
        await self.wait()


async def test_a_hook_that_awaits_what_was_cancelled_cancels_no_call():
    memory = AsyncMemoryScope(":memory:", plugins=[AwaitsWhatWasCancelled()])
    report = await memory.add_turns([{"role": "user", "content": "hello there"}], user="alice")
    assert report.stored == 1
    with pytest.raises(PluginError, match="AwaitsWhatWasCancelled"):
        await memory.retrieve("hello", user="alice")
