"""Put one slip into a text: two letters swapped, one left out, doubled, or replaced by any other."""

from __future__ import annotations

import random
import re
from string import ascii_lowercase

_WORD = re.compile(r"[A-Za-z]{5,}")
WORDS_KEPT = frozenset("about after anything could every other should there these thing things those what's where "
                       "which while would".split())  # fmt: skip


def with_slip(text: str, seed: str) -> str:
    """Return the text with a slip in one longer word of content, the same for a seed; the text itself without one."""
    chance = random.Random(seed)
    words = [word for word in _WORD.finditer(text) if word[0].lower() not in WORDS_KEPT]
    if not words:
        return text
    word = chance.choice(words)
    at = chance.randrange(1, len(word[0]) - 1)
    before, letters, after = text[: word.start() + at], word[0][at : at + 2], text[word.start() + at + 2 :]
    other = chance.choice([letter for letter in ascii_lowercase if letter != letters[0]])
    changed = (letters[::-1], letters[1], letters[0] + letters, other + letters[1])
    return before + chance.choice([one for one in changed if one != letters]) + after
