"""``AsyncEntities``: ranking, details, timeline, stream, graph, merge, split and dismiss for one user.

Entities are derived from records. A person's corrections are records too: statements with ``data``.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, TypeVar

from memscope import validation
from memscope.errors import InputError, NotFound, hint_arguments
from memscope.records import CORRECTIONS, INJECTED, ChangeSet, Insight, Observation, Turn
from memscope.records.identity import fingerprint, statement

if TYPE_CHECKING:
    from memscope.entities.graph import EntityGraph
    from memscope.entities.index import EntityIndex, EntityView, Node
    from memscope.entities.results import By, Entity, EntityDetails, EntityMention, Neighbour, Timeline
    from memscope.services import MemoryOperations

T = TypeVar("T")
ENTITY_KINDS = ("person", "place", "organisation", "thing", "topic")
MAX_ENTITIES, MAX_GRAPH_NODES, MAX_GRAPH_DEPTH = 100_000, 500, 2


@hint_arguments
class AsyncEntities:
    """The people, places, organisations, things and topics that a user's records name.

    Created by ``memory.entities(user, agent=..., session=...)``; an agent or session restricts it to their records.
    """

    def __init__(
        self, runtime: MemoryOperations, user: str, agent: str | None = None, session: str | None = None
    ) -> None:
        self._runtime, self._services, self._where = runtime, runtime.services, validation.scope(user, agent, session)

    async def list(
        self, *, top: int = 20, since: datetime | str | None = None, kind: str | None = None,
        as_of: datetime | str | None = None,
    ) -> builtins.list[Entity]:  # fmt: skip
        """List the entities mentioned most often and most recently, best first (``Entity`` has the formula).

        Args:
            top: maximum number of entities.
            since: count only mentions from this time on.
            kind: person, place, organisation, thing or topic; by default all.
            as_of: answer with what was known at this time.

        Returns:
            The entities, the highest score first.

        Raises:
            InputError: an argument is invalid.
        """
        validation.choice("kind", kind or ENTITY_KINDS[0], *ENTITY_KINDS)
        limit = validation.count("top", top, MAX_ENTITIES)
        async with self._runtime.operation("entities"):
            start = None if since is None else validation.when("since", since, self._services.zone)
            view, now = self._view(as_of)
            return await self._ask(view, lambda index: index.top(limit, now, kind, start))

    async def get(self, name: str, *, top: int = 20, as_of: datetime | str | None = None) -> EntityDetails:
        """Get all that is known about one entity.

        Args:
            name: its name or an alias.
            top: maximum length of each list.
            as_of: answer with what was known at this time.

        Returns:
            The entity with its facts, insights, turns and neighbours.

        Raises:
            NotFound: no entity has this name.
        """
        from memscope.entities.results import EntityDetails

        limit = validation.count("top", top, MAX_ENTITIES)
        async with self._runtime.operation("entities"):
            view, now = self._view(as_of)

            def query(index: EntityIndex) -> tuple[Entity, builtins.list[str], builtins.list[Neighbour]]:
                node, entity = _named(index, name, now)
                keys = [index.turns[place].key for place in node.turns[-limit:]]
                return entity, [*keys, *node.facts[-limit:], *node.insights[-limit:]], index.neighbours(node)[:limit]

            entity, ids, neighbours = await self._ask(view, query)
            fetched = (await self._services.store.fetch(self._where.user, ids)).records
            records = [fetched[id] for id in ids if id in fetched]
            return EntityDetails(
                entity,
                facts=tuple(record for record in records if isinstance(record, Observation)),
                turns=tuple(record for record in records if isinstance(record, Turn)),
                insights=tuple(record for record in records if isinstance(record, Insight)),
                neighbours=tuple(neighbours),
            )

    async def timeline(
        self, entity: str | None = None, *, by: By = "week", as_of: datetime | str | None = None,
        zone: validation.Zone = None,
    ) -> Timeline:  # fmt: skip
        """Count turns per day, week or month, with bursts, rank changes and themes.

        Args:
            entity: a name or an alias; by default all entities.
            by: ``"day"``, ``"week"`` or ``"month"``.
            as_of: answer with what was known at this time.
            zone: time zone of the days, as in ``add_turns``.

        Returns:
            The buckets, oldest first, and the themes.

        Raises:
            NotFound: no entity has this name.
        """
        from memscope.entities.timeline import timeline

        validation.choice("by", by, "day", "week", "month")
        async with self._runtime.operation("entities"):
            chosen = validation.zone(zone)
            view, now = self._view(as_of, chosen)
            local = self._services.now(chosen).tzinfo
            assert local is not None

            def query(index: EntityIndex) -> Timeline:
                node, details = (None, None) if entity is None else _named(index, entity, now)
                return timeline(index, node, details, by, local)

            return await self._ask(view, query)

    async def stream(self, *, limit: int = 100, as_of: datetime | str | None = None) -> builtins.list[EntityMention]:
        """List the newest mentions: which entity was named when and in which turn.

        Args:
            limit: maximum number of mentions.
            as_of: answer with what was known at this time.

        Returns:
            The mentions, oldest first.

        Raises:
            InputError: an argument is invalid.
        """
        count = validation.count("limit", limit, 1_000_000)
        async with self._runtime.operation("entities"):
            view, _ = self._view(as_of)
            return await self._ask(view, lambda index: index.mentions(count))

    async def graph(
        self, names: Sequence[str] = (), *, depth: int = 2, top: int = 50, as_of: datetime | str | None = None
    ) -> EntityGraph:
        """Build the graph of entities that are named in the same turns or related by a fact, with its words.

        Args:
            names: entities whose surroundings are shown; by default those with the highest scores.
            depth: maximum distance from a name in edges, 1 or 2.
            top: maximum number of entities.
            as_of: answer with what was known at this time.

        Returns:
            Nodes and edges, as JSON, GraphML, DOT or SVG.

        Raises:
            NotFound: no entity has one of the names.
        """
        from memscope.entities.graph import make_graph, reach

        limit, edges = validation.count("top", top, MAX_GRAPH_NODES), validation.count("depth", depth, MAX_GRAPH_DEPTH)
        async with self._runtime.operation("entities"):
            view, now = self._view(as_of)
            chosen = validation.ids("names", names)

            def query(index: EntityIndex) -> EntityGraph:
                starts = builtins.list(dict.fromkeys(_named(index, name, now)[0].number for name in chosen))
                best = [] if chosen else index.best(limit, now)
                ranked = {node.number: min(rank, 1) for rank, node in enumerate(best)}
                return make_graph(index, reach(index, starts, edges, limit) if chosen else ranked)

            drawn = await self._ask(view, query)
            facts = [edge.id for edge in drawn.edges if edge.id]
            fetched = (await self._services.store.fetch(self._where.user, facts)).records
            return drawn.worded({str(id): fact.text for id, fact in fetched.items()})

    async def merge(self, name: str, other: str) -> Entity:
        """Say that ``other`` is the entity ``name``; a role is a name as well ("my sister").

        Undone by ``split``, or by forgetting the statement that this stores. Holds in every session; with an agent, for
        that agent alone, else for all.

        Args:
            name: a name that is mentioned.
            other: the second name of the same entity.

        Returns:
            The entity with both names.

        Raises:
            NotFound: one of the names is not mentioned.
            InputError: both are the same name.
        """
        return await self._correct("merge", name, other, "=")

    async def split(self, name: str, other: str) -> Entity:
        """Say that the alias ``other`` is not the entity ``name``; no rule joins ``other`` again.

        Args:
            name: a name of the entity.
            other: the alias that is another entity.

        Returns:
            The entity without the alias.

        Raises:
            NotFound: one of the names is not mentioned.
            InputError: they are two entities already.
        """
        return await self._correct("split", name, other, "≠")

    async def dismiss(self, name: str) -> None:
        """Say that ``name`` is not an entity; nothing lists it any more.

        Undone by a ``merge`` with it, or by forgetting the statement that this stores.

        Args:
            name: a name that is mentioned; aliases of the entity stay.

        Raises:
            NotFound: the name is not mentioned.
        """
        await self._state("dismiss", name, name, "∉")

    # ---- inside

    async def _correct(self, step: str, name: str, other: str, sign: str) -> Entity:
        view, first = await self._state(step, name, other, sign)
        return await self._ask(view, lambda index: _named(index, first, view.now)[1])

    async def _state(self, step: str, name: str, other: str, sign: str) -> tuple[EntityView, str]:
        """Store the correction as a statement; return the view that sees it, and the name that stays."""
        from memscope.languages.names import name_form

        where = validation.scope(self._where.user, self._where.agent)
        view = self._view(None)[0]._replace(session=None)
        names = [validation.identifier("name", name), validation.identifier("other", other)]
        async with self._runtime.operation("entities"):
            first, second = await self._ask(view, lambda index: _ordered(index, step, names))
            text = f"{second} {sign} {first}" if second != first else f"{first} {sign}"
            message = {"role": "user", "content": text, "metadata": {INJECTED: True}}
            turn, timed = await self._runtime.check_statement(message, where)
            await self._ask(view, lambda index: _ordered(index, step, names))  # again: a plugin may take its time
            document = repr((where.agent, sorted({*map(name_form, names)})))  # one per agent, of any length
            draft, memory = statement(
                await self._runtime.secret(), turn, timed=timed, data={"step": step, "name": first, "other": second},
                name=fingerprint(document, 16), namespace=CORRECTIONS, level=0,  # not for profiles
            )  # fmt: skip
            await self._services.store.append(where.user, [draft], ChangeSet(new=(memory,)))
            return view, first

    def _view(self, as_of: datetime | str | None, zone: tzinfo | None = None) -> tuple[EntityView, datetime]:
        """Return the records that the reader may see, and the time of their scores."""
        from memscope.entities.index import EntityView

        then = None if as_of is None else validation.when("as_of", as_of, zone or self._services.zone)
        now = self._services.clock()
        return EntityView(self._where.agent, self._where.session, then, now), then or now

    async def _ask(self, view: EntityView, query: Callable[[EntityIndex], T]) -> T:
        from memscope.entities.cache import ask

        return await ask(self._services.store, self._where.user, view, query)


def _ordered(index: EntityIndex, step: str, names: Sequence[str]) -> list[str]:
    """Return the name that stays, then the other; raise as ``merge`` and ``split`` do."""
    from memscope.languages.names import name_form

    first, second = (index.find(name) for name in names)
    if missing := [name for name in names if not index.is_mentioned(name)]:
        raise NotFound(f"no entity is called {missing[0]!r} here", hint="entities lists those there are")
    if step == "split" and (first is None or first is not second):
        raise InputError(f"{names[0]!r} and {names[1]!r} are not one entity", hint="entity shows the aliases")
    if step != "dismiss" and name_form(names[0]) == name_form(names[1]):
        raise InputError(f"{names[0]!r} and {names[1]!r} are the same name", hint="give two names")
    is_head = first is not None and step == "split" and name_form(first.name) == name_form(names[1])
    return [*reversed(names)] if is_head else [*names]


def _named(index: EntityIndex, name: object, now: datetime) -> tuple[Node, Entity]:
    asked = validation.identifier("name", name)
    node = index.find(asked)
    entity = index.entity(node, now) if node else None
    if node is None or entity is None:
        raise NotFound(f"no entity is called {asked!r} here", hint="entities lists those there are")
    return node, entity
