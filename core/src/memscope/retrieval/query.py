"""``Request``: what the caller asks for. ``Query``: the request with the results of each step of ``retrieve``."""

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
    """The caller's part of a query; no step changes it."""

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
    asks_profile: bool = False  # only the profile, without a question
    profile_tokens: int = 200
    speak: Speak = "always"  # "when_needed": show no more than the message needs


@dataclass(frozen=True)
class Query(Request):
    """The state of the retrieve workers: the request and each step's results.

    It has no slots, so that ``pipeline.altered`` can copy it.
    """

    written: str = ""  # the caller's text; ``text`` is in the usual spelling
    # understand
    terms: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()  # weight of each term, 1 or less
    statement_terms: int = 0  # terms in statements; 0 unless there are several statements
    undated: frozenset[int] = frozenset()  # terms that occur in dates of headers but name no date here, such as "17"
    kinds_asked: frozenset[int] = frozenset()  # terms of the requested kinds of durable facts, such as "home"
    names: frozenset[int] = frozenset()  # keys of all names that the query may mention
    periods: tuple[Interval, ...] = ()
    asks_number: bool = False
    asks_when: bool = False
    asks_assistant: bool = False
    asks_personally: bool = False  # about the user, or a request by them
    recalls: bool = False  # about the world by its words, but perhaps one event or thing of the user's
    asks_ahead: bool = False  # names a time that is not over yet, or asks for the day of something to come
    asks_period: bool = False  # asks for anything at the named times
    said_then: bool = True  # words said within the named times may answer, not only earlier ones
    days: frozenset[int] = frozenset()  # terms of the named future days, which match recurring events
    topics: tuple[int, ...] = ()
    meaning: NDArray[np.float32] | None = None  # the built-in vector
    is_list_question: bool = False  # asks for all of a class
    list_k: int = 0  # number of hits for a list question; 0: k
    about_talk: bool = False  # about the conversation itself: questions count as evidence too
    need: Need = "user"  # what the message needs from memory; "user" unless ``speak`` is "when_needed"
    about_user: bool = False  # asks for everything known about the user
    # search
    vector: NDArray[np.float32] | None = None
    space: VectorSpace | None = None
    cjk_vectors: bool = True  # the embedder understands CJK text
    candidates: Candidates | None = None
    # rank
    order: tuple[int, ...] = ()  # rows of the candidates, best first, one per turn or insight
    features: tuple[Any, ...] = ()  # the ``Feature`` of each column of ``values``
    values: NDArray[np.float32] | None = None  # [candidates, features]
    scores: NDArray[np.float32] | None = None  # [candidates]
    repeated_questions: int = 0  # turns left out because they only ask the same question
    # second_hop
    bridged: frozenset[int] = frozenset()  # rows found by a bridge name
    # limit_lines
    limited: int = 0  # candidates cut because the message does not need them
    # rerank
    reranked: int = 0  # leading rows of ``order`` scored by a rerank model
    # profile
    profile: tuple[Hit, ...] = ()
    # build_hits
    hits: tuple[Hit, ...] = ()
    gone: int = 0
    left_out: tuple[LeftOut, ...] = ()
    reason: str = ""
