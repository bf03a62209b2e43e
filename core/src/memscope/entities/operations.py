"""Operations on entities as functions of a runtime: ranking, one entity, timeline, stream, graph.

``AsyncMemoryScope`` has each as a method with the same arguments. Everything is derived from the records by one scan of
the user's own, kept per revision of the store; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Protocol

from memscope import validation
from memscope.errors import NotFound
from memscope.records import Insight, Observation, Turn
from memscope.stores import Store

if TYPE_CHECKING:
    from memscope.entities.graph import EntityGraph
    from memscope.entities.index import EntityIndex, Node
    from memscope.entities.results import By, Entity, EntityDetails, EntityMention, Timeline

KINDS = ("person", "place", "organisation", "thing", "topic")
MOST, MOST_NODES, MOST_DEPTH = 100_000, 500, 2


if TYPE_CHECKING:  # protocols cost more at import than the rest of this file

    class EntityHost(Protocol):
        """The part of the runtime that entities work with."""

        @property
        def store(self) -> Store: ...
        @property
        def clock(self) -> Callable[[], datetime]: ...
        @property
        def zone(self) -> tzinfo | None: ...
        def now(self, zone: tzinfo | None = None) -> datetime: ...
        def operation(self, name: str) -> AbstractAsyncContextManager[Any]: ...


async def entities(
    runtime: EntityHost,
    user: str,
    *,
    top: int = 20,
    since: datetime | str | None = None,
    kind: str | None = None,
    agent: str | None = None,
    session: str | None = None,
    as_of: datetime | str | None = None,
) -> list[Entity]:
    """Return the entities that are named most and most lately, by falling score (``Entity`` has the formula).

    ``since``: only mentions from then on. ``kind``: person, place, organisation, thing or topic.
    """
    validation.choice("kind", kind or KINDS[0], *KINDS)
    most = validation.count("top", top, MOST)
    async with runtime.operation("entities"):
        start = None if since is None else validation.when("since", since, runtime.zone)
        index, now = await _index(runtime, user, agent, session, as_of)
        nodes = [node for node in index.nodes if kind in (None, node.kind)]
        found = [entity for node in nodes if (entity := index.entity(node, now, start))]
        return sorted(found, key=lambda entity: (-entity.score, entity.name))[:most]


async def entity(
    runtime: EntityHost,
    user: str,
    name: str,
    *,
    top: int = 20,
    agent: str | None = None,
    session: str | None = None,
    as_of: datetime | str | None = None,
) -> EntityDetails:
    """Return everything about one entity, by its name or an alias; at most ``top`` of each list.

    ``NotFound`` if nothing of this name is mentioned.
    """
    from memscope.entities.results import EntityDetails

    most = validation.count("top", top, MOST)
    async with runtime.operation("entities"):
        index, now = await _index(runtime, user, agent, session, as_of)
        node, found = _named(index, name, now)
        keys = [index.turns[place].key for place in node.turns[-most:]]
        facts, insights = node.facts[-most:], node.insights[-most:]
        fetched = (await runtime.store.fetch(user, [*keys, *facts, *insights])).records
        records = [fetched[id] for id in (*keys, *facts, *insights) if id in fetched]
        return EntityDetails(
            found,
            facts=tuple(one for one in records if isinstance(one, Observation)),
            turns=tuple(one for one in records if isinstance(one, Turn)),
            insights=tuple(one for one in records if isinstance(one, Insight)),
            neighbours=tuple(index.neighbours(node)[:most]),
        )


async def timeline(
    runtime: EntityHost,
    user: str,
    entity: str | None = None,
    *,
    by: By = "week",
    agent: str | None = None,
    session: str | None = None,
    as_of: datetime | str | None = None,
    zone: validation.Zone = None,
) -> Timeline:
    """Return the turns per day, week or month, with bursts, changes of rank and themes; of one entity or of all.

    ``NotFound`` for an entity that is not mentioned. ``zone``: that of the days, as in ``add_turns``.
    """
    from memscope.entities.timeline import timeline

    validation.choice("by", by, "day", "week", "month")
    async with runtime.operation("entities"):
        index, now = await _index(runtime, user, agent, session, as_of)
        node, found = (None, None) if entity is None else _named(index, entity, now)
        local = runtime.now(validation.zone(zone)).tzinfo
        assert local is not None
        return timeline(index, node, found, by, local)


async def stream(
    runtime: EntityHost,
    user: str,
    *,
    limit: int = 100,
    agent: str | None = None,
    session: str | None = None,
    as_of: datetime | str | None = None,
) -> list[EntityMention]:
    """Return the newest ``limit`` mentions, which entity was named when and in which turn, oldest first."""
    most = validation.count("limit", limit, 1_000_000)
    async with runtime.operation("entities"):
        index, _ = await _index(runtime, user, agent, session, as_of)
        return index.mentions()[-most:]


async def graph(
    runtime: EntityHost,
    user: str,
    names: Sequence[str] = (),
    *,
    depth: int = 2,
    top: int = 50,
    agent: str | None = None,
    session: str | None = None,
    as_of: datetime | str | None = None,
) -> EntityGraph:
    """Return entities and how they hang together: named in the same turns, or related by a fact, with its words.

    Of ``names`` the joined surroundings within ``depth`` (1 or 2) edges, else the highest scores; at most ``top``
    entities. ``NotFound`` for a name that is not mentioned.
    """
    from memscope.entities.graph import make_graph, reach, relating_facts

    most, edges = validation.count("top", top, MOST_NODES), validation.count("depth", depth, MOST_DEPTH)
    async with runtime.operation("entities"):
        index, now = await _index(runtime, user, agent, session, as_of)
        asked = [_named(index, name, now)[0] for name in validation.ids("names", names)]
        scores = {at: one.score for at, node in enumerate(index.nodes) if (one := index.entity(node, now))}
        best = sorted(scores, key=lambda at: (-scores[at], index.nodes[at].name))[:most]
        starts = list(dict.fromkeys(index.nodes.index(node) for node in asked))
        chosen = reach(index, starts, edges, most) if asked else {at: min(rank, 1) for rank, at in enumerate(best)}
        relating = relating_facts(index, chosen)
        fetched = (await runtime.store.fetch(user, [id for ids in relating.values() for id in ids])).records
        words = {str(id): one.text for id, one in fetched.items()}
        return make_graph(index, chosen, relating, words)


async def _index(
    runtime: EntityHost, user: str, agent: str | None, session: str | None, as_of: datetime | str | None
) -> tuple[EntityIndex, datetime]:
    """Returns the index and the time its scores are of."""
    from memscope.entities.cache import load
    from memscope.entities.index import EntityView

    where = validation.scope(user, agent, session)
    then = None if as_of is None else validation.when("as_of", as_of, runtime.zone)
    now = runtime.clock()
    return await load(runtime.store, where.user, EntityView(where.agent, where.session, then, now)), then or now


def _named(index: EntityIndex, name: object, now: datetime) -> tuple[Node, Entity]:
    given = validation.identifier("name", name)
    node = index.find(given)
    found = index.entity(node, now) if node else None
    if node is None or found is None:
        raise NotFound(f"no entity is called {given!r} here", hint="entities lists those there are")
    return node, found
