"""Fit the weights of ``languages.en.statement_score`` on everyday scenarios: durable statements against other remarks.

    python benchmarks/fit_statement_score.py SCENARIOS... --noise FILE... [--judge SCENARIOS NOISE] [--write]

Penalised logistic regression over sentences. Positive: sentences that a scenario's facts quote, except facts on an
event or a local day. Negative: the user's sentences in the noise. Prints the area under the ROC curve and the recall at
a false positive rate of 10 %, cross-validated over scenarios and noise turns; with ``--judge`` on these unseen
sentences only. ``--write`` saves the weights fitted on everything in ``data/statement_score.json``, those of the vector
in ``languages/data/statement_direction.json``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from measuring.datasets import read

from memscope import languages
from memscope.builtin import memscope_register_languages
from memscope.languages.durable_facts import kinds
from memscope.languages.en import statement_score
from memscope.languages.statement_direction import DIRECTION_FILE
from memscope.languages.statements import is_question, sentences
from memscope.text.vectors import DIMENSIONS, sentence_vector

FOLDS = 5
ONE_DAY_CATEGORIES = ("event-time", "local-day")  # categories whose facts are about one day only
PENALTY, OF_MEANING = 6.0, 2.0
MIN_LEVEL = 2  # minimum level of a fact

memscope_register_languages(languages.register)  # sentences are read before a memory is opened

Sentence = tuple[str, float, str]  # text, 1 if it states something durable else 0, group


def told(scenarios: Sequence[dict[str, Any]]) -> Iterator[Sentence]:
    for one in scenarios:
        for fact in one["facts"] if one["category"] not in ONE_DAY_CATEGORIES else ():
            said = one["turns"][fact["turns"][0]]
            if said["role"] == "user" and fact["level"] >= MIN_LEVEL:
                yield from (
                    (text, 1.0, one["id"]) for text in _statements(said["text"]) if _quoted(text, fact["quote"])
                )


def _quoted(sentence: str, quote: str) -> bool:
    return sentence in quote or quote in sentence or quote[:15] in sentence


def passing(noise: Sequence[dict[str, Any]]) -> Iterator[Sentence]:
    for number, turn in enumerate(noise):
        if turn["role"] == "user":
            yield from ((text, 0.0, f"noise-{number}") for text in _statements(turn["text"]))


def _statements(text: str) -> list[str]:
    return [sentence.strip() for sentence in sentences(text) if not is_question(sentence)]


def regression(values: Any, wanted: Any, penalty: Any) -> Any:
    """Fit weights [features] by Newton's method."""
    weights = np.zeros(values.shape[1])
    for _ in range(20):
        likely = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (likely - wanted) + penalty * weights
        curve = (values * (likely * (1 - likely))[:, None]).T @ values + np.diag(penalty)
        weights -= np.linalg.solve(curve, slope)
    return weights


def area(scores: Any, wanted: Any) -> float:
    """Return the area under the ROC curve: how often a positive sentence scores above a negative one."""
    ranks, positive = np.argsort(np.argsort(scores)), wanted.sum()
    above = ranks[wanted == 1].sum() - positive * (positive - 1) / 2
    return float(above / (positive * (len(wanted) - positive)))


def values_of(every: Sequence[str], names: Sequence[str]) -> Any:
    """Return features [sentences, signs + dimensions of the built-in vector]."""
    found = [statement_score.signs(text, kinds(text)) for text in every]
    vectors = (sentence_vector(text) for text in every)
    meaning = np.array([np.zeros(DIMENSIONS) if vector is None else vector for vector in vectors])
    return np.hstack((np.array([[one[name] for name in names] for one in found]), meaning))


def gathered(scenarios: Sequence[str], noises: Sequence[str]) -> dict[str, tuple[float, str]]:
    every = {text: (wanted, group) for path in scenarios for text, wanted, group in told(read(path))}
    return every | {text: (wanted, group) for path in noises for text, wanted, group in passing(read(path))}


@click.command()
@click.argument("scenarios", nargs=-1, required=True)
@click.option("--noise", required=True, multiple=True)
@click.option("--judge", nargs=2, help="scenarios and noise to judge the weights by, instead of cross-validation")
@click.option("--write", is_flag=True, help="keep the weights in the package")
def main(scenarios: tuple[str, ...], noise: tuple[str, ...], judge: tuple[str, str] | None, write: bool) -> None:
    every = gathered(scenarios, noise)
    names = sorted(statement_score.signs("", ()))
    values, wanted = values_of([*every], names), np.array([wanted for wanted, _ in every.values()])
    penalty = np.array([*(1e-6 if name == "bias" else PENALTY for name in names), *[OF_MEANING] * DIMENSIONS])
    if judge:
        others = gathered(judge[:1], judge[1:])
        scores, judged = values_of([*others], names) @ regression(values, wanted, penalty), others
    else:
        scores, judged = cross_validated(values, wanted, penalty, [group for _, group in every.values()]), every
    print(json.dumps({"sentences": len(every), **figures(scores, np.array([one for one, _ in judged.values()]))}))
    if write:
        keep(names, regression(values, wanted, penalty))


def cross_validated(values: Any, wanted: Any, penalty: Any, groups: Sequence[str]) -> Any:
    fold, scores = np.array([zlib.crc32(group.encode()) % FOLDS for group in groups]), np.zeros(len(wanted))
    for each in range(FOLDS):
        scores[fold == each] = values[fold == each] @ regression(values[fold != each], wanted[fold != each], penalty)
    return scores


def figures(scores: Any, wanted: Any) -> dict[str, float]:
    bar = np.quantile(scores[wanted == 0], 0.9)
    found = round(100 * float((scores[wanted == 1] > bar).mean()), 1)
    return {"judged": len(wanted), "area": round(area(scores, wanted), 3), "at 10 %": found}


def keep(names: Sequence[str], weights: Any) -> None:
    path = Path(statement_score.__file__).parent / "data" / "statement_score.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    fitted = zip(names, weights.tolist(), strict=False)  # without the weights of the vector, which come last
    stored["weights"] = {name: round(one, 2) for name, one in fitted}
    lines = ",\n".join(f"{json.dumps(key)}: {_laid_out(value)}" for key, value in stored.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    direction = [round(one, 2) for one in weights[len(names) :].tolist()]
    DIRECTION_FILE.write_text(f"{json.dumps(direction)}\n", encoding="utf-8")


def _laid_out(value: Any) -> str:
    """Format JSON with one line per entry of an object, or a list on one line."""
    return json.dumps(value, indent=1) if isinstance(value, dict) else json.dumps(value)


if __name__ == "__main__":
    main()
