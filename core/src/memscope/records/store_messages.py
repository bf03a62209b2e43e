"""Messages between the operations and a store: writes, leases, queries and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from memscope.records.stored import Handle, Insight, Interval, Json, Kind, Observation, Record, Scope, Stage, Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AppendOutcome: TypeAlias = Literal["stored", "duplicate", "forgotten"]
MAX_WAIT_S = 3600.0  # longest lease, and longest pause before the next attempt


@dataclass(frozen=True, slots=True)
class TurnInsert:
    """A turn to store. With ``base`` the store assigns the key: ``turn_key(base, n)`` with the first free n."""

    turn: Turn
    base: bytes | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """Close memory ``id``, with a successor or without (``by=None``). ``said``: see ``Memory.closed_said``."""

    id: str
    by: str | None
    at: datetime
    said: datetime
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """New content for a memory under its id; refused unless the store still has version ``expected``."""

    memory: Observation | Insight
    expected: int


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A set of writes, decided before any is applied; applying it again changes nothing.

    ``done`` are the claim's finished items; ``vectors`` maps unit ids to float32 vectors (stage embed).
    """

    new: tuple[Observation | Insight, ...] = ()
    closed: tuple[Supersession, ...] = ()
    revised: tuple[Revision, ...] = ()
    done: tuple[str, ...] = ()
    vectors: Mapping[str, Sequence[float] | NDArray[np.float32]] = field(default_factory=dict)
    report: Mapping[str, Json] = field(default_factory=dict)
    expected: Mapping[str, int] = field(default_factory=dict)  # versions of memories; ``Conflict`` if one has another


@dataclass(frozen=True, slots=True)
class Claim:
    """Work leased to one worker until ``until`` (store time).

    ``items`` are turn keys (consolidate), observation ids (reflect) or unit ids (embed, with their ``texts``).
    If an earlier worker saved a ``change_set``, apply it instead of asking the model again.
    """

    id: str
    stage: Stage
    user: str
    token: str
    until: datetime
    attempt: int
    items: tuple[str, ...]
    texts: tuple[str, ...] = ()
    change_set: ChangeSet | None = None


@dataclass(frozen=True, slots=True)
class AppendResult:
    """Key and outcome ("stored", "duplicate" or "forgotten") of each insert, in order."""

    keys: tuple[str, ...]
    outcomes: tuple[AppendOutcome, ...]


@dataclass(frozen=True, slots=True)
class Select:
    """A condition on a user's records. An unset field selects all; set fields are combined by "and".

    ``period`` is when a turn was said, or when a memory was said or happened. ``pending`` selects records waiting for
    consolidate or reflect, including leased, failed and parked ones (none for embed, where units wait). ``live_at``
    excludes records expired by then. ``block`` selects only the block of this label, the agent's own or the shared one.
    """

    user: str
    agent: str | None = None
    session: str | None = None
    kinds: frozenset[Kind] = frozenset({"turn", "observation", "insight"})
    ids: frozenset[str] | None = None
    period: Interval | None = None
    text: str | None = None
    filter: Mapping[str, Json] | None = None
    name: str | None = None
    namespace: str | None = None
    current: bool = False
    pending: Stage | None = None
    expired_by: datetime | None = None
    live_at: datetime | None = None
    block: str | None = None

    def __post_init__(self) -> None:
        if self.block is not None:
            object.__setattr__(self, "ids", frozenset())


@dataclass(frozen=True, slots=True)
class FetchResult:
    """``records`` by handle, unknown handles left out; ``derived``: by handle, the memories derived from it."""

    records: Mapping[Handle, Record]
    derived: Mapping[Handle, tuple[Observation | Insight, ...]]


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The identity of an embedder. Only vectors of one space are comparable."""

    model: str
    dims: int


@dataclass(frozen=True, slots=True)
class Search:
    """One query to a store. ``terms``: hashes of the distinct terms; ``k``: approximate number of hits wanted.

    ``vector`` is in ``space``; ``meaning`` is the query's built-in vector, ``topics`` its everyday topics. With
    ``required``, groups of ``terms``, only turns and insights with all terms of one group are candidates. Any term of
    ``instances`` makes a unit a candidate, such as "leek" for a list of vegetables.
    """

    scope: Scope
    terms: tuple[int, ...]
    periods: tuple[Interval, ...] = ()
    vector: NDArray[np.float32] | None = None
    space: VectorSpace | None = None
    meaning: NDArray[np.float32] | None = None
    topics: tuple[int, ...] = ()
    as_of: datetime | None = None
    now: datetime | None = None
    kinds: frozenset[Kind] = frozenset({"turn", "observation", "insight"})
    exclude: frozenset[str] = frozenset()
    filter: Mapping[str, Json] | None = None
    k: int = 10
    required: tuple[tuple[int, ...], ...] = ()
    instances: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """A store's candidates as columns (n candidates, q query terms), the input of the ranking in ``retrieval/``.

    A candidate is a unit with its neighbours in the session. ``tf*`` are the query terms' frequencies in the unit and
    in up to two units before and after it, ``length*`` their lengths in terms. If current observations attribute terms
    to the unit, ``tf`` is the maximum of both. Missing neighbours are zeros.
    """

    terms: tuple[int, ...]
    document_frequency: NDArray[np.float32]  # [q] units of the scope with the term
    units: int
    average_length: float
    average_session_length: float
    handle: Sequence[Handle]  # [n] for ``fetch``: the turn or insight; units of one turn share it
    unit: NDArray[np.int64]  # [n] the unit's sequence number
    part: NDArray[np.uint16]  # [n] index into ``search.units.chunks`` of its turn
    tf: NDArray[np.float32]  # [n, q]
    tf_neighbours: NDArray[np.float32]  # [n, 4, q] two before, one before, one after, two after
    tf_header: NDArray[np.float32]  # [n, q] date and speaker
    length: NDArray[np.float32]  # [n]
    length_neighbours: NDArray[np.float32]  # [n, 4]
    session: NDArray[np.int64]  # [n]
    session_length: NDArray[np.float32]  # [n] terms in the whole session
    flags: NDArray[np.uint16]  # [n] languages.flags.Flag
    flags_before: NDArray[np.uint16]  # [n] of the previous unit
    kind: NDArray[np.uint8]  # [n] 0 turn, 2 insight
    role: NDArray[np.uint8]  # [n] index into ROLES
    speaker: NDArray[np.uint32]  # [n] term of the speaker's name
    speakers: NDArray[np.uint32]  # distinct speakers of the scope
    has_roles: bool  # the scope has assistant turns
    time: NDArray[np.int64]  # [n] microseconds since 1970: of the turn, or of the newest source of an insight
    period: NDArray[np.float32]  # [n] 1 inside a period of the query, 0.5 shortly after it, else 0
    event: NDArray[np.float32]  # [n] 1 if about a period of the query, 0.5 about a longer overlapping time, else 0
    dated: NDArray[np.bool_]  # [n] the unit, or a memory derived from it, mentions a day
    topic: NDArray[np.float32]  # [n] share of the query's topics in the unit, weighted by rarity
    meaning: NDArray[np.float32]  # [n] cosine of built-in vectors; NaN without one, or if ``cosine`` is known
    cosine: NDArray[np.float32]  # [n] NaN without a vector
    attributed: NDArray[np.bool_]  # [n] an observation attributed a query term to it
    channels: NDArray[np.uint8]  # [n] bits: 1 text, 2 period, 4 user, 8 vector, 16 meaning, 32 topic, 64 instance
    brought: FetchResult | None = None  # records the search returned already, in the form of ``fetch``
