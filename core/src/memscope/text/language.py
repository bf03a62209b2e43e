"""Guess a text's language by its script and its function words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

from memscope.imports import pattern

if TYPE_CHECKING:
    import re
    from pathlib import Path

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_KANA = "\u3041-\u3096\u30a1-\u30ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
CJK = _HAN + _KANA + _HANGUL
CJK_CHARACTER = pattern(f"[{CJK}]")
_CJK_RUN = pattern(f"[{CJK}]+")
_KANA_CHARACTER = pattern(f"[{_KANA}]")
_HANGUL_CHARACTER = pattern(f"[{_HANGUL}]")


def has_cjk(text: str) -> bool:
    return not text.isascii() and CJK_CHARACTER.search(text) is not None


def cjk_count(text: str) -> int:
    """Count the Chinese, Japanese and Korean characters of a text."""
    return 0 if text.isascii() else sum(map(len, _CJK_RUN.findall(text)))


MIN_FUNCTION_WORDS = 2  # distinct function words that identify a language, if no other has more than half as many
_LATIN_LETTER = pattern("[A-Za-zÀ-ÖØ-öø-ɏ]")
_OTHER_LETTER = pattern(f"[^\\W\\d_A-Za-zÀ-ÖØ-öø-ɏ{CJK}]")  # Cyrillic, Greek, Arabic ...
_WORD_LETTERS = pattern(r"[^\W\d_]+")
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}  # splits ASCII in a third of the time
# Languages of texts that are mostly in these scripts.
LANGUAGE_OF_HAN, LANGUAGE_OF_KANA, LANGUAGE_OF_HANGUL = "zh", "ja", "ko"
CJK_LANGUAGES = frozenset({LANGUAGE_OF_HAN, LANGUAGE_OF_KANA, LANGUAGE_OF_HANGUL})


@dataclass(frozen=True, slots=True, eq=False)  # compared and hashed by identity: a key of many caches
class WordRules:
    """Rules for the words of a language. All words but the function words are in the form of ``tokens.fold``.

    code: ISO 639-1.
    script: "latin", or "han", which is written without spaces.
    function_words: tell the language from others of its script; lower case, with accents.
    stop_words, stop_endings: words that carry no content, and endings of such words ("n't").
    contraction_parts: parts of "don't" and "I'll" that are not words ("don", "ll").
    stem: gives the stem of a word in ASCII.
    time_words: words of time ("monday"): a sentence with neither one of them nor a match of the next has no dates.
    time_pattern: numbers in dates ("12th"), or words of time in a script without spaces; quickest if it begins with a
    character set.
    repetition: words of repetitions ("every Tuesday"): a sentence without a match has no repeated days.
    secret_words: patterns of words that may precede a key ("access.?key").
    variants: a file with one line per variant: the variant and the character to read instead; or None.
    subjects: words that begin a sentence in a text without punctuation ("i", "we"), unless a stop word precedes them.
    hesitations: words without meaning, which are dropped before a text is read; or None.
    spellings: spellings of chats, and frequent mistakes, in lower case, with the usual spelling: "wat r u" is read as
    "what are you".
    topics: a file with a line "topic: words" per topic of ``text/data/topics.txt``, and perhaps "none: words"; or None.
    dictionary: a file of words that ``vectors`` lacks, one per line; a word in neither may be misspelt; or None.
    other_spellings: parts of words, or whole words, with those that another country writes ("our" and "or").
    vectors: a folder with ``word_vectors.npz`` and perhaps ``synonyms.npz``, as ``text.vectors`` reads them; or None.
    """

    code: str
    script: str
    function_words: frozenset[str] = frozenset()
    stop_words: frozenset[str] = frozenset()
    stop_endings: tuple[str, ...] = ()
    contraction_parts: frozenset[str] = frozenset()
    stem: Callable[[str], str] = str
    time_words: frozenset[str] = frozenset()
    time_pattern: re.Pattern[str] | None = None
    repetition: re.Pattern[str] | None = None
    secret_words: tuple[str, ...] = ()
    variants: Path | None = None
    subjects: tuple[str, ...] = ()
    hesitations: re.Pattern[str] | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    topics: Path | None = None
    dictionary: Path | None = None
    other_spellings: Mapping[str, str] = field(default_factory=dict)
    vectors: Path | None = None


NO_RULES = WordRules("", "")  # for an unregistered language: words as they are
_rules: dict[str, WordRules] = {}  # in the order of registration
_loading: list[Callable[[], None]] = []  # loaders of languages that are registered but not loaded
_cache_clears: list[Callable[[], None]] = []  # clear the caches that depend on the registered languages


class _Cached(Protocol):
    def cache_clear(self) -> None: ...


Cached = TypeVar("Cached", bound=_Cached)


def load_later(load: Callable[[], None]) -> None:
    """Call ``load``, which adds rules, before the first text is read."""
    _loading.append(load)
    _forget_texts()


def _forget_texts() -> None:
    for clear in _cache_clears:
        clear()


def depends_on_languages(function: Cached) -> Cached:
    """Clear the cache of a function when a language is registered."""
    _cache_clears.append(function.cache_clear)
    return function


def load_rules() -> None:
    """Load the languages registered since the last call; blocks, as it reads files."""
    while _loading:
        _loading.pop(0)()


def add_rules(rules: WordRules) -> None:
    """Register the rules of a language. The first one of a script also reads texts too short to identify."""
    _rules[rules.code] = rules
    _forget_texts()


def spaced_rules(text: str) -> WordRules:
    """Return the rules for a text's words between spaces, which a CJK text may contain too."""
    return _rules.get(spaced_language(text), NO_RULES)


def every_rules() -> tuple[WordRules, ...]:
    load_rules()
    return tuple(_rules.values())


def usual_rules(script: str) -> WordRules:
    """Return the rules for texts of a script that are too short to identify, such as names."""
    return _rules.get(_usual(script), NO_RULES)


@depends_on_languages
@lru_cache(maxsize=1)
def _known_words() -> tuple[Mapping[str, tuple[str, ...]], frozenset[str]]:
    """Return the codes of each function word, and the words that only languages other than the usual one have."""
    load_rules()
    registered = {code: rules.function_words for code, rules in _rules.items() if rules.function_words}
    known = {**_listed_function_words(), **registered}
    usual = _usual("latin")
    others = frozenset(word for code, words in known.items() if code != usual for word in words)
    codes: dict[str, tuple[str, ...]] = {}
    for code, words in known.items():
        codes |= {word: (*codes.get(word, ()), code) for word in words}
    return codes, others - known.get(usual, frozenset())


@lru_cache(maxsize=1)
def _listed_function_words() -> Mapping[str, frozenset[str]]:
    """Read the function words of further languages, so that their texts are not taken for a registered language."""
    from pathlib import Path

    lines = (Path(__file__).parent / "data" / "function_words.txt").read_text(encoding="utf-8").splitlines()
    return {code: frozenset(words.split()) for code, _, words in (line.partition(": ") for line in lines)}


@depends_on_languages
@lru_cache(maxsize=4)
def _usual(script: str) -> str:
    load_rules()
    return next((code for code, rules in _rules.items() if rules.script == script), "")


def rules_of(text: str) -> WordRules:
    """Return the rules of the language of most of a text; ``NO_RULES`` if it is not registered."""
    return _rules.get(language(text), NO_RULES)


def is_wide(text: str) -> bool:
    """Test whether most of a text is Chinese or Japanese, where about each character is a token."""
    return language(text) in (LANGUAGE_OF_HAN, LANGUAGE_OF_KANA)


@depends_on_languages
@lru_cache(maxsize=1 << 4)  # called several times for each text that is stored
def language(text: str) -> str:
    """Guess the code of a text's language: CJK by code points, others by function words.

    A text is CJK if a third of its characters, or of its letters, are: Korean with mostly Hangul, else Japanese with
    some kana, else Chinese. A text in Latin script with too few function words is in the first registered language.
    """
    cjk = cjk_count(text)
    if not cjk or (3 * cjk < len(text) and 3 * cjk < sum(map(str.isalpha, text))):
        return spaced_language(text)
    if len(_HANGUL_CHARACTER.findall(text)) * 2 > cjk:
        return LANGUAGE_OF_HANGUL
    return LANGUAGE_OF_KANA if len(_KANA_CHARACTER.findall(text)) * 10 > cjk else LANGUAGE_OF_HAN


@depends_on_languages
@lru_cache(maxsize=1 << 4)
def spaced_language(text: str) -> str:
    """Guess the language of the words between spaces; "" if there are only letters that are neither Latin nor CJK."""
    if not text.isascii() and _OTHER_LETTER.search(text) and not _LATIN_LETTER.search(text):
        return ""
    return _usual("latin") if is_usual(text) else clear_language(text) or _usual("latin")


@depends_on_languages
@lru_cache(maxsize=1 << 4)
def is_usual(text: str) -> bool:
    """Test, fast, that a text and so each part of it has too few function words of other languages to be in one."""
    _, others = _known_words()
    lowered = text.lower()
    words = _letters(lowered) if "'" in lowered else lowered.split()
    return len(others.intersection(words)) < MIN_FUNCTION_WORDS


@depends_on_languages
@lru_cache(1024)
def clear_language(text: str) -> str | None:
    """Identify a language in Latin script by its function words; None if there are too few, or of several languages."""
    codes, _ = _known_words()
    counts: dict[str, int] = {}
    for word in set(_letters(text.casefold())):
        for code in codes.get(word, ()):
            counts[code] = counts.get(code, 0) + 1
    (second, _), (most, first) = sorted([(0, ""), (0, ""), *((count, code) for code, count in counts.items())])[-2:]
    return first if most >= MIN_FUNCTION_WORDS and most >= 2 * second else None


def _letters(text: str) -> list[str]:
    """Return the runs of letters."""
    return text.translate(_NO_LETTERS).split() if text.isascii() else _WORD_LETTERS.findall(text)
