"""Copy: while something is forgotten in the source, and when it goes on after a forget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memscope import AsyncMemoryScope
from memscope.records import SUMMARY_NAMESPACE, ChangeSet, Receipt, Revision, Scope, Select, Supersession
from memscope.stores.block_rules import edits
from memscope.stores.memory import InMemoryStore
from memscope.transfer.copy import check, copy
from memscope_testing.records import START, at, get, ids, inserts, insight, observation


async def consolidated() -> InMemoryStore:
    store = InMemoryStore()
    await store.append("alice", inserts("a", "b", "c"))
    (claim,) = await store.claim("consolidate", 10, 60)
    fact = observation("o", "a", "b")
    await store.complete(claim, ChangeSet(new=(fact, observation("p", "c")), done=claim.items))
    return store


class ForgetsBetweenPages(InMemoryStore):
    """Forgets the turn b when a kind of records was read for the nth time: for the digest, then for the copy."""

    kind, left = "turn", 1

    async def scan(self, select):
        async for page in super().scan(select):
            yield page
            if select.kinds == {self.kind} and select.pending is None:
                self.left -= 1
                if not self.left:
                    await self.forget(Select("alice", ids=frozenset({"b"})))


@pytest.mark.parametrize("kind", ["turn", "observation"])
@pytest.mark.parametrize("time", [1, 2, 3])
async def test_a_turn_given_back_between_two_pages_waits_in_the_copy(kind: str, time: int) -> None:
    source, target = await consolidated(), InMemoryStore()
    source.__class__, source.kind, source.left = ForgetsBetweenPages, kind, time
    check(await copy(source, target))
    check(await copy(source, target))
    assert await ids(source) == await ids(target) == ["a", "c", "p"]
    assert await ids(target, pending="consolidate") == ["a"] == await ids(source, pending="consolidate")
    assert await target.tombstones("alice") == ["b", "o"]


async def test_a_copy_that_goes_on_forgets_what_was_forgotten_since() -> None:
    source, target = await consolidated(), InMemoryStore()
    check(await copy(source, target))
    await source.forget(Select("alice", ids=frozenset({"b"})))
    check(await copy(source, target))
    assert await ids(target) == ["a", "c", "p"]
    assert await ids(target, pending="consolidate") == ["a"]
    await source.forget(Select("alice"))
    check(await copy(source, target, user="alice"))
    assert await ids(target) == []


async def test_a_copy_that_goes_on_closes_what_was_closed_since() -> None:
    source, target = await consolidated(), InMemoryStore()
    await source.apply("alice", ChangeSet(new=(observation("q", "c"), observation("r", "c"))))
    check(await copy(source, target))
    closed = (Supersession("o", "new", at(5), at(4), at(4)), Supersession("p", None, at(6), at(6)))
    await source.apply("alice", ChangeSet(new=(observation("new", "c"),), closed=closed))
    await target.apply("alice", ChangeSet(revised=(Revision(replace(await get(target, "r"), text="x"), 1),)))
    await source.apply("alice", ChangeSet(closed=(Supersession("r", None, at(6), at(6)),)))
    assert (await copy(source, target)).unequal == ("alice",)
    assert [await get(target, id) for id in ("o", "p")] == [await get(source, id) for id in ("o", "p")]
    assert await ids(target, kinds=frozenset({"observation"}), current=True) == ["q", "r", "new"]  # r was changed here


async def test_a_copy_that_goes_on_takes_the_last_version_of_a_summary() -> None:
    source, target = await consolidated(), InMemoryStore()
    summary = insight("s", "a", name="n", namespace=SUMMARY_NAMESPACE)
    await source.apply("alice", ChangeSet(new=(summary,)))
    check(await copy(source, target))
    for version, text in enumerate(("one", "two", "three"), 1):
        await source.apply("alice", ChangeSet(revised=(Revision(replace(summary, text=text), version),)))
    check(await copy(source, target))
    assert await get(target, "s") == await get(source, "s")


async def test_a_copy_of_all_takes_along_those_who_were_wholly_forgotten() -> None:
    source, target = await consolidated(), InMemoryStore()
    await source.forget(Select("alice"))
    check(await copy(source, target))
    assert await target.tombstones("alice") == ["a", "b", "c", "o", "p"]
    assert await target.receipts("alice") == await source.receipts("alice") != []


async def test_receipts_are_copied_where_all_else_is_there_already() -> None:
    source, target = await consolidated(), InMemoryStore()
    check(await copy(source, target))
    made = Receipt("r1", Scope("alice"), START, blocks=1)
    await source.add_tombstones("alice", (), [made])
    check(await copy(source, target))
    assert await target.receipts("alice") == [made]


@pytest.mark.parametrize("first", [{}, {"kind": "insight", "subject": "plan"}], ids=["observation", "insight"])
async def test_a_document_that_was_corrected_and_then_replaced_is_copied_as_it_is(first) -> None:
    memory, target = AsyncMemoryScope(":memory:"), InMemoryStore()
    old = await memory.add_memory("Paint the hall.", user="alice", name="plan", **first)
    await memory.update(old.id, user="alice", text="Paint the hall white.")
    new = await memory.add_memory("Paint nothing.", user="alice", name="plan")
    check(await memory.admin.copy(target))
    moved = AsyncMemoryScope(target)
    assert [one.id for one in await moved.list(user="alice", name="plan")] == [new.id]
    texts = ["Paint the hall.", "Paint the hall white.", "Paint nothing."]
    assert [one.text.removeprefix("plan: ") for one in await moved.history(old.id, user="alice")] == texts


@pytest.mark.parametrize("corrected", [False, True])
async def test_a_document_that_was_replaced_twice_between_two_copies_has_the_same_history(corrected) -> None:
    memory, target = AsyncMemoryScope(":memory:"), InMemoryStore()
    first = await memory.add_memory("Paint the hall.", user="alice", name="plan")
    check(await memory.admin.copy(target))
    if corrected:
        await memory.update(first.id, user="alice", text="Paint the hall white.")
    second = await memory.add_memory("Paint the roof.", user="alice", name="plan")
    await memory.add_memory("Paint nothing.", user="alice", name="plan")
    check(await memory.admin.copy(target))
    assert (await AsyncMemoryScope(target).get(first.id, user="alice")).superseded_by == second.id


@pytest.mark.parametrize("between", [False, True])
async def test_a_block_goes_on_in_the_copy_after_a_source_of_it_was_forgotten(between) -> None:
    memory, target = AsyncMemoryScope(":memory:"), InMemoryStore()
    keys = (await memory.add_turns([{"role": "user", "content": "I paint."}], user="alice")).keys
    block, copied = memory.blocks("alice"), AsyncMemoryScope(target).blocks("alice")
    await block.rethink("human", "Paints.", sources=keys)
    check(await memory.admin.copy(target))
    if between:
        await block.append("human", "Reads.")
    await memory.forget(user="alice", ids=keys)
    check(await memory.admin.copy(target))
    for line in ("Sings.", "Sails."):
        await block.append("human", line)
        check(await memory.admin.copy(target))
        assert (await copied.get("human")).value == (await block.get("human")).value
    assert [one.value for one in edits(await copied.history("human"))] == [
        one.value for one in edits(await block.history("human"))
    ]


async def test_a_fact_that_was_closed_while_its_batch_waits_to_be_tried_again_is_copied() -> None:
    source, target = await consolidated(), InMemoryStore()
    (claim,) = await source.claim("reflect", 10, 60)
    await source.fail(claim, "model_timeout", at(60))
    await source.apply("alice", ChangeSet(closed=(Supersession("o", "p", START, START),)))
    check(await copy(source, target))
    assert await ids(target, pending="reflect") == ["p"]


async def test_a_user_who_is_not_there_is_not_counted() -> None:
    source, target = await consolidated(), InMemoryStore()
    copied = await copy(source, target, user="nobody")
    assert (copied.users, copied.skipped, copied.counts) == (0, 0, {})
