"""Fit the weights of ``languages.en.statement_score`` on everyday scenarios: noted statements against other remarks.

    python benchmarks/fit_statement_score.py SCENARIOS... --noise FILE [--write]

Logistic regression with a penalty, over sentences: those that a scenario's facts quote count as telling (not the ones
for an event or a local day), the user's sentences in the noise as passing. Prints the area under the ROC curve and the
share found where one sentence in ten of the noise is, cross-validated over scenarios and turns of the noise;
``--write`` keeps the weights of all in ``data/statement_score.json``.
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
from memscope.languages.statements import is_question, sentences
from memscope.text.vectors import DIMENSIONS, sentence_vector

FOLDS = 5
PASSING = ("event-time", "local-day")  # categories whose facts are about one day
PENALTY, OF_MEANING = 1.0, 0.5
SPARSE = {"name": 20.0, "number": 60.0}  # the noise has hardly any: each is worth less than it seems
SERIOUS = 2  # level of a fact from which it counts

memscope_register_languages(languages.register)  # sentences are read before a memory opens

Sentence = tuple[str, float, str]  # text, 1 where it tells something lasting, group


def told(scenarios: Sequence[dict[str, Any]]) -> Iterator[Sentence]:
    for one in scenarios:
        for fact in one["facts"] if one["category"] not in PASSING else ():
            said = one["turns"][fact["turns"][0]]
            if said["role"] == "user" and fact["level"] >= SERIOUS:
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
    """[features] by Newton's method."""
    weights = np.zeros(values.shape[1])
    for _ in range(20):
        likely = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (likely - wanted) + penalty * weights
        curve = (values * (likely * (1 - likely))[:, None]).T @ values + np.diag(penalty)
        weights -= np.linalg.solve(curve, slope)
    return weights


def area(scores: Any, wanted: Any) -> float:
    """Area under the ROC curve: how often a telling sentence stands above a passing one."""
    ranks, positive = np.argsort(np.argsort(scores)), wanted.sum()
    above = ranks[wanted == 1].sum() - positive * (positive - 1) / 2
    return float(above / (positive * (len(wanted) - positive)))


@click.command()
@click.argument("scenarios", nargs=-1, required=True)
@click.option("--noise", required=True)
@click.option("--write", is_flag=True, help="keep the weights in the package")
def main(scenarios: tuple[str, ...], noise: str, write: bool) -> None:
    every = {text: (wanted, group) for path in scenarios for text, wanted, group in told(read(path))}
    every |= {text: (wanted, group) for text, wanted, group in passing(read(noise))}
    found = [statement_score.signs(text, kinds(text)) for text in every]
    names = sorted(set().union(*found))
    vectors = (sentence_vector(text) for text in every)
    meaning = np.array([np.zeros(DIMENSIONS) if vector is None else vector for vector in vectors])
    values = np.hstack((np.array([[one.get(name, 0.0) for name in names] for one in found]), meaning))
    wanted = np.array([wanted for wanted, _ in every.values()])
    fold = np.array([zlib.crc32(group.encode()) % FOLDS for _, group in every.values()])
    penalties = {"bias": 1e-6, **SPARSE}
    penalty = np.array([*(penalties.get(name, PENALTY) for name in names), *[OF_MEANING] * DIMENSIONS])
    scores = np.zeros(len(wanted))
    for each in range(FOLDS):
        weights = regression(values[fold != each], wanted[fold != each], penalty)
        scores[fold == each] = values[fold == each] @ weights
    bar = np.quantile(scores[wanted == 0], 0.9)
    print(json.dumps({"sentences": len(every), "telling": int(wanted.sum()), "area": round(area(scores, wanted), 3),
                      "at 10 %": round(100 * float((scores[wanted == 1] > bar).mean()), 1)}))  # fmt: skip
    if write:
        keep(names, regression(values, wanted, penalty))


def keep(names: Sequence[str], weights: Any) -> None:
    path = Path(statement_score.__file__).parent / "data" / "statement_score.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    every = {*stored["signs"], *stored["openings"], *stored["groups"], *names, "elided"}
    fitted = dict(zip(names, weights.tolist(), strict=False))  # those of the meaning follow
    stored["weights"] = {name: round(fitted.get(name, 0.0), 2) for name in sorted(every)}
    stored["meaning"] = [round(one, 2) for one in weights[len(names) :].tolist()]
    lines = ",\n".join(f"{json.dumps(key)}: {_laid_out(value)}" for key, value in stored.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _laid_out(value: Any) -> str:
    """Return JSON with a line per entry, a list on one line."""
    return json.dumps(value, indent=1) if isinstance(value, dict) else json.dumps(value)


if __name__ == "__main__":
    main()
