"""Work: pending -> leased -> extracted -> done; failed -> ... -> parked. Every item is processed once.

``machine.py`` tests the order of batches, partial and repeated completion, and the state of every item.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from memscope.errors import Conflict, LeaseLost
from memscope.records import MAX_WAIT_S, ChangeSet, Claim, Revision, Stage, Supersession
from memscope.stores import MAX_ATTEMPTS, Store
from memscope_testing.contract import Chapter
from memscope_testing.records import EVERYTHING, FAR_FUTURE, PAST, at, get, ids, inserts, insight, observation, remember

CONSOLIDATE: Stage = "consolidate"


async def claim_one(store: Store, stage: Stage = CONSOLIDATE, limit: int = EVERYTHING, lease_s: float = 60) -> Claim:
    (claim,) = await store.claim(stage, limit, lease_s, user="alice")
    return claim


async def expire(store: Store, claim: Claim) -> None:
    """Expire the claim's lease now instead of waiting for the clock."""
    await store.extend(claim, 0)


class Leases(Chapter):
    async def test_turns_wait_for_consolidate_but_statements_do_not(self, store: Store) -> None:
        await store.append("alice", [*inserts("a", "b"), *inserts("said", statement=True), *inserts("c")])
        claim = await claim_one(store)
        assert (claim.stage, claim.user, claim.items, claim.attempt, claim.change_set) == (
            CONSOLIDATE,
            "alice",
            ("a", "b", "c"),
            1,
            None,
        )

    async def test_current_observations_wait_for_reflect(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        proposal = observation("proposed", "a", proposed=True)
        await remember(store, observation("old", "a"), observation("new", "a"), proposal, insight("i", "new"))
        await remember(store, observation("document", "a", name="n"))
        await store.apply("alice", ChangeSet(closed=(Supersession("old", "new", at(1), at(1)),)))
        assert (await claim_one(store, "reflect")).items == ("new",)

    async def test_an_accepted_proposal_waits_for_reflect(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        proposal = observation("o", "a", proposed=True)
        await remember(store, proposal)
        assert await store.claim("reflect", 9, 60, user="alice") == []
        await store.apply("alice", ChangeSet(revised=(Revision(replace(proposal, proposed=False), 1),)))
        assert (await claim_one(store, "reflect")).items == ("o",)

    async def test_observations_that_are_done_do_not_wait(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.apply("alice", ChangeSet(new=(observation("o", "a"), observation("p", "a")), done=("o",)))
        assert (await claim_one(store, "reflect")).items == ("p",)

    async def test_observations_are_claimed_in_the_order_of_saying(self, store: Store) -> None:
        """An old conversation that is imported late is reflected on before newer turns."""
        await store.append("alice", inserts("a"))
        minutes = {"today": 900, "noon": 500, "same": 500, "past": -60 * 525_960, "dawn": 300, "night": 950}
        await remember(store, *(observation(id, "a", said=at(minute)) for id, minute in minutes.items()))
        batches = [(await self._placed(store, limit)).items for limit in (1, 1, 2, 9)]
        assert batches == [("past",), ("dawn",), ("noon", "same"), ("today", "night")]

    async def test_a_batch_keeps_its_observations_when_older_ones_are_stored(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        minutes = {"p": 20, "q": 10, "r": 30}
        await remember(store, *(observation(id, "a", said=at(minute)) for id, minute in minutes.items()))
        claim = await claim_one(store, "reflect", limit=2)
        await remember(store, observation("late", "a", said=at(0)))
        await expire(store, claim)
        again = await claim_one(store, "reflect", limit=1)
        assert (again.id, again.items) == (claim.id, claim.items)
        assert again.items == ("q", "p")
        await store.complete(again, ChangeSet(done=("p",)))
        assert [(await self._placed(store, limit=1)).items for _ in range(3)] == [("late",), ("q",), ("r",)]

    async def _placed(self, store: Store, limit: int) -> Claim:
        claim = await claim_one(store, "reflect", limit)
        await store.complete(claim, ChangeSet(done=claim.items))
        return claim

    async def test_nothing_pending_nothing_claimed(self, store: Store) -> None:
        assert await store.claim(CONSOLIDATE, 10, 60) == []
        assert await store.claim(CONSOLIDATE, 10, 60, user="nobody") == []
        assert await store.claim("embed", 10, 60) == []

    async def test_one_live_lease_a_user(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("o", "a"))
        await claim_one(store, limit=1)
        assert await store.claim(CONSOLIDATE, 1, 60, user="alice") == []
        assert await store.claim("reflect", 1, 60, user="alice") == []
        assert await store.claim(CONSOLIDATE, 1, 60) == []

    async def test_reflect_keeps_consolidate_out_too(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"))
        claim = await claim_one(store, "reflect")
        assert await store.claim(CONSOLIDATE, 1, 60, user="alice") == []
        await store.complete(claim, ChangeSet(done=("o",)))
        assert (await claim_one(store)).items == ("a",)

    async def test_of_many_workers_one_gets_the_batch(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claims = await asyncio.gather(*(store.claim(CONSOLIDATE, 1, 60) for _ in range(12)))
        assert [claim.items for of_worker in claims for claim in of_worker] == [("a",)]

    async def test_a_claim_without_a_user_serves_up_to_eight(self, store: Store) -> None:
        names = {f"user-{n}" for n in range(11)}
        for name in names:
            await store.append(name, inserts("k", user=name))
        first = await store.claim(CONSOLIDATE, 5, 60)
        second = await store.claim(CONSOLIDATE, 5, 60)
        assert (len(first), len(second)) == (8, 3)
        assert {claim.user for claim in first + second} == names
        assert await store.claim(CONSOLIDATE, 5, 60) == []

    async def test_a_saved_reply_comes_with_the_next_claim(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store, limit=1)
        saved = ChangeSet(
            new=(observation("o", "a", data={"k": [1]}), insight("i", "o")),
            closed=(Supersession("x", None, at(1), at(2), at(3)),),
            done=("a",),
            report={"level": 3},
        )
        await store.save_reply(claim, saved)
        await expire(store, claim)
        store = await self.reopen(store)
        again = await claim_one(store)
        assert (again.items, again.change_set, again.attempt) == (("a",), saved, 2)
        assert await store.complete(again) == 2
        assert await ids(store) == ["a", "b", "o", "i"]

    async def test_a_reply_may_be_saved_again_and_outlives_a_failure(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        for attempt in range(1, 4):
            claim = await claim_one(store)
            assert (claim.change_set is None, claim.attempt) == (attempt == 1, min(attempt, 2))
            saved = ChangeSet(new=(observation(f"o{attempt}", "a"),), report={"unfinished": {"a": attempt}})
            await store.save_reply(claim, ChangeSet())
            await store.save_reply(claim, saved)
            if attempt == 1:
                await store.fail(claim, "model_reply", PAST)
            else:
                await store.give_back(claim)
        claim = await claim_one(store)
        assert claim.change_set == saved

    async def test_an_expired_lease_goes_to_another_and_is_lost(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        late = await claim_one(store)
        await expire(store, late)
        other = await claim_one(store)
        assert (other.items, other.id, other.attempt) == (late.items, late.id, 2)
        assert other.token != late.token
        await self._refuses(store, late)
        assert await store.complete(other, ChangeSet(new=(observation("o", "a"),), done=("a",))) == 1
        await self._refuses(store, late)
        assert await ids(store) == ["a", "o"]

    async def test_an_expired_lease_that_nobody_took_is_good_still(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store, limit=1)
        await expire(store, claim)
        await store.save_reply(claim, ChangeSet(new=(observation("o", "a"),), done=("a",)))
        assert await store.complete(claim) == 1
        given_back = await claim_one(store)
        await expire(store, given_back)
        await store.give_back(given_back)
        failed = await claim_one(store)
        await expire(store, failed)
        await store.fail(failed, "model_timeout", PAST)
        again = await claim_one(store)
        assert (again.items, again.attempt) == (("b",), 2)
        await expire(store, again)
        assert (await store.extend(again, 60)).items == ("b",)
        assert await store.claim(CONSOLIDATE, 1, 60, user="alice") == []

    async def test_a_lease_lost_to_the_other_stage_is_lost(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"))
        late = await claim_one(store)
        await expire(store, late)
        await claim_one(store, "reflect")
        await self._refuses(store, late)

    async def test_extending_keeps_the_lease(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        claim = await claim_one(store, lease_s=60)
        longer = await store.extend(claim, 600)
        assert longer.until > claim.until
        assert longer == replace(claim, until=longer.until)
        assert await store.complete(longer, ChangeSet(done=("a",))) == 0

    async def test_a_failed_batch_waits_and_stays_the_same_batch(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store, limit=1)
        await store.fail(claim, "model_timeout", claim.until + timedelta(minutes=30))
        await store.append("alice", inserts("c"))
        assert await store.claim(CONSOLIDATE, 10, 60, user="alice") == []
        assert await store.claim(CONSOLIDATE, 10, 60) == []
        stats = await store.stats("alice")
        assert (stats.failed[CONSOLIDATE], stats.pending[CONSOLIDATE]) == (1, 2)
        assert dict(stats.errors) == {"model_timeout": 1}
        with pytest.raises(LeaseLost):
            await store.complete(claim, ChangeSet(done=("a",)))

    async def test_a_lease_longer_than_any_holds_nobody_off(self, store: Store) -> None:
        """Such a lease comes from a wrong clock. Respecting it would block the user's work until it ends."""
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"))
        wrong = await claim_one(store, lease_s=timedelta(days=400).total_seconds())
        (other,) = await store.claim(CONSOLIDATE, 10, 60)
        assert (other.items, other.attempt) == (wrong.items, 2)
        await self._refuses(store, wrong)
        assert await store.claim("reflect", 10, 60) == []

    async def test_a_retry_later_than_any_is_made_at_once(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.fail(await claim_one(store), "model_timeout", FAR_FUTURE)
        (again,) = await store.claim(CONSOLIDATE, 10, 60)
        assert (again.items, again.attempt) == (("a",), 2)

    async def test_the_longest_lease_and_the_latest_retry_hold(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        claim = await claim_one(store, lease_s=MAX_WAIT_S)
        assert await store.claim(CONSOLIDATE, 10, 60) == []
        await store.fail(claim, "model_timeout", claim.until)
        assert await store.claim(CONSOLIDATE, 10, 60) == []

    async def test_a_batch_is_parked_and_never_dropped(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        for _ in range(MAX_ATTEMPTS):
            await store.fail(await claim_one(store, limit=1), "model_reply", PAST)
        stats = await store.stats()
        assert (stats.parked[CONSOLIDATE], stats.failed[CONSOLIDATE], stats.pending[CONSOLIDATE]) == (1, 0, 1)
        assert dict(stats.errors) == {"model_reply": 1}
        assert await ids(store, pending=CONSOLIDATE) == ["a", "b"]
        following = await claim_one(store)
        assert following.items == ("b",)
        await store.complete(following, ChangeSet(done=("b",)))
        assert await store.unpark("reflect") == 0
        assert await store.unpark(CONSOLIDATE, "alice") == 1
        back = await claim_one(store)
        assert (back.items, back.attempt) == (("a",), 1)

    async def test_a_plan_leaves_what_a_batch_has(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("o", "a"), observation("p", "a"))
        for stage, batched, free in ((CONSOLIDATE, "a", "b"), ("reflect", "o", "p")):
            claim = await claim_one(store, stage, limit=1)
            await store.apply("alice", ChangeSet(done=(batched, free)))
            assert await ids(store, pending=stage) == [batched]
            await store.complete(claim, ChangeSet(done=(batched,)))

    async def test_an_item_of_a_failed_batch_that_was_closed_takes_none_from_the_pending(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, *(observation(id, "a") for id in ("o", "p", "q", "r")))
        await store.fail(await claim_one(store, "reflect", limit=2), "model_timeout", FAR_FUTURE)
        await store.apply("alice", ChangeSet(closed=(Supersession("o", None, at(1), at(1)),)))
        for stats in (await store.stats("alice"), await store.stats()):
            assert (stats.failed["reflect"], stats.pending["reflect"]) == (2, 2)

    async def test_what_is_not_the_batches_fault_parks_nothing(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        for _ in range(MAX_ATTEMPTS + 2):
            claim = await claim_one(store)
            assert claim.attempt == 1
            await store.fail(claim, "model_unavailable", PAST, counted=False)
        stats = await store.stats("alice")
        assert (stats.parked[CONSOLIDATE], stats.failed[CONSOLIDATE]) == (0, 1)

    async def test_an_outage_at_the_last_attempt_parks_nothing(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        for _ in range(MAX_ATTEMPTS - 1):
            await store.fail(await claim_one(store), "model_reply", PAST)
        for _ in range(2):
            last = await claim_one(store)
            assert last.attempt == MAX_ATTEMPTS
            await store.fail(last, "model_unavailable", PAST, counted=False)
        await store.fail(await claim_one(store), "model_reply", PAST)
        assert (await store.stats("alice")).parked[CONSOLIDATE] == 1

    async def test_a_batch_given_back_is_as_it_was(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store, limit=1)
        await store.give_back(claim)
        with pytest.raises(LeaseLost):
            await store.give_back(claim)
        again = await claim_one(store, limit=9)
        assert (again.items, again.attempt) == (("a",), 1)
        assert (await store.stats("alice")).errors == {}

    async def test_unpark_without_a_stage_is_for_all(self, store: Store) -> None:
        for user in ("alice", "bob"):
            await store.append(user, inserts("a", user=user))
            for _ in range(MAX_ATTEMPTS):
                (claim,) = await store.claim(CONSOLIDATE, 9, 60, user=user)
                await store.fail(claim, "model_reply", PAST)
        assert await store.claim(CONSOLIDATE, 9, 60) == []
        assert await store.unpark() == 2
        assert len(await store.claim(CONSOLIDATE, 9, 60)) == 2

    async def test_a_conflict_writes_nothing_and_drops_the_reply(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        read = observation("o", "a")
        await remember(store, read)
        claim = await claim_one(store)
        stale = ChangeSet(new=(observation("p", "b"),), revised=(Revision(read, 1),), done=("a", "b"))
        await store.save_reply(claim, stale)
        await store.apply("alice", ChangeSet(revised=(Revision(replace(read, text="by the user"), 1),)))
        with pytest.raises(Conflict):
            await store.complete(claim)
        assert await ids(store) == ["a", "b", "o"]
        await store.fail(claim, Conflict.code, PAST)
        assert (await claim_one(store)).change_set is None

    async def test_sources_of_a_dropped_memory_are_not_done(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store)
        change_set = ChangeSet(new=(observation("o", "a", "missing"), observation("p", "b")), done=("a", "b"))
        assert await store.complete(claim, change_set) == 1
        assert await ids(store, pending=CONSOLIDATE) == ["a"]
        assert await get(store, "o") is None

    async def _refuses(self, store: Store, late: Claim) -> None:
        for attempt in (
            store.extend(late, 60),
            store.save_reply(late, ChangeSet()),
            store.complete(late, ChangeSet(new=(observation("late", "a"),), done=late.items)),
            store.fail(late, "model_timeout", PAST),
        ):
            with pytest.raises(LeaseLost):
                await attempt
