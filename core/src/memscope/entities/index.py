"""Index of entities in the records that a reader may see: grouped names, with the turns and memories that mention them.

    names of records ──filter by agent, session, time──▶ spellings ──▶ groups of one name ──▶ nodes of EntityIndex

Only visible records decide an entity's name and kind; records of other agents do not count. A changed record updates
only the spellings in it and their nodes.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nsmallest
from typing import NamedTuple

from memscope.entities.grouping import NameGroup, Spelling, group
from memscope.entities.record_names import NameMention, ReadMemory, ReadRecords, ReadTurn
from memscope.entities.results import Entity, EntityMention, Neighbour
from memscope.languages.name_rules import NAME_KINDS
from memscope.languages.names import name_form

HALF_LIFE_DAYS = 90.0
MIN_RECENCY_WEIGHT = 0.25  # lower bound of a turn's weight, whatever its age
_DAY_S = 86_400.0


class EntityView(NamedTuple):
    """Filter for the records that a reader may see; ``now`` decides which have expired."""

    agent: str | None
    session: str | None
    as_of: datetime | None
    now: datetime


@dataclass(slots=True)
class Node:
    """An entity with its records by time: ``turns`` as positions in the index, ``facts`` and ``insights`` as ids.

    ``score_then``: its score at the time of its last turn.
    """

    name: str
    kind: str
    aliases: tuple[str, ...]
    turns: list[int] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    insights: list[str] = field(default_factory=list)
    score_then: float = 0.0
    number: int = 0


class EntityIndex:
    """Entities by number, turns by position, visible memories by id, and the entities that each names.

    ``update`` takes over changed records and must not run concurrently with reads.
    """

    def __init__(self, view: EntityView) -> None:
        self.nodes: list[Node] = []
        self.turns: list[ReadTurn] = []
        self._view = view
        self._places: dict[str, int] = {}
        self.memories: dict[str, ReadMemory] = {}
        self._counted: dict[int, tuple[NameMention, ...]] = {}  # names in visible turns and the facts attached to them
        self._insights: set[str] = set()  # ids, visible or not
        self._facts_of: dict[int, tuple[str, ...]] = {}  # turn position: facts that rest on this turn alone
        self._attached: dict[str, int] = {}  # the same, by fact
        self._spellings: dict[str, Spelling] = defaultdict(Spelling)
        self._dirty: set[str] = set()
        self._groups: dict[NameGroup, Node] = {}
        self._numbers: dict[str, int] = {}
        self._expires: datetime | None = None
        self._hidden: set[str] = set()  # keys of statements whose memory has expired

    # ---- reading

    def find(self, name: str) -> Node | None:
        at = self._numbers.get(name_form(name))
        return None if at is None else self.nodes[at]

    def is_mentioned(self, name: str) -> bool:
        """Return whether any visible record mentions the name or role ("my sister")."""
        return name_form(name) in self._spellings

    def entity(self, node: Node, now: datetime, since: datetime | None = None) -> Entity | None:
        """Return the entity as mentioned since ``since``; None if it is not."""
        at = 0 if since is None else bisect_left(node.turns, since, key=lambda turn: self.turns[turn].time)
        if at == len(node.turns):
            return None
        first, last = (self.turns[node.turns[place]].time for place in (at, -1))
        whole = at == 0 and last <= now
        points = score_at(node, last, now) if whole else score((self.turns[turn].time for turn in node.turns[at:]), now)
        return Entity(node.name, node.kind, node.aliases, len(node.turns) - at, first, last, points)

    def top(self, most: int, now: datetime, kind: str | None = None, since: datetime | None = None) -> list[Entity]:
        """Return up to ``most`` entities with the highest scores."""
        best = self.best(most, now, kind, since)
        return [one for node in best if (one := self.entity(node, now, since))]

    def best(self, most: int, now: datetime, kind: str | None = None, since: datetime | None = None) -> list[Node]:
        nodes = ((self._points(node, now, since), node) for node in self.nodes if kind in (None, node.kind))
        ranked = ((-points, node.name, node.number) for points, node in nodes if points)
        return [self.nodes[number] for *_, number in nsmallest(most, ranked)]

    def _points(self, node: Node, now: datetime, since: datetime | None) -> float:
        last = self.turns[node.turns[-1]].time if node.turns else now
        if since is None and last <= now:
            return score_at(node, last, now)
        entity = self.entity(node, now, since)
        return entity.score if entity else 0.0

    def named(self, place: int) -> tuple[int, ...]:
        """Return the numbers of the entities that a turn names."""
        return self._numbers_of(self._counted.get(place, ()))

    def related(self, fact: str) -> tuple[int, ...]:
        """Return the numbers of the entities that a memory names."""
        return self._numbers_of(self.memories[fact].names)

    def _numbers_of(self, mentions: Iterable[NameMention]) -> tuple[int, ...]:
        return tuple(sorted({self._numbers[mention.form] for mention in mentions if mention.form in self._numbers}))

    def neighbours(self, node: Node) -> list[Neighbour]:
        """Return the entities named in the same turns, most frequent first."""
        counts = Counter(other for turn in node.turns for other in self.named(turn))
        nodes = [(self.nodes[other], count) for other, count in counts.items() if self.nodes[other] is not node]
        nodes.sort(key=lambda pair: (-pair[1], pair[0].name))
        return [Neighbour(other.name, other.kind, count) for other, count in nodes]

    def living(self) -> list[int]:
        """Return the positions of the visible turns, by time."""
        return sorted(self._counted, key=lambda place: self.turns[place].time)

    def mentions(self, most: int) -> list[EntityMention]:
        """Return the newest ``most`` mentions, by time."""
        mentions: list[EntityMention] = []
        for place in reversed(self.living()):
            turn, named = self.turns[place], [self.nodes[one] for one in self.named(place)]
            mentions += [EntityMention(one.name, one.kind, turn.time, turn.key, turn.agent, turn.session)
                      for one in reversed(named)]  # fmt: skip
            if len(mentions) >= most:
                break
        return mentions[:most][::-1]

    # updating

    def update(self, records: ReadRecords, changed: Iterable[str], now: datetime) -> None:
        """Apply the current state of the records with these ids; missing ones were removed."""
        self._view = self._view._replace(now=now)
        changed = set(changed)
        if self._expires is not None and self._expires <= now:
            changed.update(id for id, one in self.memories.items() if one.expires and one.expires <= now)
        if not changed:
            return
        dated = [one for id in changed if (one := records.memories.get(id)) is not None and one.expires]
        hidden = {key: one.expires for one in dated for key in one.sources
                  if key in records.turns and records.turns[key].statement}  # fmt: skip
        self._hidden = (self._hidden - hidden.keys()) | {key for key, until in hidden.items() if until and until <= now}
        changed.update(hidden)
        turns = {id for id in changed if id in records.turns or id in self._places}
        for key in sorted(turns, key=lambda key: records.turns[key].time if key in records.turns else self._view.now):
            self._update_turn(key, records.turns.get(key))
        self._insights.update(id for id in changed if id in records.memories and records.memories[id].insight)
        memories = [*sorted(changed - turns - self._insights), *sorted(self._insights)]
        corrected = [self._update_memory(id, records.memories.get(id)) for id in memories]
        self._regroup(corrected=any(corrected))
        self._expires = min((memory.expires for memory in self.memories.values() if memory.expires), default=None)

    def _update_turn(self, key: str, turn: ReadTurn | None) -> None:
        place = self._places.pop(key, None)
        if turn is not None and self._sees_turn(turn):
            if place is None:
                place = len(self.turns)
                self.turns.append(turn)
            self._places[key] = place
        if place is not None:
            self._recount(place, living=key in self._places)

    def _update_memory(self, id: str, memory: ReadMemory | None) -> bool:
        """Update one memory; return whether a person's correction came or went."""
        before = self.memories.pop(id, None)
        for form in {name.form for name in before.names} if before else ():
            self._spelling(form).memories.pop(id)
        if memory is not None and self._sees_memory(memory) and self._has_visible_source(memory):
            self.memories[id] = memory
            for form in {name.form for name in memory.names}:
                self._spelling(form).memories[id] = memory.said
        elif memory is None:
            self._insights.discard(id)
        self._attach(id, self.memories.get(id))
        return any(one is not None and one.correction is not None for one in (memory, before))

    def _attach(self, id: str, memory: ReadMemory | None) -> None:
        """Attach the names of a fact to its turn if it rests on that turn alone."""
        before = self._attached.pop(id, None)
        at = [self._places[key] for key in memory.sources if key in self._places] if memory and memory.names else []
        after = at[0] if memory and not memory.insight and len(at) == 1 else None
        if before is not None:
            self._facts_of[before] = tuple(one for one in self._facts_of[before] if one != id)
        if after is not None:
            self._attached[id] = after
            self._facts_of[after] = (*self._facts_of.get(after, ()), id)
        for place in {one for one in (before, after) if one is not None}:
            self._recount(place, living=place in self._counted)

    def _recount(self, place: int, *, living: bool) -> None:
        """Recount the names of a turn: its own, and those of facts that rest on it alone."""
        for mention in self._counted.pop(place, ()):
            self._spelling(mention.form).count(mention, place, -1)
        if living:
            facts = (self.memories[id].names for id in self._facts_of.get(place, ()))
            self._counted[place] = self.turns[place].names + tuple(name for names in facts for name in names)
            for mention in self._counted[place]:
                self._spelling(mention.form).count(mention, place, 1)

    def _spelling(self, form: str) -> Spelling:
        self._dirty.add(form)
        return self._spellings[form]

    def _sees_turn(self, turn: ReadTurn) -> bool:
        view = self._view
        asked = (view.agent in (None, turn.agent)) and (view.session in (None, turn.session))
        return asked and turn.key not in self._hidden and (view.as_of is None or turn.time <= view.as_of)

    def _sees_memory(self, memory: ReadMemory) -> bool:
        view, at = self._view, self._view.as_of or self._view.now
        agents = (None, memory.agent, view.agent if memory.correction and memory.agent is None else memory.agent)
        if view.agent not in agents or (memory.expires is not None and memory.expires <= view.now):
            return False
        if view.as_of is not None and memory.said > view.as_of:
            return False
        return memory.until is None or (view.as_of is not None and memory.until > at)

    def _has_visible_source(self, memory: ReadMemory) -> bool:
        """Return whether a source is visible; a person's correction needs none."""
        known = self.memories if memory.insight else self._places
        return memory.correction is not None or any(source in known for source in memory.sources)

    # ---- groups

    def _regroup(self, *, corrected: bool) -> None:
        """Rebuild the nodes of changed spellings; regroup everything if a name came, went or changed its kind."""
        shapes = [self._spellings[form].reshape() for form in self._dirty]
        for form in self._dirty:
            if not self._spellings[form].places and not self._spellings[form].memories:
                del self._spellings[form]
        if any(shapes) or corrected:
            corrections = [(one.said, one.order, one.correction) for one in self.memories.values() if one.correction]
            groups = group(self._spellings, [step for *_, step in sorted(corrections)])
        else:
            groups = list(self._groups)
        nodes = {one: self._groups.get(one) if self._dirty.isdisjoint(one.forms) else None for one in groups}
        self._groups = {one: node or self._node(one) for one, node in nodes.items()}
        self.nodes = list(self._groups.values())
        for number, node in enumerate(self.nodes):
            node.number = number
        self._numbers = {form: node.number for one, node in self._groups.items() for form in one.forms}
        self._dirty.clear()

    def _node(self, group: NameGroup) -> Node:
        spellings = [self._spellings[form] for form in group.forms]
        kinds: Counter[str] = Counter()
        for one in spellings:
            kinds.update(one.kinds)
        places = spellings[0].places if len(spellings) == 1 else {place for one in spellings for place in one.places}
        turns = sorted(sorted(places), key=lambda place: self.turns[place].time)
        times = [self.turns[place].time for place in turns]
        texts = self._spellings[group.forms[0]].texts
        name = min(texts, key=lambda text: (-texts[text], text))
        others = [self._spellings[form].texts for form in group.forms[1:]]
        aliases = (*sorted(min(forms) for forms in others if forms), *group.roles)
        memories = {id: first for spelling in spellings for id, first in spelling.memories.items()}
        ordered = sorted(memories, key=lambda id: (memories[id], id))
        facts, insights = ([id for id in ordered if (id in self._insights) is kind] for kind in (False, True))
        then = score(times, times[-1]) if times else 0.0
        return Node(name, max(NAME_KINDS, key=lambda kind: kinds[kind]), aliases, turns, facts, insights, then)


def score(times: Iterable[datetime], now: datetime) -> float:
    """Return the sum of 1/4 + 3/4 * 2 ** (-age / 90 days) over all turns; future turns have age zero."""
    ages = (max(0.0, (now - time).total_seconds()) / _DAY_S for time in times)
    decaying = 1 - MIN_RECENCY_WEIGHT
    return round(math.fsum(MIN_RECENCY_WEIGHT + decaying * 2 ** (-age / HALF_LIFE_DAYS) for age in ages), 6)


def score_at(node: Node, last: datetime, now: datetime) -> float:
    """Derive the current score from the one at the last turn, without visiting each turn."""
    count = len(node.turns)
    decay = 2 ** (-(now - last).total_seconds() / _DAY_S / HALF_LIFE_DAYS)
    return round(MIN_RECENCY_WEIGHT * count + (node.score_then - MIN_RECENCY_WEIGHT * count) * decay, 4)
