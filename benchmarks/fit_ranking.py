"""Fit the weights of the ranking's table on conversations with questions and evidence; run it on data of your own.

    python benchmarks/fit_ranking.py DATA [DATA ...] [--embedder URL] [--without FEATURE ...]

Listwise softmax: the candidates that are evidence share the mass. Features are standardised, weights held small (L2),
every data set counts the same, one of fewer than 100 questions by their number; with an embedder half of it has vectors
and half has none. The loss is convex: Newton's method.
Prints the table, recall@10 with it on each set, and recall@10 on each set with the weights fitted without that set.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from datasets import ADVERSARIAL, Conversation, conversations
from numpy.typing import NDArray

from memscope import AsyncMemoryScope
from memscope.pipeline import WorkerContext
from memscope.records import Scope
from memscope.retrieval import Query, search, understand
from memscope.retrieval.rank import FEATURES, WEIGHTS, features
from retrieval import NOW, ingest, settings

L2 = 0.001
ROUNDS = 3  # the best unit of a turn depends on the weights: choose, fit, choose again
Floats = NDArray[np.float64]


@dataclass
class List:
    """The candidates of one question: features [n, f], the turn of each, whether it is evidence; evidence in all."""

    values: Floats
    turn: NDArray[np.int64]
    gold: NDArray[np.bool_]
    evidence: int
    weight: float = 1.0


# ----------------------------------------------------------------------------------------------------------- the lists


async def lists(path: str, embedder: str | None) -> dict[str, list[List]]:
    """By the name of the file; with an embedder once more with vectors."""
    name = Path(path).stem
    found: dict[str, list[List]] = {name: []}
    async with AsyncMemoryScope(":memory:", settings=settings(embedder, "en"), clock=lambda: NOW) as memory:
        kits = {name: replace(memory.runtime.ctx, embedder=None)}
        if embedder is not None:
            kits[f"{name} with vectors"] = memory.runtime.ctx
        for conversation in conversations(path):
            await ingest(memory, conversation)
            for variant, ctx in kits.items():
                found.setdefault(variant, []).extend(await _of(ctx, conversation))
    for asked in found.values():
        for one in asked:
            one.weight = min(1.0, len(asked) / 100) / len(asked) / len(found)
    return found


async def _of(ctx: WorkerContext, conversation: Conversation) -> list[List]:
    found = []
    for question in conversation.questions:
        if question.category == ADVERSARIAL:
            continue
        asked = await search(await understand(Query(question.text, Scope(conversation.id), NOW), ctx), ctx)
        if asked.candidates is None:
            continue
        records = (await ctx.store.fetch(conversation.id, list(set(asked.candidates.handle)))).records
        gold = [records[handle].key in question.evidence for handle in asked.candidates.handle]  # type: ignore[union-attr]
        values = features(asked, asked.candidates).astype(np.float64)
        turns = np.array(asked.candidates.handle, np.int64)
        found.append(List(values, turns, np.array(gold, np.bool_), len(question.evidence)))
    return found


# ------------------------------------------------------------------------------------------------------------- the fit


def fit(data: Sequence[List], used: NDArray[np.bool_]) -> Floats:
    """Weights of all features, 0 where not ``used``."""
    weights = np.array([WEIGHTS.get(column.name, 0.0) for column in FEATURES])
    for _ in range(ROUNDS):
        kept = [(one, _best_units(one, one.values @ weights)) for one in data]
        told = [(one.values[rows][:, used], one.gold[rows], one.weight) for one, rows in kept if one.gold[rows].any()]
        weights = np.zeros(len(FEATURES))
        weights[used] = newton(told)
    return weights


def _best_units(one: List, scores: Floats) -> NDArray[np.int64]:
    """The best row of each turn."""
    order = np.argsort(-scores, kind="stable")
    _, first = np.unique(one.turn[order], return_index=True)
    return order[first]


def newton(data: Sequence[tuple[Floats, NDArray[np.bool_], float]], steps: int = 30) -> Floats:
    every = np.concatenate([values for values, _, _ in data])
    scale = np.maximum(every.std(axis=0), 1e-6)
    total = sum(weight for _, _, weight in data)
    told = [(values / scale, gold, weight / total) for values, gold, weight in data]
    weights = np.zeros(len(scale))
    value = _loss(told, weights)
    for _ in range(steps):
        gradient, curvature = _slopes(told, weights)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (lower := _loss(told, weights - size * step)) > value and size > 1e-4:
            size /= 2
        weights, done, value = weights - size * step, value - lower < 1e-9, min(value, lower)
        if done:
            break
    return weights / scale


def _loss(told: Iterable[tuple[Floats, NDArray[np.bool_], float]], weights: Floats) -> float:
    total = L2 * float(weights @ weights)
    for values, gold, weight in told:
        scores = values @ weights
        top = scores.max()
        total += weight * float(top + np.log(np.exp(scores - top).sum()) - scores[gold].mean())
    return total


def _slopes(told: Iterable[tuple[Floats, NDArray[np.bool_], float]], weights: Floats) -> tuple[Floats, Floats]:
    gradient, curvature = 2 * L2 * weights, 2 * L2 * np.eye(len(weights))
    for values, gold, weight in told:
        scores = values @ weights
        share = np.exp(scores - scores.max())
        share /= share.sum()
        mean = share @ values
        gradient = gradient + weight * (mean - values[gold].mean(axis=0))
        curvature += weight * ((values * share[:, None]).T @ values - np.outer(mean, mean))
    return gradient, curvature


def recall_at_10(data: Sequence[List], weights: Floats) -> float:
    shares = []
    for one in data:
        scores = one.values @ weights
        rows = _best_units(one, scores)
        top = rows[np.argsort(-scores[rows], kind="stable")[:10]]
        shares.append(one.gold[top].sum() / one.evidence)
    return 100 * float(np.mean(shares))


# ----------------------------------------------------------------------------------------------------------- the table


def report(sets: Mapping[str, Sequence[List]], used: NDArray[np.bool_]) -> dict[str, object]:
    weights = fit([one for data in sets.values() for one in data], used).round(2)
    names = {name.partition(" ")[0] for name in sets}
    others = {
        name: fit([one for other, data in sets.items() if other.partition(" ")[0] != name for one in data], used)
        for name in names
        if len(names) > 1
    }
    return {
        "weights": {column.name: float(weight) for column, weight in zip(FEATURES, weights, strict=True) if weight},
        "recall_at_10": {name: round(recall_at_10(data, weights), 1) for name, data in sets.items()},
        "without_this_set": {
            name: round(recall_at_10(data, others[name.partition(" ")[0]]), 1) for name, data in sets.items() if others
        },
    }


@click.command()
@click.argument("data", nargs=-1, required=True)
@click.option("--embedder", help="URL of an OpenAI-compatible endpoint (…/v1)")
@click.option("--without", multiple=True, help="leave a feature out")
def main(data: tuple[str, ...], embedder: str | None, without: tuple[str, ...]) -> None:
    sets = {name: found for path in data for name, found in asyncio.run(lists(path, embedder)).items()}
    used = np.array([column.name not in without for column in FEATURES])
    if not any(one.values[:, -1].any() for found in sets.values() for one in found):
        used[-1] = False  # no vectors: nothing can be learned of the cosine
    result = report(sets, used)
    for name, value in result.items():
        print(name, value)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
