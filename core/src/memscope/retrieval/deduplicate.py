"""Merge repetitions into one line: the newest of equal turns, and each memory at the turn that said it first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from memscope.languages.statements import content_words
from memscope.records import Hit, Observation, Repeats, Turn
from memscope.retrieval.query import Query
from memscope.services import Services

Sources = Mapping[str, Turn]

OPENING_WORDS = 4  # content words compared before whole texts
MAX_EXCHANGE_GAP = timedelta(hours=1)  # longer pauses separate conversations


def deduplicate(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits without repetitions, in order, and those left out."""
    owners = _first_hits(hits)
    unique: dict[Hashable, Hit] = {}
    openings = {hit.id: _opening(hit) for hit in hits if hit.beside or not hit.matched}
    alike = Counter(openings.values())
    keys = {id: _key(hit) if alike[openings[id]] > 1 else id for hit in hits if (id := hit.id) in openings}
    for hit in hits:
        if hit.matched and not hit.beside:
            for owner in (owners[_memory_key(memory)] for memory in hit.matched):
                unique.setdefault(keys.get(owner.id, ("memory", owner.id)), _own_facts(owner, owners))
        else:
            key = keys[hit.id]
            # the later one takes the position of the better one
            unique[key] = max(unique[key], hit, key=lambda one: one.time) if key in unique else _own_facts(hit, owners)
    shown = {hit.id for hit in unique.values()}
    return [*unique.values()], [hit for hit in hits if hit.id not in shown]


def _first_hits(hits: Sequence[Hit]) -> dict[Hashable, Hit]:
    """Map each matched memory to its first hit."""
    owners: dict[Hashable, Hit] = {}
    for hit in hits:
        for memory in hit.matched:
            key = _memory_key(memory)
            owners[key] = min(owners.get(key, hit), hit, key=lambda one: _precedence(memory, one.turn))
    return owners


def _precedence(memory: Observation, turn: Turn | None) -> tuple[int, int]:
    """Sort key of a memory's source turns: by day, then the longer quote first, so an answer precedes its question."""
    if turn is None:
        return 0, 0
    return turn.time.toordinal(), -sum(len(quote.text) for quote in memory.quotes if quote.turn == turn.key)


def _own_facts(hit: Hit, owners: Mapping[Hashable, Hit]) -> Hit:
    """Keep only the memories that no earlier turn's hit prints."""
    if not (hit.matched or hit.words):
        return hit
    mine = {key: memory for memory in hit.matched if owners[key := _memory_key(memory)].id == hit.id}
    return replace(hit, matched=tuple(mine.values()), words=hit.words if mine else "")


def _memory_key(memory: Observation) -> Hashable:
    return content_words(memory.text) or memory.id, memory.happened


def _opening(hit: Hit) -> Hashable:
    """Return a cheap key: hits with equal ``_key`` have equal openings."""
    return (
        hit.id if hit.turn is None else (hit.turn.role, hit.turn.speaker, content_words(hit.turn.text, OPENING_WORDS))
    )


def _key(hit: Hit) -> Hashable:
    if hit.turn is None:
        return hit.id
    return hit.turn.role, hit.turn.speaker, content_words(hit.turn.text) or hit.id


# repeats


async def repeats(query: Query, hits: Sequence[Hit], ctx: Services) -> Sources:
    """Return the source turns of memories with several sources, fetching those that no hit has."""
    there = {hit.turn.key: hit.turn for hit in hits if hit.turn}
    several = [memory for hit in hits for memory in hit.matched if len(memory.sources) > 1]
    keys = dict.fromkeys(key for memory in several for key in memory.sources)
    missing = [key for key in keys if key not in there]
    fetched = (await ctx.store.fetch(query.scope.user, missing)).records if missing else {}
    turns = {turn.key: turn for turn in fetched.values() if isinstance(turn, Turn) and visible(turn, query)}
    return {**there, **turns}


def visible(turn: Turn, query: Query) -> bool:
    scope = query.scope
    same = scope.agent in (None, turn.scope.agent) and scope.session in (None, turn.scope.session)
    return same and turn.key not in query.exclude and (query.as_of is None or turn.time <= query.as_of)


def at_first_source(hits: Sequence[Hit], turns: Sources) -> list[Hit]:
    """Move each memory with several sources to the turn that said it first, and count how often it was said."""
    by_id: dict[str, Hit] = {}
    for hit in hits:
        for one in _split_by_source(hit, turns) if hit.matched else [hit]:
            by_id[one.id] = _merged(by_id[one.id], one) if one.id in by_id else one
    return [*by_id.values()]


def _merged(one: Hit, other: Hit) -> Hit:
    """Merge two hits of a turn; one that shows its own words needs no memories."""
    worded = [hit for hit in (one, other) if hit.beside or not hit.matched]
    if worded:
        return worded[0]
    memories = tuple({memory.id: memory for memory in (*one.matched, *other.matched)}.values())
    return replace(one, matched=memories, repeats={**one.repeats, **other.repeats})


def _split_by_source(hit: Hit, turns: Sources) -> list[Hit]:
    """Split the hit by the turns that first said its memories; a hit with its own words stays."""
    assert hit.turn is not None
    if hit.beside:
        return [_moved_to(hit, hit.turn, hit.matched, turns)]
    by_turn: dict[str, list[Observation]] = {}
    for memory in hit.matched:
        by_turn.setdefault(_first_source(hit, memory, turns).key, []).append(memory)
    return [_moved_to(hit, turns[key], memories, turns) for key, memories in by_turn.items()]


def _first_source(hit: Hit, memory: Observation, turns: Sources) -> Turn:
    assert hit.turn is not None
    return min(_source_turns(memory, turns) or [hit.turn], key=lambda turn: _precedence(memory, turn))


def tells(turn: Turn, memory: Observation) -> bool:
    """Return whether a source turn says what the memory says now.

    The first source does. Sources from earlier conversations were merged in and lack the details.
    """
    return turn.key == memory.sources[0] or memory.said - turn.time < MAX_EXCHANGE_GAP


def _source_turns(memory: Observation, turns: Sources) -> list[Turn]:
    """Return the source turns that say what the memory says now, by time."""
    tellings = (turns[key] for key in memory.sources if key in turns and tells(turns[key], memory))
    return sorted(tellings, key=lambda turn: turn.time)


def _moved_to(hit: Hit, turn: Turn, memories: Sequence[Observation], turns: Sources) -> Hit:
    repeats = {memory.id: _repeats(memory, turns) for memory in memories if len(memory.sources) > 1}
    if hit.turn is not None and turn.key == hit.turn.key:
        return replace(hit, matched=tuple(memories), repeats=repeats)
    return replace(hit, turn=turn, observations=tuple(memories), matched=tuple(memories), part=0, repeats=repeats)


def _repeats(memory: Observation, turns: Sources) -> Repeats:
    """Count the conversations that say it; a question and its answer count once."""
    tellings = _source_turns(memory, turns)
    apart = sum(1 for one, other in pairwise(tellings) if not _in_one_exchange(one, other))
    return Repeats(1 + apart, tellings[-1].time if tellings else memory.said)


def _in_one_exchange(one: Turn, other: Turn) -> bool:
    return one.scope.session == other.scope.session and other.time - one.time < MAX_EXCHANGE_GAP
