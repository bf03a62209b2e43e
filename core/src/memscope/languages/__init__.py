"""Languages: one ``Language`` object each, registered by plugins, and what is asked of a text's language.

A text is in one language by its script and its function words; a user may mix them. Text in a language that nobody
registered is treated by its script alone.
"""

from memscope.imports import importing
from memscope.languages.classes import Classes
from memscope.languages.date_words import DateWords
from memscope.languages.fact_rules import FactRules
from memscope.languages.language import NEUTRAL, Language
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
    """Read the languages, the tables of word vectors, synonyms, topics, signs and names, once per process.

    Blocks for some 60 ms. An event loop may forbid reading files: whoever uses them there calls this in a thread first.
    """
    with importing:
        from memscope.text import topics, vectors

        topics.topics("word 中")
        vectors.sentence_vector("word 中")
        for one in registered():
            vectors.synonyms("word", one.words)
            one.facts.scores(["word"], [()])
            one.names.known()
            if one.questions.classes:
                one.questions.classes.asked("word")
