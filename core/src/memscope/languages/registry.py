"""The registry of languages by code; one per process, so that every caller reads a text in the same way."""

from __future__ import annotations

from functools import lru_cache, partial
from pkgutil import resolve_name

from memscope.errors import ConfigError, PluginError
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
_owners: dict[tuple[str, str], str] = {}  # the plugin that registered (kind, name)
_languages: dict[str, Language] = {}


def register(name: str, what: object, plugin: str = "") -> None:
    """Register a language: the object, or its import path "module:NAME", imported when the first text is read.

    Raises:
        ConfigError: another language has this code.
    """
    if _places.get(name) != what:
        take_up(_places, name, what, "language", plugin)
        load_later(partial(_load, name))


def take_up(registry: dict[str, object], name: str, what: object, kind: str, plugin: str) -> None:
    """Register a plugin's object, or its import path "module:name", for the whole process.

    A plugin may replace its own registration, as when a notebook cell that defines it is run again.

    Raises:
        ConfigError: another plugin registered the name.
    """
    owner = _owners.setdefault((kind, name), plugin)
    if name in registry and registry[name] != what and not owner == plugin != "":
        raise ConfigError(f"two plugins register the {kind} {name!r}", hint="block one of them: plugins.block")
    registry[name] = what


def named_places() -> list[tuple[str, str]] | None:
    """List code and import path of the registered languages, for another process; None if one has no import path."""
    named = [(name, place) for name, place in _places.items() if isinstance(place, str)]
    return named if len(named) == len(_places) else None


def _load(code: str) -> None:
    place = _places[code]
    try:
        loaded = resolve_name(place) if isinstance(place, str) else place
    except (Exception, SystemExit) as error:
        message = f"the language {code!r} cannot be imported from {place!r}: {type(error).__name__}"
        hint = "mend the plugin that registers it, or name it in plugins.block"
        raise PluginError(message, hint=hint) from error
    if not isinstance(loaded, Language) or loaded.code != code:
        raise ConfigError(f"{place!r} is not the language {code!r}", hint="give a memscope.languages.Language")
    _languages[code] = loaded
    add_rules(loaded.words)
    if loaded.dates:
        from memscope.dates import languages as dates

        dates.register(code, loaded.dates.file, loaded.dates.day_first, lambda text: spaced_language(text) == code)


def get(code: str) -> Language:
    """Return the language with this code; ``NEUTRAL`` if it is not registered."""
    load_rules()
    return _languages.get(code, NEUTRAL)


def registered() -> tuple[Language, ...]:
    load_rules()
    return tuple(_languages.values())


def main(text: str) -> Language:
    """Return the language of most of a text; ``NEUTRAL`` if it is not registered."""
    return get(language(text))


@depends_on_languages
@lru_cache(maxsize=1 << 4)  # called several times for each text that is stored
def of(text: str) -> tuple[Language, ...]:
    """Return the registered languages of a text; several if it mixes scripts."""
    wide = cjk_count(text)
    spaced = not wide or wide < sum(map(str.isalpha, text))
    return _of(wide > 0, spaced_language(text) if spaced else "")


@depends_on_languages
@lru_cache(maxsize=1 << 6)
def _of(wide: bool, code: str) -> tuple[Language, ...]:
    return tuple(one for one in registered() if one.code == code or (wide and one.words.script == "han"))


def of_sentence(sentence: str) -> Language:
    """Return the language whose rules read a sentence: with any CJK character the one of script "han"."""
    if has_cjk(sentence):
        return next((one for one in _of(True, "") if one.words.script == "han"), NEUTRAL)
    return get(spaced_language(sentence))


def known_kind(name: str) -> NameKind | None:
    """Look up the kind of a name in the tables of the registered languages; the first table that has it counts."""
    folded = name.casefold()
    return next((kind for one in registered() if (kind := one.names.known().get(folded))), None)
