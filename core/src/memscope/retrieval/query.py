"""``Request``: what the caller asks for. ``Query``: the same with what each step of ``retrieve`` adds to it."""

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


@dataclass(frozen=True)
class Request:
    """The caller's part of a query, which no step changes."""

    text: str
    scope: Scope
    now: datetime
    k: int = 10
    expand_lists: bool = False  # return more than k hits for a list question
    as_of: datetime | None = None
    exclude: frozenset[str] = frozenset()
    filter: Mapping[str, Json] | None = None
    kinds: frozenset[Kind] = frozenset({"turn", "observation", "insight"})
    explain: bool = False
    asks_profile: bool = False  # the profile alone, without a question
    profile_tokens: int = 200
    speak: Speak = "always"  # "when_needed": show no more than the message needs


@dataclass(frozen=True)
class Query(Request):
    """The batch of the retrieve workers: the request, and each step's results.

    It has no slots, so that ``pipeline.altered`` can copy it.
    """

    written: str = ""  # the text as the caller wrote it; in ``text`` variants of characters are folded
    # understand
    terms: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()  # weight of each term, 1 or less
    told_terms: int = 0  # terms in sentences without a question mark; 0 unless there are several such sentences
    undated: frozenset[int] = frozenset()  # terms such as "17" that headers have in dates, but that name no date here
    kinds_asked: frozenset[int] = frozenset()  # terms of the kinds of durable facts asked for, such as "home"
    names: frozenset[int] = frozenset()  # every name key that the query may mention
    periods: tuple[Interval, ...] = ()
    asks_number: bool = False
    asks_when: bool = False
    asks_assistant: bool = False
    asks_personally: bool = False  # about the user, or a request of theirs
    asks_ahead: bool = False  # names a time that is not over yet
    asks_period: bool = False  # asks for whatever happens at the times named
    said_then: bool = True  # what was said within the named times may answer, not only what was said before them
    days: frozenset[int] = frozenset()  # terms of the coming days named, which match repeated events
    topics: tuple[int, ...] = ()
    meaning: NDArray[np.float32] | None = None  # the built-in vector
    is_list_question: bool = False  # asks for all of a class, not for one thing
    list_k: int = 0  # hits for a list question, the best k included; 0: k
    about_talk: bool = False  # about the conversation itself, so that questions count as evidence too
    need: Need = "user"  # what the message needs of memory; "user" unless ``speak`` is "when_needed"
    about_user: bool = False  # asks for everything known about the user
    # search
    vector: NDArray[np.float32] | None = None
    space: VectorSpace | None = None
    cjk_vectors: bool = True  # the embedder makes sense of CJK text
    candidates: Candidates | None = None
    # rank
    order: tuple[int, ...] = ()  # rows of the candidates, best first, one per turn or insight
    features: tuple[Any, ...] = ()  # of each column of values its ``features.Feature``
    values: NDArray[np.float32] | None = None  # [candidates, features]
    scores: NDArray[np.float32] | None = None  # [candidates]
    repeated_questions: int = 0  # turns left out because they only ask the same question
    # second_hop
    bridged: frozenset[int] = frozenset()  # rows brought in by a name
    # limit_lines
    limited: int = 0  # candidates that the message does not need
    # rerank
    reranked: int = 0  # rows at the head of order that a rerank model placed; their scores are the model's
    # profile
    profile: tuple[Hit, ...] = ()
    # build_hits
    hits: tuple[Hit, ...] = ()
    gone: int = 0
    left_out: tuple[LeftOut, ...] = ()
    reason: str = ""
