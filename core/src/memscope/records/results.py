"""Results of the operations: hits and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Literal, NamedTuple, overload

from memscope.records import printing
from memscope.records.store_messages import VectorSpace
from memscope.records.stored import Insight, Interval, Json, Observation, Scope, Turn, in_zone

FACT_SEPARATOR = " — "  # between a turn's words and its observations

FoundBy = Literal["text", "period", "user", "vector", "meaning", "topic", "instance", "supersedes"]

#: Reason code of a retrieval without hits.
WhyNothing = Literal["not_needed", "not_searched", "see_profile", "nothing_stored", "gone", "repeated_questions",
                     "nothing_lasting", "nothing_then", "too_few_words", "no_words"]  # fmt: skip

Speak = Literal["when_needed", "always"]  # return hits only when the message needs them, or always


class FeatureValue(NamedTuple):
    """One line of ``explain``: contribution = value x weight."""

    name: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        return self.value * self.weight


class LeftOut(NamedTuple):
    """A candidate that was not shown."""

    id: str
    why: Literal["superseded", "expired", "proposed", "equal"]


class Repeats(NamedTuple):
    """The number of conversations in which a memory was said, and the time of the last."""

    times: int
    last: datetime


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """A turn with the current observations derived from it, or an insight.

    ``found_by`` names the search channels, or is "supersedes" for the successor of a changed hit. ``matched`` are the
    ``observations`` that the line prints, instead of the turn's words or, with ``beside``, after them. ``repeats`` maps
    their ids to how often they were said; ``superseded`` observations no longer hold. ``changed``: the turn's content
    was superseded or corrected. ``part`` is the index of the best of ``search.units.chunks``; if ``words`` is set, the
    line prints only these words of the turn. ``zone`` is the query's, ``asked`` its ``as_of``, else its time. In a
    profile, ``category`` is the topic of the entry ("home", "pets"); ``recent`` marks what is temporary, such as plans.
    """

    turn: Turn | None
    insight: Insight | None
    score: float
    found_by: tuple[FoundBy, ...]
    observations: tuple[Observation, ...] = ()
    matched: tuple[Observation, ...] = ()
    superseded: tuple[Observation, ...] = ()
    changed: datetime | None = None
    part: int = 0
    features: tuple[FeatureValue, ...] = ()
    repeats: Mapping[str, Repeats] = field(default_factory=dict)
    words: str = ""
    zone: tzinfo | None = None
    asked: datetime | None = field(default=None, compare=False)
    category: str = ""
    recent: bool = False
    beside: bool = False

    @property
    def id(self) -> str:
        """Key of the turn, id of the insight or, for a statement, id of its memory."""
        memories = (*self.observations, *self.superseded) if self.turn and self.turn.statement else ()
        return memories[0].id if memories else self.turn.key if self.turn else self.insight.id if self.insight else ""

    @property
    def text(self) -> str:
        """Text of the line: the insight, or the turn's own words, the observations, or both."""
        facts = " ".join(memory.text for memory in self.matched)
        words = self.insight.text if self.insight else self.words or self.turn.text if self.turn else ""
        return f"{words}{FACT_SEPARATOR}{facts}" if facts and self.beside else facts or words

    @property
    def time(self) -> datetime:
        """Time when it was said, in the zone of the query."""
        moment = self.turn.time if self.turn else self.insight.said  # type: ignore[union-attr]
        return in_zone(moment, self.zone) if self.zone else moment

    __repr__ = printing.hit


@dataclass(frozen=True, slots=True, repr=False)
class Retrieval(Sequence[Hit]):
    """The hits, best first. Without hits, ``reason`` says why and what to do; it includes the ``notes``.

    ``why`` is the reason as a code for programs; None if there are hits. ``notes`` list failures on the way, such as an
    embedder's. ``profile`` summarizes the user, lasting facts before recent ones, if the query asks for it, or if a
    question or request finds nothing. ``left_out``: what is not shown.
    """

    hits: tuple[Hit, ...] = ()
    reason: str = ""
    periods: tuple[Interval, ...] = ()
    considered: int = 0
    explanation: str = ""
    profile: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    why: WhyNothing | None = None

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    __repr__ = printing.retrieval
    __str__ = printing.as_text
    _repr_html_ = printing.as_html


@dataclass(frozen=True, slots=True)
class AddReport:
    """Result of ``add_turns``; ``keys`` in the order of the turns, "" for one that is empty or dropped by a plugin."""

    stored: int = 0
    duplicates: int = 0
    forgotten: int = 0
    empty: int = 0
    repaired: int = 0
    skipped_parts: int = 0
    clock_suspect: int = 0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """A receipt without content. ``physical`` is "wiped", or "pending" with the ``reason`` until ``compact``.

    ``blocks`` counts blocks that were removed or lost lines; ``may_hold`` names blocks with lines of unknown source,
    which may repeat forgotten text.
    """

    turns: int = 0
    observations: int = 0
    insights: int = 0
    blocks: int = 0
    may_hold: tuple[str, ...] = ()
    vectors: int = 0
    rederive: int = 0
    remaining: int = 0
    physical: Literal["wiped", "pending", "none"] = "none"
    reason: str = ""
    dry_run: bool = False
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a forget, as a store keeps it: counts, time and scope, no content.

    ``ids``: at most 1,000 of the forgotten ids; none if a whole user was forgotten. ``whole``: all of the scope was
    forgotten, without further conditions.
    """

    id: str
    scope: Scope
    at: datetime
    turns: int = 0
    observations: int = 0
    insights: int = 0
    blocks: int = 0
    ids: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class WorkReport:
    """Result of a consolidate or reflect. ``model`` may be "none"; ``proposed`` memories wait for approval."""

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
    proposed: int = 0
    reason: str = ""  # why items stay pending although nothing failed
    __str__ = printing.work_text


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a store, or of one user in it: ``pending``, ``failed``, ``parked`` by stage, ``errors`` by code."""

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
    space: VectorSpace | None
    blocks: int = 0
    details: Mapping[str, Json] = field(default_factory=dict)
