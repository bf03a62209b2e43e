"""Memories extracted from the two demo conversations, in English and Chinese: facts, changes, proposals, blocks.

A fact in ``stories.json`` is a list: its source turn, the quote, its text, its subject, its keywords, the index of the
fact that it supersedes, and whether it is a proposal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memscope import AsyncMemoryScope
from memscope.reconciliation.approval import proposed
from memscope.records import ChangeSet, Insight, Observation, Quote, Supersession, Turn
from memscope_cli.demo import load
from memscope_cli.demo.play import turns

STORIES: list[Mapping[str, Any]] = json.loads(Path(__file__).with_name("stories.json").read_text(encoding="utf-8"))


async def tell(memory: AsyncMemoryScope, story: Mapping[str, Any]) -> None:
    """Store the turns, facts, insights and proposals of a story, and two versions of the block ``human``."""
    user = story["user"]
    await memory.add_turns(list(turns(load(story["language"]))), user=user)
    said = {one.key: one for one in await memory.list(user=user) if isinstance(one, Turn)}
    facts = [_observation(f"fact-{at}", said[row[0]], row) for at, row in enumerate(story["facts"])]
    closings = [
        Supersession(facts[row[5]].id, fact.id, fact.said, fact.said)
        for fact, row in zip(facts, story["facts"], strict=True)
        if row[5] is not None
    ]
    new = [proposed(fact, closings) if row[6] else fact for fact, row in zip(facts, story["facts"], strict=True)]
    waiting = {fact.id for fact in new if fact.proposed}
    closed = tuple(one for one in closings if one.by not in waiting)
    await memory.admin.runtime.services.store.apply(
        user, ChangeSet(new=tuple(new), closed=closed, done=tuple(said)[:-6])
    )
    insights = [
        _insight(subject, text, [facts[at] for at in rests_on]) for subject, text, rests_on in story["insights"]
    ]
    await memory.admin.runtime.services.store.apply(user, ChangeSet(new=tuple(insights)))
    for value, reason in story["human"]:
        await memory.blocks(user).rethink("human", value, reason=reason, author="model")


def _observation(id: str, turn: Turn, row: list[Any]) -> Observation:
    return Observation(
        id=id, scope=turn.scope, text=row[2], said=turn.time, recorded=turn.time + timedelta(minutes=30),
        sources=(turn.key,), quotes=(Quote(turn.key, row[1]),), about=row[3], keywords=tuple(row[4]),
    )  # fmt: skip


def _insight(subject: str, text: str, facts: list[Observation]) -> Insight:
    said = max(one.said for one in facts)
    scope = replace(facts[0].scope, session=None)
    return Insight(id=f"insight-{subject}", scope=scope, subject=subject, text=text, said=said,
                   recorded=said + timedelta(hours=1), sources=tuple(one.id for one in facts))  # fmt: skip


async def park(memory: AsyncMemoryScope, user: str) -> None:
    """Fail the consolidation of a user's turns until it is parked."""
    store, long_ago = memory.admin.runtime.services.store, datetime(2026, 1, 1, tzinfo=UTC)
    while claims := await store.claim("consolidate", 4, 60, user=user):
        for claim in claims:
            await store.fail(claim, "model_rate_limited", long_ago)


async def tell_all(path: Path) -> None:
    async with AsyncMemoryScope(path, settings={}) as memory:
        for story in STORIES:
            await tell(memory, story)
        await park(memory, STORIES[1]["user"])
