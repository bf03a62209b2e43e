"""Random calls on a store, chosen by its state: records have fixed ids, claims their ordinal, so that any store can be
given the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from memscope.records import (
    Insight,
    Interval,
    Observation,
    Scope,
    Supersession,
    Turn,
    TurnInsert,
    VectorSpace,
)
from memscope_testing.records import START, at

Memory = Observation | Insight
USERS = ("alice", "bob")
KEYS = tuple(f"k{n}" for n in range(6))
STATEMENTS = frozenset(KEYS[-2:])
MEMORIES = tuple(f"m{n}" for n in range(7))
IDS = (*KEYS, *MEMORIES, "missing")
WORDS = ("Alice moved to Berlin.", "She likes tea.", "It rains in Berlin?", "我搬到柏林了")
SPACES = (VectorSpace("small", 2), VectorSpace("other", 2), VectorSpace("wide", 3))
NO_SPACE = VectorSpace("flat", 0)
STAGES = ("embed", "consolidate", "reflect")


@dataclass
class Seen:
    """State of the first store: per user the ids stored and those of superseders; stages of the claims given."""

    stored: Mapping[str, Sequence[str]] = field(default_factory=dict)
    superseders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    claims: Sequence[str] = ()


@dataclass(frozen=True)
class Call:
    name: str
    fields: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"


def maybe(strategy: st.SearchStrategy[Any], *, often: bool = False) -> st.SearchStrategy[Any]:
    return st.one_of(strategy, strategy, st.none()) if often else st.one_of(st.none(), st.none(), strategy)


users = st.sampled_from(("alice", "alice", "alice", "bob"))
someone = st.one_of(users, st.none())
times = st.integers(0, 6).map(at)
agents = st.sampled_from((None, None, "x", "y"))
names = st.sampled_from((None, "n"))
extra: st.SearchStrategy[Any] = st.sampled_from(({}, {}, {"n": 1}, {"n": 2, "s": "x"}))
periods = st.builds(lambda first, length: Interval(at(first), at(first + length)), st.integers(0, 5), st.integers(1, 3))
stages = st.sampled_from(STAGES)
leases = st.sampled_from((0, 30, 60))


def mostly(likely: Sequence[str], other: Sequence[str]) -> st.SearchStrategy[str]:
    """One of the likely ids three times out of four."""
    return st.sampled_from((*likely, *likely, *likely, *other)) if likely else st.sampled_from(other)


@st.composite
def turns(draw: st.DrawFn) -> TurnInsert:
    key = draw(st.sampled_from(KEYS))
    owner = draw(st.sampled_from((*12 * ("",), "bob")))  # "": the user of the call
    scope = Scope(owner, draw(agents), draw(st.sampled_from((None, "one", "two"))))
    said = Turn(
        key, scope, draw(st.sampled_from(("user", "assistant"))), "Alice", draw(st.sampled_from(WORDS)),
        draw(times), START, draw(extra), statement=key in STATEMENTS,
    )  # fmt: skip
    return TurnInsert(said, draw(st.sampled_from((None, None, None, b"base"))))


@st.composite
def memories(draw: st.DrawFn, ids: st.SearchStrategy[str], sources: st.SearchStrategy[str]) -> Memory:
    id = draw(st.sampled_from(MEMORIES))
    others = sources.filter(lambda one: one != id)
    fields: dict[str, Any] = {
        "id": id,
        "scope": Scope("", draw(agents)),
        "text": draw(st.sampled_from(WORDS)),
        "sources": tuple(draw(st.lists(others, min_size=1, max_size=2))),
        "said": draw(times),
        "recorded": draw(times),
        "happened": draw(maybe(periods)),
        "valid_to": draw(maybe(times)),
        "name": draw(names),
        "namespace": draw(names),
        "data": draw(extra),
        "expires": draw(maybe(times)),
        "proposed": draw(st.sampled_from((False, False, False, True))),
    }
    if draw(st.integers(0, 5)) == 5:
        fields |= {"closed": draw(times), "superseded_by": draw(maybe(ids))}
    if draw(st.integers(0, 3)) == 3:
        return Insight(subject=draw(st.sampled_from(("home", "tea"))), **fields)
    return Observation(**fields)


@st.composite
def revisions(draw: st.DrawFn, ids: st.SearchStrategy[str], sources: st.SearchStrategy[str]) -> dict[str, Any]:
    """A change of the memory as it is read from the store at that moment."""
    fields: dict[str, Any] = {"text": draw(st.sampled_from(WORDS)), "recorded": draw(times)}
    if draw(st.booleans()):
        fields["proposed"] = draw(st.booleans())
    if draw(st.booleans()):
        fields |= {"name": draw(names), "namespace": draw(names), "valid_to": draw(maybe(times))}
    if draw(st.integers(0, 3)) == 3:
        fields["sources"] = tuple(draw(st.lists(sources, min_size=1, max_size=2)))
    if draw(st.integers(0, 3)) == 3:
        fields |= {"closed": draw(times), "superseded_by": draw(maybe(ids))}
    return {"id": draw(ids), "stale": draw(st.integers(0, 5)) == 5, **fields}


class Strategies:
    """The arguments of one user's calls, with ids that are mostly stored."""

    def __init__(self, stored: Sequence[str], superseders: Sequence[str]) -> None:
        self.superseder = mostly(superseders, stored or IDS)
        self.memory = mostly([id for id in stored if id in MEMORIES], MEMORIES)
        self.source = mostly(stored, (*KEYS, *MEMORIES))
        self.id = mostly(stored, IDS)
        self.ids = st.lists(self.id, max_size=4)

    def closing(self) -> st.SearchStrategy[Supersession]:
        return st.builds(Supersession, self.id, maybe(self.memory, often=True), times, times, maybe(times))

    def change_set(self) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries(
            {
                "new": st.lists(memories(self.memory, self.source), max_size=3),
                "closed": st.lists(self.closing(), max_size=2),
                "revised": st.lists(revisions(self.memory, self.source), max_size=1),
                "done": self.ids,
            }
        )

    def selection(self) -> st.SearchStrategy[dict[str, Any]]:
        """Fields of a ``Select``: two conditions at most, or nothing would ever be selected."""
        conditions: dict[str, st.SearchStrategy[Any]] = {
            "agent": st.sampled_from(("x", "y")),
            "session": st.sampled_from(("one", "two")),
            "kinds": st.frozensets(st.sampled_from(("turn", "observation", "insight")), min_size=1),
            "ids": st.frozensets(self.id, max_size=3),
            "period": periods,
            "text": st.sampled_from(("BERLIN", "tea", "柏林")),
            "filter": st.sampled_from(({"n": 1}, {"n": {"$gt": 1}}, {"s": {"$ne": "x"}})),
            "name": st.just("n"),
            "namespace": st.just("n"),
            "current": st.just(True),
            "pending": stages,
            "expired_by": times,
            "live_at": times,
        }
        chosen = st.lists(st.sampled_from(sorted(conditions)), max_size=2, unique=True)
        return chosen.flatmap(lambda names: st.fixed_dictionaries({name: conditions[name] for name in names}))

    def arguments(self, call: str, claims: int) -> dict[str, st.SearchStrategy[Any]]:
        """Those of a call, the user left out; ``claims``: how many it can mean."""
        some = st.fixed_dictionaries({"ids": st.frozensets(self.id, min_size=1, max_size=2)})
        one = st.fixed_dictionaries({"ids": st.frozensets(self.superseder, min_size=1, max_size=1)})
        claim = st.integers(0, max(min(claims, 4) - 1, 0))
        left = st.sets(st.integers(0, 3), max_size=2)
        made: dict[str, Callable[[], dict[str, st.SearchStrategy[Any]]]] = {
            "append": lambda: {"inserts": st.lists(turns(), max_size=4), "change_set": maybe(self.change_set())},
            "apply": lambda: {"change_set": self.change_set()},
            "fetch": lambda: {"ids": self.ids},
            "history": lambda: {"id": self.id},
            "scan": lambda: {"selects": st.lists(self.selection(), min_size=4, max_size=8)},
            "forget": lambda: {
                "select": st.one_of(one, one, some, self.selection()),
                "dry_run": st.sampled_from((False, False, True)),
            },
            "add_tombstones": lambda: {"ids": self.ids},
            "adopt_secret": lambda: {"secret": st.sampled_from((b"s" * 32, b"t" * 32))},
            "search": lambda: {"words": st.sampled_from(WORDS), "vector": st.booleans()},
            "claim": lambda: {"stage": stages, "limit": st.integers(1, 4), "lease_s": leases, "someone": someone},
            "extend": lambda: {"claim": claim, "lease_s": leases},
            "save_reply": lambda: {"claim": claim, "change_set": self.change_set()},
            "complete": lambda: {"claim": claim, "change_set": maybe(self.change_set(), often=True), "left": left},
            "embed": lambda: {
                "claim": claim,
                "numbers": st.sampled_from((1.0, 0.5, 0.5, 0.0, 1e30, float("nan"))),
                "dims": st.sampled_from((2, 2, 2, 2, 3)),
            },
            "fail": lambda: {
                "claim": claim,
                "code": st.sampled_from(("model_timeout", "conflict")),
                "wait_s": st.sampled_from((-60, 0, 45)),
                "counted": st.sampled_from((True, True, False)),
                "change_set": maybe(self.change_set(), often=True),
            },
            "exhaust": lambda: {"stage": stages},
            "give_back": lambda: {"claim": claim},
            "unpark": lambda: {"stage": st.one_of(stages, st.none()), "someone": someone},
            "set_vector_space": lambda: {
                "space": st.sampled_from((*SPACES, VectorSpace("flat", 0))),
                "replace": st.booleans(),
            },
            "tick": lambda: {"seconds": st.sampled_from((1, 30, 45, 100))},
        }
        return made[call]()


OF_A_USER = ("append", "apply", "fetch", "history", "scan", "forget", "add_tombstones", "search", "exhaust")
ANYWAY = (*2 * ("append", "search", "scan"), *3 * ("apply", "claim", "forget"), "fetch", "history", "add_tombstones",
          "exhaust", "adopt_secret", "unpark", "set_vector_space", "tick")  # fmt: skip
OF_A_CLAIM = (*2 * ("complete",), "extend", "save_reply", "fail", "give_back")


def next_call(data: st.DataObject, seen: Seen) -> Call:
    """A call that can do something in this state, most of the time."""
    work = OF_A_CLAIM if seen.claims else ()
    embedding = ("embed", "embed", "embed") if "embed" in seen.claims else ()
    user, name = data.draw(users), data.draw(st.sampled_from((*ANYWAY, *work, *embedding)))
    claims = seen.claims.count("embed") if name == "embed" else len(seen.claims)
    fields = data.draw(
        st.fixed_dictionaries(
            Strategies(seen.stored.get(user, ()), seen.superseders.get(user, ())).arguments(name, claims)
        )
    )
    return Call(name, {"user": user, **fields} if name in OF_A_USER else fields)


def beginning(space: VectorSpace | None) -> list[Call]:
    """Something to work on, for each user."""
    said = [TurnInsert(Turn(key, Scope(""), "user", "Alice", WORDS[0], at(n), START)) for n, key in enumerate(KEYS[:4])]
    held = Observation(id="m0", scope=Scope(""), text=WORDS[1], sources=KEYS[:2], said=at(1), recorded=at(1))
    new = [held, replace(held, id="m1", valid_to=at(9)), replace(held, id="m2", happened=Interval(at(2), at(4)))]
    closed = [Supersession("m1", "m2", at(8), at(8))]
    change_set = {"new": new, "closed": closed, "revised": [], "done": []}
    made = [Call("append", {"user": user, "inserts": said, "change_set": change_set}) for user in USERS]
    if space is None:
        return made
    embed = [
        Call("claim", {"stage": "embed", "limit": 100, "lease_s": 60, "someone": "alice"}),
        Call("embed", {"claim": 0, "numbers": 0.5, "dims": 2}),
    ]
    return [Call("set_vector_space", {"space": space, "replace": False}), *made, *embed]


__all__ = ["IDS", "STAGES", "USERS", "Call", "Seen", "beginning", "next_call"]
