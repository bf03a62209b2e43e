"""Chinese, simplified and traditional."""

from pathlib import Path

from memscope.languages.language import Language
from memscope.languages.zh.facts import FACTS
from memscope.languages.zh.names import NAMES
from memscope.languages.zh.phrases import PHRASES
from memscope.languages.zh.questions import QUESTIONS
from memscope.languages.zh.requests import REQUESTS
from memscope.languages.zh.statements import STATEMENTS
from memscope.languages.zh.wording import WORDING
from memscope.languages.zh.words import WORDS

_TOPIC_NAMES = (Path(__file__).parent / "data/topic_names.txt").read_text(encoding="utf-8").splitlines()
CHINESE = Language(
    words=WORDS,
    statements=STATEMENTS,
    questions=QUESTIONS,
    facts=FACTS,
    names=NAMES,
    requests=REQUESTS,
    wording=WORDING,
    phrases=PHRASES,
    prompts=Path(__file__).parents[2] / "prompts" / "zh",
    topic_names=dict(line.split() for line in _TOPIC_NAMES),
)
