"""extract: the one chat call of a batch, and the checks of its reply against the turns.

Nothing in the reply is taken on trust. A quote must occur in a turn that was shown and share words with its fact, every
turn must be quoted or listed as empty, and a relation must copy words of the known fact. Failures are counted; an
incomplete reply is asked for again. After a cut reply, or a second unusable one, the turns are split in two calls, down
to single turns. A turn without a usable reply stays pending. Progress is saved between calls for the next attempt.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from memscope.consolidation.batch import FactBatch, ProposedRelation, progress
from memscope.consolidation.find_quote import find_quote
from memscope.consolidation.known_facts import choose_known, known_data
from memscope.consolidation.known_names import known_names
from memscope.consolidation.reply import MALFORMED_FACT, Extraction, Fact, Relation, schema
from memscope.consolidation.transcript import (
    MAX_TRANSCRIPT_CHARS,
    TranscriptLine,
    citable_lines,
    halves,
    lines_data,
    lines_per_call,
)
from memscope.consolidation.vouching import MAX_ASSENT_WORDS, is_contradicted, is_vouched_for
from memscope.dates.iso import parse
from memscope.errors import ModelReplyError
from memscope.languages.names import names
from memscope.languages.own_words import Citation, is_shown
from memscope.languages.similarity import form, translated
from memscope.languages.wording import calls_user, worded
from memscope.models.structured_output import ask, with_instruction
from memscope.pipeline import worker
from memscope.prompts import visible
from memscope.prompts.loader import Prompts
from memscope.reconciliation.approval import REFUSAL_FIELD, WORDS_FIELD
from memscope.reconciliation.related import related
from memscope.records import Json, Observation, Quote, Turn
from memscope.records.identity import memory_id
from memscope.services import Services
from memscope.text.language import has_cjk
from memscope.text.tokens import fold, pieces
from memscope.text.topics import topics

MAX_FACT_CHARS = 2_000  # of a fact or a quote
MAX_NAME_CHARS = 200
MAX_KEYWORDS = 8
MAX_FACTS_PER_TURN = 20
CHARS_PER_FACT = 40  # a long turn may hold one fact per 40 characters
RETRY_NOTICE = (
    "Your last answer could not be used: copy the quotes letter for letter from turns without context, by their number,"
    " and write each fact in the language of its turn."
)
OPERATOR_INSTRUCTIONS = "What the operator of this memory wants noted, or not, besides:"
MAX_USELESS_SINGLE_TURNS = 2  # as the first turns of a batch; then it fails
MAX_REPORTED_REFUSALS = 20  # listed in a report; further ones are only counted
FINAL_REFUSALS = ("pasted", "instruction")
REVIEWABLE_REFUSALS = frozenset(
    ("no_quote", "translated", "not_said_by_user", "pasted", "contradicted", "unknown_name")
)
MIN_NAME_PART_CHARS, MIN_SPELLING_RATIO = 3, 0.8  # of a name in a turn, and of its letters in the fact's spelling
_SURROGATE = re.compile("[\ud800-\udfff]")
MIN_SHARED_CHARACTERS = 2  # between a fact and its quotes, in scripts without spaces


# ----------------------------------------------------------------------------------------------------------- the worker


@worker(
    reads=["id", "turns", "before", "excluded", "read"],
    writes=["facts", "refused_facts", "relations", "unread", "read", "rejected", "judged", "actions"],
)
async def extract(batch: FactBatch, ctx: Services) -> FactBatch:
    """Extract facts with their quotes and relations; list turns without a usable reply in ``unread``."""
    waiting = lines_per_call(batch)
    texts = [line.text[:MAX_FACT_CHARS] for lines in waiting for line in citable_lines(lines).values()]
    names, known = (await known_names(batch, ctx), await related(ctx, batch.scope, texts)) if texts else ({}, [])
    while waiting:
        lines = waiting.pop(0)
        try:
            batch = await extract_lines(batch, lines, ctx, names, known)
            read = ((line.turn.key, len(line.text)) for line in citable_lines(lines).values())
            batch = replace(batch, read={**batch.read, **{key: batch.read.get(key, 0) + more for key, more in read}})
        except ModelReplyError as error:
            if split := halves(lines):
                waiting = [*split, *waiting]
                continue
            batch = mark_unread(batch, lines, error)
            waiting = [call for call in waiting if not batch.unread.issuperset(citable_keys(call))]
        if waiting and ctx.save:
            await ctx.save(progress(batch))
    facts = tuple(fact for fact in batch.facts if batch.unread.isdisjoint(fact.sources))
    refused_facts = tuple(fact for fact in batch.refused_facts if batch.unread.isdisjoint(fact.sources))
    return replace(batch, facts=facts, refused_facts=refused_facts)


def citable_keys(lines: Sequence[TranscriptLine]) -> set[str]:
    return {line.turn.key for line in citable_lines(lines).values()}


def mark_unread(batch: FactBatch, lines: Sequence[TranscriptLine], error: ModelReplyError) -> FactBatch:
    """Mark the turns as unread, so that they stay pending.

    Raise ``error`` for the only turn of a batch, or once ``MAX_USELESS_SINGLE_TURNS`` failed and no reply was usable.
    """
    left = batch.unread | citable_keys(lines)
    turns = len(batch.turns) - len(batch.excluded)
    if turns == 1 or (not batch.read and len(left) >= min(MAX_USELESS_SINGLE_TURNS, turns)):
        raise error
    return replace(batch, unread=left)


async def extract_lines(
    batch: FactBatch, lines: Sequence[TranscriptLine], ctx: Services, names: Mapping[str, str],
    known: Sequence[Observation],
) -> FactBatch:  # fmt: skip
    """Make one call, and a second if every fact of the first is refused: refusals must not pass for "nothing".

    Turns whose facts are refused twice stay unread; only those are read again. ``names``: full names by short name;
    ``known``: current facts near the batch's turns, from before it.
    """
    assert ctx.chat is not None
    citable = citable_lines(lines)
    shown = await asyncio.to_thread(choose_known, [*known, *batch.facts], [*citable.values()])
    shown_data: dict[str, Json] = {"known": known_data(shown)} if shown else {}
    shown_data["turns"] = lines_data(lines, names)
    messages = (ctx.prompts or Prompts()).messages("extract", [line.text for line in citable.values()], shown_data)
    instructions = ctx.settings.consolidation.instructions
    seen = fold(json.dumps([shown_data, instructions], ensure_ascii=False))
    if instructions:
        messages = with_instruction(messages, f"{OPERATOR_INSTRUCTIONS}\n{instructions}")
    reply_type = await asyncio.to_thread(schema, tuple(citable))  # pydantic needs 20 ms for a class
    for prompt in (messages, with_instruction(messages, RETRY_NOTICE)):
        reply = await ask(ctx.chat, prompt, reply_type)
        taken = await asyncio.to_thread(add_facts, batch, lines, reply, shown, seen, ctx)
        if len(taken.facts) > len(batch.facts):
            return taken
        if not any(is_worth_retry(fact, lines, seen, ctx) for fact in reply.facts):
            return taken
    return mark_refused_unread(batch, lines, reply)


def is_worth_retry(fact: Fact, lines: Sequence[TranscriptLine], shown: str, ctx: Services) -> bool:
    """Return whether a second reply could save the fact: its level is kept and its refusal depends on the wording."""
    is_kept = fact.level in set(ctx.settings.consolidation.levels) - {0, 1}
    return is_kept and cite_turns(fact, lines, shown) not in FINAL_REFUSALS


def mark_refused_unread(batch: FactBatch, lines: Sequence[TranscriptLine], reply: Extraction) -> FactBatch:
    """Mark the turns of refused facts as unread. Raise ``ModelReplyError`` if those are all turns."""
    numbers = citable_lines(lines).keys()
    cited = {quote.turn for fact in reply.facts for quote in fact.quotes}
    refused = (cited & numbers) or numbers
    if refused == numbers:
        raise ModelReplyError("none of the facts stands in the turns", hint="try again, or another model")
    return replace(batch, unread=batch.unread | {lines[number - 1].turn.key for number in refused})


def add_facts(
    batch: FactBatch, lines: Sequence[TranscriptLine], reply: Extraction, known: Sequence[Observation], shown: str,
    ctx: Services,
) -> FactBatch:  # fmt: skip
    """Add the facts that pass the checks, with their relations; report or count the refused ones."""
    most = sum(max(MAX_FACTS_PER_TURN, len(line.text) // CHARS_PER_FACT) for line in citable_lines(lines).values())
    taken: list[tuple[Fact, Observation]] = []
    refused: list[tuple[str, Fact]] = []
    for fact in reply.facts:
        cited = cite_turns(fact, lines, shown) if len(taken) < most else "too_many"
        if isinstance(cited, str):
            refused.append((cited, fact))
        else:
            taken.append((fact, make_observation(fact, cited, batch, ctx, len(batch.facts) + len(taken))))
    for reason, fact in refused[:MAX_REPORTED_REFUSALS]:
        quoted = [quote.words[:MAX_FACT_CHARS] for quote in fact.quotes]
        batch = batch.refuse(reason, fact.text[:MAX_FACT_CHARS], quoted)
    batch = batch.reject(Counter(reason for reason, _ in refused[MAX_REPORTED_REFUSALS:]))
    if ctx.settings.approve:
        refused_facts = [make_reviewable(fact, why, lines, batch, ctx, n) for n, (why, fact) in enumerate(refused)]
        batch = replace(batch, refused_facts=(*batch.refused_facts, *filter(None, refused_facts)))
    dated = [observation.happened is not None for fact, observation in taken if clean(fact.when)]
    batch = batch.judge({"dates": len(dated), "wrong_date": dated.count(False)})
    batch = replace(batch, facts=(*batch.facts, *(observation for _, observation in taken)))
    return with_relations(batch, taken, known)


def with_relations(
    batch: FactBatch, taken: Sequence[tuple[Fact, Observation]], known: Sequence[Observation]
) -> FactBatch:
    """Add the model's verdicts on known facts, and on earlier facts of the same reply (``k`` = 0)."""
    relations: list[ProposedRelation] = []
    wrong = 0
    for place, (fact, observation) in enumerate(taken):
        for one in fact.known:
            among = known[one.k - 1 : one.k] if one.k > 0 else [other for _, other in taken[:place]]
            meant = next((other for other in among if cites_fact(one, other)), None) if one.k >= 0 else None
            wrong += meant is None
            relations += [ProposedRelation(observation.id, meant.id, one.relation, clean(one.rest))] if meant else []
    verdicts = sum(len(fact.known) for fact, _ in taken)
    batch = batch.judge({"verdicts": verdicts, "wrong_known": wrong}).reject({"wrong_known": wrong})
    return replace(batch, relations=(*batch.relations, *relations))


def cites_fact(relation: Relation, fact: Observation) -> bool:
    """Check that the relation copies words of the fact, and more than its subject's name."""
    content = form(relation.words).topics - form(fact.about).topics
    return bool(content) and find_quote(relation.words, fact.text) is not None


# ---------------------------------------------------------------------------------------------------------- the checks


def cite_turns(fact: Fact, lines: Sequence[TranscriptLine], shown: str) -> list[Citation] | str:
    """Return the fact's citations, or the reason to refuse it. ``shown``: all that the model was shown, folded."""
    if fact is MALFORMED_FACT or not clean(fact.text) or not fact.quotes:
        return "malformed"
    longest = max(len(fact.text), *(len(quote.words) for quote in fact.quotes))
    if longest > MAX_FACT_CHARS or len(fact.about) > MAX_NAME_CHARS:
        return "too_long"
    if any(not 1 <= quote.turn <= len(lines) for quote in fact.quotes):
        return "unknown_source"
    cited = []
    for quote in fact.quotes:
        line = lines[quote.turn - 1]
        whole = len(line.turn.text) <= MAX_TRANSCRIPT_CHARS  # of a long turn only the part shown to the model counts
        words = find_quote(clean(quote.words), line.turn.text if whole else line.text) or ""
        cited.append(Citation(line.turn, words, line.context, quote.turn - 1))
    if not all(line.words for line in cited):
        return "no_quote"
    if all(line.context for line in cited):
        return "not_said_by_user"
    if is_shown(fact.text, cited):
        return "pasted"
    if not is_vouched_for(fact, cited, lines):
        return "not_said_by_user"
    if worded("instruction", fact.text):
        return "instruction"
    if not _has_words_of(fact, cited):
        return "not_in_quote"
    if is_contradicted(fact.text, cited):
        return "contradicted"
    people = (fold(name.text) for name in names(fact.text) if name.weight and name.kind == "person")
    alone = all(line.turn.role != "person" for line in cited)  # else a name may be a speaker's in another script
    if alone and any(name not in shown and not _is_meant(name, shown) for name in people):
        return "unknown_name"
    sources = [f"{line.turn.speaker} {line.turn.text}" for line in cited]
    return "translated" if translated(fact.text, sources) else cited


def _has_words_of(fact: Fact, cited: Sequence[Citation]) -> bool:
    """Require a shared content word or everyday topic: two characters in CJK text, any word in a short quote."""
    quoted = " ".join(line.words for line in cited)
    spoken, noted = form(quoted), form(fact.text)
    if spoken.topics & noted.topics or topics(fact.text) & topics(quoted):
        return True
    shared = len(set(spoken.tokens) & set(noted.tokens))
    if has_cjk(fact.text):
        return shared >= MIN_SHARED_CHARACTERS
    return shared > 0 and len(spoken.tokens) <= MAX_ASSENT_WORDS


def _is_meant(name: str, shown: str) -> bool:
    """Return whether a name is a longer form or another spelling of one that was shown: Elizabeth for Liz."""
    if has_cjk(name):
        return 2 * sum(letter in shown for letter in name) >= len(name)
    known = {word for word in pieces(shown) if len(word) >= MIN_NAME_PART_CHARS}
    pairs = ((part, word) for part in name.split() for word in known)
    return any(word in part or SequenceMatcher(None, part, word).ratio() > MIN_SPELLING_RATIO for part, word in pairs)


def make_observation(
    fact: Fact, cited: Sequence[Citation], batch: FactBatch, ctx: Services, ordinal: int
) -> Observation:
    turns = [line.turn for line in cited if not line.context]
    level, keywords = fact.level, (clean(word)[:MAX_NAME_CHARS] for word in fact.keywords[:MAX_KEYWORDS])
    return Observation(
        id=memory_id(batch.id, ordinal),
        scope=batch.scope,
        text=clean(fact.text),
        sources=tuple(dict.fromkeys(line.turn.key for line in cited)),
        said=max(line.turn.time for line in cited),
        recorded=ctx.clock(),
        origin=turns[0].role,
        happened=parse(fact.when, turns[0].time.tzinfo),
        about=fact_subject(fact.about, turns),
        quotes=tuple(dict.fromkeys(Quote(line.turn.key, line.words) for line in cited)),
        keywords=tuple(dict.fromkeys(filter(None, keywords))),
        level=level,
        fiction=level == 1,
    )


def make_reviewable(
    fact: Fact, reason: str, lines: Sequence[TranscriptLine], batch: FactBatch, ctx: Services, ordinal: int
) -> Observation | None:
    """Build a refused fact for a person to review; None if its refusal or its sources do not allow that."""
    numbers = {quote.turn for quote in fact.quotes if 1 <= quote.turn <= len(lines)}
    cited = [Citation(lines[number - 1].turn, "", lines[number - 1].context, number - 1) for number in sorted(numbers)]
    if reason not in REVIEWABLE_REFUSALS or all(line.context for line in cited):
        return None
    observation = make_observation(fact, cited, batch, ctx, ordinal)
    words = [clean(quote.words) for quote in fact.quotes]
    id = memory_id(f"{batch.id}/{len(batch.refused_facts)}/refused", ordinal)
    return replace(observation, id=id, quotes=(), happened=None, data={REFUSAL_FIELD: reason, WORDS_FIELD: words})


def fact_subject(name: str, turns: Sequence[Turn]) -> str:
    """Normalise the subject: the user's name becomes "user"; "user" in turns of one person becomes that person."""
    name = clean(name)
    users = {turn.speaker.casefold() for turn in turns if turn.role == "user"}
    people = {turn.speaker for turn in turns if turn.role == "person"}
    means_user = name.casefold() in ("", "user") or calls_user(name)
    if means_user and len(people) == 1 and not users:
        return clean(people.pop())
    return "user" if means_user or name.casefold() in users else name


def clean(text: str) -> str:
    """Strip invisible characters and lone surrogates, which no store accepts."""
    return _SURROGATE.sub("", visible(text)).strip()
