"""Rules on what a message asks for in a language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.languages.question_rules import MATCHES_NOTHING


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requests:
    """Patterns are searched in the folded message, without what it quotes and without pasted material.

    Args:
        small_talk: words of greetings, thanks and remarks on the last answer; a message of nothing else needs no
            memory.
        small_talk_message: the same for a language without spaces: matches such a message whole.
        courtesy: the beginning of thanks, a greeting or a yes, which may go on a little ("thanks, you saved me").
        asks_something: words of a request or a question, by which such a message is more than courtesy.
        addressing: phrases to the assistant ("could you tell me"), whose pronouns say nothing about the user.
        material: works on words that the message brings along: translation, rewriting, a summary of what follows.
        brings: points at something that the message quotes ("this review").
        shows: the beginning of others' words, which go on to the end of the message: a mail's head, "Here is the
            article"; in the message as it was written, as the next.
        quotes_oneself: ends right before a quotation of the speaker's own words ("I told him").
        task: needs nothing but itself: arithmetic, units, code, a poem; not with a possessive ("a poem for my wife").
        reckons: asks for an amount; with numbers in the message itself, a task.
        numbers: group 1 holds a number that is no part of a date ("240", "three").
        asks_own: asks for a fact about the user, whatever else it names ("do I use Python or Rust").
        news: asks for the weather, the news and the like.
        possessive: something or somebody of the user's ("my", "our").
        own: the user is meant, a possessive included ("I", "we").
        affairs: asks for work on the user's affairs ("remind", "schedule").
        general: asks about all of a kind, not about one the user has ("how does a boiler work").
        advice: asks for a choice or an idea, which depends on who asks ("recommend", "tonight").
        looks_up: asks for what was ("what did I buy") or when something is, which is no choice.
        measures: asks for a length, a weight, a temperature, a recipe, which units matter for.
        tells: asks for an answer of several sentences ("why", "explain").
        explains: asks to explain or to state a fact without a question's form ("explain").
        remark: an interjection before a sentence, or the end of a statement.
    """

    small_talk: frozenset[str] = frozenset()
    small_talk_message: re.Pattern[str] = MATCHES_NOTHING
    courtesy: re.Pattern[str] = MATCHES_NOTHING
    asks_something: re.Pattern[str] = MATCHES_NOTHING
    addressing: re.Pattern[str] = MATCHES_NOTHING
    material: re.Pattern[str] = MATCHES_NOTHING
    brings: re.Pattern[str] = MATCHES_NOTHING
    shows: re.Pattern[str] = MATCHES_NOTHING
    quotes_oneself: re.Pattern[str] = MATCHES_NOTHING
    task: re.Pattern[str] = MATCHES_NOTHING
    reckons: re.Pattern[str] = MATCHES_NOTHING
    numbers: re.Pattern[str] = MATCHES_NOTHING
    asks_own: re.Pattern[str] = MATCHES_NOTHING
    news: re.Pattern[str] = MATCHES_NOTHING
    possessive: re.Pattern[str] = MATCHES_NOTHING
    own: re.Pattern[str] = MATCHES_NOTHING
    affairs: re.Pattern[str] = MATCHES_NOTHING
    general: re.Pattern[str] = MATCHES_NOTHING
    advice: re.Pattern[str] = MATCHES_NOTHING
    looks_up: re.Pattern[str] = MATCHES_NOTHING
    measures: re.Pattern[str] = MATCHES_NOTHING
    tells: re.Pattern[str] = MATCHES_NOTHING
    explains: re.Pattern[str] = MATCHES_NOTHING
    remark: re.Pattern[str] = MATCHES_NOTHING
