"""Rules of a language on lasting statements about oneself, the contents of a profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class FactRules:
    """These find none. A kind is a key of ``durable_facts.KIND_WEIGHTS``: "home", "work", "people", ..."""

    def kinds(self, sentence: str) -> Iterable[str]:
        """Yield the kinds of what a sentence states or asks about its speaker, also more than once."""
        return ()

    def is_momentary(self, sentence: str) -> bool:
        """Return whether a sentence has a word of the moment ("tonight"), or tells what somebody else said."""
        return False

    def scores(self, sentences: Sequence[str], kinds: Sequence[Sequence[str]]) -> Sequence[float] | None:
        """Return the log odds that each sentence, no question, tells something lasting of its speaker.

        ``kinds``: those of each sentence. None: the language is read by kinds alone.
        """
        return None
