"""Rules of a language for the wording of facts, which a model writes in the third person."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.languages.question_rules import MATCHES_NOTHING


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wording:
    """Patterns searched in the original text of a fact or, where noted, of a turn.

    Args:
        plan: a plan, wish, fear or possibility, which does not end a current fact.
        future: a future event.
        told_as_past: describes a time that is over ("lived in", 曾).
        formerly: the same for facts without a date ("used to").
        still_holds: began in the past and still holds ("has worked", 至今).
        state: a state, in a language whose verbs have no tense.
        state_words: words of states, as ``tokens.words`` gives them; sharing only these does not make two facts alike.
        not_so: says that something is not so.
        denial: says that something did not happen or does not exist.
        denies: words that turn a fact into its opposite.
        denied: says that something is not so, which is in group "rest"; searched in clauses of turns.
        negation: a negating word; matched with each whole word of a quote.
        named_day: days that a model may know but the date rules do not ("birthday"); also searched in quotes.
        time_word: other words for a time of day, year or life; also searched in quotes.
        state_verb: a verb of a state, not of an event.
        timeless: tastes and traits, which have no date.
        changing: describes the current home, work, health or money, which may change.
        hearsay: begins with the person who says or believes the fact, in group "source".
        affirms: says yes to a question; searched in answers.
        confirms: says yes to a supposition; searched in answers.
        supposes: a supposition about the listener ("so you moved"); searched in turns.
        takes_up: acts on something just mentioned ("I read it"), with the verb in group "deed"; searched in turns.
        over: says that something ended ("quit"), which like ``denial`` contradicts an earlier fact.
        instruction: tells an assistant what to do instead of stating a fact.
        user: what facts call the user.
        user_named: gives the user's name, in group 1.
        possession: groups "owner" and "thing" ("Ann's dentist").
        single: things a person has only one of (home, job, age), with their value in group "rest".
        joint: joins two names ("and").
        articles: words that are ignored when two facts are compared.
        particles: the same in a script without spaces, as characters.
        digits: characters that are numbers, in a script without spaces.
        assistant_names: casefolded names of assistants that take part as people.
        basics, other: the prompts' names for the subject of lone lasting facts, and the keyword of facts in no list.
    """

    plan: re.Pattern[str] = MATCHES_NOTHING
    future: re.Pattern[str] = MATCHES_NOTHING
    told_as_past: re.Pattern[str] = MATCHES_NOTHING
    formerly: re.Pattern[str] = MATCHES_NOTHING
    still_holds: re.Pattern[str] = MATCHES_NOTHING
    state: re.Pattern[str] = MATCHES_NOTHING
    state_words: frozenset[str] = frozenset()
    not_so: re.Pattern[str] = MATCHES_NOTHING
    denial: re.Pattern[str] = MATCHES_NOTHING
    denies: re.Pattern[str] = MATCHES_NOTHING
    denied: re.Pattern[str] = MATCHES_NOTHING
    negation: re.Pattern[str] = MATCHES_NOTHING
    named_day: re.Pattern[str] = MATCHES_NOTHING
    time_word: re.Pattern[str] = MATCHES_NOTHING
    state_verb: re.Pattern[str] = MATCHES_NOTHING
    timeless: re.Pattern[str] = MATCHES_NOTHING
    changing: re.Pattern[str] = MATCHES_NOTHING
    hearsay: re.Pattern[str] = MATCHES_NOTHING
    affirms: re.Pattern[str] = MATCHES_NOTHING
    confirms: re.Pattern[str] = MATCHES_NOTHING
    supposes: re.Pattern[str] = MATCHES_NOTHING
    takes_up: re.Pattern[str] = MATCHES_NOTHING
    over: re.Pattern[str] = MATCHES_NOTHING
    instruction: re.Pattern[str] = MATCHES_NOTHING
    user: re.Pattern[str] = MATCHES_NOTHING
    user_named: re.Pattern[str] = MATCHES_NOTHING
    possession: re.Pattern[str] = MATCHES_NOTHING
    single: tuple[re.Pattern[str], ...] = ()
    joint: str = ""
    articles: frozenset[str] = frozenset()
    particles: str = ""
    digits: str = ""
    assistant_names: frozenset[str] = frozenset()
    basics: str = ""
    other: str = ""
