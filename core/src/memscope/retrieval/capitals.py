"""Restore the capitals of names: "what was special about noor" is ranked as a question about Noor.

Many people write to an assistant without capitals. A word of the query is a name if the newest line with it has it
as one, and if it reads as one in the query too: "what is a rose" is no question about Rose.
"""

from __future__ import annotations

import re

import numpy as np

from memscope.languages.names import names
from memscope.pipeline import altered
from memscope.retrieval.query import Query
from memscope.services import Services
from memscope.text.terms import terms

CAPITALISED = re.compile(r"(?<=\w )[A-ZÀ-Þ][\w-]+(?: [A-ZÀ-Þ][\w-]+)*")  # not at the beginning
MAX_WORDS = 6  # of a query, the rarest
MAX_LINES_OF_A_NAME = 12  # a word in more candidates is no rare name


async def with_capitals(query: Query, ctx: Services) -> Query:
    """Capitalise the names that memory knows in a query without capitals."""
    candidates = query.candidates
    if candidates is None or CAPITALISED.search(query.text) or not query.text[1:].islower():
        return query
    if len(query.text.split()) <= len(query.terms):  # keywords without a sentence: not worth another read of the store
        return query
    occurs = candidates.tf[:, : len(query.terms)] > 0
    lines = occurs.sum(axis=0)
    rare = [at for at in np.argsort(lines, kind="stable").tolist() if 0 < lines[at] <= MAX_LINES_OF_A_NAME][:MAX_WORDS]
    newest = [int(np.argmax(np.where(occurs[:, at], candidates.time, -np.inf))) for at in rare if query.weights[at]]
    handles = [candidates.handle[row] for row in dict.fromkeys(newest)]
    fetched = candidates.brought or await ctx.store.fetch(query.scope.user, handles)
    read = (record.text for one in handles if (record := fetched.records.get(one)) is not None)
    named = (one.text for line in read for one in names(line) if one.weight and one.kind != "topic")
    wanted, text = {query.terms[at] for at in rare}, query.text
    for name in [one for one in dict.fromkeys(named) if wanted.issuperset(terms(one))]:
        text = re.sub(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", name, text)
    return altered(query, text=text) if text != query.text and any(one.weight for one in names(text)) else query
