"""Rules on the sentences of a language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.imports import pattern
from memscope.languages.question_rules import MATCHES_NOTHING
from memscope.text.tokens import fold, pieces

YEAR_DIGITS = pattern(r"\d{4}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statements:
    """A rule that is unsure calls a text a statement. Patterns are matched with texts as ``plain`` gives them.
    Each of the alternatives begins with a letter.

    Args:
        question: begins, or is in, a question without a mark; ``asks`` decides.
        no_question: looks like one and is none ("what a day", 没什么).
        longest_question: characters of a question without a mark.
        shortest_clause: words, in a script without spaces characters, from which a clause says something by itself.
        suggests: a suggestion with a question mark ("how about").
        filling: alternatives of a pattern; sentences of nothing else say nothing ("hi", "quick question").
        unknowing: the answer of an assistant that does not know.
        but: alternatives of a pattern; such an answer with one of them says something all the same.
        sorry: alternatives of a pattern; sentences of nothing else are left out of an answer.
        recap: alternatives of a pattern at the beginning of a repetition ("as I said").
        continues: goes on about somebody or something that was named right before ("she's 74").
        final_particles: particles at the end of a clause that change nothing.
        articles: words that make no difference between two statements.
        about_user: asks for everything known about the user.
        request: asks for something to be done.
        shortest_request: words of a request.
        greeting: alternatives of a pattern at the beginning of a greeting.
        instruction: alternatives of a pattern at the beginning of a standing wish ("always").
        wish: a wish for how the assistant behaves ("I'd like you to").
        manner: the form of answers ("sentences", "emojis"), in lower case; beside ``insists`` in a sentence, a standing
            wish.
        measures: the same of units ("metric").
        form_words: words as ``tokens.pieces`` gives them, one of which is in each match of ``manner`` and ``measures``,
            looked up before these are searched; where there are none, every text is searched.
        insists: forbids, limits or prefers something, or says that it holds always ("no", "at most", "with me").
        once: works on something now ("write a", "this"), so that such a sentence is no standing wish.
        birth: tells of a birth, whose year is hardly that of the saying.
        numeral: a number written in words.
        either: between two times of which one is meant ("or maybe in"); matched with all that stands between them.
        year: a time with its year.
        first_person: words by which somebody speaks of themselves, as ``tokens.pieces`` gives them.
        wide: the language is written without spaces.
    """

    question: re.Pattern[str] = MATCHES_NOTHING
    no_question: re.Pattern[str] = MATCHES_NOTHING
    longest_question: int = 80
    shortest_clause: int = 4
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
    once: re.Pattern[str] = MATCHES_NOTHING
    birth: re.Pattern[str] = MATCHES_NOTHING
    numeral: re.Pattern[str] = MATCHES_NOTHING
    either: re.Pattern[str] = MATCHES_NOTHING
    year: re.Pattern[str] = YEAR_DIGITS
    first_person: frozenset[str] = frozenset()
    wide: bool = False

    def plain(self, text: str) -> str:
        """Fold case and accents, for the patterns.

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
        """Tell whether a sentence without a question mark asks.

        Args:
            sentence: As ``plain`` gives it.

        Returns:
            False where the rules are unsure.
        """
        short = len(sentence) <= self.longest_question and not sentence.endswith((".", "!"))
        return short and not self.no_question.match(sentence) and self.question.match(sentence) is not None

    def asks_about_user(self, query: str) -> bool:
        """Tell whether a question asks for everything known about the user.

        Args:
            query: The words of the question.

        Returns:
            True for "What do you know about me?".
        """
        return self.about_user.search(self.plain(query)) is not None
