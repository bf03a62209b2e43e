"""Put slips into a text: two letters swapped, one left out, doubled, or replaced by any other."""

from __future__ import annotations

import random
import re
from string import ascii_lowercase

SLIPS_PER_WORD = 1 / 3
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
    return text[: word.start()] + _misspelt(word[0], chance) + text[word.end() :]


def with_slips(text: str, seed: str, kept: str) -> str:
    """Return the text with a slip in a third of its longer words of content, but none in those of ``kept``."""
    chance, left_alone = random.Random(seed), {*WORDS_KEPT, *(word.lower() for word in _WORD.findall(kept))}

    def perhaps_misspelt(word: re.Match[str]) -> str:
        misspells = word[0].lower() not in left_alone and chance.random() < SLIPS_PER_WORD
        return _misspelt(word[0], chance) if misspells else word[0]

    return _WORD.sub(perhaps_misspelt, text)


def _misspelt(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 1)
    letters = word[at : at + 2]
    other = chance.choice([letter for letter in ascii_lowercase if letter != letters[0]])
    changed = (letters[::-1], letters[1], letters[0] + letters, other + letters[1])
    return word[:at] + chance.choice([one for one in changed if one != letters]) + word[at + 2 :]
