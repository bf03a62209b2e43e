"""Names of people, places, organisations, things and topics in a text, by rules and context, without a model.

    "My sister Kim moved to Lisbon." ──▶ Kim (person, the user's sister), Lisbon (place)

A text is read by the rules of its language, one in two scripts by those of both. Time is linear in the text. A
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

from memscope.languages import registry
from memscope.languages.name_rules import NAME_KINDS, FoundName, NameKind
from memscope.text.language import depends_on_languages, has_cjk

MAX_TEXT_CHARS = 20_000  # characters of a text that are read
MAX_ENTITY_NAME_CHARS = 80


Recogniser: TypeAlias = Callable[[str], Iterable[FoundName]]
_recognisers: dict[str, object] = {}
_warned: set[str] = set()
log = logging.getLogger("memscope")


def register(name: str, what: object, plugin: str) -> None:
    """Take up a recogniser of names, or the place of one, "module:function", for every text of the process.

    Raises:
        ConfigError: another recogniser has this name.
    """
    registry.take_up(_recognisers, name, what, "recogniser", plugin)
    names.cache_clear()


@depends_on_languages
@lru_cache(maxsize=1 << 4)  # a retrieve asks several times for the names of its query
def names(text: str) -> tuple[FoundName, ...]:
    """Return the names in a text in order, with those of weight 0, which are names only if they are so elsewhere."""
    text = text[:MAX_TEXT_CHARS]
    main = registry.main(text)
    mentions = [*main.names.find(text)]
    if main.words.script != "han" and main.code and has_cjk(text):
        taken = sorted((one.start, one.start + len(one.text)) for one in mentions if one.weight)
        mentions += (one for one in registry.of_sentence(text).names.find(text) if not _overlaps(one, taken))
    for name in _recognisers:
        recognised = _recognised(name, text)
        taken = sorted((one.start, one.start + len(one.text)) for one in recognised)
        mentions = [*recognised, *(one for one in mentions if not _overlaps(one, taken))]
    return tuple(sorted((one for one in mentions if len(one.text) <= MAX_ENTITY_NAME_CHARS), key=lambda one: one.start))


def _recognised(name: str, text: str) -> list[FoundName]:
    """Return what a plugin's recogniser finds; nothing, and one warning, where it fails."""
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
    """Return whether a name lies on one of those taken, which are in order."""
    at = bisect_right(taken, (name.start, MAX_TEXT_CHARS + 1))
    before = at > 0 and taken[at - 1][1] > name.start
    return before or (at < len(taken) and taken[at][0] < name.start + len(name.text))


def name_form(name: str) -> str:
    """Return the form in which names are compared: compatibility forms, case, spaces and possessives folded."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("’", "'").removesuffix("'s")
    return " ".join(folded.replace(".", " ").split())


__all__ = ["MAX_TEXT_CHARS", "NAME_KINDS", "FoundName", "NameKind", "name_form", "names"]
