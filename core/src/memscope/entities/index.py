"""Entities of the records that a reader may see: names brought together, with the turns and memories that name them.

    names of records ──mask by agent, session, time──▶ groups of one name ──▶ EntityIndex

Only records inside the mask say what an entity is called and what kind it is: another agent's words tell nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from memscope.entities.reading import ReadMemory, ReadRecords, ReadTurn
from memscope.entities.results import Entity, EntityMention, Neighbour
from memscope.text.lexicon import NAME_KINDS, FoundName, lexicon, word_set
from memscope.text.names import name_form

HALF_LIFE_DAYS = 90.0
FLOOR = 0.25  # what a turn counts however old it is
_DAY_S = 86_400.0


class EntityView(NamedTuple):
    """Records that a reader may see; ``now`` for what has expired."""

    agent: str | None
    session: str | None
    as_of: datetime | None
    now: datetime


@dataclass(slots=True)
class Node:
    """An entity with its records: ``turns`` as positions in the index, ``facts`` and ``insights`` as ids.

    ``score_then`` is the score at the time of its last turn.
    """

    name: str
    kind: str
    aliases: tuple[str, ...]
    turns: list[int] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    insights: list[str] = field(default_factory=list)
    score_then: float = 0.0


@dataclass(slots=True)
class EntityIndex:
    """Entities by number, the turns in the order of their times, and the entities that each turn names."""

    nodes: list[Node]
    turns: list[ReadTurn]
    named: list[tuple[int, ...]]
    facts: dict[str, tuple[int, ...]]
    forms: Mapping[str, int]

    def find(self, name: str) -> Node | None:
        at = self.forms.get(name_form(name))
        return None if at is None else self.nodes[at]

    def entity(self, node: Node, now: datetime, since: datetime | None = None) -> Entity | None:
        """Returns the entity as it is named since then; None if it is not."""
        at = 0 if since is None else bisect_left(node.turns, since, key=lambda turn: self.turns[turn].time)
        if at == len(node.turns):
            return None
        first, last = (self.turns[node.turns[place]].time for place in (at, -1))
        whole = at == 0 and last <= now
        points = aged(node, last, now) if whole else score((self.turns[turn].time for turn in node.turns[at:]), now)
        return Entity(node.name, node.kind, node.aliases, len(node.turns) - at, first, last, points)

    def neighbours(self, node: Node) -> list[Neighbour]:
        """Returns the entities named in the same turns, the most frequent first."""
        counts = Counter(other for turn in node.turns for other in self.named[turn])
        found = [(self.nodes[other], count) for other, count in counts.items() if self.nodes[other] is not node]
        found.sort(key=lambda pair: (-pair[1], pair[0].name))
        return [Neighbour(other.name, other.kind, count) for other, count in found]

    def mentions(self) -> list[EntityMention]:
        return [
            EntityMention(self.nodes[one].name, self.nodes[one].kind, turn.time, turn.key, turn.agent, turn.session)
            for turn, named in zip(self.turns, self.named, strict=True)
            for one in named
        ]


def score(times: Iterable[datetime], now: datetime) -> float:
    """Returns the sum of 1/4 + 3/4 * 2 ** (-age / 90 days); an age below zero counts as zero."""
    ages = (max(0.0, (now - time).total_seconds()) / _DAY_S for time in times)
    return round(math.fsum(FLOOR + (1 - FLOOR) * 2 ** (-age / HALF_LIFE_DAYS) for age in ages), 6)


def aged(node: Node, last: datetime, now: datetime) -> float:
    """Returns the score of all turns of an entity from the one it had at its last turn, without looking at each."""
    count = len(node.turns)
    recent = (node.score_then - FLOOR * count) * 2 ** (-(now - last).total_seconds() / _DAY_S / HALF_LIFE_DAYS)
    return round(FLOOR * count + recent, 4)


def build(records: ReadRecords, view: EntityView) -> EntityIndex:
    turns = sorted((turn for turn in records.turns.values() if _sees(turn, view)), key=lambda turn: turn.time)
    positions = {turn.key: at for at, turn in enumerate(turns)}
    memories = [one for one in records.memories.values() if _holds(one, view)]
    observed = {one.id: [positions[key] for key in one.sources if key in positions]
                for one in memories if not one.insight}  # fmt: skip
    observed = {id: places for id, places in observed.items() if places}
    insights = [one for one in memories if one.insight and any(source in observed for source in one.sources)]
    said = _said(records, turns, memories, observed)
    nodes, forms, roles = _nodes(turns, said)
    index = EntityIndex(nodes, turns, [], {}, forms)
    for at, (turn, found) in enumerate(zip(turns, said, strict=True)):
        numbers = {forms[form] for one in found if (form := _form(one, turn, roles)) in forms}
        index.named.append(tuple(sorted(numbers)))
        for number in numbers:
            nodes[number].turns.append(at)
    for node in nodes:
        times = [turns[at].time for at in node.turns]
        node.score_then = score(times, times[-1]) if times else 0.0
    for memory in [*(one for one in memories if one.id in observed), *insights]:
        _attach(index, memory)
    return index


def _sees(turn: ReadTurn, view: EntityView) -> bool:
    asked = (view.agent in (None, turn.agent)) and (view.session in (None, turn.session))
    return asked and (view.as_of is None or turn.time <= view.as_of)


def _holds(memory: ReadMemory, view: EntityView) -> bool:
    at = view.as_of or view.now
    if view.agent not in (None, memory.agent) or (memory.expires is not None and memory.expires <= view.now):
        return False
    if view.as_of is not None and memory.said > view.as_of:
        return False
    return memory.until is None or (view.as_of is not None and memory.until > at)


def _said(
    records: ReadRecords, turns: Sequence[ReadTurn], memories: Sequence[ReadMemory], observed: Mapping[str, list[int]]
) -> list[list[FoundName]]:
    """Returns the names of each turn: its own, and those of the memories that rest on it alone."""
    said = [list(turn.names) for turn in turns]
    for memory in memories:
        places = observed.get(memory.id, [])
        for place in places if len(places) == 1 else ():
            said[place] += memory.names
    return said


def _form(found: FoundName, turn: ReadTurn, roles: Mapping[str, str]) -> str:
    """Returns the form of a name; for "my sister", said by the user, that of the sister's name."""
    if found.weight == 0 and found.role:
        return roles.get(found.role, "") if turn.by_user else ""
    return name_form(found.text)


def _attach(index: EntityIndex, memory: ReadMemory) -> None:
    numbers = {index.forms[form] for one in memory.names if (form := name_form(one.text)) in index.forms}
    if not memory.insight:
        index.facts[memory.id] = tuple(sorted(numbers))
    for number in numbers:
        (index.nodes[number].insights if memory.insight else index.nodes[number].facts).append(memory.id)


# --------------------------------------------------------------------------------------------------------------- groups


@dataclass(slots=True)
class _Spelling:
    kinds: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)

    @property
    def kind(self) -> str:
        return max(NAME_KINDS, key=lambda kind: self.kinds[kind])


def _nodes(
    turns: Sequence[ReadTurn], said: Sequence[Sequence[FoundName]]
) -> tuple[list[Node], dict[str, int], dict[str, str]]:
    """Returns the entities, the number of each form, and the form of each role that is one person's."""
    spellings: dict[str, _Spelling] = defaultdict(_Spelling)
    held: dict[str, set[str]] = defaultdict(set)
    for turn, found in zip(turns, said, strict=True):
        for one in found:
            if one.weight:
                spelling = spellings[name_form(one.text)]
                spelling.kinds[one.kind] += one.weight
                spelling.texts[one.text] += 1
                if one.role and turn.by_user:
                    held[one.role].add(name_form(one.text))
    spellings.pop("", None)
    full = _full_forms(spellings)
    groups: dict[str, list[str]] = defaultdict(list)
    for form in spellings:
        groups[full.get(form, form)].append(form)
    roles = {role: head for role, forms in held.items() for head in _only({full.get(form, form) for form in forms})}
    called: dict[str, list[str]] = defaultdict(list)
    for role, head in roles.items():
        called[head].append(f"my {role}" if role.isascii() else f"我{role}")
    nodes = [_node(head, forms, spellings, called[head]) for head, forms in groups.items()]
    numbers = {form: at for at, (head, forms) in enumerate(groups.items()) for form in (*called[head], *forms)}
    return nodes, numbers, roles


def _only(forms: set[str]) -> set[str]:
    return forms if len(forms) == 1 else set()


def _node(head: str, forms: Sequence[str], spellings: Mapping[str, _Spelling], called: Sequence[str]) -> Node:
    kinds: Counter[str] = Counter()
    for form in forms:
        kinds.update(spellings[form].kinds)
    name = min(spellings[head].texts, key=lambda text: (-spellings[head].texts[text], text))
    others = {min(spellings[form].texts) for form in forms if form != head}
    return Node(name, max(NAME_KINDS, key=lambda kind: kinds[kind]), tuple(sorted(others) + sorted(called)))


def _full_forms(spellings: Mapping[str, _Spelling]) -> dict[str, str]:
    """Returns the full name of each short one that can be short for a single one: Anna, Dr. Patel, 小芳."""
    longer: dict[str, set[str]] = defaultdict(set)
    people = [form for form, spelling in spellings.items() if spelling.kind == "person"]
    for form in people:
        for short in _short_forms(form):
            if short in spellings and spellings[short].kind == "person":
                longer[short].add(form)
    found = {short: min(forms) for short, forms in longer.items() if len(forms) == 1}
    return {short: found.get(full, full) for short, full in found.items()}


def _short_forms(form: str) -> set[str]:
    words = form.split()
    if len(words) > 1:
        titled = words[0] in word_set("titles_en")
        return {" ".join(words[1:])} if titled else {words[0]}
    surname = 2 if form[:2] in lexicon().compound_surnames else 1
    has_surname = surname == 2 or form[:1] in lexicon().surnames
    return {form[surname:]} if has_surname and len(form) - surname == 2 else set()
