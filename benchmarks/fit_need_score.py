"""Fit the weights of ``languages.need_score``: messages that need facts about the user against others.

    python benchmarks/fit_need_score.py en MESSAGES... [--judge MESSAGES] [--talk MESSAGES] [--write]

MESSAGES are lines "Y<TAB>message" or "N<TAB>message" (``unseen/needs_*.tsv``), JSON lines with ``text`` and ``needs``
(``unseen/quiet_*.jsonl``), scenarios, or pairs: what people told an assistant and what they ask it weeks later
(``unseen/pairs_*.jsonl``: ``person``, ``line``, ``questions``). The questions of scenarios and pairs all need memory.
Penalised logistic regression over the words, the pairs of words and the vector of a message; both classes weigh the
same. Prints, of the messages with a judged label, how many each class has and which percentage gets its label from the
score alone (``score_yes``, ``score_no``) and from ``requests.need`` with the weights in the package (``yes``: "user" or
"perhaps"; ``no``: anything else). Without ``--judge`` the score is cross-validated. ``--write`` saves the weights
fitted on all MESSAGES in ``data/need_score.json``.

``--talk``: messages about the talk at hand ("shorter, please") and some alike that need memory (``unseen/talk_*.tsv``).
Its messages that need nothing are fitted against those of all files that need memory and those that ask for a task or
about the world; ``--write`` saves the weights in ``data/talk_score.json``. ``judged_yes``, ``score_yes`` and ``yes``
are then about messages that need nothing, ``yes`` those read as "talk", "task" or "nothing".
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from measuring.datasets import read

from memscope import languages
from memscope.builtin import memscope_register_languages
from memscope.languages.need_score import EDGE, words_and_pairs
from memscope.languages.requests import NEEDS_USER, instruction, need
from memscope.text.tokens import usual_spelling
from memscope.text.vectors import DIMENSIONS, sentence_vector

FOLDS = 5
MIN_MESSAGES = 2  # that have a word or a pair
PENALTY, MEANING_PENALTY, BIAS_PENALTY = 1.0, 0.5, 1e-6
NO_BIAS_PENALTY = 1e4  # unknown words are no sign of talk about the talk
NEWTON_STEPS, GRADIENT_STEPS = 12, 60
NEEDS_LITTLE = ("talk", "task", "nothing")
MIN_WEIGHT = 0.03  # smaller ones are not saved

memscope_register_languages(languages.register)  # messages are read before a memory is opened


class Message(NamedTuple):
    text: str
    needs: bool


def messages(path: Path) -> Iterator[Message]:
    for one in read(path):
        texts = one["questions"] if "questions" in one else [(one.get("question") or one)["text"]]
        for text in texts:
            yield Message(usual_spelling(text), one.get("needs", True))


class Values:
    """The features of messages: words and pairs as indices into ``names``, and vectors [messages, DIMENSIONS]."""

    def __init__(self, every: Sequence[Message], names: Sequence[str]) -> None:
        place = {name: at for at, name in enumerate(names)}
        folded = [instruction(one.text) for one in every]
        rows = [sorted({place[word] for word in words_and_pairs(text) if word in place}) for text in folded]
        vectors = map(sentence_vector, folded)
        self.meaning = np.array([np.zeros(DIMENSIONS) if vector is None else vector for vector in vectors])
        self.columns = np.array([*chain.from_iterable(rows)], np.intp)
        self.rows = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self.shape = len(rows), len(names)

    def times(self, weights: Any) -> Any:
        """[messages] the product with weights of [bias, words, meaning]."""
        count, words = self.shape
        by_words = np.bincount(self.rows, weights[1 : 1 + words][self.columns], count)
        return weights[0] + by_words + self.meaning @ weights[1 + words :]

    def transposed_times(self, values: Any) -> Any:
        by_word = np.bincount(self.columns, values[self.rows], self.shape[1])
        return np.concatenate(([values.sum()], by_word, self.meaning.T @ values))


def regression(values: Values, wanted: Any, bias_penalty: float) -> Any:
    """Fit [bias, words, meaning] by Newton's method, each step solved by conjugate gradients."""
    penalty = np.concatenate(
        ([bias_penalty], np.full(values.shape[1], PENALTY), np.full(values.meaning.shape[1], MEANING_PENALTY))
    )
    weights, importance = np.zeros(len(penalty)), np.where(wanted, 1.0, wanted.sum() / (~wanted).sum())
    for _ in range(NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-values.times(weights)))
        slope = values.transposed_times(importance * (likely - wanted)) + penalty * weights
        curve = partial(_curve, values, importance * likely * (1 - likely), penalty)
        weights -= _solved(curve, slope)
    return weights


def _curve(values: Values, importance: Any, penalty: Any, step: Any) -> Any:
    return values.transposed_times(importance * values.times(step)) + penalty * step


def _solved(product: Callable[[Any], Any], right: Any) -> Any:
    """Solve ``product(x) = right`` by conjugate gradients."""
    solution, rest = np.zeros_like(right), right
    direction, size = rest, rest @ rest
    for _ in range(GRADIENT_STEPS):
        if size < 1e-12:
            break
        along = product(direction)
        step = size / (direction @ along)
        solution, rest = solution + step * direction, rest - step * along
        size, before = rest @ rest, size
        direction = rest + size / before * direction
    return solution


def names_of(every: Sequence[Message]) -> list[str]:
    counts = Counter(chain.from_iterable({*words_and_pairs(instruction(one.text))} for one in every))
    return sorted(name for name, count in counts.items() if count >= MIN_MESSAGES)


def fitted(every: Sequence[Message], bias_penalty: float = BIAS_PENALTY) -> tuple[list[str], Any]:
    names = [name for name in names_of(every) if bias_penalty == BIAS_PENALTY or name != EDGE]
    return names, regression(Values(every, names), np.array([one.needs for one in every]), bias_penalty)


def cross_validated(every: Sequence[Message]) -> Any:
    fold = np.array([zlib.crc32(one.text.encode()) % FOLDS for one in every])
    scores = np.zeros(len(every))
    for each in range(FOLDS):
        names, weights = fitted([one for one, at in zip(every, fold, strict=True) if at != each])
        scores[fold == each] = Values([one for one, at in zip(every, fold, strict=True) if at == each], names).times(
            weights
        )
    return scores


def keep(language: str, file: str, names: Sequence[str], weights: Any) -> None:
    folder = Path(languages.__file__).parent / language / "data"
    words = {
        name: round(weight, 2)
        for name, weight in zip(names, weights[1 : 1 + len(names)].tolist(), strict=True)
        if abs(weight) >= MIN_WEIGHT
    }
    meaning = [round(one, 2) for one in weights[1 + len(names) :].tolist()]
    lines = ",\n".join(f"{json.dumps(word, ensure_ascii=False)}: {weight}" for word, weight in words.items())
    text = f'{{"bias": {weights[0]:.2f},\n"meaning": {json.dumps(meaning)},\n"words": {{\n{lines}\n}}}}\n'
    (folder / file).write_text(text, encoding="utf-8")


def share(flags: Any) -> float | None:
    return round(100 * float(np.mean(flags)), 1) if len(flags) else None


@click.command()
@click.argument("language", type=click.Choice(["en", "zh"]))
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--judge", multiple=True, type=click.Path(path_type=Path, exists=True), help="judge by these messages")
@click.option("--talk", type=click.Path(path_type=Path, exists=True), help="fit the score of talk about the talk")
@click.option("--write", is_flag=True, help="keep the weights in the package")
def main(language: str, paths: tuple[Path, ...], judge: tuple[Path, ...], talk: Path | None, write: bool) -> None:
    every = [*dict.fromkeys(chain.from_iterable(map(messages, paths)))]
    judged = [*dict.fromkeys(chain.from_iterable(map(messages, judge)))]
    if talk is not None:
        others = [one._replace(needs=True) for one in every if one.needs or need(one.text) in ("task", "kind")]
        every = [*dict.fromkeys([*messages(talk), *others])]
        every, judged = ([one._replace(needs=not one.needs) for one in some] for some in (every, judged))
    judged = judged or every
    bias_penalty = BIAS_PENALTY if talk is None else NO_BIAS_PENALTY
    names, weights = fitted(every, bias_penalty) if judge or write else ([], None)
    if write:
        keep(language, "need_score.json" if talk is None else "talk_score.json", names, weights)
    scores = Values(judged, names).times(weights) if judge else cross_validated(every)
    wanted = np.array([one.needs for one in judged])
    read_so = NEEDS_USER if talk is None else NEEDS_LITTLE
    by_rules = np.array([need(one.text) in read_so for one in judged])
    counts = {"messages": len(every), "judged_yes": int(wanted.sum()), "judged_no": int((~wanted).sum())}
    shares = {"score_yes": share(scores[wanted] >= 0), "score_no": share(scores[~wanted] < 0)}
    print(json.dumps(counts | shares | {"yes": share(by_rules[wanted]), "no": share(~by_rules[~wanted])}))


if __name__ == "__main__":
    main()
