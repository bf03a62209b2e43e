"""Rules of a language on lasting statements about oneself, the contents of a profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class FactRules:
    """The defaults find no kind. A kind is a key of ``durable_facts.KIND_WEIGHTS``: "home", "work", "people", ..."""

    def kinds(self, sentence: str) -> Iterable[str]:
        """Classify what a sentence states or asks about its speaker.

        Args:
            sentence: One sentence.

        Returns:
            The kinds; one may come more than once.
        """
        return ()

    def asked(self, question: str) -> Iterable[str]:
        """Classify the statements that would answer a question about its speaker.

        Args:
            question: One sentence.

        Returns:
            The kinds; one may come more than once.
        """
        return self.kinds(question)

    def is_momentary(self, sentence: str) -> bool:
        """Tell whether a sentence is of the moment ("tonight"), or repeats what somebody else said.

        Args:
            sentence: One sentence.

        Returns:
            True for a sentence that tells nothing lasting.
        """
        return False

    def scores(self, sentences: Sequence[str], kinds: Sequence[Sequence[str]]) -> Sequence[float] | None:
        """Judge how likely each sentence, no question, tells something lasting of its speaker.

        Args:
            sentences: Sentences of one text.
            kinds: Of each sentence, as the method ``kinds`` gives them.

        Returns:
            The log odds of each; None where the language is read by kinds alone.
        """
        return None
