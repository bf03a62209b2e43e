"""Rules of a language for what a message asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from memscope.languages.question_rules import MATCHES_NOTHING


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requests:
    """Patterns searched in the folded message, without its quotations and pasted material.

    Args:
        small_talk: words of greetings, thanks and remarks on the last answer; a message of nothing else needs no
            memory.
        small_talk_message: the same for a language without spaces: matches such a message as a whole.
        courtesy: begins thanks, a greeting or a yes, perhaps with a few more words ("thanks, you saved me").
        asks_something: words of a request or a question, which make such a message more than a courtesy.
        addressing: phrases to the assistant ("could you tell me"), whose pronouns say nothing about the user.
        material: asks for work on text in the message: translation, rewriting, a summary of what follows.
        brings: points at text that the message quotes ("this review").
        shows: begins other people's words, which extend to the end of the message: the header of a mail, "Here is the
            article"; searched in the original message, like the next.
        quotes_oneself: ends right before a quotation of the speaker's own words ("I told him").
        task: needs no memory: arithmetic, units, code, a poem.
        reckons: asks for an amount, which makes the message a task if it contains the numbers.
        numbers: group 1 holds a number that is not part of a date ("240", "three").
        news: asks for the weather, the news and the like.
        advice: asks for a recommendation or an idea, which depends on the user ("recommend", "tonight").
        may_have: asks whether the speaker may eat or drink something, which their health decides ("can I have a beer").
        asides: a question that mentions somebody or something of the speaker's and is not answered by memory ("What
            should I wear to my sister's wedding on the 4th?", but not "When is my sister's wedding?").
        looks_up: asks about the past ("what did I buy") or for a date, not for a recommendation.
        measures: asks for a length, weight, temperature or recipe, where the user's units matter.
        amounts: asks for a sum, price or dose; the amounts of a calculation or of code have their units.
        tells: asks for an answer of several sentences ("why", "explain").
        explains: asks for an explanation or a fact, as a question or a request ("which", "explain").
        remark: an interjection at the beginning, or the end of a statement.
        need_score: weights of ``languages.need_score``, which decide what the patterns above leave open.
        talk_score: such weights for the odds that a message concerns the talk at hand alone ("shorter, please").
        own: mentions the user, possessives included ("I", "we"); for a language without such weights.
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
    news: re.Pattern[str] = MATCHES_NOTHING
    advice: re.Pattern[str] = MATCHES_NOTHING
    may_have: re.Pattern[str] = MATCHES_NOTHING
    asides: re.Pattern[str] = MATCHES_NOTHING
    looks_up: re.Pattern[str] = MATCHES_NOTHING
    measures: re.Pattern[str] = MATCHES_NOTHING
    amounts: re.Pattern[str] = MATCHES_NOTHING
    tells: re.Pattern[str] = MATCHES_NOTHING
    explains: re.Pattern[str] = MATCHES_NOTHING
    remark: re.Pattern[str] = MATCHES_NOTHING
    need_score: Path | None = None
    talk_score: Path | None = None
    own: re.Pattern[str] = MATCHES_NOTHING
