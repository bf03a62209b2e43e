"""Rules of a language for names of people, places, organisations, things and topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

NameKind: TypeAlias = Literal["person", "place", "organisation", "thing", "topic"]
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)


class FoundName(NamedTuple):
    """A name in a text, beginning at character ``start``.

    ``weight``: 3 if the words beside it show its kind, 2 if it is in a table, 1 for a guess, 0 if it counts only when
    another text confirms it. ``role``: the person's relation to the user, in the user's words ("my sister").
    """

    text: str
    kind: NameKind
    start: int
    weight: int
    role: str = ""


class NameRules:
    """Find names in the texts of a language; by default there are none."""

    role_forms: tuple[str, ...] = ()
    """How texts mention a role ("sister"): the formats of the user first ("my {}"), then of facts ("the user's {}")."""

    def find(self, text: str) -> Iterable[FoundName]:
        """Find the names in a text.

        Args:
            text: A turn or a memory.

        Returns:
            The names, in any order.
        """
        return ()

    def unknown(self, text: str) -> Sequence[str]:
        """List the words of a text without capitals that the language does not know: they may be names.

        Args:
            text: A turn or a memory.

        Returns:
            The words, as written.
        """
        return ()

    def known(self) -> Mapping[str, NameKind]:
        """Load the table of known names, on first use.

        Returns:
            The kind of each casefolded name.
        """
        return {}

    def short_forms(self, form: str) -> Sequence[str]:
        """Shorten the full name of a person.

        Args:
            form: The name as ``names.name_form`` gives it.

        Returns:
            Short forms of the name; nothing for a name that is already short.
        """
        first, *others = form.split() or [""]
        return (first,) if others else ()


def kinds_of_names(lists: Mapping[str, Iterable[str]]) -> dict[str, NameKind]:
    """Map names to kinds, from the lists that are named after a kind; for a name in several the last list counts."""
    return {name: head for head, names in lists.items() if head in NAME_KINDS for name in names}
