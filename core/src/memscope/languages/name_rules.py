"""Rules of a language on names of people, places, organisations, things and topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

NameKind: TypeAlias = Literal["person", "place", "organisation", "thing", "topic"]
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)


class FoundName(NamedTuple):
    """A name in a text: ``start`` in characters.

    ``weight``: 3 the words beside it tell its kind, 2 it is in a table, 1 a guess, 0 no name unless it is one
    elsewhere. ``role``: who the person is to the user, as they say it ("my sister").
    """

    text: str
    kind: NameKind
    start: int
    weight: int
    role: str = ""


class NameRules:
    """The defaults find no name."""

    role_forms: tuple[str, ...] = ()
    """How texts name whom the user calls by a role: by the user ("my {}") first, then by facts ("the user's {}")."""

    def find(self, text: str) -> Iterable[FoundName]:
        """Find the names in a text.

        Args:
            text: A turn or a memory.

        Returns:
            The names, in any order.
        """
        return ()

    def known(self) -> Mapping[str, NameKind]:
        """Read the known names, on first use.

        Returns:
            The kind of each casefolded name.
        """
        return {}

    def short_forms(self, form: str) -> Sequence[str]:
        """Shorten the full name of a person.

        Args:
            form: The name as ``names.name_form`` gives it.

        Returns:
            What the person may be called; nothing for a name that is short already.
        """
        first, *others = form.split() or [""]
        return (first,) if others else ()


def kinds_of_names(lists: Mapping[str, Iterable[str]]) -> dict[str, NameKind]:
    """Return the kind of each name in the lists that are named by a kind; the last one counts."""
    return {name: head for head, names in lists.items() if head in NAME_KINDS for name in names}
