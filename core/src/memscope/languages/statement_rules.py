"""Rules of a language for sentences: questions, statements, requests, standing wishes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.imports import pattern
from memscope.languages.question_rules import MATCHES_NOTHING
from memscope.text.tokens import fold, pieces

YEAR_DIGITS = pattern(r"\d{4}")
MAX_WISH_CHARS = 80  # a longer sentence is also read clause by clause, as its other words say nothing about a wish


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statements:
    """If unsure, a rule treats a text as a statement. Patterns are searched in the result of ``plain``. Alternatives
    are joined with those of the other languages, and each begins with a letter.

    Args:
        question: the words of a question without a question mark, where ``asks`` looks for them.
        no_question: looks like a question but is not ("what a day", 没什么).
        longest_question: maximum characters of a question without a question mark.
        shortest_clause: minimum ``length`` of a clause that states something by itself.
        adds: separates a question from a statement of the speaker in the same sentence (", my").
        suggests: a suggestion with a question mark ("how about").
        filling: alternatives; a sentence of nothing else has no content ("hi", "quick question").
        unknowing: an assistant's answer that it does not know.
        but: alternatives; such an answer with one of them has content nevertheless.
        sorry: alternatives; a sentence of nothing else is ignored in an answer.
        recap: alternatives at the beginning of a repetition ("as I said").
        continues: continues about somebody or something named right before ("she's 74").
        final_particles: particles at the end of a clause that do not change its meaning.
        articles: words that are ignored when two statements are compared.
        about_user: asks for everything known about the user.
        request: asks for something to be done.
        shortest_request: minimum ``length`` of a request.
        greeting: alternatives at the beginning of a greeting.
        instruction: alternatives at the beginning of a standing wish ("always").
        wish: a wish for how the assistant behaves ("I'd like you to").
        manner: names the form of answers ("sentences", "emojis"), in lower case; together with ``insists`` in one
            sentence, a standing wish.
        measures: the same for units ("metric").
        form_words: a quick test before ``manner`` and ``measures``, each match of which contains one of these words of
            ``tokens.pieces``; without any, every text is searched.
        insists: forbids, limits or prefers something, or says that it always holds ("no", "at most", "with me").
        bids: a question that asks for a way of answering ("can you keep it to").
        once: asks for one answer now ("write a", "this"), so that the sentence is not a standing wish.
        birth: mentions a birth, whose year is rarely the year in which it is mentioned.
        numeral: a number written in words.
        either: joins two times of which one is meant ("or maybe in"); matched with the whole text between them.
        year: a time with its year.
        first_person: first-person words, as ``tokens.pieces`` gives them.
        wide: the language is written without spaces.
    """

    question: re.Pattern[str] = MATCHES_NOTHING
    no_question: re.Pattern[str] = MATCHES_NOTHING
    longest_question: int = 80
    shortest_clause: int = 4
    adds: re.Pattern[str] = MATCHES_NOTHING
    suggests: re.Pattern[str] = MATCHES_NOTHING
    filling: str = ""
    unknowing: re.Pattern[str] = MATCHES_NOTHING
    but: str = ""
    sorry: str = ""
    recap: str = ""
    continues: re.Pattern[str] = MATCHES_NOTHING
    final_particles: re.Pattern[str] = MATCHES_NOTHING
    articles: frozenset[str] = frozenset()
    about_user: re.Pattern[str] = MATCHES_NOTHING
    request: re.Pattern[str] = MATCHES_NOTHING
    shortest_request: int = 2
    greeting: str = ""
    instruction: str = ""
    wish: re.Pattern[str] = MATCHES_NOTHING
    manner: re.Pattern[str] = MATCHES_NOTHING
    measures: re.Pattern[str] = MATCHES_NOTHING
    form_words: frozenset[str] = frozenset()
    insists: re.Pattern[str] = MATCHES_NOTHING
    bids: re.Pattern[str] = MATCHES_NOTHING
    once: re.Pattern[str] = MATCHES_NOTHING
    birth: re.Pattern[str] = MATCHES_NOTHING
    numeral: re.Pattern[str] = MATCHES_NOTHING
    either: re.Pattern[str] = MATCHES_NOTHING
    year: re.Pattern[str] = YEAR_DIGITS
    first_person: frozenset[str] = frozenset()
    wide: bool = False

    def plain(self, text: str) -> str:
        """Fold case and accents before patterns are searched.

        Args:
            text: A sentence or a whole text.

        Returns:
            The text in which patterns are searched.
        """
        return fold(text)

    def length(self, text: str) -> int:
        """Measure a text as a reader does.

        Args:
            text: A sentence.

        Returns:
            The number of words, or of characters in a script without spaces.
        """
        return len(pieces(text))

    def asks(self, sentence: str) -> bool:
        """Detect a question without a question mark.

        Args:
            sentence: As ``plain`` gives it.

        Returns:
            True for a question; False if the rules are unsure.
        """
        short = len(sentence) <= self.longest_question and not sentence.endswith((".", "!"))
        return short and not self.no_question.match(sentence) and self.question.match(sentence) is not None

    def asks_about_user(self, query: str) -> bool:
        """Detect a question for everything known about the user.

        Args:
            query: The words of the question.

        Returns:
            True for "What do you know about me?".
        """
        return self.about_user.search(self.plain(query)) is not None
