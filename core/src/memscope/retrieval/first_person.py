"""Questions that call the user by name: asked of alice's memory, "Where does Alice live?" means "Where do I live?"."""

from __future__ import annotations

import re

from memscope.text.language import CJK_CHARACTER
from memscope.text.tokens import STOP_WORDS, fold

LONGEST = 40  # characters of a name

_NAME = re.compile(r"[^\W\d_]{2,}")


def in_first_person(query: str, user: str) -> str:
    """Returns the query with the user's name, where the id is one, replaced by the first person.

    In scripts with capitals only a capitalised name counts, and at the beginning only with "'s": "Will it rain?".
    """
    if len(user) > LONGEST or not _NAME.fullmatch(user) or fold(user) in STOP_WORDS:
        return query
    if CJK_CHARACTER.match(user):
        return query.replace(user, "我")
    if user.isascii() and query.isascii() and user.lower() not in query.lower():
        return query
    return re.sub(rf"(?i)\b{user}\b(['’]s\b)?", _first_person, query)


def _first_person(name: re.Match[str]) -> str:
    if not name[0][0].isupper() or (name.start() == 0 and not name[1]):
        return name[0]
    return "my" if name[1] else "me"
