"""Reply of the model to extract: facts, what each does to a fact that is known, and the turns that hold none."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, field_validator, model_validator

from memscope.reconciliation.supersession import Verdict

M = TypeVar("M", bound=BaseModel)
USUAL_LEVEL = 2
LEVELS = range(4)


class Words(BaseModel):  # a docstring would be part of the schema that the model is sent
    turn: int
    words: str


class Relation(BaseModel):
    k: int
    words: str
    relation: Verdict
    rest: str = ""


class Fact(BaseModel):
    text: str
    about: str
    level: int = USUAL_LEVEL
    when: str
    keywords: list[str]
    quotes: list[Words]
    known: list[Relation] = []

    @field_validator("known", mode="before")
    @classmethod
    def _one_by_one(cls, raw: Any) -> Any:
        return read_each(Relation, raw, MALFORMED_RELATION) if isinstance(raw, list) else []


MALFORMED_RELATION = Relation(k=-1, words="", relation="unrelated")
MALFORMED_FACT = Fact(text="", about="", when="", keywords=[], quotes=[])


class Extraction(BaseModel):
    """The facts, and the turns without any. One that is no fact at all does not spoil the others."""

    facts: list[Fact]
    nothing: list[int]

    @field_validator("facts", mode="before")
    @classmethod
    def _one_by_one(cls, raw: Any) -> Any:
        if not isinstance(raw, list):
            return raw
        read = read_each(Fact, raw, MALFORMED_FACT)
        if read and all(fact is MALFORMED_FACT for fact in read):
            Fact.model_validate(raw[0])  # says what is wrong
        return read


def read_each(kind: type[M], raw: list[Any], malformed: M) -> list[M]:
    def read(one: Any) -> M:
        with suppress(ValidationError):
            return kind.model_validate(one)
        return malformed

    return [read(one) for one in raw]


@lru_cache(64)
def schema(numbers: tuple[int, ...]) -> type[Extraction]:
    """Return an ``Extraction`` in which each of these turns is quoted, or named among those that hold nothing."""

    class Complete(Extraction):
        @model_validator(mode="after")
        def _complete(self) -> Complete:
            read = {*self.nothing, *(quote.turn for fact in self.facts for quote in fact.quotes)}
            if missing := [str(number) for number in numbers if number not in read]:
                raise ValueError(f"turn {', '.join(missing)} is neither quoted nor in nothing")
            return self

    Complete.__name__ = Complete.__qualname__ = "Extraction"
    return Complete
