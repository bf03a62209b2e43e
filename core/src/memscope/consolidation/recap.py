"""Recaps: facts restated by an assistant and only confirmed by the user, so no new statement of theirs."""

from __future__ import annotations

from memscope.consolidation.batch import FactBatch
from memscope.reconciliation.similarity import closeness
from memscope.records import Observation, Turn


def find_recaps(batch: FactBatch) -> frozenset[str]:
    """Returns ids of facts that stand in an assistant's statement and not in the words of the confirming speaker.

    The answer to an assistant's question is no recap: "Are you allergic to nuts?", "Yes".
    """
    return frozenset(fact.id for fact in batch.facts if _only_agreed_to(fact, batch))


def _only_agreed_to(fact: Observation, batch: FactBatch) -> bool:
    cited = [(batch.turn(quote.turn), quote.text) for quote in fact.quotes]
    restated = [words for turn, words in cited if turn.role == "assistant" and not _asked(words, turn)]
    own = [words for turn, words in cited if turn.role != "assistant"]
    return bool(restated) and not any(closeness(fact.text, words) for words in own)


def _asked(words: str, turn: Turn) -> bool:
    """Returns whether the sentence around the words is a question."""
    behind = turn.text[turn.text.find(words) + len(words.rstrip("?？ ")) :]
    end = next((mark for mark in behind if mark in ".!?。！？\n"), "")
    return end in ("?", "？")
