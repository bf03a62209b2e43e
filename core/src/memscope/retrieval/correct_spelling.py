"""Correct misspelt words of a query: "when is my dentsit apointment" is read as "when is my dentist appointment".

A word is misspelt if no statement in memory has it and its language does not know it. One slip can make it of several
words: the query is read with the one that most units of memory have, else with the most frequent one of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import chain, islice

from memscope.languages.flags import Flag
from memscope.pipeline import altered, worker
from memscope.records import Search
from memscope.retrieval.query import Query
from memscope.retrieval.search import search
from memscope.retrieval.understand import MAX_ANALYSED_CHARS, understand
from memscope.services import Services
from memscope.text.language import WordRules, spaced_rules
from memscope.text.spelling import (
    correction,
    is_plausible,
    is_word,
    may_be_misspelt,
    other_spellings,
    rare_correction,
    without_slip,
)
from memscope.text.terms import piece_terms, term
from memscope.text.tokens import fold, is_stop_word, pieces, respelled

MAX_MISSPELT_WORDS = 2  # per query
MAX_WORDS_LOOKED_UP = 800  # per query; Elasticsearch refuses a search with more than 1,024
_PAIR = re.compile(r"(?<![\w-])(?=([a-z]{2,})([ -])([a-z]{2,})(?![\w-]))")  # pairs may overlap
_UNREAD = {column.name: column.default for column in fields(Query) if column.name in understand.writes}


@worker(reads=(*understand.reads, *search.reads), writes=(*understand.writes, *search.writes))
async def correct_spelling(query: Query, ctx: Services) -> Query:
    candidates = query.candidates
    if candidates is None or query.about_user or len(query.text) > MAX_ANALYSED_CHARS:
        return query
    stating = (candidates.flags & int(Flag.ASKING)) == 0  # an earlier question may have the same slip
    stated = (candidates.tf[stating] > 0).any(axis=0) | (candidates.tf_header > 0).any(axis=0)
    unmet = {one for one, weight, known in zip(query.terms, query.weights, stated, strict=True) if weight and not known}
    misspelt = _misspelt(query.text, unmet) if unmet else {}
    text = await _corrected(query, misspelt, ctx) if misspelt else query.text
    if text == query.text:
        return query
    written = {"text": text, "written": query.written, "exclude": query.exclude, "candidates": None}
    return await search(await understand(altered(query, **{**_UNREAD, **written}), ctx), ctx)


def _misspelt(text: str, unmet: set[int]) -> dict[str, tuple[str, ...]]:
    """Map words that neither memory (``unmet``) nor their language knows to what they may stand for.

    Two words of which one is unmet may be one ("wi-fi", "tooth brush"), and an unmet word may be spelt otherwise in
    memory ("color").
    """
    rules, folded = spaced_rules(text), fold(text)
    missing = (piece for piece in pieces(folded) if not unmet.isdisjoint(piece_terms(piece, rules)))
    words = dict.fromkeys(piece.removesuffix("'s") for piece in missing)
    pairs = [pair for pair in _PAIR.finditer(folded) if pair[1] in words or pair[3] in words]
    joined = {pair[1] + pair[2] + pair[3]: (pair[1] + pair[3],) for pair in pairs if _may_be_one(pair, rules)}
    abroad = {word: others for word in words if (others := tuple(other_spellings(word, rules)))}
    unknown = [word for word in words if may_be_misspelt(word, rules)][:MAX_MISSPELT_WORDS]
    return {**joined, **abroad, **{word: tuple(dict.fromkeys(without_slip(word))) for word in unknown}}


def _may_be_one(pair: re.Match[str], rules: WordRules) -> bool:
    first, between, second = pair.groups()
    content = not (is_stop_word(first, rules) or is_stop_word(second, rules))
    return between == "-" or (content and is_word(first + second, rules))


async def _corrected(query: Query, misspelt: Mapping[str, Sequence[str]], ctx: Services) -> str:
    rules, corrections = spaced_rules(query.text), dict[str, str]()
    looked_up = islice(chain.from_iterable(misspelt.values()), MAX_WORDS_LOOKED_UP)
    in_memory = await _in_memory(looked_up, rules, query, ctx)
    for word, every in misspelt.items():
        known = [one for one in every if one in in_memory and is_plausible(one, word, rules)]
        correct = max(known, key=in_memory.__getitem__, default="")
        is_lower = word in query.text  # with a capital it may be a name that memory lacks
        if not correct and is_lower:
            correct = correction(word, rules) or rare_correction(word, rules)
        if correct:
            corrections[word] = correct
    forms = "|".join(f"{word}|{word.capitalize()}" for word in sorted(corrections, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{forms})(?!\w)", partial(respelled, corrections), query.text) if forms else query.text


async def _in_memory(words: Iterable[str], rules: WordRules, query: Query, ctx: Services) -> Mapping[str, float]:
    """Count the units with each word, or with all parts of a word written as several, that the query may see."""
    terms = {word: [term(rules.stem(part)) for part in word.split() if not is_stop_word(part, rules)] for word in words}
    place = {one: at for at, one in enumerate(dict.fromkeys(chain.from_iterable(terms.values())))}
    asked = Search(
        scope=query.scope, terms=tuple(place), as_of=query.as_of, now=query.now, kinds=query.kinds,
        exclude=query.exclude, filter=query.filter, k=1,
    )  # fmt: skip
    candidates = await ctx.store.search(asked)
    units, has = candidates.document_frequency.tolist(), candidates.tf > 0
    counted = {
        word: units[place[every[0]]] if len(every) == 1 else has[:, [place[one] for one in every]].all(axis=1).sum()
        for word, every in terms.items()
        if every and all(units[place[one]] for one in every)
    }
    return {word: float(count) for word, count in counted.items() if count}
