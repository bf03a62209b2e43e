"""Test the wording of facts by the rules of their languages."""

from __future__ import annotations

from functools import lru_cache

from memscope.languages.registry import of, registered
from memscope.languages.wording_rules import Wording
from memscope.text.language import depends_on_languages


def wordings(text: str) -> list[Wording]:
    return [one.wording for one in of(text)]


def worded(sign: str, text: str) -> bool:
    """Search a text for the pattern ``sign`` of its languages, an attribute of ``Wording`` such as "plan"."""
    return any(getattr(wording, sign).search(text) for wording in wordings(text))


@depends_on_languages
@lru_cache(maxsize=1 << 10)  # called for the same known facts in every model call of a batch
def tells_state(text: str) -> bool:
    """Detect facts about how a person lives, or about something they have only one of: a home, a job, an age."""
    return worded("state", text) or any(kind.search(text) for wording in wordings(text) for kind in wording.single)


@depends_on_languages
@lru_cache(maxsize=1 << 4)
def every(field: str) -> frozenset[str]:
    """Collect the words, or characters, that all languages have in a field of ``Wording``."""
    values = (getattr(language.wording, field) for language in registered())
    return frozenset(word for value in values for word in (value.split() if isinstance(value, str) else value))


def calls_user(name: str) -> bool:
    """Test whether a name is what facts call the user: "the user", 用户."""
    return any(language.wording.user.fullmatch(name) for language in registered())
