"""Operations on entities as functions of a runtime: ranking, one entity, timeline, stream, graph, merge and split.

``AsyncMemoryScope`` has each as a method with the same arguments. Entities are derived from the records; a person's
merges and splits are records themselves, statements with ``data``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from memscope import validation
from memscope.errors import InputError, NotFound
from memscope.records import CORRECTIONS, INJECTED, ChangeSet, Insight, Observation, Turn
from memscope.records.identity import statement

if TYPE_CHECKING:
    from memscope.entities.graph import EntityGraph
    from memscope.entities.index import EntityIndex, EntityView, Node
    from memscope.entities.results import By, Entity, EntityDetails, EntityMention, Neighbour, Timeline
    from memscope.pipeline import Host

T = TypeVar("T")
KINDS = ("person", "place", "organisation", "thing", "topic")
MOST, MOST_NODES, MOST_DEPTH = 100_000, 500, 2


async def entities(
    runtime: Host,
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
        view, now = _view(runtime, user, agent, session, as_of)
        return await _ask(runtime, user, view, lambda index: index.top(most, now, kind, start))


async def entity(
    runtime: Host,
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
        view, now = _view(runtime, user, agent, session, as_of)

        def question(index: EntityIndex) -> tuple[Entity, list[str], list[Neighbour]]:
            node, found = _named(index, name, now)
            keys = [index.turns[place].key for place in node.turns[-most:]]
            return found, [*keys, *node.facts[-most:], *node.insights[-most:]], index.neighbours(node)[:most]

        found, ids, neighbours = await _ask(runtime, user, view, question)
        fetched = (await runtime.store.fetch(user, ids)).records
        records = [fetched[id] for id in ids if id in fetched]
        return EntityDetails(
            found,
            facts=tuple(one for one in records if isinstance(one, Observation)),
            turns=tuple(one for one in records if isinstance(one, Turn)),
            insights=tuple(one for one in records if isinstance(one, Insight)),
            neighbours=tuple(neighbours),
        )


async def timeline(
    runtime: Host,
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
        view, now = _view(runtime, user, agent, session, as_of)
        local = runtime.now(validation.zone(zone)).tzinfo
        assert local is not None

        def question(index: EntityIndex) -> Timeline:
            node, found = (None, None) if entity is None else _named(index, entity, now)
            return timeline(index, node, found, by, local)

        return await _ask(runtime, user, view, question)


async def stream(
    runtime: Host,
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
        view, _ = _view(runtime, user, agent, session, as_of)
        return await _ask(runtime, user, view, lambda index: index.mentions(most))


async def graph(
    runtime: Host,
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
    from memscope.entities.graph import make_graph, reach

    most, edges = validation.count("top", top, MOST_NODES), validation.count("depth", depth, MOST_DEPTH)
    async with runtime.operation("entities"):
        view, now = _view(runtime, user, agent, session, as_of)
        asked = validation.ids("names", names)

        def question(index: EntityIndex) -> EntityGraph:
            starts = list(dict.fromkeys(_named(index, name, now)[0].number for name in asked))
            best = [] if asked else index.best(most, now)
            ranked = {node.number: min(rank, 1) for rank, node in enumerate(best)}
            return make_graph(index, reach(index, starts, edges, most) if asked else ranked)

        found = await _ask(runtime, user, view, question)
        fetched = (await runtime.store.fetch(user, [one.id for one in found.edges if one.id])).records
        return found.worded({str(id): one.text for id, one in fetched.items()})


async def merge_entities(runtime: Host, user: str, name: str, other: str, *, agent: str | None = None) -> Entity:
    """Say that ``other`` is the entity ``name``; return it. A role that is said is a name as well ("my sister").

    ``agent``: for this one alone, else for all. Undone by ``split_entities``, or by forgetting the statement that this
    makes. ``NotFound`` for a name that is not mentioned.
    """
    return await _correct(runtime, user, agent, "merge", name, other)


async def split_entities(runtime: Host, user: str, name: str, other: str, *, agent: str | None = None) -> Entity:
    """Say that the alias ``other`` is not the entity ``name``; return this one. No rule joins ``other`` again.

    ``InputError`` if they are two already. See ``merge_entities``.
    """
    return await _correct(runtime, user, agent, "split", name, other)


async def _correct(runtime: Host, user: str, agent: str | None, step: str, name: str, other: str) -> Entity:
    from memscope.text.names import name_form

    view, now = _view(runtime, user, agent, None, None)
    names = [validation.identifier("name", name), validation.identifier("other", other)]

    def question(index: EntityIndex) -> list[str]:
        found = [index.find(one) for one in names]
        if missing := [one for one in names if not index.called(one)]:
            raise NotFound(f"no entity is called {missing[0]!r} here", hint="entities lists those there are")
        if step == "split" and (found[0] is None or found[0] is not found[1]):
            raise InputError(f"{names[0]!r} and {names[1]!r} are not one entity", hint="entity shows the aliases")
        if name_form(names[0]) == name_form(names[1]):
            raise InputError(f"{names[0]!r} and {names[1]!r} are the same name", hint="give two names")
        headed = found[0] is not None and step == "split" and name_form(found[0].name) == name_form(names[1])
        return names[::-1] if headed else names

    async with runtime.operation("entities"):
        first, second = await _ask(runtime, user, view, question)
        text = f"{second} {'=' if step == 'merge' else '≠'} {first}"
        given = {"role": "user", "content": text, "metadata": {INJECTED: True}}
        turn, timed = await runtime.check_statement(given, validation.scope(user, agent))
        draft, memory = statement(
            await runtime.secret(), turn, timed=timed, data={"step": step, "name": first, "other": second},
            name=" | ".join(sorted(map(name_form, names))), namespace=CORRECTIONS, level=0,  # no part of a profile
        )  # fmt: skip
        await runtime.store.append(user, [draft], ChangeSet(new=(memory,)))
        return await _ask(runtime, user, view, lambda index: _named(index, first, now)[1])


def _view(
    runtime: Host, user: str, agent: str | None, session: str | None, as_of: datetime | str | None
) -> tuple[EntityView, datetime]:
    """Returns what the reader may see, and the time its scores are of."""
    from memscope.entities.index import EntityView

    where = validation.scope(user, agent, session)
    then = None if as_of is None else validation.when("as_of", as_of, runtime.zone)
    now = runtime.clock()
    return EntityView(where.agent, where.session, then, now), then or now


async def _ask(runtime: Host, user: str, view: EntityView, question: Callable[[EntityIndex], T]) -> T:
    from memscope.entities.cache import ask

    return await ask(runtime.store, user, view, question)


def _named(index: EntityIndex, name: object, now: datetime) -> tuple[Node, Entity]:
    given = validation.identifier("name", name)
    node = index.find(given)
    found = index.entity(node, now) if node else None
    if node is None or found is None:
        raise NotFound(f"no entity is called {given!r} here", hint="entities lists those there are")
    return node, found
