"""One language as one object, with everything that memscope knows about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memscope.languages.fact_rules import FactRules
from memscope.languages.name_rules import NameRules
from memscope.languages.phrases import Phrases
from memscope.languages.question_rules import Questions
from memscope.languages.request_rules import Requests
from memscope.languages.statement_rules import Statements
from memscope.languages.wording_rules import Wording
from memscope.text.language import NO_RULES, WordRules

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, eq=False)
class DateWords:
    """The date vocabulary of a language that separates words by spaces.

    Args:
        file: lower-case words of time, in which a space also matches an apostrophe or a hyphen, and rules that run
            before the shared ones; ``dates/data/README.md`` explains the format of both.
        day_first: whether 3/5 is the 3rd of May.
    """

    file: Path
    day_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """Everything about one language; a part that is left out handles text by its script alone.

    Args:
        words: how words become search terms, and which of them name topics and times.
        statements: tells statements from questions, requests and standing wishes.
        questions: what the wording of a question says about its answer.
        facts: recognises lasting statements of speakers about themselves.
        names: recognises names.
        dates: words of time; None if they are in the shared tables, or if the language has none.
        requests: what a message needs from memory.
        wording: how facts are worded.
        phrases: the texts that memscope prints.
        prompts: folder of the prompts that ``memscope/prompts/README.md`` lists; missing ones are taken from the
            first registered language.
        topic_names: names of the topics of ``text/data/topics.txt``, by their English names.
    """

    words: WordRules
    statements: Statements = field(default_factory=Statements)
    questions: Questions = field(default_factory=Questions)
    facts: FactRules = field(default_factory=FactRules)
    names: NameRules = field(default_factory=NameRules)
    dates: DateWords | None = None
    requests: Requests = field(default_factory=Requests)
    wording: Wording = field(default_factory=Wording)
    phrases: Phrases = field(default_factory=Phrases)
    prompts: Path | None = None
    topic_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """ISO 639-1."""
        return self.words.code

    def topic_name(self, topic: str) -> str:
        """Name a topic in this language.

        Args:
            topic: The English name.

        Returns:
            The name, or the English one if the language has none.
        """
        return self.topic_names.get(topic, topic)


NEUTRAL = Language(words=NO_RULES)  # for text in an unregistered language
