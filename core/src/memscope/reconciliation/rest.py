"""Parts of a replaced fact that would be lost: the other half of a list, the details of the shorter sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b

from memscope.reconciliation.similarity import closeness, form
from memscope.records import Observation
from memscope.text.language import has_cjk

LONGEST = 600  # characters of a fact that details are added to
GROUNDED = 0.75  # of the words of a rest that stand in the fact it is taken from
_DETAIL = re.compile(r"\d[\d.,:/-]*|《[^》]+》|\"[^\"]+\"|“[^”]+”|(?<=\s)[A-Z][\w'’&-]+")


def remainder(old: Observation, rest: str, now: datetime) -> Observation | None:
    """Returns what still holds of a fact that was ended, as a fact of its own; None where nothing is left.

    The id follows from the old one, so that a worker that repeats this makes the same record.
    """
    text = " ".join(rest.split())
    if not is_part(text, old.text):
        return None
    id = blake2b(f"{old.id}/{old.version}/rest".encode(), digest_size=16).hexdigest()
    return replace(old, id=id, text=text, recorded=now, version=1, closed=None, superseded_by=None, valid_to=None)


def is_part(text: str, whole: str) -> bool:
    """Returns whether a sentence says less than the other, in its words."""
    return bool(text) and form(text).tokens != form(whole).tokens and closeness(text, whole) >= GROUNDED


def with_details(text: str, part: str, rest: str = "") -> str | None:
    """Returns ``text`` with what only ``part`` says; None where that would become too long.

    ``rest`` is what the model says is missing. Without it, ``part`` is kept whole if a number, name or title of it is
    missing in ``text``.
    """
    more = " ".join(rest.split()) if is_part(rest, part) else ""
    known = text.casefold()
    if not more and any(detail.casefold().strip(".,:") not in known for detail in _DETAIL.findall(part)):
        more = part
    if not more or closeness(more, text) >= 1:
        return text
    whole = f"{text}{'' if has_cjk(text) else ' '}{more}"
    return whole if len(whole) <= LONGEST else None
