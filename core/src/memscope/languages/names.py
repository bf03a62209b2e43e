"""Names of people, places, organisations, things and topics in a text, by rules and context, without a model.

    "My sister Kim moved to Lisbon." ──▶ Kim (person, the user's sister), Lisbon (place)

The rules of the text's language decide; for text in two scripts, those of both. Time is linear in the length. A
stop word, a day, a month or the first word of a sentence is not a name merely because it is capitalised.
"""

from __future__ import annotations

import logging
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from pkgutil import resolve_name
from typing import TypeAlias

from memscope.imports import pattern
from memscope.languages import registry
from memscope.languages.name_rules import NAME_KINDS, FoundName, NameKind
from memscope.text.language import depends_on_languages, has_cjk

MAX_TEXT_CHARS = 20_000  # the rest of a longer text is not searched for names
MAX_ENTITY_NAME_CHARS = 80
_POSSESSIVES = pattern(r"(?: ?'s)+$")


Recogniser: TypeAlias = Callable[[str], Iterable[FoundName]]
_recognisers: dict[str, object] = {}
_warned: set[str] = set()
log = logging.getLogger("memscope")


def register(name: str, what: object, plugin: str) -> None:
    """Register a name recogniser for the whole process: a function, or its import path "module:function".

    Raises:
        ConfigError: another recogniser has this name.
    """
    registry.take_up(_recognisers, name, what, "recogniser", plugin)
    names.cache_clear()


@depends_on_languages
@lru_cache(maxsize=1 << 4)  # one retrieve reads the names of its query several times
def names(text: str) -> tuple[FoundName, ...]:
    """List the names in a text in order, including those of weight 0, which another text must confirm."""
    text = text[:MAX_TEXT_CHARS]
    main = registry.main(text)
    mentions = [*main.names.find(text)]
    if main.words.script != "han" and main.code and has_cjk(text):
        taken = sorted((mention.start, mention.start + len(mention.text)) for mention in mentions if mention.weight)
        mentions += (one for one in registry.of_sentence(text).names.find(text) if not _overlaps(one, taken))
    for name in _recognisers:
        recognised = _recognised(name, text)
        taken = sorted((one.start, one.start + len(one.text)) for one in recognised)
        mentions = [*recognised, *(mention for mention in mentions if not _overlaps(mention, taken))]
    return tuple(sorted((one for one in mentions if len(one.text) <= MAX_ENTITY_NAME_CHARS), key=lambda one: one.start))


def _recognised(name: str, text: str) -> list[FoundName]:
    """Run a plugin's recogniser; if it fails, find nothing and log one warning per recogniser."""
    recogniser = _recognisers[name]
    try:
        find: Recogniser = resolve_name(recogniser) if isinstance(recogniser, str) else recogniser  # type: ignore[assignment]
        return [one for one in find(text) if text.startswith(one.text, one.start) and one.kind in NAME_KINDS]
    except Exception as error:
        if name not in _warned:
            _warned.add(name)
            log.warning("the recogniser %r failed: %s", name, type(error).__name__)
        return []


def _overlaps(name: FoundName, taken: list[tuple[int, int]]) -> bool:
    """Test whether a name overlaps one of the spans in ``taken``, which are sorted."""
    at = bisect_right(taken, (name.start, MAX_TEXT_CHARS + 1))
    before = at > 0 and taken[at - 1][1] > name.start
    return before or (at < len(taken) and taken[at][0] < name.start + len(name.text))


def name_form(name: str) -> str:
    """Normalise a name for comparison: fold compatibility forms, case, dots and spaces, drop the possessive."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("’", "'")
    return _POSSESSIVES.sub("", " ".join(folded.replace(".", " ").split()))


__all__ = ["MAX_TEXT_CHARS", "NAME_KINDS", "FoundName", "NameKind", "name_form", "names"]
