"""Ask the languages of a fact how it is worded."""

from __future__ import annotations

from functools import lru_cache

from memscope.languages.registry import of, registered
from memscope.languages.wording_rules import Wording
from memscope.text.language import depends_on_languages


def wordings(text: str) -> list[Wording]:
    return [one.wording for one in of(text)]


def worded(sign: str, text: str) -> bool:
    """Return whether a pattern of the text's languages is in it."""
    return any(getattr(one, sign).search(text) for one in wordings(text))


@depends_on_languages
@lru_cache(maxsize=1 << 10)  # asked for the same known facts in every call of a batch
def tells_state(text: str) -> bool:
    """Return whether a fact tells what a person has one of, or how they live: a home, a job, an age."""
    return worded("state", text) or any(kind.search(text) for one in wordings(text) for kind in one.single)


@depends_on_languages
@lru_cache(maxsize=1 << 4)
def every(field: str) -> frozenset[str]:
    """Return the words, or characters, of all languages in a field."""
    values = (getattr(one.wording, field) for one in registered())
    return frozenset(word for value in values for word in (value.split() if isinstance(value, str) else value))


def calls_user(name: str) -> bool:
    """Return whether facts call the user so."""
    return any(one.wording.user.fullmatch(name) for one in registered())
