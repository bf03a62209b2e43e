"""Forgetting deletes records and everything derived from them, and nothing restores them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.errors import LeaseLost
from memscope.records import (
    ChangeSet,
    ForgetReport,
    Interval,
    Receipt,
    Revision,
    Scope,
    Search,
    Select,
    Supersession,
    TurnInsert,
)
from memscope.stores import ATOMIC, Store
from memscope.text.terms import terms
from memscope_testing.contract import Chapter
from memscope_testing.contract.leases import CONSOLIDATE, claim_one, expire
from memscope_testing.contract.selecting import QUICK
from memscope_testing.records import (
    START,
    at,
    block,
    fresh_user,
    get,
    ids,
    inserts,
    insight,
    observation,
    remember,
    turn,
)


async def forget(store: Store, *ids: str, user: str = "alice") -> ForgetReport:
    return await store.forget(Select(user, ids=frozenset(ids)))


class Forgetting(Chapter):
    async def test_forgetting_goes_down_to_the_last(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"))
        await remember(store, observation("o1", "a"), observation("o2", "a", "b"), observation("o3", "c"))
        await remember(store, insight("i1", "o2", "o3"), insight("i2", "o3"))
        report = await forget(store, "a")
        assert (report.turns, report.observations, report.insights, report.remaining) == (1, 2, 1, 0)
        assert report.ids == ()
        assert report.physical in ("wiped", "pending")
        assert await ids(store) == ["b", "c", "o3", "i2"]
        assert await store.tombstones("alice") == ["a", "i1", "o1", "o2"]

    async def test_a_dry_run_says_what_would_go(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("o", "a"))
        report = await store.forget(Select("alice", ids=frozenset({"a"})), dry_run=True)
        assert (report.turns, report.observations, report.dry_run, report.physical) == (1, 1, True, "none")
        assert set(report.ids) == {"a", "o"}
        assert await ids(store) == ["a", "b", "o"]
        assert await store.tombstones("alice") == []

    async def test_nothing_selected_nothing_forgotten(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        assert await forget(store, "missing") == ForgetReport()
        assert await forget(store, "a", user="nobody") == ForgetReport()

    async def test_what_remains_of_the_sources_is_looked_at_again(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"))
        claim = await claim_one(store)
        change_set = ChangeSet(new=(observation("o", "a", "b"), observation("p", "c")), done=("a", "b", "c"))
        await store.complete(claim, change_set)
        reflected = await claim_one(store, "reflect")
        await store.complete(reflected, ChangeSet(new=(insight("i", "o", "p"),), done=reflected.items))
        assert (await forget(store, "a")).rederive == 2
        assert await ids(store, pending="consolidate") == ["b"]
        assert await ids(store, pending="reflect") == ["p"]

    async def test_a_named_observation_is_not_looked_at_again(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await remember(
            store, observation("document", "a", name="n"), observation("o", "b"), insight("i", "document", "o")
        )
        assert (await forget(store, "o")).rederive == 0
        assert await ids(store) == ["a", "b", "document"]
        assert await ids(store, pending="reflect") == []

    async def test_a_memory_forgotten_for_itself_is_not_made_again(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.complete(await claim_one(store), ChangeSet(new=(observation("o", "a"),), done=("a",)))
        assert (await forget(store, "o")).rederive == 0
        assert await ids(store, pending="consolidate") == []
        assert await remember(store, observation("o", "a")) == 0
        assert await ids(store) == ["a"]

    async def test_a_statement_goes_with_its_memory(self, store: Store) -> None:
        await store.append("alice", inserts("said", statement=True), ChangeSet(new=(observation("o", "said"),)))
        await store.append("alice", inserts("a"))
        report = await forget(store, "o")
        assert (report.turns, report.observations) == (1, 1)
        assert await ids(store) == ["a"]

    async def test_a_statement_of_what_was_said_twice_stays_when_the_other_goes(self, store: Store) -> None:
        for key, session in (("s1", "one"), ("s2", "two")):
            await store.append("alice", inserts(key, statement=True, session=session))
        await remember(store, observation("o", "s1", "s2"), observation("p", "s1", "s2"))
        report = await store.forget(Select("alice", session="one"))
        assert (report.turns, report.observations) == (1, 2)
        assert await ids(store) == ["s2"]
        await remember(store, observation("q", "s2"))
        await store.append("alice", inserts("s3", statement=True))
        await store.apply("alice", ChangeSet(revised=(Revision(observation("q", "s2", "s3"), 1),)))
        assert (await forget(store, "q")).turns == 2
        assert await ids(store) == []

    async def test_a_forgotten_key_is_refused_and_the_words_said_anew_are_kept(self, store: Store) -> None:
        first = await store.append("alice", [TurnInsert(turn("-"), b"base")])
        await forget(store, *first.keys)
        again = await store.append("alice", inserts(*first.keys))
        assert again.outcomes == ("forgotten",)
        anew = await store.append("alice", [TurnInsert(turn("-"), b"base")])
        assert anew.outcomes == ("stored",)
        assert anew.keys != first.keys

    async def test_buried_ids_are_refused(self, store: Store) -> None:
        await store.append("alice", inserts("here"))
        await store.add_tombstones("alice", ["here", "gone", "o", "gone"])
        assert await store.tombstones("alice") == ["gone", "o"]
        assert (await store.append("alice", inserts("gone", "here"))).outcomes == ("forgotten", "duplicate")
        assert await remember(store, observation("o", "here")) == 0

    async def test_what_a_removed_memory_superseded_is_current_again(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        old = observation("old", "a", valid_to=at(77))
        await remember(store, old)
        closing = Supersession("old", "new", at(5), at(4), at(3))
        await store.apply("alice", ChangeSet(new=(observation("new", "b"),), closed=(closing,), done=("old", "new")))
        await forget(store, "b")
        opened = await get(store, "old")
        assert opened == old
        assert await ids(store, pending="reflect") == ["old"]

    async def test_what_one_superseder_replaced_is_not_given_back_for_the_next(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"))
        await remember(store, observation("old", "a", valid_to=at(77)))
        closing = Supersession("old", "new", at(5), at(4), at(3))
        await store.apply("alice", ChangeSet(new=(observation("new", "b"),), closed=(closing,)))
        await forget(store, "b")
        old = await get(store, "old")
        closed = replace(old, valid_to=None, closed=at(8), closed_said=at(7), superseded_by="newest")
        newest = observation("newest", "c")
        await store.apply("alice", ChangeSet(new=(newest,), revised=(Revision(closed, old.version),)))
        await forget(store, "c")
        opened = await get(store, "old")
        assert (opened.current, opened.valid_to) == (True, None)

    async def test_in_a_line_the_next_one_supersedes(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"))
        for n, key in enumerate("abc"):
            await remember(store, observation(f"v{n}", key, name="city", recorded=at(n)))
        await forget(store, "b")
        assert (await get(store, "v0")).superseded_by == "v2"
        assert await ids(store, name="city", current=True) == ["v2"]
        await forget(store, "c")
        assert (await get(store, "v0")).current

    async def test_forgetting_takes_the_lease_of_work_on_it(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store)
        await forget(store, "a")
        change_set = ChangeSet(new=(observation("o", "a"), observation("p", "b")), done=("a", "b"))
        for attempt in (
            store.complete(claim, change_set),
            store.save_reply(claim, change_set),
            store.extend(claim, 60),
        ):
            with pytest.raises(LeaseLost):
                await attempt
        assert await ids(store) == ["b"]
        assert (await claim_one(store)).items == ("b",)

    async def test_forgetting_takes_saved_replies_with_it(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store)
        await store.save_reply(claim, ChangeSet(new=(observation("o", "a"), observation("p", "b")), done=("a", "b")))
        await expire(store, claim)
        await forget(store, "a")
        again = await claim_one(store)
        assert (again.items, again.change_set) == (("b",), None)

    async def test_forgetting_reaches_replies_that_name_it_elsewhere(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("old", "a"))
        await store.apply("alice", ChangeSet(done=("old",)))
        claim = await claim_one(store)
        await store.complete(claim, ChangeSet(done=("a",)))
        claim = await claim_one(store)
        assert claim.items == ("b",)
        known = await get(store, "old")
        await store.save_reply(claim, ChangeSet(revised=(Revision(replace(known, text="old and b"), 1),), done=("b",)))
        await forget(store, "old")
        await expire_if_held(store, claim)
        assert (await claim_one(store)).change_set is None

    async def test_a_late_plan_cannot_bring_it_back(self, store: Store) -> None:
        """The model is called before the forget and replies after it, for another batch."""
        await store.append("alice", inserts("a", "b"))
        await store.complete(await claim_one(store, limit=1), ChangeSet(new=(observation("o", "a"),), done=("a",)))
        await forget(store, "a")
        assert await store.apply("alice", ChangeSet(new=(observation("o", "b"), observation("p", "a", "b")))) == 0
        assert await ids(store) == ["b"]

    async def test_expired_memories_are_swept(self, store: Store) -> None:
        await store.append("alice", inserts("said", statement=True))
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "said", expires=at(10)), observation("p", "a", expires=at(20)))
        assert await ids(store, live_at=at(10), kinds=frozenset({"observation"})) == ["p"]
        report = await store.forget(Select("alice", expired_by=at(10)))
        assert (report.turns, report.observations) == (1, 1)
        assert await ids(store) == ["a", "p"]

    async def test_by_session_and_period(self, store: Store) -> None:
        await store.append("alice", [*inserts("a", "b", session="one"), *inserts("c", session="two", time=at(10**6))])
        await remember(store, observation("o", "a", "c"))
        assert (await store.forget(Select("alice", session="one"))).turns == 2
        assert await ids(store) == ["c"]
        assert (await store.forget(Select("alice", period=Interval(at(10**6), at(10**6 + 1))))).turns == 1

    async def test_everything_of_a_user(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await store.append("bob", inserts("a", user="bob"))
        await remember(store, observation("o", "a"), insight("i", "o"))
        await store.forget(Select("alice"))
        assert await ids(store) == []
        assert await store.users() == ["bob"]
        stats = await store.stats("alice")
        assert (stats.turns, stats.observations, stats.insights, stats.units) == (0, 0, 0, 0)
        assert set(stats.pending.values()) == {0}
        assert await ids(store, "bob") == ["a"]

    async def test_history_of_forgotten_versions_is_gone(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        first = observation("o", "a")
        await remember(store, first)
        await store.apply("alice", ChangeSet(revised=(Revision(replace(first, text="other"), 1),)))
        await forget(store, "a")
        assert await store.history("alice", "o") == []
        await store.append("alice", inserts("b"))
        await remember(store, observation("o2", "b"))
        assert [memory.id for memory in await store.history("alice", "o2")] == ["o2"]

    async def test_what_is_forgotten_is_not_found(self, store: Store) -> None:
        turns = [TurnInsert(turn("a", "zebras everywhere")), TurnInsert(turn("b", "quiet zebras here"))]
        await store.append("alice", turns)
        await remember(store, observation("o", "b", text="zebras are loved"))
        await forget(store, "a")
        for _ in range(2):
            candidates = await store.search(Search(Scope("alice"), tuple(terms("zebras"))))
            records = (await store.fetch("alice", list(candidates.handle))).records.values()
            assert list(records) == [await get(store, "b")]
            assert candidates.units <= 2

    async def test_receipts_are_kept_with_ids_and_without_content(self, store: Store) -> None:
        assert await store.receipts("alice") == []
        await store.append("alice", inserts("a", "b", "c", text="a secret"))
        await remember(store, observation("o", "a"))
        await forget(store, "a")
        await forget(store, "missing")
        await store.forget(Select("alice", ids=frozenset({"b"})), dry_run=True)
        await forget(store, "b")
        store = await self.reopen(store)
        first, second = await store.receipts("alice")
        assert (first.turns, first.observations, set(first.ids), second.ids) == (1, 1, {"a", "o"}, ("b",))
        assert first.scope == Scope("alice") and first.at <= second.at
        assert not first.whole and "secret" not in repr(first) and await store.receipts("bob") == []

    async def test_of_a_whole_user_one_receipt_stays_without_ids(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await forget(store, "a")
        await store.forget(Select("alice"))
        (only,) = await store.receipts("alice")
        assert (only.turns, only.ids, only.whole) == (1, (), True)
        assert await store.users() == []

    async def test_users_of_whom_nothing_is_left_are_named_when_asked_for(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.append("bob", inserts("a", user="bob"))
        await store.forget(Select("alice"))
        await store.add_tombstones("carol", ["gone"])
        await store.add_tombstones("dora", (), [Receipt("r1", Scope("dora"), START, blocks=1)])
        store = await self.reopen(store)
        assert await store.users() == ["bob"]
        assert await store.users(forgotten=True) == ["alice", "bob", "carol", "dora"]

    async def test_receipts_come_with_tombstones_of_another_store(self, store: Store) -> None:
        receipt = Receipt("r1", Scope("alice"), START, turns=1, ids=("gone",))
        for _ in range(2):
            await store.add_tombstones("alice", ["gone"], [receipt])
        assert await store.receipts("alice") == [receipt]

    async def test_a_receipt_says_wiped_only_of_bytes_that_are_gone(self, store: Store) -> None:
        """No file of the store contains bytes of texts, metadata, data, earlier versions or blocks."""
        words = {f"t{n}": f"walnut{n:03}{'q' * (n % 7)}" for n in range(60)}
        turns = [
            turn(key, f"the password is {word} {'.' * 90 * n}", metadata={"door": word})
            for n, (key, word) in enumerate(words.items())
        ]
        await store.append("alice", [TurnInsert(added) for added in turns])
        facts = [observation(f"o-{key}", key, text=f"It is {word}", data={"w": word}) for key, word in words.items()]
        await remember(store, *facts)
        revised = tuple(Revision(replace(fact, text="A password"), 1) for fact in facts)
        await store.apply("alice", ChangeSet(revised=revised))
        await store.put_blocks("alice", [block("human", f"a\n{words['t0']}\nb", sources=("t0",))])
        gone = list(words)[::3]
        report = await forget(store, *gone)
        assert report.turns == len(gone)
        self._check_bytes(store, report, [words[key] for key in gone])
        report = await forget(store, "t1")
        gone.append("t1")
        self._check_bytes(store, report, [words[key] for key in gone])
        store = await self.reopen(store)
        report = await store.compact()
        assert report.physical == "wiped" or (report.physical == "pending" and report.reason)
        if report.physical == "wiped" and self.files(store) is not None:
            self._check_bytes(store, report, [words[key] for key in gone])
        assert len([key for key in await ids(store) if key in words]) == len(words) - len(gone)

    def _check_bytes(self, store: Store, report: ForgetReport, words: list[str]) -> None:
        files = self.files(store)
        if files is None:
            assert report.physical == "pending", "nobody can look: the receipt must not say more"
        if report.physical == "pending":
            assert report.reason
            return
        assert report.physical == "wiped"
        contents = {path.name: path.read_bytes() for path in files or ()}
        assert not [(name, word) for name, data in contents.items() for word in words if word.encode() in data]

    @QUICK
    @given(data=st.data())
    async def test_any_graph_of_sources_is_cleared_of_what_was_forgotten(
        self, store: Store, data: st.DataObject
    ) -> None:
        user = fresh_user()
        sources: dict[str, tuple[str, ...]] = {f"t{n}": () for n in range(4)}
        await store.append(user, inserts(*sources, user=user))
        for n in range(data.draw(st.integers(1, 8))):
            rests = data.draw(st.lists(st.sampled_from(sorted(sources)), min_size=1, max_size=3, unique=True))
            memory = observation(f"m{n}", *rests, user=user, text=f"fact {n}")
            await remember(store, memory)
            sources[memory.id] = tuple(rests)
        chosen = data.draw(st.sets(st.sampled_from(sorted(sources)), min_size=1, max_size=3))
        gone = set(chosen)
        for id, rests_on in sources.items():
            if gone.intersection(rests_on):
                gone.add(id)
        await forget(store, *chosen, user=user)
        assert set(await ids(store, user)) == sources.keys() - gone
        assert await store.tombstones(user) == sorted(gone)

    async def test_an_atomic_store_shows_a_claim_wholly_or_not(self, store: Store) -> None:
        """Readers concurrent with a worker see the old memory or the new one, never both or neither."""
        if ATOMIC not in store.capabilities:
            pytest.skip("the store is not atomic")
        await store.append("alice", inserts(*(f"k{n}" for n in range(30))))
        await remember(store, observation("v0", "k0"))
        seen: list[int] = []
        done = asyncio.Event()

        async def read() -> None:
            while not done.is_set():
                result = await store.fetch("alice", [f"v{n}" for n in range(30)])
                seen.append(sum(memory.current for memory in result.records.values()))  # type: ignore[union-attr]
                await asyncio.sleep(0)

        reader = asyncio.create_task(read())
        for n in range(1, 30):
            claim = await claim_one(store, CONSOLIDATE, limit=1)
            closing = Supersession(f"v{n - 1}", f"v{n}", at(n), at(n))
            await store.complete(
                claim, ChangeSet(new=(observation(f"v{n}", f"k{n}"),), closed=(closing,), done=claim.items)
            )
            await asyncio.sleep(0)
        done.set()
        await reader
        assert set(seen) == {1}


async def expire_if_held(store: Store, claim: object) -> None:
    try:
        await expire(store, claim)  # type: ignore[arg-type]
    except LeaseLost:
        return
