"""Fit the ranking's table of weights on conversations with questions and evidence; also usable with your own data.

    python benchmarks/fit_ranking.py DATA [DATA ...] [--everyday SCENARIOS NOISE ...] [--embedder URL]

The loss is a listwise softmax in which evidence candidates share the probability mass; it is convex and minimised by
Newton's method. Features are standardised, and a ridge penalty pulls weights to the current table (new ones to 0). All
data sets have equal weight, those below 100 questions proportionally less; with an embedder each is half with and half
without vectors. Scenarios of ``everyday.py`` count as half a set per language; their evidence is the turns with a
wanted text. Prints the table, and recall@10 per set for the current table, the fitted one, one fitted without the set,
and 5-fold cross-validation over the conversations of every set.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import everyday
import numpy as np
from measuring.datasets import ADVERSARIAL, Conversation, conversations
from measuring.recall import NOW, ingest, settings
from numpy.typing import NDArray

from memscope import AsyncMemoryScope
from memscope.records import Scope
from memscope.retrieval import Query, search, understand
from memscope.retrieval.features import FEATURES, RANK_WEIGHTS, FeatureInputs, features
from memscope.services import Services

RIDGE_PENALTY = 0.3  # weight of the ridge penalty
NOISE_TURNS = 150  # turns of noise in a scenario
FOLDS = 5
PRESENT = np.array([RANK_WEIGHTS.get(column.name, 0.0) for column in FEATURES])
ROUNDS = 3  # alternate choosing each turn's best unit, which depends on the weights, and fitting
Floats = NDArray[np.float64]


@dataclass
class List:
    """One question's candidates: features [n, f], turns, evidence flags, and the total number of evidence turns."""

    values: Floats
    turn: NDArray[np.int64]
    gold: NDArray[np.bool_]
    evidence: int
    group: int  # conversation; its questions are held out together
    weight: float = 1.0


# ----------------------------------------------------------------------------------------------------------- the lists


async def lists(path: str, embedder: str | None) -> dict[str, list[List]]:
    """Return the lists of a file under its name, with an embedder a second time with vectors."""
    name = Path(path).stem
    found: dict[str, list[List]] = {name: []}
    async with AsyncMemoryScope(":memory:", settings=settings(embedder, "en"), clock=lambda: NOW) as memory:
        kits = {name: replace(memory.admin.runtime.services, embedder=None)}
        if embedder is not None:
            kits[f"{name} with vectors"] = memory.admin.runtime.services
        for group, conversation in enumerate(conversations(path)):
            await ingest(memory, conversation)
            for variant, ctx in kits.items():
                found.setdefault(variant, []).extend(await _of(ctx, conversation, group))
    for asked in found.values():
        for one in asked:
            one.weight = min(1.0, len(asked) / 100) / len(asked) / len(found)
    return found


async def _of(ctx: Services, conversation: Conversation, group: int) -> list[List]:
    found = []
    for question in conversation.questions:
        if question.category != ADVERSARIAL:
            query, evidence = Query(question.text, Scope(conversation.id), NOW), question.evidence
            made = await _list(ctx, query, lambda turn, keys=evidence: turn.key in keys, len(evidence), group)
            found += [made] if made is not None else []
    return found


async def _list(
    ctx: Services, query: Query, is_evidence: Callable[[Any], bool], evidence: int, group: int
) -> List | None:
    asked = await search(await understand(query, ctx), ctx)
    if asked.candidates is None:
        return None
    records = (await ctx.store.fetch(query.scope.user, list(set(asked.candidates.handle)))).records
    gold = [is_evidence(records[handle]) for handle in asked.candidates.handle]
    values = features(FeatureInputs(asked, asked.candidates)).astype(np.float64)
    turns = np.array(asked.candidates.handle, np.int64)
    return List(values, turns, np.array(gold, np.bool_), evidence, group)


async def everyday_lists(scenarios: str, noise: str) -> dict[str, list[List]]:
    """Return the lists of scenarios under their file's name, in mode "turns" only, since facts quote their turns."""
    others = [json.loads(line) for line in Path(noise).read_text("utf-8").splitlines() if line.strip()]
    setup = everyday.Setup(others, NOISE_TURNS, {}, None)
    found: list[List] = []
    for line in Path(scenarios).read_text("utf-8").splitlines():
        scenario = json.loads(line)
        if "turns" in scenario["mode"]:
            found += await _of_scenario(scenario, setup, len(found))
    for one in found:
        one.weight = 0.5 / len(found)
    return {Path(scenarios).stem: found}


async def _of_scenario(scenario: Mapping[str, Any], setup: everyday.Setup, group: int) -> list[List]:
    turns, asked_at = everyday.history(scenario, setup)
    user, clock = scenario["id"], everyday.Clock(turns[0][0])
    async with everyday.opened(setup, scenario["zone"], clock, None) as memory:
        await everyday.say(memory, turns, user, clock, consolidate=False)
        wanted = [text.casefold() for texts in scenario["want"] for text in texts]
        unwanted = [text.casefold() for text in scenario.get("unwanted", [])]
        own = [turn["text"] for turn in scenario["turns"] if turn["role"] == "user" or not unwanted]
        evidence = {text for text in own if any(want in text.casefold() for want in wanted) and text[-1:] not in "?？"}
        query = Query(scenario["question"]["text"], Scope(user), asked_at)
        made = await _list(
            memory.admin.runtime.services, query, lambda turn: turn.text in evidence, len(evidence), group
        )
    return [made] if made is not None and evidence else []


# ------------------------------------------------------------------------------------------------------------- the fit


def fit(data: Sequence[List], used: NDArray[np.bool_]) -> Floats:
    """Fit the weights of all features, 0 if not ``used``."""
    weights = PRESENT
    for _ in range(ROUNDS):
        kept = [(one, _best_units(one, one.values @ weights)) for one in data]
        told = [(one.values[rows][:, used], one.gold[rows], one.weight) for one, rows in kept if one.gold[rows].any()]
        weights = np.zeros(len(FEATURES))
        weights[used] = newton(told, PRESENT[used])
    return weights


def _best_units(one: List, scores: Floats) -> NDArray[np.int64]:
    """Return the best row of each turn."""
    order = np.argsort(-scores, kind="stable")
    _, first = np.unique(one.turn[order], return_index=True)
    return order[first]


def newton(data: Sequence[tuple[Floats, NDArray[np.bool_], float]], prior: Floats, steps: int = 30) -> Floats:
    every = np.concatenate([values for values, _, _ in data])
    scale = np.maximum(every.std(axis=0), 1e-6)
    total = sum(weight for _, _, weight in data)
    told = [(values / scale, gold, weight / total) for values, gold, weight in data]
    prior = prior * scale
    weights, value = prior, _loss(told, prior, prior)
    for _ in range(steps):
        gradient, curvature = _slopes(told, weights, prior)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (lower := _loss(told, weights - size * step, prior)) > value and size > 1e-4:
            size /= 2
        weights, done, value = weights - size * step, value - lower < 1e-9, min(value, lower)
        if done:
            break
    return weights / scale


def _loss(told: Iterable[tuple[Floats, NDArray[np.bool_], float]], weights: Floats, prior: Floats) -> float:
    total = RIDGE_PENALTY * float((weights - prior) @ (weights - prior))
    for values, gold, weight in told:
        scores = values @ weights
        top = scores.max()
        total += weight * float(top + np.log(np.exp(scores - top).sum()) - scores[gold].mean())
    return total


def _slopes(
    told: Iterable[tuple[Floats, NDArray[np.bool_], float]], weights: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    gradient, curvature = 2 * RIDGE_PENALTY * (weights - prior), 2 * RIDGE_PENALTY * np.eye(len(weights))
    for values, gold, weight in told:
        scores = values @ weights
        share = np.exp(scores - scores.max())
        share /= share.sum()
        mean = share @ values
        gradient = gradient + weight * (mean - values[gold].mean(axis=0))
        curvature += weight * ((values * share[:, None]).T @ values - np.outer(mean, mean))
    return gradient, curvature


def recall_at_10(data: Sequence[List], weights: Floats) -> float:
    return 100 * float(np.mean([share(one, weights) for one in data]))


def share(one: List, weights: Floats) -> float:
    """Return recall@10 for one question."""
    scores = one.values @ weights
    rows = _best_units(one, scores)
    top = rows[np.argsort(-scores[rows], kind="stable")[:10]]
    return float(one.gold[top].sum() / one.evidence)


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
        "present": {name: round(recall_at_10(data, PRESENT), 1) for name, data in sets.items()},
        "recall_at_10": {name: round(recall_at_10(data, weights), 1) for name, data in sets.items()},
        "cross_validated": cross_validated(sets, used),
        "without_this_set": {
            name: round(recall_at_10(data, others[name.partition(" ")[0]]), 1) for name, data in sets.items() if others
        },
    }


def cross_validated(sets: Mapping[str, Sequence[List]], used: NDArray[np.bool_]) -> dict[str, float]:
    shares: dict[str, list[float]] = {name: [] for name in sets}
    for fold in range(FOLDS):
        weights = fit([one for data in sets.values() for one in data if one.group % FOLDS != fold], used)
        for name, data in sets.items():
            shares[name] += [share(one, weights) for one in data if one.group % FOLDS == fold]
    return {name: round(100 * float(np.mean(values)), 1) for name, values in shares.items()}


@click.command()
@click.argument("data", nargs=-1, required=True)
@click.option("--everyday", "scenarios", nargs=2, multiple=True, help="scenarios and noise of everyday use")
@click.option("--embedder", help="URL of an OpenAI-compatible endpoint (…/v1)")
@click.option("--without", multiple=True, help="leave a feature out")
def main(
    data: tuple[str, ...], scenarios: tuple[tuple[str, str], ...], embedder: str | None, without: tuple[str, ...]
) -> None:
    sets = {name: found for path in data for name, found in asyncio.run(lists(path, embedder)).items()}
    for pair in scenarios:
        sets |= asyncio.run(everyday_lists(*pair))
    used = np.array([column.name not in without for column in FEATURES])
    if not any(one.values[:, -1].any() for found in sets.values() for one in found):
        used[-1] = False  # without vectors the weight of the cosine cannot be fitted
    result = report(sets, used)
    for name, value in result.items():
        print(name, value)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
