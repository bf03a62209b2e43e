"""Schema of the model's reply to extract: facts, their relations to known facts, and turns without facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from memscope.models.structured_output import null_as
from memscope.reconciliation.supersession import Verdict

M = TypeVar("M", bound=BaseModel)
USUAL_LEVEL = 2
LEVELS = range(4)


class Words(BaseModel):  # no docstring: the model would be sent it with the schema
    turn: int
    words: str


class Relation(BaseModel):
    k: int
    words: str
    relation: Verdict
    rest: str = ""


class Fact(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)  # "when": 2025

    text: str
    about: Annotated[str, null_as("")]
    level: Annotated[int, null_as(USUAL_LEVEL), AfterValidator(lambda one: one if one in LEVELS else USUAL_LEVEL)] = (
        USUAL_LEVEL
    )
    when: Annotated[str, null_as("")]
    keywords: Annotated[list[str], null_as([])]
    quotes: list[Words]
    known: list[Relation] = []

    @field_validator("known", mode="before")
    @classmethod
    def _one_by_one(cls, raw: Any) -> Any:
        return read_each(Relation, raw, MALFORMED_RELATION) if isinstance(raw, list) else []


MALFORMED_RELATION = Relation(k=-1, words="", relation="unrelated")
MALFORMED_FACT = Fact(text="", about="", when="", keywords=[], quotes=[])


class Extraction(BaseModel):
    """Facts, and the turns without any. A malformed fact does not spoil the others."""

    facts: list[Fact]
    nothing: list[int]

    @model_validator(mode="before")
    @classmethod
    def _by_levels(cls, raw: Any) -> Any:
        """Accept replies to custom prompts that ask for the level of every turn instead of ``nothing``."""
        if not isinstance(raw, Mapping) or "nothing" in raw or not isinstance(raw.get("turns"), list):
            return raw
        try:
            levels = {one["turn"]: one["level"] for one in raw["turns"] if one["level"] in LEVELS}
        except (TypeError, KeyError):
            raise ValueError("each of the turns has a turn and a level") from None
        facts = raw.get("facts")
        nothing = [turn for turn, level in levels.items() if facts or level < USUAL_LEVEL]
        facts = [_with_level(fact, levels) for fact in facts] if isinstance(facts, list) else facts
        return {"nothing": nothing} if facts is None else {"facts": facts, "nothing": nothing}

    @field_validator("facts", mode="before")
    @classmethod
    def _one_by_one(cls, raw: Any) -> Any:
        if not isinstance(raw, list):
            return raw
        read = read_each(Fact, raw, MALFORMED_FACT)
        if read and all(fact is MALFORMED_FACT for fact in read):
            Fact.model_validate(raw[0])  # raises the error of the first one
        return read


def read_each(kind: type[M], raw: list[Any], malformed: M) -> list[M]:
    def read(one: Any) -> M:
        with suppress(ValidationError):
            return kind.model_validate(one)
        return malformed

    return [read(one) for one in raw]


def _with_level(fact: Any, levels: Mapping[int, int]) -> Any:
    """Give a fact without a level the highest level of its turns."""
    if not isinstance(fact, Mapping) or fact.get("level") in LEVELS:
        return fact
    with suppress(TypeError, KeyError):
        return {**fact, "level": max((levels.get(one["turn"], 0) for one in fact["quotes"]), default=USUAL_LEVEL)}
    return fact


@lru_cache(64)
def schema(numbers: tuple[int, ...]) -> type[Extraction]:
    """Build an ``Extraction`` type that requires every numbered turn to be quoted or listed in ``nothing``."""

    def complete(reply: Extraction) -> Extraction:
        read = {*reply.nothing, *(quote.turn for fact in reply.facts for quote in fact.quotes)}
        if missing := [str(number) for number in numbers if number not in read]:
            raise ValueError(f"turn {', '.join(missing)} is neither quoted nor in nothing")
        return reply

    return checked(Extraction, complete)


def checked(kind: type[M], check: Callable[[M], M]) -> type[M]:
    """Build a type of the same name whose instances must also pass ``check``."""
    validators: dict[str, Any] = {"check": model_validator(mode="after")(check)}
    return create_model(kind.__name__, __base__=kind, __validators__=validators)
