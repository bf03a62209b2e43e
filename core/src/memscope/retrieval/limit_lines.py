"""Show only as many lines as a message needs: few about the world, wishes for a task, none for small talk.

The wording decides (``languages.requests``), but memory may overrule it: a message becomes one about the user if it
names a person memory knows, or a day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import filterfalse

import numpy as np
from numpy.typing import NDArray

from memscope import languages
from memscope.languages.durable_facts import MAX_DURABILITY, TASTE_TERMS, WISH_TERMS
from memscope.languages.flags import DURABILITY_SHIFT, Flag
from memscope.languages.names import names
from memscope.languages.requests import NEEDS_USER
from memscope.pipeline import altered, worker
from memscope.records import Candidates, Handle
from memscope.retrieval.capitals import CAPITALISED
from memscope.retrieval.features import FILLER_WEIGHT, MIN_MEANING_COSINE, MIN_WORD_COVERAGE, FeatureInputs
from memscope.retrieval.following import with_following
from memscope.retrieval.hits import fetch
from memscope.retrieval.query import Query
from memscope.retrieval.restatements import STATEMENT_LEVEL, evidence_level
from memscope.search.snapshot import TURN_BEFORE
from memscope.search.units import ASSISTANT_ROLE, INSIGHT, USER_ROLE
from memscope.services import Services
from memscope.text.language import has_cjk
from memscope.text.terms import terms
from memscope.text.tokens import pieces

MAX_LINES = 3
MAX_PERHAPS_LINES = 6  # beside wishes and tastes, for a message that perhaps needs facts about the user
MAX_NAMING_LINES, MAX_NAMING_CHARS = 6, 1000  # of the best lines, and of each, read for the names of people
# A line may score this many spreads less than the best; the spread is the distance from the best score to the quantile
# SPREAD_QUANTILE. If the question's words were found; if its only word was (later statements may lack it); else.
REACH, ONE_WORD_REACH, UNMATCHED_REACH = 0.7, 1.0, 0.85
SPREAD_QUANTILE = 0.7  # quantile of the scores that the spread is measured to
FEW_LINES = 4  # as few lines as this are all shown, whatever their score
MIN_SPREAD = 6.0  # in points; among few lines the quantile may lie just below the best
MIN_QUESTION_WORD_SHARE, MIN_QUESTION_WORDS = 0.45, 2  # of the words of a question about the user, in one statement
MAX_KIND_WORDS = 1.7  # of a list question that only names a kind; CJK pairs may overlap the interrogative
MIN_TOPIC_SHARE = 0.5  # of the question's topics, in a line of a list
MIN_KIND_COVERAGE = 0.75  # of the words of a question about a kind of thing: "What does a session cost?"
COSINE_WEIGHT = 2.0  # of an embedder beside topics; without one, built-in vectors count once
# of a line about the user for "How did the interview go?": share of the words, topic (at this weight) and cosine
MIN_RECALLED_LIKENESS, RECALLED_TOPIC_WEIGHT = 0.6, 0.4
MAX_GREETING_WORDS = 2  # with content
MAX_WISHES = 2  # lines reserved for standing wishes
# Shares of the lines reserved for the user's lasting statements. For a choice: if the best line lacks its words; if it
# has them. For a question about the user whose words were not found: if no statement has all of them; if one has.
CHOICE_SHARES, STATEMENT_SHARES = (0.7, 0.4), (0.4, 0.2)
MAX_SHARE_OF_STORE = 0.2  # in a small store, they are shares of this part of its lines, or ``MAX_LINES``
MIN_CHOICE_DURABILITY, MIN_DURABILITY = 2, 3  # of such a statement; health and tastes need none
# weights of durability and of health or a taste, next to topic and meaning (at most about 1 each); factor of topic
# and meaning for a statement about health or a taste
DURABILITY_WEIGHT, TASTE_WEIGHT, NEAR_TASTE_WEIGHT = 2.0, 0.3, 2.0


@worker(
    reads=("need", "order", "candidates", "terms", "weights", "names", "asks_period", "asks_ahead", "topics",
           "about_user", "text", "scope", "k", "speak", "scores", "is_list_question", "bridged", "asks_personally",
           "days", "said_then", "kinds_asked", "about_talk", "asks_assistant", "asks_number", "asks_when", "recalls",
           "statement_terms"),
    writes=("order", "limited", "need"),
)  # fmt: skip
async def limit_lines(query: Query, ctx: Services) -> Query:
    """Cut the order to the lines that the message needs; ``limited`` counts the lines that were cut."""
    candidates = query.candidates
    if query.speak == "always" or candidates is None or query.about_user:
        return query
    inputs = FeatureInputs(query, candidates)
    if query.need in ("perhaps", "world", "kind", "talk") and await _is_about_the_user(inputs, ctx):
        query = altered(query, need="user")
    if query.need in NEEDS_USER:
        answered = query.asks_personally and _is_in_a_statement(inputs.answers_all, inputs)
        met = _is_matched(inputs, answered)
        if (met or answered) and query.asks_when and not query.asks_period:
            # lines about other coming days are no answer
            inputs = FeatureInputs(query, replace(candidates, event=np.zeros_like(candidates.event)))
        matched = bool((inputs.coverage[list(query.order[:1])] >= MIN_WORD_COVERAGE).any())  # of the best line
        likely = _within_reach(inputs, met or (matched and not answered), answered)
        rows = await with_following(inputs, tuple(filterfalse(_is_idle(inputs).__getitem__, likely)), ctx)
        unsure = query.need == "perhaps"
        rows = rows[:MAX_PERHAPS_LINES] if unsure else rows
        shares = CHOICE_SHARES[matched], 0.0 if met or unsure else STATEMENT_SHARES[answered]
        order = _with_wishes_and_statements(query, rows, candidates, *shares)
        return altered(query, order=order, limited=len(query.order) - len(rows))
    rows = _standing_wishes(candidates)
    if query.need in ("world", "kind"):
        rows = tuple(dict.fromkeys((*rows, *await with_following(inputs, _covered(inputs), ctx))))
    return altered(query, order=rows, limited=len(query.order) - len(rows))


def _within_reach(inputs: FeatureInputs, met: bool, answered: bool) -> tuple[int, ...]:
    """Return the rows near the best score. A list question keeps the rows of its kind if there are any, a question
    about a time the rows about that time.

    Lines from a second hop and about an event of the requested time always stay. If another line answers, or none has
    the question's words, a line needs evidence of its own. If few words were found, it must be a lasting one, or share
    a word, a topic and the meaning. If the question is neither about the user nor a choice, it must share a word, the
    subject or a name.
    """
    query, candidates = inputs.query, inputs.candidates
    if not query.order or query.scores is None:
        return query.order
    if query.asks_period:
        timed = _is_of_the_time(inputs)
        greets = inputs.has(Flag.GREETING) & (candidates.length <= MAX_GREETING_WORDS)
        rows = [row for row in query.order if timed[row] or row in query.bridged]
        return tuple(sorted(rows, key=greets.__getitem__))  # "Hello again" last
    if query.is_list_question:
        of_kind = _states_the_kind(inputs)
        return tuple([row for row in query.order if of_kind[row] or row in query.bridged])
    scores = query.scores[list(query.order)]
    spread = max(MIN_SPREAD, float(scores[0] - np.quantile(scores, SPREAD_QUANTILE)))
    least = scores[0] - (REACH if met else ONE_WORD_REACH if answered else UNMATCHED_REACH) * spread
    near = (query.scores >= least) | (candidates.event > 0) | (len(scores) <= FEW_LINES)
    if answered or not met:
        near &= _has_own_evidence(inputs)
    if not (met or query.about_talk or query.asks_assistant):
        lasts = (candidates.flags >> DURABILITY_SHIFT > 0) | inputs.has(Flag.PERSONAL) | candidates.attributed
        meant = (candidates.topic > 0) & (candidates.meaning >= MIN_MEANING_COSINE)
        may_answer = lasts | ((inputs.coverage > 0) & meant) | (candidates.event > 0)
        may_answer[list(query.order[:MAX_LINES])] = True
        near &= may_answer
    chooses = {*TASTE_TERMS} <= {*candidates.terms}
    if not (query.asks_personally or query.about_talk or query.asks_ahead or chooses):
        words = (inputs.occurs[:, inputs.weights > 0] == 1).any(axis=1)
        near &= words | inputs.on_subject | _has_a_name(inputs) | (candidates.event > 0) | candidates.attributed
    if query.asks_assistant:
        near[[row for row in query.order[:FEW_LINES] if candidates.role[row] == ASSISTANT_ROLE]] = True
    return tuple([row for row in query.order if near[row] or row in query.bridged])


def _is_idle(inputs: FeatureInputs) -> NDArray[np.bool_]:
    """[n] true for the assistant's courtesies and questions without evidence of their own: "Sure, happy to help!"."""
    query, candidates = inputs.query, inputs.candidates
    idle = (candidates.role == ASSISTANT_ROLE) & (evidence_level(candidates) < STATEMENT_LEVEL)
    if query.about_talk or query.asks_assistant or not idle.any():
        return np.zeros(len(idle), np.bool_)
    return np.asarray(idle & ~_has_own_evidence(inputs), np.bool_)


def _states_the_kind(inputs: FeatureInputs) -> NDArray[np.bool_]:
    """[n] true for lines of the requested kind, and for lasting ones with the question's topic, meaning or words.

    True for all if no line is of that kind or surely lasting and on topic: the items of "Which books did I read?" then
    have no known form.
    """
    query, candidates = inputs.query, inputs.candidates
    durability, of_kind = candidates.flags >> DURABILITY_SHIFT, inputs.of_kind > 0
    of_topic = candidates.topic >= MIN_TOPIC_SHARE
    met = (of_kind | (of_topic & (durability >= MIN_DURABILITY)))[list(query.order)].any()
    if not query.kinds_asked or not met or query.said_then or inputs.words > MAX_KIND_WORDS:
        return np.ones(len(of_kind), np.bool_)
    near = of_topic | (inputs.coverage >= MIN_WORD_COVERAGE) | (candidates.event > 0)
    near |= np.fmax(candidates.meaning, candidates.cosine) >= MIN_MEANING_COSINE
    return np.asarray(of_kind | (near & ((durability > 0) | candidates.attributed)), np.bool_)


def _is_of_the_time(inputs: FeatureInputs) -> NDArray[np.bool_]:
    """[n] true for lines about the requested time or a day that recurs then, lines that name it, and unless the time is
    entirely ahead, lines said then.
    """
    query, candidates = inputs.query, inputs.candidates
    least = 2 if has_cjk(query.text) else 1  # one CJK character is in many words
    content = np.array(query.weights) > FILLER_WEIGHT  # not "talk" of "What did we talk about on Thursday?"
    named = (inputs.occurs[:, content] == 1).sum(axis=1) >= least  # no synonyms: they are other months
    in_period = (candidates.period == 1) & (query.said_then or not query.asks_ahead)
    then = (candidates.event > 0) | in_period | _has_a_term(candidates, query.days)
    return np.asarray(then | named, np.bool_)


def _is_matched(inputs: FeatureInputs, answered: bool) -> bool:
    """Return whether the question's words were found; if it is about the user, nearly half of them in one statement.

    Much about the user is said in other words: anybody's position does not answer "What is my position?", and "I teach
    maths" as the best line answers "What do I do for a living?" by its kind.
    """
    query = inputs.query
    if answered and FILLER_WEIGHT in query.weights:  # "What did I say about the cottage?"
        return True
    if query.order and inputs.of_kind[query.order[0]] > 0 and not answered:
        return True
    if inputs.word_match_confidence < 1 or not query.asks_personally:
        return inputs.word_match_confidence >= 1
    words = ((inputs.occurs > 0) & (inputs.weights > 0)).sum(axis=1)
    covered = inputs.coverage >= MIN_QUESTION_WORD_SHARE
    if _is_in_a_statement(covered & (words >= MIN_QUESTION_WORDS), inputs):
        return True
    return bool(covered.any()) and _is_in_a_statement(covered & _has_a_name(inputs), inputs)  # names last: slow


def _is_in_a_statement(rows: NDArray[np.bool_], inputs: FeatureInputs) -> bool:
    """Return whether one of the rows [n] is a statement in the order."""
    return bool((rows & (evidence_level(inputs.candidates) == STATEMENT_LEVEL))[list(inputs.query.order)].any())


def _has_own_evidence(inputs: FeatureInputs) -> NDArray[np.bool_]:
    """[n] true for lines that themselves have a word, topic, kind, event or meaning of the question. If it asks what
    the assistant said, an answer has the words of the turn before: "Foz, for its quiet." after "Where in Porto?".
    """
    candidates = inputs.candidates
    evidence = (inputs.coverage > 0) | (candidates.topic > 0) | (candidates.event > 0) | (inputs.of_kind > 0)
    if inputs.query.asks_assistant:
        answers = (candidates.tf_neighbours[:, TURN_BEFORE, inputs.weights > 0] > 0).any(axis=1)
        evidence |= answers & (candidates.role == ASSISTANT_ROLE)
    return np.asarray(evidence | (np.fmax(candidates.meaning, candidates.cosine) >= MIN_MEANING_COSINE), np.bool_)


def _with_wishes_and_statements(
    query: Query, order: tuple[int, ...], candidates: Candidates, choice_share: float, statement_share: float
) -> tuple[int, ...]:
    """Reserve lines for standing wishes and the user's likeliest lasting statements, whatever their words.

    Most lines for a choice, some for a question about the user whose words were not found. They replace the last shown
    lines: "Where shall we hike?" shares no word with "My knees are bad".
    """
    wishes = _standing_wishes(candidates)
    reserved: tuple[int, ...] = ()
    chooses = {*TASTE_TERMS} <= {*candidates.terms}
    share = choice_share if chooses else statement_share
    most = min(round(share * query.k), max(MAX_LINES, round(share * MAX_SHARE_OF_STORE * candidates.units)))
    if chooses:
        reserved = _likeliest_statements(candidates, most, MIN_CHOICE_DURABILITY, TASTE_TERMS)
    elif query.asks_personally and not query.asks_period:
        reserved = _likeliest_statements(candidates, most, MIN_DURABILITY)
    best = order[: max(0, query.k - len(wishes) - len(reserved))]
    return tuple(dict.fromkeys((*best, *wishes, *reserved, *order)))


def _likeliest_statements(
    candidates: Candidates, most: int, least: int, preferred: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """Return up to ``most`` of the user's statements with durability ``least`` or a preferred term, likeliest first,
    led by the likeliest with each preferred term.
    """
    tastes, durability = _has_a_term(candidates, preferred), candidates.flags >> DURABILITY_SHIFT
    near = candidates.topic + np.fmax(np.fmax(candidates.meaning, COSINE_WEIGHT * candidates.cosine), 0)
    likely = near * (1 + NEAR_TASTE_WEIGHT * tastes) + DURABILITY_WEIGHT * durability / MAX_DURABILITY
    likely += TASTE_WEIGHT * tastes
    theirs = (candidates.role == USER_ROLE) | (candidates.kind == INSIGHT)
    rows = np.flatnonzero(theirs & (tastes | (durability >= least))).tolist()
    ordered = _one_per_record(sorted(rows, key=lambda row: -float(likely[row])), candidates)
    having = [_has_a_term(candidates, (term,)) for term in preferred]
    first = [row for row in [next(filter(one.__getitem__, ordered), None) for one in having] if row is not None]
    return tuple(dict.fromkeys((*first, *ordered)))[:most]


def _has_a_term(candidates: Candidates, wanted: Iterable[int]) -> NDArray[np.bool_]:
    """[n] true for units that have one of the terms."""
    at = [candidates.terms.index(term) for term in wanted if term in candidates.terms]
    return np.asarray(((candidates.tf_header[:, at] > 0) | (candidates.tf[:, at] > 0)).any(axis=1), np.bool_)


async def _is_about_the_user(inputs: FeatureInputs, ctx: Services) -> bool:
    """Return whether a message that seems to be about the world asks what happens at a time or when something will, or
    names somebody whom memory knows, perhaps from one of the best lines alone: "derek just rang" after "My neighbour
    Derek has the key.". A coming day named in passing ("a quiz tomorrow") counts only if the need is open.
    """
    query, candidates = inputs.query, inputs.candidates
    if (
        query.asks_period
        or (query.asks_ahead and (query.asks_when or query.need == "perhaps"))
        or _knows_a_name(inputs)
    ):
        return True
    best = [row for row in query.order[:MAX_NAMING_LINES] if (inputs.presence[row] > 0).any()]
    best = [row for row in best if candidates.role[row] != ASSISTANT_ROLE]
    records = (await fetch(query, candidates, best, ctx)).records if best else {}
    texts = [record.text[:MAX_NAMING_CHARS] for row in best if (record := records.get(candidates.handle[row]))]
    return _names_somebody_of(texts, query.text)


def _names_somebody_of(texts: Iterable[str], message: str) -> bool:
    """Return whether a message has the name of a person in the texts; without capitals only if it is no other word:
    "kim", not "will".
    """
    sure = {name.text for name in names(message) if name.weight}  # no other word at the beginning of a sentence
    words = {*pieces(message)}
    unknown = {*languages.main(message).names.unknown(message)} if message.islower() else set[str]()
    people = (name for text in texts for name in names(text) if name.kind == "person")
    return any(
        name.text in message if has_cjk(name.text) else name.text in words or name.text.lower() in unknown
        for name in people
        if name.weight or name.text in sure
    )


def _knows_a_name(inputs: FeatureInputs) -> bool:
    """Return whether the query names the user, a speaker, or a person whose full name a candidate has.

    The first word of a sentence may be no name ("Give me an example"), nor is "my flatmate" one in a query that surely
    is about the world ("my flatmate asks why the sky is blue").
    """
    query, every = inputs.query, names(inputs.query.text)
    if not query.names.isdisjoint(inputs.candidates.speakers.tolist()):
        return True
    if any(name.text.casefold() == query.scope.user.casefold() for name in every):
        return True
    people = (name for name in every if name.kind == "person")
    sure = (one for one in people if one.weight or not (query.need == "kind" or one.text[0].isupper()))
    return bool(_has_all_terms(inputs, [terms(name.text) for name in sure]).any())


def _has_a_name(inputs: FeatureInputs, sure: bool = False) -> NDArray[np.bool_]:
    """[n] true for lines with a full name from the query; if ``sure``, without words that merely stand where names do:
    at the beginning of a sentence, or in Chinese the one for "world".
    """
    every = (name for name in names(inputs.query.text) if name.kind != "topic")
    every = (name for name in every if not sure or name.weight > 0 or name.text[0].islower())
    return _has_all_terms(inputs, [terms(name.text) for name in every])


def _has_all_terms(inputs: FeatureInputs, groups: Iterable[Sequence[int]]) -> NDArray[np.bool_]:
    """[n] true for lines that have all terms of one of the groups."""
    place = {one: at for at, one in enumerate(inputs.candidates.terms)}
    has = np.zeros(len(inputs.candidates.unit), np.bool_)
    for group in groups:
        if group and place.keys() >= {*group}:
            has |= (inputs.presence[:, [place[one] for one in group]] == 1).all(axis=1)
    return has


def _standing_wishes(candidates: Candidates) -> tuple[int, ...]:
    """Return the newest standing wishes, whatever their words."""
    rows = np.flatnonzero(_has_a_term(candidates, WISH_TERMS.values())).tolist()
    newest = sorted(rows, key=lambda row: -int(candidates.time[row]))
    return tuple(_one_per_record(newest, candidates)[:MAX_WISHES])


def _one_per_record(rows: Iterable[int], candidates: Candidates) -> list[int]:
    """Return the first row of each record."""
    first: dict[Handle, int] = {}
    for row in rows:
        first.setdefault(candidates.handle[row], row)
    return [*first.values()]


def _covered(inputs: FeatureInputs) -> tuple[int, ...]:
    """Return the best rows with enough of the query's words, a name in it, or its subject and a near meaning. For a
    question about a kind, rows with nearly all of its words; if it asks for a day, the user's with those that are no
    interrogatives. If it has capitalised names, rows with one of them:
    "two walls" is no answer to "When did the Berlin Wall fall?". If it may recall something of the user's, what they
    said of themselves and is alike in words, topic and meaning together.
    """
    if inputs.query.need == "kind":
        states = inputs.answers_all & (inputs.candidates.role == USER_ROLE)
        enough = (inputs.coverage >= MIN_KIND_COVERAGE) | (states & inputs.query.asks_when)
    else:
        near = inputs.candidates.meaning >= MIN_MEANING_COSINE
        enough = (inputs.coverage >= MIN_WORD_COVERAGE) | _has_a_name(inputs, sure=True)
        enough |= (inputs.on_subject | _has_a_name(inputs)) & near
        enough |= inputs.answers_all & (inputs.candidates.role == USER_ROLE)
        if inputs.query.recalls:
            candidates = inputs.candidates
            likeness = inputs.coverage + RECALLED_TOPIC_WEIGHT * candidates.topic + np.fmax(candidates.meaning, 0)
            lasts = inputs.has(Flag.PERSONAL) | (candidates.flags >> DURABILITY_SHIFT > 0)
            enough |= lasts & (likeness >= MIN_RECALLED_LIKENESS)
            enough &= (candidates.role != ASSISTANT_ROLE) | inputs.query.asks_assistant
    if capitalised := [terms(name) for name in CAPITALISED.findall(inputs.query.text)]:
        enough &= _has_all_terms(inputs, capitalised)
    enough = enough & (evidence_level(inputs.candidates) == STATEMENT_LEVEL)
    return tuple(row for row in inputs.query.order if enough[row])[:MAX_LINES]
