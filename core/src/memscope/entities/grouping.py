"""Group the spellings of one entity by rules and a person's corrections.

"Anna" joins "Anna Schmidt" if there is only one Anna, and "my sister" joins the one name it is used with. A person's
merge joins two names; after a person's split no rule joins them again; a dismissed name is no entity.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from memscope.entities.record_names import NameMention
from memscope.languages.name_rules import NAME_KINDS
from memscope.languages.registry import of_sentence

K = TypeVar("K")


class NameGroup(NamedTuple):
    """Forms of one entity, the main name first, then aliases; ``roles`` are those like "my sister"."""

    forms: tuple[str, ...]
    roles: tuple[str, ...]


@dataclass(slots=True)
class Spelling:
    """Mentions of one form: kinds by weight, texts, turns, and the roles used with it."""

    kinds: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)
    places: Counter[int] = field(default_factory=Counter)
    memories: dict[str, datetime] = field(default_factory=dict)  # id: when it was said
    kind: str = ""  # empty if no mention has a weight
    shape: tuple[str, frozenset[str], bool] = ("", frozenset(), False)

    def count(self, mention: NameMention, place: int, step: int) -> None:
        _add(self.places, place, step)
        if mention.weight:
            _add(self.kinds, mention.kind, step * mention.weight)
            _add(self.texts, mention.text, step)
            if mention.role:
                _add(self.roles, mention.role, step)

    def reshape(self) -> bool:
        """Update ``kind``; return whether groups may change."""
        self.kind = max(NAME_KINDS, key=lambda kind: self.kinds[kind]) if self.kinds else ""
        before, self.shape = self.shape, (self.kind, frozenset(self.roles), bool(self.places))
        return before != self.shape


def _add(counts: Counter[K], key: K, step: int) -> None:
    counts[key] += step
    if not counts[key]:
        del counts[key]


def group(spellings: Mapping[str, Spelling], corrections: Sequence[tuple[str, str, str]]) -> list[NameGroup]:
    """Group the spellings; ``corrections`` as in ``ReadMemory``, oldest first."""
    merges: list[tuple[str, str]] = []
    alone: set[str] = set()
    dismissed: set[str] = set()
    for step, name, other in corrections:
        dismissed = dismissed | {name} if step == "dismiss" else dismissed - {name, other}
        if step == "split":
            merges = [pair for pair in merges if other not in pair]
            alone.add(other)
        elif step == "merge":
            merges.append((name, other))
    heads = _full_forms(spellings, alone)
    held: dict[str, set[str]] = defaultdict(set)
    for form, spelling in spellings.items():
        for role in spelling.roles if spelling.kind else ():
            held[role].add(_head(heads, form))
    heads |= {role: min(forms) for role, forms in held.items() if len(forms) == 1 and role not in alone}
    for pair in merges:
        name, other = (_head(heads, form) for form in pair)
        heads |= {other: name} if name != other else {}
    members: dict[str, list[str]] = defaultdict(list)
    for form, spelling in spellings.items():
        if (spelling.kind or form in heads) and form not in dismissed:
            members[_head(heads, form)].append(form)
    groups = (_name_group(head, forms, spellings) for head, forms in members.items())
    return [one for one in groups if one is not None]


def _head(heads: Mapping[str, str], form: str) -> str:
    while form in heads:
        form = heads[form]
    return form


def _name_group(head: str, forms: Sequence[str], spellings: Mapping[str, Spelling]) -> NameGroup | None:
    """Build the group of a name; None if no visible record mentions one of its forms as a name."""
    named = [form for form in forms if spellings[form].kind]
    if not named:
        return None
    first = head if head in named else max(named, key=lambda form: (len(form), form))
    roles = tuple(sorted(form for form in forms if not spellings[form].kind))
    return NameGroup((first, *(form for form in named if form != first), *roles), roles)


def _full_forms(spellings: Mapping[str, Spelling], alone: set[str]) -> dict[str, str]:
    """Map each short name to its full name if that is unambiguous: Anna, Mel, Dr. Patel.

    "Mel" may be short for both Melanie and Melanie Brown if these are one person.
    """
    people = {form for form, spelling in spellings.items() if spelling.kind == "person"}
    longer: dict[str, set[str]] = defaultdict(set)
    for form in people:
        for short in people.intersection(of_sentence(form).names.short_forms(form)) - alone:
            longer[short].add(form)
    for short, forms in longer.items():
        longer[short] = {form for form in forms if short in form.split()} or forms  # Anna Schmidt, not Annabel
    full = {short: min(forms) for short, forms in longer.items() if len(forms) == 1}
    whole = {short: {form for form in forms if full.get(form) not in forms} for short, forms in longer.items()}
    return {short: min(forms) for short, forms in whole.items() if len(forms) == 1}
