"""Ingest conversations, ask their questions, and measure how much of the evidence is in the hits."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measuring.answers import answer_words
from measuring.datasets import ADVERSARIAL, Conversation, Query, recall

from memscope import AsyncMemoryScope
from memscope.records import Retrieval
from memscope.retrieval.context import line
from memscope.text.tokens import estimate_tokens

K = 20
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class AskedQuestion:
    """A question with its hits and context. ``named``: the turns attributed to each insight, by its id."""

    question: Query
    hits: Retrieval
    milliseconds: float
    context: str = ""
    named: Mapping[str, set[str]] = field(default_factory=dict)


def settings(embedder: str | None, languages: str) -> dict[str, Any]:
    if embedder is None:
        return {}
    return {"embedding": {"base_url": embedder, "model": "embedder", "key": "none", "languages": languages.split(",")}}


@contextmanager
def place(store: str | None) -> Iterator[str]:
    """Yield the store's location, by default a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        yield store or str(Path(folder) / "memory.db")


async def ingest(memory: AsyncMemoryScope, conversation: Conversation, batch: int = 1000) -> None:
    for start in range(0, len(conversation.turns), batch):
        await memory.add_turns(conversation.turns[start : start + batch], user=conversation.id)
    while not await memory.flush():
        pass


async def ask(memory: AsyncMemoryScope, conversation: Conversation, *, contexts: bool = False) -> list[AskedQuestion]:
    """Ask all questions. With ``contexts`` also get the context that a model would see."""
    asked = []
    for question in conversation.questions:
        start = time.perf_counter()
        hits = await memory.retrieve(question.text, user=conversation.id, k=K)
        took = 1000 * (time.perf_counter() - start)
        lines = await memory.context(question.text, user=conversation.id) if contexts else ""
        asked.append(AskedQuestion(question, hits, took, lines))
    return asked


def figures(asked: list[AskedQuestion]) -> Mapping[str, Any]:
    counting = [one for one in asked if one.question.category != ADVERSARIAL]
    groups: dict[str, list[float]] = defaultdict(list)
    for one in asked:
        groups[one.question.category].append(_recall(one, 10))
    return {
        **{f"recall_at_{k}": _percent([_recall(one, k) for one in counting]) for k in (5, 10, 20)},
        "by_category": {name: _percent(values) for name, values in sorted(groups.items())},
        "tokens_at_10": round(
            statistics.mean(sum(estimate_tokens(line(hit)) for hit in one.hits.hits[:10]) for one in counting)
        ),
        "ms_p50": round(statistics.median(one.milliseconds for one in asked), 2),
    }


def lines_shown(asked: Sequence[AskedQuestion]) -> Mapping[str, float]:
    """Return the share of the gold answers' words in the contexts, and the contexts' tokens."""
    counting = [one for one in asked if one.question.category != ADVERSARIAL]
    return {
        "answer_words": _percent([answer_words(one.question.answer, one.context) for one in counting]),
        "tokens": round(statistics.mean(estimate_tokens(one.context) for one in counting)),
    }


def _recall(asked: AskedQuestion, k: int) -> float:
    items = [{hit.turn.key} if hit.turn else asked.named.get(hit.id, set()) for hit in asked.hits]
    return recall(items, asked.question.evidence, k)


def _percent(shares: list[float]) -> float:
    return round(100 * statistics.mean(shares), 1)
