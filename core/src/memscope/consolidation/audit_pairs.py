"""Find related facts that consolidate missed: rules propose pairs, the chat model judges them, vetoes still apply.

One call judges up to ``MAX_PAIRS`` pairs. Their facts resemble each other, so the vetoes alone would pass many guesses:
pairs with a relation are asked again in reverse order, and only a repeated verdict counts. It goes through
``Settlement`` like one of extract and is applied before the next pairs. A judged pair is not asked again until one of
its facts changes.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from pydantic import BaseModel

from memscope.consolidation.extract import cites_fact, clean
from memscope.consolidation.known_facts import fact_data
from memscope.consolidation.known_names import known_aliases
from memscope.consolidation.reply import Relation, checked
from memscope.errors import Conflict, ModelError
from memscope.jobs.costs import Counts, MeteredChat, change_counters, count_facts, read_counters, user_counters
from memscope.jobs.runner import JobResult, summary, with_costs
from memscope.models import Usage, typed_errors
from memscope.reconciliation.insight_sentences import with_corrections
from memscope.reconciliation.near_pairs import NearPair, near_pairs
from memscope.reconciliation.settlement import FactRelation, Settlement, action, rejection
from memscope.reconciliation.subjects import People, user_names
from memscope.records import ChangeSet, Json, Observation, Scope, Select, WorkReport, weaknesses
from memscope.records.identity import fingerprint
from memscope.services import Services

MAX_PAIRS = 20  # per call
MAX_AUDITED_FACTS = 2_000  # per agent: the newest
WEAK_MODEL = "weak_model"  # report code: too many verdicts were refused to trust the others
AUDITED = "audited"  # key in the user's counters: digests of the judged pairs
NOT_WITHOUT_APPROVAL = "with approve a person decides: nothing was written; memscope forget removes what is outdated"


class Judgement(BaseModel):
    relations: list[Relation]
    none: list[int]


@lru_cache(64)
def judgement(number: int) -> type[Judgement]:
    """Build a ``Judgement`` type that requires every pair to be in ``relations`` or in ``none``."""

    def complete(reply: Judgement) -> Judgement:
        judged = {*reply.none, *(relation.k for relation in reply.relations)}
        if missing := [str(pair) for pair in range(1, number + 1) if pair not in judged]:
            raise ValueError(f"pair {', '.join(missing)} is neither in relations nor in none")
        return reply

    return checked(Judgement, complete)


@dataclass(frozen=True)
class AgentPairs:
    """One agent's pairs, nearest first, with the names known to it."""

    people: People
    pairs: Sequence[NearPair]


async def audit_pairs(ctx: Services, user: str, *, calls: int, preview: bool) -> WorkReport:
    """Ask the model about the nearest pairs in up to ``calls`` rounds; stop at an error, a spent budget or guesses.

    A round is a call, plus one if any pair has a relation. ``preview``: write nothing; ``approve`` implies it.
    """
    assert ctx.chat is not None
    began, usage, errors = time.perf_counter(), Usage(), Counter[str]()
    reason = NOT_WITHOUT_APPROVAL if ctx.settings.approve else ""
    metered = replace(ctx, chat=MeteredChat(ctx, user, "audit"))
    run = PairAudit(metered, user, preview or ctx.settings.approve, await _answered(ctx, user))
    await run.find()
    with usage.counting():
        try:
            while calls and run.left:
                calls -= 1
                await run.judge(run.left[0])
                if guesses := weaknesses(run.judged).get("verdicts"):
                    errors[WEAK_MODEL] += 1
                    reason = f"{guesses}; try a larger chat.model"
                    break
        except (ModelError, Conflict) as error:
            errors[error.code] += 1
            reason = str(error)
    changes = ChangeSet(report={"actions": run.actions, "rejected": run.rejected, "errors": errors})
    report = with_costs(summary("audit", [JobResult(user, changes)], preview=run.preview), ctx.chat, usage, began)
    return replace(report, done=run.done, pending=sum(len(one.pairs) for one in run.left), reason=reason)


@dataclass
class PairAudit:
    """One run over a user's pairs. ``answered``: digests of judged pairs; ``left``: pairs still to judge, by agent."""

    ctx: Services
    user: str
    preview: bool
    answered: set[str]
    left: list[AgentPairs] = field(default_factory=list)
    possible: set[str] = field(default_factory=set)
    actions: list[Mapping[str, Json]] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    done: int = 0

    async def find(self) -> None:
        """Collect the pairs of all current facts."""
        by_agent: dict[str | None, list[Observation]] = {}
        select = Select(self.user, kinds=frozenset({"observation"}), current=True, live_at=self.ctx.clock())
        async for page in self.ctx.store.scan(select):
            for one in page:
                if isinstance(one, Observation) and one.current:
                    by_agent.setdefault(one.scope.agent, []).append(one)
        candidates: list[AgentPairs] = []
        for agent, facts in by_agent.items():
            newest = sorted(facts, key=lambda one: (one.recorded, one.id))[-MAX_AUDITED_FACTS:]
            aliases = await known_aliases(Scope(self.user, agent), [one.about for one in newest], self.ctx)
            people = People(user_names(newest), aliases)
            candidates.append(AgentPairs(people, await asyncio.to_thread(near_pairs, newest, people)))
        self.possible = {_digest(pair) for one in candidates for pair in one.pairs}
        self._set_left(candidates)

    async def judge(self, candidates: AgentPairs) -> None:
        """Ask about an agent's nearest pairs and apply the verdicts that pass the rules."""
        pairs = candidates.pairs[:MAX_PAIRS]
        first, wrong = await self._ask(pairs)
        repeated, _ = await self._ask([pair for pair in reversed(pairs) if _digest(pair) in first])
        agreed = [one for pair, one in first.items() if pair in repeated and repeated[pair].verdict == one.verdict]
        unconfirmed = [one for one in first.values() if one not in agreed]
        settlement = Settlement({}, self.ctx.clock(), people=candidates.people)
        settlement.settle(agreed)
        changed = await self._apply(
            settlement, {fact.id: fact.version for one in agreed for fact in (one.old, one.new)}
        )
        refused = len(settlement.refused) + len(unconfirmed)
        judged = {"verdicts": len(first) + wrong, "wrong_verdict": refused, "wrong_known": wrong}
        await count_facts(self.ctx, judged)
        self.judged += Counter(judged)
        codes = {"wrong_verdict": len(settlement.refused), "not_said_twice": len(unconfirmed), "wrong_known": wrong}
        self.rejected += Counter(codes)
        self.actions += settlement.actions
        self.actions += (_refused(one, "wrong_verdict") for one in settlement.refused)
        self.actions += (_refused(one, "not_said_twice") for one in unconfirmed)
        self.done += len(pairs)
        await self._mark_judged(pairs, settlement)
        if changed:
            await self.find()
        else:
            self._set_left(self.left)

    # ---- inside

    async def _ask(self, pairs: Sequence[NearPair]) -> tuple[dict[str, FactRelation], int]:
        """Return the relations by digest of their pair, and the number of verdicts that match no pair."""
        if not pairs:
            return {}, 0
        texts = [fact.text for pair in pairs for fact in (pair.old, pair.new)]
        reply_type = await asyncio.to_thread(judgement, len(pairs))
        assert self.ctx.chat is not None
        with typed_errors(self.ctx.chat):
            reply = await self.ctx.ask("audit", texts, {"pairs": pairs_data(pairs)}, reply_type)
        return _verdicts_of(reply, pairs)

    def _set_left(self, candidates: Sequence[AgentPairs]) -> None:
        known = self.answered
        left = (replace(one, pairs=[pair for pair in one.pairs if _digest(pair) not in known]) for one in candidates)
        self.left = [one for one in left if one.pairs]

    async def _apply(self, settlement: Settlement, judged: Mapping[str, int]) -> bool:
        """Write the changes unless a fact that was judged, by id and version, was forgotten or corrected meanwhile."""
        new = tuple(settlement.fresh.values())
        revised = tuple(settlement.revised.values())
        changes = ChangeSet(new, tuple(settlement.closed.values()), revised, expected=judged)
        if self.preview or not (changes.new or changes.closed or changes.revised):
            return False
        store = self.ctx.store
        await store.apply(self.user, await with_corrections(store, self.user, changes, self.ctx.clock()))
        settlement.actions += (action("new", one) for one in new)
        return True

    async def _mark_judged(self, pairs: Sequence[NearPair], settlement: Settlement) -> None:
        """Mark the pairs as judged, except those whose verdict exceeded the limit of facts that one answer may end."""
        if self.preview:
            self.answered |= set(map(_digest, pairs))
            return
        over_limit = {(one.old.id, one.new.id) for one in settlement.over_limit}
        fresh = {_digest(pair) for pair in pairs if (pair.old.id, pair.new.id) not in over_limit}
        self.answered |= fresh

        def note(counts: Counts) -> None:
            known = fresh | (counts.get(AUDITED, {}).keys() & self.possible)
            counts[AUDITED] = dict.fromkeys(sorted(known), 1)

        await change_counters(self.ctx, await user_counters(self.ctx, self.user), note)


async def _answered(ctx: Services, user: str) -> set[str]:
    counts = await read_counters(ctx, await user_counters(ctx, user))
    return set(counts.get(AUDITED, ()))


def _digest(pair: NearPair) -> str:
    """Hash the pair's ids and versions: revising a fact makes it a new pair."""
    return fingerprint("/".join(f"{one.id}/{one.version}" for one in (pair.old, pair.new)), 8)


def pairs_data(pairs: Sequence[NearPair]) -> list[dict[str, Json]]:
    facts = ((fact_data(pair.old), fact_data(pair.new)) for pair in pairs)
    return [{"k": number, "earlier": old, "later": new} for number, (old, new) in enumerate(facts, 1)]


def _verdicts_of(reply: Judgement, pairs: Sequence[NearPair]) -> tuple[dict[str, FactRelation], int]:
    """Return one verdict per pair, and the number of verdicts without a pair or without words of its earlier fact."""
    relations: dict[str, FactRelation] = {}
    wrong = 0
    for one in reply.relations:
        pair = pairs[one.k - 1] if 1 <= one.k <= len(pairs) else None
        if pair is None or not cites_fact(one, pair.old):
            wrong += one.relation != "unrelated"
        else:
            relations.setdefault(_digest(pair), FactRelation(pair.new, pair.old, one.relation, clean(one.rest)))
    return {pair: one for pair, one in relations.items() if one.verdict != "unrelated"}, wrong


def _refused(one: FactRelation, why: str) -> Mapping[str, Json]:
    """Build the report line of a verdict that was not applied, with the earlier fact as its quote."""
    return rejection(one.new.text, f"{why} ({one.verdict})", [one.old.text])
