"""What memscope keeps and says: frozen dataclasses, checked once where they come in (``intake.py``).

    Turn ──▶ Observation ──▶ Insight            every memory names its sources
      └────────────┴────────────┴──▶ Unit       what is searched
                                      └──▶ Hit  what a question gets

Times are zone-aware. Text is kept verbatim. ``Draft``, ``Plan``, ``Claim``, ``Select``, ``Search`` and ``Candidates`` are
the words between the operations and a store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Handle: TypeAlias = str | int  # an id, or what a store's search gave in its place
Json: TypeAlias = Any  # None, bool, int, float, str, lists and dicts of these
Role = Literal["user", "assistant", "system", "tool", "person"]
Kind = Literal["turn", "observation", "insight"]
Stage = Literal["embed", "consolidate", "reflect"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool", "person")
INJECTED = "memscope_injected"  # in a turn's metadata: memory put these words there, nothing is learned from them


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory. ``user`` is the boundary; ``agent`` and ``session`` say where it came from, or narrow a read."""

    user: str
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time ``[start, end)``."""

    start: datetime
    end: datetime

    def __contains__(self, when: datetime) -> bool:
        return self.start <= when < self.end

    def overlaps(self, other: Interval) -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as it was said. ``key`` is unique per user; ``seq`` is its place in the user's memory (from 1)."""

    key: str
    scope: Scope
    role: Role
    speaker: str
    text: str
    time: datetime
    recorded: datetime
    metadata: Mapping[str, Json] = field(default_factory=dict)
    statement: bool = False
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Quote:
    """The words of a source turn that a memory rests on."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What was derived from turns. It is superseded (``closed``), never overwritten.

    ``happened`` is the time it is about, ``valid_from``/``valid_to`` how long it held in the world,
    ``recorded``/``closed`` how long memscope took it for current. ``said`` is when its newest source was said,
    ``closed_said`` when that was said which closed it.
    """

    id: str
    scope: Scope
    text: str
    sources: tuple[str, ...]
    said: datetime
    recorded: datetime
    happened: Interval | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    closed: datetime | None = None
    closed_said: datetime | None = None
    superseded_by: str | None = None
    version: int = 1
    origin: str = "consolidate"
    proposed: bool = False
    name: str | None = None
    namespace: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    expires: datetime | None = None

    @property
    def current(self) -> bool:
        return self.closed is None and not self.proposed


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(Memory):
    """A dated fact taken from turns. ``sources`` are turn keys; ``level`` is the 0-3 informativeness scale."""

    about: str = "user"
    quotes: tuple[Quote, ...] = ()
    keywords: tuple[str, ...] = ()
    level: int = 3
    fiction: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight(Memory):
    """What several observations say about one subject. ``sources`` are observation ids."""

    subject: str


Record: TypeAlias = Turn | Observation | Insight


# ------------------------------------------------------------------------------------------------ between core and store


@dataclass(frozen=True, slots=True)
class Draft:
    """A turn on its way in. With ``base`` the store allots the key: ``turn_key(base, n)`` with the first free n."""

    turn: Turn
    base: bytes | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """Memory ``id`` is superseded: by another, or by nothing (``by=None``). ``said`` as in ``Memory.closed_said``."""

    id: str
    by: str | None
    at: datetime
    said: datetime
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """A memory with a new content under its old id; refused unless the store still has version ``expected``."""

    memory: Observation | Insight
    expected: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written, decided before it is written; applying it twice changes nothing the second time.

    ``done`` are the items of the claim that are dealt with; ``vectors`` maps unit ids to float32 vectors (stage embed).
    """

    new: tuple[Observation | Insight, ...] = ()
    closed: tuple[Closing, ...] = ()
    revised: tuple[Revision, ...] = ()
    done: tuple[str, ...] = ()
    vectors: Mapping[str, Sequence[float] | NDArray[np.float32]] = field(default_factory=dict)
    report: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """Work leased to one worker until ``until`` (store time).

    ``items`` are turn keys (consolidate), observation ids (reflect) or unit ids (embed, with their ``texts``).
    ``plan`` is what an earlier worker saved before it died: apply it, do not ask the model again.
    """

    id: str
    stage: Stage
    user: str
    token: str
    until: datetime
    attempt: int
    items: tuple[str, ...]
    texts: tuple[str, ...] = ()
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """Per draft, in order: its key and ``"stored" | "duplicate" | "forgotten"``."""

    keys: tuple[str, ...]
    outcomes: tuple[Literal["stored", "duplicate", "forgotten"], ...]


@dataclass(frozen=True, slots=True)
class Select:
    """Which records of a user. Unset means all; conditions are joined by "and".

    ``period`` is when a turn was said, or a memory was said or happened; ``pending`` those that still wait for a stage
    (leased, failed and parked ones included); ``live_at`` leaves out what has expired by then.
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


@dataclass(frozen=True, slots=True)
class Fetched:
    """``records`` by the handle asked for, unknown ones left out; ``derived`` the memories that name it as a source."""

    records: Mapping[Handle, Record]
    derived: Mapping[Handle, tuple[Observation | Insight, ...]]


@dataclass(frozen=True, slots=True)
class Space:
    """What makes vectors comparable."""

    model: str
    dims: int


@dataclass(frozen=True, slots=True)
class Search:
    """One question to a store. ``terms`` are the query's distinct term hashes, ``pairs`` indices of neighbours in them."""

    scope: Scope
    terms: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    periods: tuple[Interval, ...] = ()
    vector: NDArray[np.float32] | None = None
    space: Space | None = None
    as_of: datetime | None = None
    now: datetime | None = None
    kinds: frozenset[Kind] = frozenset({"turn", "observation", "insight"})
    exclude: frozenset[str] = frozenset()
    filter: Mapping[str, Json] | None = None


# ---------------------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Feature:
    """One line of ``explain``: contribution = value x weight."""

    name: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn with the current observations that rest on it, or an insight.

    ``found_by`` names the legs that brought it ("text", "period", "user", "vector"); ``matched`` are those of
    ``observations`` that lent it words the query has; ``changed`` is set when an observation of the turn was superseded;
    ``part`` says which of ``text.chunks`` of a long turn fitted best.
    """

    turn: Turn | None
    insight: Insight | None
    score: float
    found_by: tuple[str, ...]
    observations: tuple[Observation, ...] = ()
    matched: tuple[Observation, ...] = ()
    changed: datetime | None = None
    part: int = 0
    features: tuple[Feature, ...] = ()

    @property
    def id(self) -> str:
        return self.turn.key if self.turn else self.insight.id if self.insight else ""

    @property
    def text(self) -> str:
        """What a line prints: the observations that matched, else the insight, else the turn's own words."""
        if self.matched:
            return " ".join(memory.text for memory in self.matched)
        return self.insight.text if self.insight else self.turn.text if self.turn else ""

    @property
    def time(self) -> datetime:
        return self.turn.time if self.turn else self.insight.said  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True)
class Retrieval(Sequence[Hit]):
    """The hits, best first. ``reason`` says why there is none, or what was left out (an embedder that failed)."""

    hits: tuple[Hit, ...] = ()
    reason: str = ""
    periods: tuple[Interval, ...] = ()
    considered: int = 0
    explanation: str = ""

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, slots=True)
class AddReport:
    """What ``add_turns`` did; ``keys`` in the order of the turns given."""

    stored: int = 0
    duplicates: int = 0
    forgotten: int = 0
    repaired: int = 0
    skipped_parts: int = 0
    clock_suspect: int = 0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """A receipt without content. ``physical`` is "wiped", or "pending" with the ``reason`` until ``compact``."""

    turns: int = 0
    observations: int = 0
    insights: int = 0
    vectors: int = 0
    rederive: int = 0
    remaining: int = 0
    physical: Literal["wiped", "pending", "none"] = "none"
    reason: str = ""
    dry_run: bool = False
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkReport:
    """What a consolidate or reflect did, in MemoryScope's manner of memory actions. ``model`` is "none" without one."""

    operation: str
    model: str
    actions: tuple[Mapping[str, Json], ...] = ()
    new: int = 0
    merged: int = 0
    superseded: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    done: int = 0
    pending: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    prompt_characters: int = 0
    milliseconds: float = 0.0
    preview: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a store, or of one user in it. ``pending``/``failed``/``parked`` are items by stage; ``errors`` by code."""

    users: int
    turns: int
    observations: int
    insights: int
    units: int
    vectors: int
    pending: Mapping[str, int]
    failed: Mapping[str, int]
    parked: Mapping[str, int]
    errors: Mapping[str, int]
    space: Space | None
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a store found, as columns (n candidates, q query terms): what the one ranking in ``retrieval/`` reads.

    A candidate is a unit with its neighbours in the session. ``tf*`` are term frequencies of the query's terms in the unit
    and in the one or two units before and after it, ``length*`` their lengths in terms; where current observations lend
    the unit their words, ``tf`` is the maximum. Missing neighbours are zeros.
    """

    terms: tuple[int, ...]
    document_frequency: NDArray[np.float32]  # [q] units of the scope with the term
    units: int
    average_length: float
    average_session_length: float
    handle: Sequence[Handle]  # [n] of the turn or insight, for ``fetch``; several units of one turn have the same
    unit: NDArray[np.int64]  # [n] the unit's sequence number
    part: NDArray[np.uint16]  # [n] which of ``text.chunks`` of its turn it is
    tf: NDArray[np.float32]  # [n, q]
    tf_neighbours: NDArray[np.float32]  # [n, 4, q] two before, one before, one after, two after
    tf_header: NDArray[np.float32]  # [n, q] date and speaker
    length: NDArray[np.float32]  # [n]
    length_neighbours: NDArray[np.float32]  # [n, 4]
    session: NDArray[np.int64]  # [n]
    session_length: NDArray[np.float32]  # [n] terms in the whole session
    pairs: NDArray[np.float32]  # [n] distinct pairs of the query that stand side by side in the unit
    flags: NDArray[np.uint16]  # [n] text.Flag
    flags_before: NDArray[np.uint16]  # [n] of the unit before
    kind: NDArray[np.uint8]  # [n] 0 turn, 2 insight
    role: NDArray[np.uint8]  # [n] index into ROLES
    speaker: NDArray[np.uint32]  # [n] term of the speaker's name
    speakers: NDArray[np.uint32]  # the distinct ones of the scope
    has_roles: bool  # the scope has assistant turns
    time: NDArray[np.int64]  # [n] microseconds since 1970, when said or (insight) last said
    period: NDArray[np.float32]  # [n] 1 inside a period asked for, 0.5 shortly after it, else 0
    cosine: NDArray[np.float32]  # [n] NaN where there is no vector
    lent: NDArray[np.bool_]  # [n] an observation lent a term the query has
    legs: NDArray[np.uint8]  # [n] bits: 1 text, 2 period, 4 user, 8 vector
    records: Mapping[Handle, Record] = field(default_factory=dict)  # those that came along, so that nobody asks again
