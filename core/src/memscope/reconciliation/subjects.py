"""Match subjects of facts: "Anna" may be "Anna Schmidt", "Craig" the user, "Mel and Bo" two people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from memscope.languages.registry import registered
from memscope.languages.similarity import form
from memscope.languages.wording import calls_user, worded, wordings
from memscope.records import Observation
from memscope.records.filters import has_name
from memscope.text.language import depends_on_languages, has_cjk
from memscope.text.tokens import fold

USER_SUBJECT = "user"
MIN_ALIKE_LETTERS, MIN_NICKNAME_LETTERS = 4, 3
Aliases: TypeAlias = frozenset[tuple[str, str]]  # (alias, usual name), folded


class People(NamedTuple):
    """Known names, folded: those of the user, and aliases of others with their usual names."""

    user: frozenset[str] = frozenset()
    aliases: Aliases = frozenset()


NOBODY = People()


def folded_name(name: str) -> str:
    return " ".join(fold(name).split())


@depends_on_languages
@lru_cache(maxsize=1)
def _name_separators() -> re.Pattern[str]:
    """Match the separators between names ("and", commas) of all languages, since names belong to none."""
    return re.compile("|".join(filter(None, (r"\s*[&、,]\s*", *(language.wording.joint for language in registered())))))


@depends_on_languages
@lru_cache(4096)  # called for every pair of facts
def subjects(about: str, people: People = NOBODY) -> frozenset[str]:
    """Return the folded names in ``about``, with the user's replaced by "user" and aliases by their usual name."""
    names = frozenset(map(folded_name, _name_separators().split(about))) - {""}
    usual = dict(people.aliases)
    return frozenset(USER_SUBJECT if name in people.user else usual.get(name, name) for name in names)


def meet(one: Observation, other: Observation) -> bool:
    """Return whether both facts are about the same person or thing, judged by exact or partial names."""
    return any(_same_name(a, b) for a in subjects(one.about) for b in subjects(other.about))


def may_meet(one: Observation, other: Observation, people: People = NOBODY) -> bool:
    """Like ``meet``, but also accept names that differ by a letter.

    If each fact names the other's subject, both are about both: the model only picked different ones.
    """
    names, others = subjects(one.about, people), subjects(other.about, people)
    return any(_same_name(a, b) or _alike(a, b) for a in names for b in others) or _name_each_other(one, other)


def _name_each_other(one: Observation, other: Observation) -> bool:
    pairs = [(a.text, name) for a, b in ((one, other), (other, one)) for name in subjects(b.about)]
    return all(name != USER_SUBJECT and has_name(text, name) for text, name in pairs)


def covers(new: Observation, old: Observation, people: People = NOBODY) -> bool:
    """Return whether ``new`` concerns every subject of ``old``."""
    new_names, wanted = subjects(new.about, people), subjects(old.about, people)
    if tells_end_for(new, old, people):
        return True
    if new_names and ((len(wanted) == 1 and share_thing(new, old, people)) or _name_each_other(new, old)):
        return True
    return bool(new_names) and all(any(_same_name(a, b) or _alike(a, b) for a in new_names) for b in wanted)


def tells_end_for(new: Observation, old: Observation, people: People) -> bool:
    """Return whether ``new`` says that something is over with people in ``old``: "Ben moved out", "shares a flat with
    Ben".
    """
    if not worded("over", new.text):
        return False
    others = subjects(new.about, People(people.user)) - {USER_SUBJECT}  # by the names that texts use
    return bool(others) and all(has_name(old.text, name) for name in others)


def share_thing(one: Observation, other: Observation, people: People = NOBODY) -> bool:
    """Return whether both name a thing of one owner, whatever they are about: "Carla is the user's new boss".

    A fact about the thing itself ("boss") need not name the owner.
    """
    a, b = _things(one.text, people.user), _things(other.text, people.user)
    return bool(a & b) or _is_about_one_of(one, b, people) or _is_about_one_of(other, a, people)


def _is_about_one_of(fact: Observation, things: frozenset[tuple[str, str]], people: People) -> bool:
    named = {name.removeprefix("the ").removeprefix("user's ") for name in subjects(fact.about, People(people.user))}
    if USER_SUBJECT in named:
        named = {*form(fact.text).tokens, *form(fact.text).topics}
    return any(owner == USER_SUBJECT and thing in named for owner, thing in things)


@depends_on_languages
@lru_cache(4096)
def _things(text: str, own_names: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return (owner, thing) pairs such as "the user's new boss", "Ann's dentist"."""
    matches = (match for wording in wordings(text) for match in wording.possession.finditer(text))
    pairs = ((folded_name(match["owner"]), fold(match["thing"])) for match in matches)
    owned = ((USER_SUBJECT if owner in own_names or calls_user(owner) else owner, thing) for owner, thing in pairs)
    return frozenset(owned)


def _same_name(one: str, other: str) -> bool:
    """Return whether one name equals or is part of the other: a first name, or a Chinese name without surname."""
    short, long = sorted((one, other), key=len)
    if short == long:
        return True
    if USER_SUBJECT in (one, other) or len(short) < 2:
        return False
    return long.endswith(short) if has_cjk(short) else set(short.split()) < set(long.split())


def _alike(one: str, other: str) -> bool:
    """Return whether the names may be spellings of one: "Jon" and "John", "Mel" and "Melanie"."""
    a, b = one.split(), other.split()
    if USER_SUBJECT in (one, other) or len(a) != len(b):
        return False
    unlike = [pair for pair in zip(a, b, strict=True) if pair[0] != pair[1]]
    return len(unlike) == 1 and _alike_words(*sorted(unlike[0], key=len))


def _alike_words(short: str, long: str) -> bool:
    if not (short + long).isalpha() or len(long) < MIN_ALIKE_LETTERS:
        return False
    if not has_cjk(long) and len(short) >= MIN_NICKNAME_LETTERS and long.startswith(short):
        return True
    start = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    return len(long) > MIN_ALIKE_LETTERS - has_cjk(long) and short[start + 1 :] == long[start + 1 :]


def role_names(role: str) -> tuple[str, ...]:
    """Return the names that a fact may use for a role such as "my sister"; other aliases are returned as they are."""
    for forms in (language.names.role_forms for language in registered()):
        start = forms[0].partition("{}")[0] if forms else ""
        if start and role.startswith(start):
            return tuple(form.format(role.removeprefix(start)) for form in forms)
    return (role,)


def user_names(facts: Iterable[Observation]) -> frozenset[str]:
    """Return the folded names of the user that the facts state ("The user's name is Craig.")."""
    matches = (wording.user_named.search(fact.text) for fact in facts for wording in wordings(fact.text))
    return frozenset(fold(match[1]) for match in matches if match)
