"""extract: the one chat call of a batch, and the checks of its reply against the turns.

Nothing is believed: a quote must stand in its turn, the turn must be one of those given, and every turn must have been
judged. A fact that fails is counted; a reply without judgement is asked for again and never passes for "nothing". A
reply that was cut, or that cannot be used a second time, is asked for in two halves, down to one turn; a turn of which
nothing usable was had stays pending, and the others are done. Between calls, what was read is saved: the next attempt
goes on from there.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError, field_validator, model_validator

from memscope.consolidation.batch import FactBatch, progress
from memscope.consolidation.find_quote import find_quote
from memscope.consolidation.known_names import known_names
from memscope.consolidation.transcript import (
    MAX_TRANSCRIPT_CHARS,
    TranscriptLine,
    halves,
    heard,
    lines_data,
    lines_per_call,
)
from memscope.dates.iso import parse
from memscope.errors import ModelReplyError
from memscope.languages.statements import is_filling, is_question
from memscope.languages.worded import calls_user
from memscope.models.structured_output import ask, with_instruction
from memscope.pipeline import worker
from memscope.prompts import visible
from memscope.prompts.loader import Prompts
from memscope.reconciliation.approval import REFUSAL_FIELD, WORDS_FIELD
from memscope.reconciliation.similarity import form, translated
from memscope.records import Observation, Quote, Scope, Turn
from memscope.records.identity import memory_id
from memscope.services import Services

MAX_FACT_CHARS = 2_000  # characters of a fact, or of a quote
MAX_NAME_CHARS = 200
MAX_KEYWORDS = 8
FACTS_A_TURN = 20
CHARACTERS_A_FACT = 40  # of a turn so long that it may hold more
RETRY_NOTICE = (
    "Your last answer could not be used: copy the quotes letter for letter from turns without context, by their number,"
    " and write each fact in the language of its turn."
)
OPERATOR_INSTRUCTIONS = "What the operator of this memory wants noted, or not, besides:"
MAX_USELESS_SINGLE_TURNS = 2  # turns read alone without a usable reply, before any was
MAX_REPORTED_REFUSALS = 20  # refused facts in a report
REVIEWABLE_REFUSALS = frozenset(("no_quote", "translated", "not_said_by_user", "code"))
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
PEOPLE_ROLES = frozenset({"user", "person"})
MIN_STATED_SHARE = 0.5  # share of a fact's words that people have to say where it rests on a tool's words too
MAX_ASSENT_WORDS = 3  # words, in CJK characters, of what may be a mere yes or no
_QUESTION_MARKS = frozenset("?？")
USER_NAMES = frozenset({"", "user"})  # beside what each language calls the user


# ------------------------------------------------------------------------------------------------------------ the reply


class Level(BaseModel):
    turn: int
    level: int


class Words(BaseModel):
    turn: int
    words: str


class Fact(BaseModel):  # a docstring would be part of the schema that the model is sent
    text: str
    about: str
    level: int = -1  # without a valid one a fact has the highest level of its turns
    when: str
    keywords: list[str]
    quotes: list[Words]


MALFORMED_FACT = Fact(text="", about="", when="", keywords=[], quotes=[])


class Extraction(BaseModel):
    """A level for every turn, and the facts. One that is no fact at all does not spoil the others."""

    turns: list[Level]
    facts: list[Fact]

    @field_validator("facts", mode="before")
    @classmethod
    def _one_by_one(cls, facts: Any) -> Any:
        if not isinstance(facts, list):
            return facts
        read = [_read_fact(fact) for fact in facts]
        if read and all(fact is MALFORMED_FACT for fact in read):
            Fact.model_validate(facts[0])  # says what is wrong
        return read


def _read_fact(given: Any) -> Fact:
    with suppress(ValidationError):
        return Fact.model_validate(given)
    return MALFORMED_FACT


@lru_cache(64)
def schema(numbers: tuple[int, ...], kept: frozenset[int]) -> type[Extraction]:
    """Return an ``Extraction`` that must judge each of these turns, and hold facts if any turn is worth keeping."""

    class Judged(Extraction):
        @model_validator(mode="after")
        def _complete(self) -> Judged:
            levels = {level.turn: level.level for level in self.turns if 0 <= level.level <= 3}
            if missing := [str(number) for number in numbers if number not in levels]:
                raise ValueError(f"no level from 0 to 3 for turn {', '.join(missing)}")
            if not self.facts and (said := worth_keeping(self, kept)):
                raise ValueError(f"turn {said[0].turn} has level {said[0].level}, but there are no facts")
            return self

    Judged.__name__ = Judged.__qualname__ = "Extraction"
    return Judged


# ----------------------------------------------------------------------------------------------------------- the worker


@worker(
    reads=["id", "turns", "before", "excluded", "read"],
    writes=["facts", "refused_facts", "levels", "unread", "read", "rejected", "actions"],
)
async def extract(batch: FactBatch, ctx: Services) -> FactBatch:
    """Extract facts with their quotes, and a level for every turn; ``unread`` are turns without a usable reply."""
    waiting = lines_per_call(batch)
    names = await known_names(batch, ctx) if waiting else {}
    while waiting:
        lines = waiting.pop(0)
        try:
            batch = with_read(await extract_lines(batch, lines, ctx, names), lines)
        except ModelReplyError as error:
            if split := halves(lines):
                waiting = [*split, *waiting]
                continue
            batch = leave(batch, lines, error)
            waiting = [call for call in waiting if not batch.unread.issuperset(heard_keys(call))]
        if waiting and ctx.save:
            await ctx.save(progress(batch))
    facts = tuple(fact for fact in batch.facts if batch.unread.isdisjoint(fact.sources))
    refused_facts = tuple(fact for fact in batch.refused_facts if batch.unread.isdisjoint(fact.sources))
    return replace(batch, facts=facts, refused_facts=refused_facts)


def heard_keys(lines: Sequence[TranscriptLine]) -> set[str]:
    return {line.turn.key for line in heard(lines).values()}


def with_read(batch: FactBatch, lines: Sequence[TranscriptLine]) -> FactBatch:
    more = {one.turn.key: batch.read.get(one.turn.key, 0) + len(one.text) for one in heard(lines).values()}
    return replace(batch, read={**batch.read, **more})


def leave(batch: FactBatch, lines: Sequence[TranscriptLine], error: ModelReplyError) -> FactBatch:
    """Leave the turn pending.

    Raises the error for the only turn of a batch, and after ``USELESS`` turns where no reply was any use so far.
    """
    left = batch.unread | heard_keys(lines)
    turns = len(batch.turns) - len(batch.excluded)
    if turns == 1 or (not batch.levels and len(left) >= min(MAX_USELESS_SINGLE_TURNS, turns)):
        raise error
    return replace(batch, unread=left)


async def extract_lines(
    batch: FactBatch, lines: Sequence[TranscriptLine], ctx: Services, names: Mapping[str, str]
) -> FactBatch:
    """Make one call; a second one if all of its facts fail the checks, since a lost fact would look like none.

    Turns whose facts fail both times are left: only those are read again.
    """
    assert ctx.chat is not None
    said = [line.text for line in heard(lines).values()]
    messages = (ctx.prompts or Prompts()).messages("extract", said, lines_data(lines, names))
    if own := ctx.settings.consolidation.instructions:
        messages = with_instruction(messages, f"{OPERATOR_INSTRUCTIONS}\n{own}")
    kept = frozenset(ctx.settings.consolidation.levels)
    wanted = await asyncio.to_thread(schema, tuple(heard(lines)), kept)  # pydantic takes some 20 ms for a class
    for asked in (messages, with_instruction(messages, RETRY_NOTICE)):
        reply = await ask(ctx.chat, asked, wanted)
        taken = await asyncio.to_thread(take_facts, batch, lines, reply, ctx)
        if not reply.facts or len(taken.facts) > len(batch.facts) or not worth_keeping(reply, kept):
            return taken
    return leave_refused(batch, taken, lines, reply, kept)


def leave_refused(
    batch: FactBatch, taken: FactBatch, lines: Sequence[TranscriptLine], reply: Extraction, kept: frozenset[int]
) -> FactBatch:
    """Return the batch with the turns of refused facts left. Raises ``ModelReplyError`` if those are all there are."""
    cited = {quote.turn for fact in reply.facts for quote in fact.quotes}
    numbers = heard(lines).keys()
    refused = (cited & numbers) or {level.turn for level in worth_keeping(reply, kept)} & numbers
    if refused == numbers:
        raise ModelReplyError("none of the facts stands in the turns", hint="try again, or another model")
    left = {lines[number - 1].turn.key for number in refused}
    return replace(batch, levels=taken.levels, unread=batch.unread | left)


def worth_keeping(reply: Extraction, kept: frozenset[int]) -> list[Level]:
    return [level for level in reply.turns if level.level in kept - {0, 1}]


def take_facts(batch: FactBatch, lines: Sequence[TranscriptLine], reply: Extraction, ctx: Services) -> FactBatch:
    """Return the facts that pass the checks, and the number of rejected ones by reason."""
    batch = replace(batch, levels=turn_levels(batch, lines, reply))
    taken: list[Observation] = []
    refused: list[tuple[str, Fact]] = []
    for fact in reply.facts:
        cited = cite_turns(fact, lines) if len(taken) < most_facts(lines) else "too_many"
        if isinstance(cited, str):
            refused.append((cited, fact))
        else:
            taken.append(make_observation(fact, cited, batch, ctx, len(batch.facts) + len(taken)))
    for reason, fact in refused[:MAX_REPORTED_REFUSALS]:
        batch = batch.refuse(
            reason, fact.text[:MAX_FACT_CHARS], [quote.words[:MAX_FACT_CHARS] for quote in fact.quotes]
        )
    batch = batch.reject(Counter(reason for reason, _ in refused[MAX_REPORTED_REFUSALS:]))
    if ctx.settings.approve:
        refused_facts = [make_doubtful(fact, reason, lines, batch, ctx, n) for n, (reason, fact) in enumerate(refused)]
        batch = replace(batch, refused_facts=(*batch.refused_facts, *filter(None, refused_facts)))
    return replace(batch, facts=(*batch.facts, *taken))


def turn_levels(batch: FactBatch, lines: Sequence[TranscriptLine], reply: Extraction) -> dict[str, int]:
    """Return the level of each turn; the highest for a turn in several parts."""
    found = dict(batch.levels)
    told = {level.turn: level.level for level in reply.turns}
    for number, line in heard(lines).items():
        found[line.turn.key] = max(told[number], found.get(line.turn.key, 0))
    return found


def most_facts(lines: Sequence[TranscriptLine]) -> int:
    return sum(max(FACTS_A_TURN, len(line.text) // CHARACTERS_A_FACT) for line in heard(lines).values())


# ---------------------------------------------------------------------------------------------------------- the checks


@dataclass(frozen=True, slots=True)
class Citation:
    """Words of a turn, as they stand in it."""

    turn: Turn
    words: str
    context: bool


def cite_turns(fact: Fact, lines: Sequence[TranscriptLine]) -> list[Citation] | str:
    """Return the fact's citations, or the reason to reject it."""
    if fact is MALFORMED_FACT or not clean(fact.text) or not fact.quotes:
        return "malformed"
    if (
        max(len(fact.text), *(len(quote.words) for quote in fact.quotes)) > MAX_FACT_CHARS
        or len(fact.about) > MAX_NAME_CHARS
    ):
        return "too_long"
    if any(not 1 <= quote.turn <= len(lines) for quote in fact.quotes):
        return "unknown_source"
    cited = [_citation(lines[quote.turn - 1], clean(quote.words)) for quote in fact.quotes]
    if not all(one.words for one in cited):
        return "no_quote"
    if all(one.context for one in cited):
        return "not_said_by_user"
    if all(one.words not in _FENCED.sub(" ", one.turn.text) for one in cited):
        return "code"
    if not _is_vouched_for(fact, cited):
        return "not_said_by_user"
    said = [f"{one.turn.speaker} {one.turn.text}" for one in cited]
    return "translated" if translated(fact.text, said) else cited


def _is_vouched_for(fact: Fact, cited: Sequence[Citation]) -> bool:
    """Return whether people stand behind a fact that rests on a machine's words too.

    What a tool returned, a page for instance, they have to state themselves. What the assistant said they may answer or
    confirm in few words, of which thanks are none: "Are you allergic to nuts?", "Yes".
    """
    roles = {one.turn.role for one in cited if one.context} - PEOPLE_ROLES
    if not roles:
        return True
    statements = [one.words for one in cited if not one.context and not _is_asked(one)]
    content = form(fact.text).topics
    shared = len(content & form(" ".join(statements)).topics)
    if roles - {"assistant"}:
        return shared > MIN_STATED_SHARE * len(content)
    asked = any(one.context and _is_asked(one) for one in cited)
    short = any(len(form(words).tokens) <= MAX_ASSENT_WORDS and not is_filling(words) for words in statements)
    return bool(shared) or asked or short


def _is_asked(one: Citation) -> bool:
    """Return whether the quote is a question, or the end of one."""
    end = one.turn.text.find(one.words) + len(one.words)
    return is_question(one.words) or not _QUESTION_MARKS.isdisjoint(one.turn.text[max(end - 1, 0) : end + 1])


def _citation(line: TranscriptLine, words: str) -> Citation:
    text = (
        line.turn.text if len(line.turn.text) <= MAX_TRANSCRIPT_CHARS else line.text
    )  # of a long turn what the model was shown
    return Citation(line.turn, find_quote(words, text) or "", line.context)


def make_observation(
    fact: Fact, cited: Sequence[Citation], batch: FactBatch, ctx: Services, ordinal: int
) -> Observation:
    turns = [one.turn for one in cited if not one.context]
    level = fact.level if 0 <= fact.level <= 3 else max(batch.levels[turn.key] for turn in turns)
    return Observation(
        id=memory_id(batch.id, ordinal),
        scope=Scope(batch.user, batch.agent),
        text=clean(fact.text),
        sources=tuple(dict.fromkeys(one.turn.key for one in cited)),
        said=max(one.turn.time for one in cited),
        recorded=ctx.clock(),
        happened=parse(fact.when, turns[0].time.tzinfo),
        about=fact_subject(fact.about, turns),
        quotes=tuple(dict.fromkeys(Quote(one.turn.key, one.words) for one in cited)),
        keywords=clean_keywords(fact.keywords),
        level=level,
        fiction=level == 1,
    )


def make_doubtful(
    fact: Fact, reason: str, lines: Sequence[TranscriptLine], batch: FactBatch, ctx: Services, ordinal: int
) -> Observation | None:
    """Return a refused fact for a person to decide on; None where it names no turn, or is no fact at all."""
    numbers = {quote.turn for quote in fact.quotes if 1 <= quote.turn <= len(lines)}
    cited = [Citation(lines[number - 1].turn, "", lines[number - 1].context) for number in sorted(numbers)]
    if reason not in REVIEWABLE_REFUSALS or all(one.context for one in cited):
        return None
    made = make_observation(fact, cited, batch, ctx, ordinal)
    words = [clean(quote.words) for quote in fact.quotes]
    id = memory_id(f"{batch.id}/{len(batch.refused_facts)}/refused", ordinal)
    return replace(made, id=id, quotes=(), happened=None, data={REFUSAL_FIELD: reason, WORDS_FIELD: words})


def fact_subject(name: str, turns: Sequence[Turn]) -> str:
    """Return the subject; "user" also where the model wrote the user's name. Among people nobody is "user"."""
    name = clean(name)
    users = {turn.speaker.casefold() for turn in turns if turn.role == "user"}
    people = {turn.speaker for turn in turns if turn.role == "person"}
    if _means_user(name) and len(people) == 1 and not users:
        return clean(people.pop())
    return "user" if _means_user(name) or name.casefold() in users else name


def _means_user(name: str) -> bool:
    return name.casefold() in USER_NAMES or calls_user(name)


def clean_keywords(given: Sequence[str]) -> tuple[str, ...]:
    clean_ones = (clean(word)[:MAX_NAME_CHARS] for word in given[:MAX_KEYWORDS])
    return tuple(dict.fromkeys(word for word in clean_ones if word))


def clean(text: str) -> str:
    """Return the text without invisible characters and halves of surrogate pairs, which no store takes."""
    return _SURROGATE.sub("", visible(text)).strip()
