"""A query in two: what the caller asks for, and what the steps of retrieve make of it, from its terms to its hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memscope.records import Candidates, Hit, Interval, Json, Kind, LeftOut, Scope, Speak

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memscope.languages.requests import Need
    from memscope.records import VectorSpace


@dataclass(frozen=True, slots=True)
class Request:
    """The caller's part of a query, which no step changes."""

    text: str
    scope: Scope
    now: datetime
    k: int = 10
    expand_lists: bool = False  # take more hits for a question for all of a class
    as_of: datetime | None = None
    exclude: frozenset[str] = frozenset()
    filter: Mapping[str, Json] | None = None
    kinds: frozenset[Kind] = frozenset({"turn", "observation", "insight"})
    explain: bool = False
    asks_profile: bool = False  # the profile alone, without a question
    profile_tokens: int = 200
    speak: Speak = "always"  # "when_needed": show no more than the message needs


@dataclass(frozen=True, slots=True)
class Query(Request):
    """The batch of the retrieve workers: the request, and each step's results."""

    # understand
    terms: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()  # weight of each term, 1 or less
    told_terms: int = 0  # terms in sentences that ask nothing, where there are several of these
    undated: frozenset[int] = frozenset()  # terms that look like a date and are of none
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
    is_list_question: bool = False  # all of a class, not one thing
    list_k: int = 0  # hits for such a question, the first k among them; 0: no more than k
    about_talk: bool = False  # about the conversation itself: mere questions are evidence too
    need: Need = "user"  # what the message needs of memory, as far as it was asked to speak when needed
    about_user: bool = False  # asks for everything known about the user
    # search
    vector: NDArray[np.float32] | None = None
    space: VectorSpace | None = None
    cjk_vectors: bool = True  # the embedder makes sense of CJK text
    candidates: Candidates | None = None
    # rank
    order: tuple[int, ...] = ()  # rows of the candidates, best first, one a turn or insight
    features: tuple[Any, ...] = ()  # the columns of values, each a ``features.Feature``
    values: NDArray[np.float32] | None = None  # [candidates, features]
    scores: NDArray[np.float32] | None = None  # [candidates]
    repeated_questions: int = 0  # turns that only asked the same: no evidence
    # limit_lines
    limited: int = 0  # candidates that the message does not need
    # rerank
    reranked: int = 0  # how many of order a rerank model has put in place; their scores are its
    # profile
    profile: tuple[Hit, ...] = ()
    # gather
    hits: tuple[Hit, ...] = ()
    gone: int = 0
    left_out: tuple[LeftOut, ...] = ()
    reason: str = ""
