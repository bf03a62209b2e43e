"""Find a quote in a text, letter for letter except for blanks, case and variant punctuation marks."""

from __future__ import annotations

from functools import lru_cache

from memscope.prompts.loader import HIDDEN

_SHAPES = str.maketrans("’‘“”„«»「」『』＂＇", '\'\'""""""""""\'')
_EDGES = " .…,;:!?\"'。，；：！？"


def find_quote(quote: str, text: str) -> str | None:
    """Returns the quoted words as they stand in ``text``; None if they do not."""
    plain, _ = _plain(quote)
    wanted = plain.strip(_EDGES) or plain.strip()
    if not wanted:
        return None
    among, places = _plain(text)
    start = among.find(wanted)
    return None if start < 0 else text[places[start] : places[start + len(wanted) - 1] + 1]


@lru_cache(16)
def _plain(text: str) -> tuple[str, list[int]]:
    """Normalise to small letters, single blanks, no invisible characters; and the place of each in ``text``."""
    unseen = {place for found in HIDDEN.finditer(text) for place in range(*found.span())}
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text.translate(_SHAPES)):
        letter = " " if letter.isspace() else letter
        if place in unseen or (letter == " " and letters[-1:] == [" "]):
            continue
        letters.append(low if len(low := letter.lower()) == 1 else letter)
        places.append(place)
    return "".join(letters), places
