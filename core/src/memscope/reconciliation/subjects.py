"""Subjects of facts: "Anna" may be "Anna Schmidt", "Craig" the user, "Mel and Bo" two people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from memscope.records import Observation
from memscope.text.language import has_cjk
from memscope.text.tokens import fold

USER = "user"
NOBODY: frozenset[str] = frozenset()
_JOINT = re.compile(r"\s+and\s+|\s*[&、]\s*|\s*,\s*|(?<=[\u4e00-\u9fff])[和与與](?=[\u4e00-\u9fff])")
_NAMED = re.compile(
    r"\AThe user(?:'s)? (?:(?:full |first )?name is|is called|is named|goes by)"
    r"\s+([^\W\d][\w'’-]*(?: [A-Z][\w'’-]*)?)"
    r"|\A用户(?:的(?:名字|姓名))?(?:名)?(?:叫做?|是叫|名为)([^\W\d]{2,4})(?=[。，,.]|\Z)"
)


@lru_cache(4096)  # asked for every pair of facts
def subjects(about: str, own: frozenset[str] = NOBODY) -> frozenset[str]:
    """Returns the folded names in ``about``; "user" for one of the user's ``own`` names."""
    names = (" ".join(fold(name).split()) for name in _JOINT.split(about))
    return frozenset(USER if name in own else name for name in names if name)


def meet(one: Observation, other: Observation, own: frozenset[str] = NOBODY) -> bool:
    """Returns whether both facts may be about one person or thing."""
    return any(_same_name(a, b) for a in subjects(one.about, own) for b in subjects(other.about, own))


def covers(new: Observation, old: Observation, own: frozenset[str] = NOBODY) -> bool:
    """Returns whether ``new`` speaks of everybody that ``old`` is about."""
    told = subjects(new.about, own)
    return bool(told) and all(any(_same_name(a, b) for a in told) for b in subjects(old.about, own))


def _same_name(one: str, other: str) -> bool:
    """Returns whether a name equals the other or is a part of it: a first name, or a Chinese name without surname."""
    short, long = sorted((one, other), key=len)
    if short == long:
        return True
    if USER in (one, other) or len(short) < 2:
        return False
    return long.endswith(short) if has_cjk(short) else set(short.split()) < set(long.split())


def user_names(facts: Iterable[Observation]) -> frozenset[str]:
    """Returns the folded names that facts give the user ("The user's name is Craig.")."""
    found = (_NAMED.search(fact.text) for fact in facts)
    return frozenset(fold(name) for one in found if one for name in one.groups() if name)
