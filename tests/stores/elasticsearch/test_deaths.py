"""Writers that die on the way: the next one does what they began, and nothing that was forgotten comes back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memscope.errors import StoreUnavailable
from memscope.records import ChangeSet, Select, Supersession, TurnInsert
from memscope_elasticsearch import Options, apply, client, forget, jobs, user_lock
from memscope_elasticsearch.client import Cluster
from memscope_elasticsearch.documents import documents, scope_hash
from memscope_elasticsearch.store import utc_now
from memscope_testing.records import at, get, ids, inserts, observation, remember, turn
from stores.elasticsearch.node import Killed, needs_node, opened, texts


@needs_node
async def test_what_a_dead_writer_began_is_done_by_the_next(place: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each step of a plan the writer dies; another process finishes it, once."""
    for died_in in ("read", "flush", "settle", "clear"):
        user = f"user-{died_in}"
        async with opened(place) as store:
            await store.append(user, inserts("a", "b", user=user))
            await remember(store, observation("old", "a", user=user, name="city"))
            (claim,) = await store.claim("consolidate", 9, 60, user=user)
            new = observation("new", "b", user=user, name="city")
            change_set = ChangeSet(new=(new,), closed=(Supersession("old", "new", at(5), at(4)),), done=("a", "b"))
            with monkeypatch.context() as patched:
                die(patched, died_in)
                with pytest.raises(Killed):
                    await store.complete(claim, change_set)
        async with opened(place) as next_one:
            await remember(next_one, observation("later", "a", user=user))
            assert await ids(next_one, user) == ["a", "b", "old", "new", "later"]
            assert (await get(next_one, "old", user)).superseded_by == "new"
            assert await ids(next_one, user, name="city", current=True) == ["new"]
            assert await ids(next_one, user, pending="consolidate") == []
            assert await next_one.complete(claim, change_set) == 0


def die(patched: pytest.MonkeyPatch, step: str) -> None:
    async def end(*_: object, **__: object) -> None:
        raise Killed

    where: dict[str, tuple[object, str]] = {
        "read": (apply.PendingWrites, "read"),
        "flush": (apply.PendingWrites, "flush"),
        "settle": (jobs, "settle"),
        "clear": (user_lock, "clear"),
    }
    patched.setattr(*where[step], end)


@needs_node
@pytest.mark.parametrize("by", ["a writer", "a worker", "a sweep"])
async def test_what_a_writer_began_by_a_clock_ahead_keeps_nobody_waiting(
    place: Options, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    async with opened(place) as store:
        await store.append("alice", inserts("a", "b"))
        monkeypatch.setattr(store._session, "clock", lambda: utc_now() + timedelta(days=400))
        with monkeypatch.context() as patched:
            die(patched, "flush")
            with pytest.raises(Killed):
                await remember(store, observation("o", "a"))
    async with opened(place) as other:
        if by == "a writer":
            await remember(other, observation("p", "b"))
        elif by == "a worker":
            assert await other.claim("consolidate", 9, 60, user="alice")
        else:
            await other.cluster.refresh(other._session.names.work)
            await jobs.finish_abandoned(other._session)
        assert "o" in await ids(other)


@needs_node
async def test_an_abandoned_forget_is_finished(place: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(place) as store:
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("o", "a"), observation("p", "a", "b"))
        with monkeypatch.context() as patched:
            patched.setattr(forget, "_reopen", raising(Killed()))
            with pytest.raises(Killed):
                await store.forget(Select("alice", ids=frozenset({"a"})))
    async with opened(place) as other:
        await until(place.lease_s)
        assert [claim.items for claim in await other.claim("consolidate", 9, 60)] == [("b",)]
        assert await ids(other) == ["b"]
        assert await other.tombstones("alice") == ["a", "o", "p"]


def raising(error: BaseException) -> Any:
    async def call(*_: object) -> None:
        raise error

    return call


async def until(seconds: float) -> None:
    """A lease that nobody can end early has to run out."""
    await asyncio.sleep(seconds)


@needs_node
async def test_a_late_write_cannot_bring_back_what_was_forgotten(place: Options) -> None:
    """The request was on its way while the record was forgotten."""
    async with opened(place) as store:
        await store.append(
            "alice", [TurnInsert(turn("long", "So many zebras. " * 300)), TurnInsert(turn("b", "other"))]
        )
        session = store._session
        (made,) = (await session.load("alice", ["long"])).values()
        late = session.creates(scope_hash("alice"), documents(made.record, made.number))
        await store.forget(Select("alice", ids=frozenset({"long"})))
        outcomes = await session.cluster.bulk(late)
        assert not any(outcome.ok for outcome in outcomes)
        await session.refresh()
        assert await texts(store, "zebras") == set()


def long_text(end: str) -> str:
    return " ".join(f"Herd {number} has many zebras." for number in range(1000)) + end


def cut(patched: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let no request of creates but the first come through."""
    send, sent = Cluster._bulk, list[Any]()

    async def cut(self: Cluster, chunk: Any, wait_for: bool) -> Any:
        if chunk[0][0].action == "create":
            sent.append(chunk)
            if len(sent) > 1:
                raise error
        return await send(self, chunk, wait_for)

    patched.setattr(client, "BULK_OPERATIONS", 10)
    patched.setattr(Cluster, "_bulk", cut)


@needs_node
@pytest.mark.parametrize("error", [Killed(), StoreUnavailable("the node is gone")], ids=["killed", "no node"])
async def test_a_long_turn_that_is_added_again_gets_the_units_it_lacks(
    place: Options, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    insert = TurnInsert(turn("long", long_text(" The last one is the quagga.")))
    async with opened(place) as store:
        await store.append("alice", inserts("a"))
        with monkeypatch.context() as patched, pytest.raises(type(error)):
            cut(patched, error)
            await store.append("alice", [insert])
    async with opened(place) as other:
        assert (await other.append("alice", [insert])).outcomes == ("duplicate",)
        await other.searchable("alice")
        assert await texts(other, "quagga") == {insert.turn.text}
        await other.forget(Select("alice", ids=frozenset({"long"})))
        assert await texts(other, "quagga") == set()


@needs_node
async def test_a_long_memory_gets_its_units_from_the_next_writer(
    place: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(place) as store:
        await store.append("alice", inserts("a"))
        long = replace(observation("long", "a"), text=long_text(" The last one is the quagga."))
        with monkeypatch.context() as patched, pytest.raises(Killed):
            cut(patched, Killed())
            await remember(store, long)
    async with opened(place) as other:
        await remember(other, observation("later", "a"))
        await other._session.refresh()  # searches find a turn of another process after the next refresh
        assert await texts(other, "quagga") == {(await get(other, "a")).text}  # the turn that it was taken from


@needs_node
async def test_a_forget_in_many_parts_keeps_its_lock_until_the_last(
    place: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer that came between two parts would note what the plan of the forget does not know."""
    remove, abandoned = forget._remove, user_lock.abandoned
    clock, asked, answers, tasks = [utc_now()], asyncio.Event(), list[bool](), list[asyncio.Task[int]]()

    def watched(*arguments: Any) -> bool:
        answers.append(abandoned(*arguments))
        asked.set()
        return answers[-1]

    async with opened(place) as store, opened(place) as other:
        for one in (store, other):
            monkeypatch.setattr(one._session, "clock", lambda: clock[0])

        async def slow(session: Any, user: str, intent: Any) -> None:
            if intent.about["gone"][0][0] == "b" and not tasks:  # the last part but one
                tasks.append(asyncio.create_task(remember(other, observation("late", "a"))))
                await asked.wait()
                if answers[0]:
                    await tasks[0]
            await remove(session, user, intent)
            clock[0] += timedelta(seconds=0.6 * place.lease_s)

        await store.append("alice", inserts("a", "b", "c", "d"))
        monkeypatch.setattr(forget, "RECORDS_PER_INTENT", 1)
        monkeypatch.setattr(forget, "_remove", slow)
        monkeypatch.setattr(user_lock, "abandoned", watched)
        assert (await store.forget(Select("alice"))).turns == 4
        await asyncio.gather(*tasks)
        assert await ids(other) == []
