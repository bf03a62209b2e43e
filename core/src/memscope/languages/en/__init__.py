"""English."""

from pathlib import Path

from memscope.languages.en.facts import FACTS
from memscope.languages.en.names import NAMES
from memscope.languages.en.phrases import PHRASES
from memscope.languages.en.questions import QUESTIONS
from memscope.languages.en.requests import REQUESTS
from memscope.languages.en.statements import STATEMENTS
from memscope.languages.en.wording import WORDING
from memscope.languages.en.words import WORDS
from memscope.languages.language import Language

ENGLISH = Language(
    words=WORDS,
    statements=STATEMENTS,
    questions=QUESTIONS,
    requests=REQUESTS,
    facts=FACTS,
    names=NAMES,
    wording=WORDING,
    phrases=PHRASES,
    prompts=Path(__file__).parents[2] / "prompts" / "en",
)
