"""The words of English: stop words, stems, words of time, topics."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from memscope.imports import pattern
from memscope.languages.en.stemmer import stem
from memscope.languages.word_lists import read_alternatives, read_spellings
from memscope.text.language import WordRules

FOLDER = Path(__file__).parent / "data"
alternatives = partial(read_alternatives, FOLDER)


def word_list(name: str) -> frozenset[str]:
    """Read a file in ``data`` with one word per line."""
    return frozenset((FOLDER / f"{name}.txt").read_text(encoding="utf-8").split())


# "What is the dog allergic to?": with "the", people, animals and things of a household are the user's.
HOUSEHOLD = rf"the {alternatives('household')}\b(?! (?:breed|family|species|industry|genome|emoji)s?\b)"
STOP_WORDS = word_list("stop_words")
WORDS = WordRules(
    code="en",
    script="latin",
    function_words=word_list("function_words"),
    stop_words=STOP_WORDS,
    stop_endings=("n't",),
    contraction_parts=word_list("contraction_parts"),
    stem=stem,
    time_words=word_list("time_words"),
    time_pattern=pattern(r"[\dDd](?:(?<=\d)(?:st|nd|rd|th)\b|(?<=[a-z’']s [Dd])ay\b|(?<=s['’] [Dd])ay\b)"),
    repetition=pattern(  # begins with a character set, which ``re`` finds quickly
        r"[EeMTWFSBbAaw](?=[aehinoruv])(?:(?<=[Ee])(?:very|ach) (?:[\w.]+ ){0,2}(?:[A-Z]|[mtwfs]\w+day|week|month|year)"
        r"|(?<=[MTWFS])(?:on|ues|ednes|hurs|ri|atur|un)day(?:s| (?:morning|afternoon|evening|night)s"
        r"|(?:,? (?:and )?[A-Z][a-z]+day){2})\b"
        r"|(?<=[Ww])eek(?:end|day)s\b|(?<=[Bb])irthday|(?<=[Aa])nniversary)"
    ),
    secret_words=("secret", "access.?key"),
    subjects=("i", "i'm", "i've", "i'd", "i'll", "we", "we're", "we've", "it's", "she's", "he's"),
    spellings=read_spellings(FOLDER / "spellings.txt"),
    topics=FOLDER / "topics.txt",
    dictionary=FOLDER / "dictionary.txt",
    other_spellings=read_spellings(FOLDER / "other_spellings.txt"),
    vectors=FOLDER,
)
