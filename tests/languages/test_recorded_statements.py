"""Statements and questions as the languages read them, recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memscope.languages import of
from memscope.languages.durable_facts import (
    asked_kinds,
    durable_terms,
    is_durable,
    kinds,
    statement_score,
    statement_weight,
)
from memscope.languages.flags import flags
from memscope.languages.names import names
from memscope.languages.questions import asks_for_list, in_first_person
from memscope.languages.repetitions import repeated_days
from memscope.languages.requests import need
from memscope.languages.statements import about_user, asks, content_words, is_question, requests, sentences, unknowing
from memscope.languages.wording import wordings
from memscope.text.language import has_cjk
from memscope.text.terms import terms
from memscope.text.tokens import fold, pieces
from recorded import check, line, questions, read, turns

HERE = Path(__file__).parent / "recorded"
LABELLED, MARK = Path(__file__).parents[1] / "entities", re.compile(r"\[([^|\]]*)\|\w\]")
NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
WORDINGS = ("plan", "future", "told_as_past", "formerly", "still_holds", "state", "not_so")
WORDINGS_OF_QUESTIONS = ("number", "when", "past", "ahead", "assistant", "talk", "personal", "definite", "own", "works")


def of_statement(text: str, role: str) -> dict[str, object]:
    found = [f"{one.text}:{one.kind}:{one.weight}:{one.role}" for one in names(text)]
    scores = [score for one in sentences(text) if (score := statement_score(one)) is not None]
    return {
        "kinds": sorted({kind for one in sentences(text) for kind in kinds(one)}),
        "weight": [round(statement_weight(one), 2) for one in sentences(text) if statement_weight(one)],
        "score": [round(score, 2) for score in scores],
        "durable": [is_durable(one) for one in sentences(text)].count(True),
        "asks": [is_question(one) for one in sentences(text)].count(True),
        "flags": flags(text, pieces(fold(text)), role),
        "terms": len(durable_terms(text)[0]),
        "unknowing": unknowing(text),
        "requests": requests(text),
        "repeats": len(repeated_days(text, NOW)),
        "worded": [sign for sign in WORDINGS if any(getattr(one, sign).search(text) for one in wordings(text))],
        "content": " ".join(content_words(text, 6)),
        "names": found,
    }


def of_question(text: str) -> dict[str, object]:
    signs = [
        name for name in WORDINGS_OF_QUESTIONS if any(getattr(one.questions, name).search(text) for one in of(text))
    ]
    return {
        "need": need(text),
        "about_user": about_user(text),
        "asks": asks(text),
        "list": asks_for_list(text),
        "kinds": sorted(asked_kinds(text)),
        "signs": signs,
        "as_user": first if (first := in_first_person(text, "Ada")) != text else "",
        "terms": len(terms(text)),
        "names": [one.text for one in names(text)],
    }


def readings(language: str) -> Iterator[str]:
    for _, turn in turns(f"{language}2", 3):
        yield line(turn["text"], of_statement(turn["text"], turn["role"]))
    for turn in read(f"noise2_{language}"):
        yield line(turn["text"], of_statement(turn["text"], turn["role"]))
    asked = [*questions(f"{language}2"), *questions(f"{language}_lists"), *questions(f"{language}_lists2")]
    for text in [*asked, *(request["text"] for request in read(f"quiet_{language}"))]:
        yield line(text, of_question(text))
    own = (HERE.parent / "statements.txt").read_text(encoding="utf-8").splitlines()
    for text in own:
        if (language == "zh") == has_cjk(text):
            yield line(text, {**of_question(text), **of_statement(text, "user")})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_statements_and_questions_are_read_as_recorded(language):
    check(HERE / f"{language}.txt", readings(language))


def named(language: str) -> Iterator[str]:
    """Yield what is read as a name, that of no weight too: in labelled sentences, in talk, and in ``names.txt``."""
    texts = [MARK.sub(r"\1", one) for path in sorted(LABELLED.glob(f"labelled_{language}*.txt"))
             for one in path.read_text(encoding="utf-8").splitlines()]  # fmt: skip
    texts += [turn["text"] for name in (language, f"{language}2") for _, turn in turns(name)]
    own = (HERE.parent / "names.txt").read_text(encoding="utf-8").splitlines()
    for text in [*texts, *(one for one in own if (language == "zh") == has_cjk(one))]:
        if found := [(one.text, one.kind, one.weight, one.role) for one in names(text)]:
            yield line(text, {"names": [" ".join(map(str, filter(None, one))) for one in found]})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_names_are_read_as_recorded(language):
    check(HERE / f"names_{language}.txt", named(language))
