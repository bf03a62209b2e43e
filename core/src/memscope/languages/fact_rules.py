"""Rules of a language for lasting statements of speakers about themselves, the contents of a profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class FactRules:
    """Classify statements by kind, a key of ``durable_facts.KIND_WEIGHTS`` such as "home"; by default there is none."""

    def kinds(self, sentence: str) -> Iterable[str]:
        """Classify what a sentence states or asks about its speaker.

        Args:
            sentence: One sentence.

        Returns:
            The kinds, possibly with repetitions.
        """
        return ()

    def asked(self, question: str) -> Iterable[str]:
        """Classify the statements that would answer a question about its speaker.

        Args:
            question: One sentence.

        Returns:
            The kinds, possibly with repetitions.
        """
        return self.kinds(question)

    def is_momentary(self, sentence: str) -> bool:
        """Detect sentences about the moment ("tonight"), or about what somebody else said.

        Args:
            sentence: One sentence.

        Returns:
            True if the sentence says nothing lasting.
        """
        return False

    def scores(self, sentences: Sequence[str], kinds: Sequence[Sequence[str]]) -> Sequence[float] | None:
        """Score how likely each sentence says something lasting about its speaker.

        Args:
            sentences: Sentences of one text; the caller handles questions.
            kinds: The result of the method ``kinds`` for each sentence.

        Returns:
            The log odds of each; None if the language decides by kinds alone.
        """
        return None
