"""State of a query, from its text to its hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memscope.records import Candidates, Hit, Interval, Json, Kind, LeftOut, Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memscope.records import VectorSpace


@dataclass(frozen=True, slots=True)
class Query:
    """The batch of the retrieve workers: the request, and below it each step's results."""

    query: str
    scope: Scope
    now: datetime
    k: int = 10
    widen: bool = False  # take more hits for a question for all of a class
    as_of: datetime | None = None
    exclude: frozenset[str] = frozenset()
    filter: Mapping[str, Json] | None = None
    kinds: frozenset[Kind] = frozenset({"turn", "observation", "insight"})
    explain: bool = False
    profile_tokens: int = 200
    # understand
    terms: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()  # weight of each term, 1 or less
    kinds_asked: frozenset[int] = frozenset()  # marks of the lasting statements that the query is about
    names: frozenset[int] = frozenset()  # every name key that the query may mention
    periods: tuple[Interval, ...] = ()
    asks_number: bool = False
    asks_when: bool = False
    asks_assistant: bool = False
    asks_personally: bool = False  # about the user, or a wish of theirs
    asks_ahead: bool = False  # names a day of its own that is not over
    asks_period: bool = False  # for whatever happens at the times named
    said_then: bool = True  # what was said in the times named answers, not only what was said before
    days: frozenset[int] = frozenset()  # terms of the days to come that are named, for what is repeated
    topics: tuple[int, ...] = ()
    meaning: NDArray[np.float32] | None = None  # the built-in vector
    asks_all: bool = False  # all of a class, not one thing
    best: int = 0  # hits before the further ones of such a question; 0: all of them
    about_talk: bool = False  # about the conversation itself: mere questions are evidence too
    about_user: bool = False  # asks for everything known about the user
    # search
    vector: NDArray[np.float32] | None = None
    space: VectorSpace | None = None
    cjk_vectors: bool = True  # the embedder makes sense of CJK text
    candidates: Candidates | None = None
    # rank
    order: tuple[int, ...] = ()  # rows of the candidates, best first, one a turn or insight
    values: NDArray[np.float32] | None = None  # [candidates, features]
    scores: NDArray[np.float32] | None = None  # [candidates]
    askings: int = 0  # turns that only asked the same: no evidence
    # rerank
    reranked: int = 0  # how many of order a rerank model has put in place; their scores are its
    # profile
    profile: tuple[Hit, ...] = ()
    # gather
    hits: tuple[Hit, ...] = ()
    gone: int = 0
    left_out: tuple[LeftOut, ...] = ()
    reason: str = ""


def ends_of(query: str, most: int) -> str:
    """Returns the beginning and the end of a query of more than ``most`` characters, half of them each."""
    return query if len(query) <= most else f"{query[: most // 2]}\n{query[-(most // 2) :]}"
