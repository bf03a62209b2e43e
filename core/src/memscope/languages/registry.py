"""Languages by their code, one registry per process: a text must be read the same way whoever asks."""

from __future__ import annotations

from functools import lru_cache, partial
from pkgutil import resolve_name

from memscope.errors import ConfigError
from memscope.languages.language import NEUTRAL, Language
from memscope.languages.name_rules import NameKind
from memscope.text.language import (
    add_rules,
    cjk_count,
    depends_on_languages,
    has_cjk,
    language,
    load_later,
    load_rules,
    spaced_language,
)

_places: dict[str, object] = {}
_owners: dict[tuple[str, str], str] = {}  # plugins by the kind and the name of what they registered
_languages: dict[str, Language] = {}


def register(name: str, what: object, plugin: str = "") -> None:
    """Take up a language by its code, or the place of one, "module:NAME", imported when the first text is read.

    Raises:
        ConfigError: another language has this code.
    """
    if _places.get(name) != what:
        take_up(_places, name, what, "language", plugin)
        load_later(partial(_load, name))


def take_up(registry: dict[str, object], name: str, what: object, kind: str, plugin: str) -> None:
    """Register what a plugin brings for the whole process, or the place of it, "module:name".

    A plugin may replace what it registered itself: the cell of a notebook that defines it was run again.

    Raises:
        ConfigError: another plugin registered the name.
    """
    owner = _owners.setdefault((kind, name), plugin)
    if name in registry and registry[name] != what and not owner == plugin != "":
        raise ConfigError(f"two plugins register the {kind} {name!r}", hint="block one of them: plugins.block")
    registry[name] = what


def named_places() -> list[tuple[str, str]] | None:
    """Return the registered languages by code and place, for another process; None if one has no place."""
    named = [(name, place) for name, place in _places.items() if isinstance(place, str)]
    return named if len(named) == len(_places) else None


def _load(code: str) -> None:
    place = _places[code]
    loaded = resolve_name(place) if isinstance(place, str) else place
    if not isinstance(loaded, Language) or loaded.code != code:
        raise ConfigError(f"{place!r} is not the language {code!r}", hint="give a memscope.languages.Language")
    _languages[code] = loaded
    add_rules(loaded.words)
    if loaded.dates:
        from memscope.dates import languages as dates

        dates.register(code, loaded.dates.file, loaded.dates.day_first, lambda text: spaced_language(text) == code)


def get(code: str) -> Language:
    """Return the language with this code; ``NEUTRAL`` if nobody registered it."""
    load_rules()
    return _languages.get(code, NEUTRAL)


def registered() -> tuple[Language, ...]:
    load_rules()
    return tuple(_languages.values())


def main(text: str) -> Language:
    """Return the language that most of a text is in; ``NEUTRAL`` for one that nobody registered."""
    return get(language(text))


@depends_on_languages
@lru_cache(maxsize=1 << 4)  # asked several times for the text that is being written
def of(text: str) -> tuple[Language, ...]:
    """Return the languages of a text, which may mix scripts; none of those that nobody registered."""
    wide = cjk_count(text)
    spaced = not wide or wide < sum(map(str.isalpha, text))
    return _of(wide > 0, spaced_language(text) if spaced else "")


@depends_on_languages
@lru_cache(maxsize=1 << 6)
def _of(wide: bool, code: str) -> tuple[Language, ...]:
    return tuple(one for one in registered() if one.code == code or (wide and one.words.script == "han"))


def of_sentence(sentence: str) -> Language:
    """Return the language whose rules a sentence is read by: with characters of a script without spaces, one of it."""
    if has_cjk(sentence):
        return next((one for one in _of(True, "") if one.words.script == "han"), NEUTRAL)
    return get(spaced_language(sentence))


def known_kind(name: str) -> NameKind | None:
    """Return the kind of a name in the tables of the registered languages, of several the first one's."""
    folded = name.casefold()
    return next((kind for one in registered() if (kind := one.names.known().get(folded))), None)
