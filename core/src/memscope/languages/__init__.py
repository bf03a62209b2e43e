"""Language support: one ``Language`` object per language, registered by plugins, and the lookup of a text's language.

A text's language is detected from its script and function words; a user may write in several. Text in an unregistered
language is handled by its script alone.
"""

from memscope.imports import importing
from memscope.languages.classes import Classes
from memscope.languages.fact_rules import FactRules
from memscope.languages.language import NEUTRAL, DateWords, Language
from memscope.languages.name_rules import FoundName, NameRules
from memscope.languages.phrases import Phrases
from memscope.languages.question_rules import Questions
from memscope.languages.registry import get, main, of, register, registered
from memscope.languages.request_rules import Requests
from memscope.languages.statement_rules import Statements
from memscope.languages.word_lists import read_lists
from memscope.languages.wording_rules import Wording
from memscope.text.language import WordRules

__all__ = [
    "NEUTRAL",
    "Classes",
    "DateWords",
    "FactRules",
    "FoundName",
    "Language",
    "NameRules",
    "Phrases",
    "Questions",
    "Requests",
    "Statements",
    "WordRules",
    "Wording",
    "get",
    "load_tables",
    "main",
    "of",
    "read_lists",
    "register",
    "registered",
]


def load_tables() -> None:
    """Load the languages and their tables (word vectors, synonyms, dictionaries, topics, score signs, names,
    lunar years).

    Only the first call of a process does anything, and blocks for about 60 ms. Before using languages on an event loop
    that must not read files, call this in a thread.
    """
    with importing:
        from memscope.dates import lunar
        from memscope.languages.need_score import need_score
        from memscope.text import spelling, topics, vectors

        lunar.years()
        topics.topics("word 中")
        vectors.sentence_vector("word 中")
        for one in registered():
            vectors.synonyms("word", one.words)
            spelling.load(one.words)
            one.facts.scores(["word"], [()])
            one.names.known()
            for weights in filter(None, (one.requests.need_score, one.requests.talk_score)):
                need_score("word", weights)
            if one.questions.classes:
                one.questions.classes.asked("word")
