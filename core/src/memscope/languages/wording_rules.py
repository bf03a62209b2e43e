"""Rules of a language on the wording of facts, which a model writes in the third person."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.languages.question_rules import MATCHES_NOTHING


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wording:
    """Patterns are searched in a fact, or where noted in a quote of a turn, as it is written.

    Args:
        plan: a plan, wish, fear or possibility, which ends no fact that holds.
        future: what is to come.
        told_as_past: tells of a time that was over ("lived in", 曾).
        formerly: the same where no date is told ("used to").
        still_holds: began in the past and holds ("has worked", 至今).
        state: a state told by verbs without a tense.
        state_words: words of such states as ``tokens.words`` gives them; alone they make no two facts alike.
        not_so: says that something is not so.
        denial: says that something did not happen, or that there is none.
        denies: the words that turn a fact into its opposite.
        negation: one word of a quote that turns its meaning; the whole word must match.
        named_day: days that a model may know and the rules of dates do not ("birthday"); in quotes too.
        time_word: other words for a time of day, year or life; in quotes too.
        half: half a unit of time, in a time expression.
        state_verb: what is so, not what happened.
        timeless: tastes and traits, which no day is that of.
        changing: tells of a home, work, health or money as it is now, whatever else is said.
        hearsay: begins with who says or believes it, a group "source".
        affirms: an answer that says yes to a question; in answers.
        confirms: the same to what was only supposed; in answers.
        supposes: draws from what was said how it is with the listener ("so you moved"); in turns.
        takes_up: does something with what was just spoken of ("I read it"), a group "deed"; in turns.
        over: tells that something came to its end ("quit"); beside ``denial`` it denies what was.
        instruction: tells an assistant what to do, in the place of a fact.
        user: how facts call the user.
        user_named: gives the user's name in a group.
        possession: groups "owner" and "thing" ("Ann's dentist").
        single: what a person has one of: a home, a job, an age; group "rest" tells which.
        joint: alternatives of a pattern between two names ("and").
        articles: words that make no difference between two facts.
        particles: the same in a script without spaces, as characters.
        digits: characters that are numbers, in a script without spaces.
        assistant_names: what assistants among people are called, casefolded.
        basics, other: as the prompts call the subject of lone lasting facts, and the keyword of what is in no list.
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
    negation: re.Pattern[str] = MATCHES_NOTHING
    named_day: re.Pattern[str] = MATCHES_NOTHING
    time_word: re.Pattern[str] = MATCHES_NOTHING
    half: re.Pattern[str] = MATCHES_NOTHING
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
