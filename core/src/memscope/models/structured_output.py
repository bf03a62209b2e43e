"""Parse chat replies into validated values. A bad reply raises a typed error and never passes for an empty one.

Accepted: JSON plain, in a fence, in prose, after ``<think>``; with trailing commas or raw newlines in strings.
Rejected: anything that needs guessing. When the 118 prefixes of a two-fact reply were given to a common repair tool, 52
became half facts ("The user does" from "does not smoke"). So missing brackets are never added, and a truncated reply
is rejected as a whole.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from memscope.errors import ModelReplyCut, ModelReplyError
from memscope.models import Message
from memscope.records import Json

if TYPE_CHECKING:
    from pydantic import BaseModel, BeforeValidator

    from memscope.models import ChatModel

M = TypeVar("M", bound="BaseModel")

MAX_REPLY_CHARS = 1_000_000
_MAX_TOP_VALUES = 100  # top-level JSON values in a reply
EMPTY_REPLY = "the reply is empty"
TRY_ANOTHER = "try again, or another model"
FINISHED = ("stop", "tool_calls")
_MAX_PROBLEMS = 5  # validation errors reported to the model
_JSON_START = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[{"])')
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.S)  # an unclosed string runs to the end of the text
_NUL = re.compile(r"\0|(?<!\\)((?:\\\\)*)\\u0000")  # as a character, and escaped in a JSON string
_THOUGHT = re.compile(r"\s*<think(?:ing)?>")
_THOUGHT_END = re.compile(r"</think(?:ing)?>")
_UNSUPPORTED_KEYWORDS = frozenset(
    "title default examples minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf pattern"
    " format minItems maxItems uniqueItems".split()
)


def null_as(empty: object) -> BeforeValidator:
    """Annotate a field for which a model may write null; its value is then ``empty``."""
    from pydantic import BeforeValidator

    return BeforeValidator(lambda value: empty if value is None else value)


# --------------------------------------------------------------------------------------------------- server's payload


def read_choice(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return text and finish reason of a completion. Raise ``ModelReplyError`` if it is incomplete or empty."""
    choice = first_choice(payload)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelReplyError("the reply holds no message", hint="is this a chat model?")
    check_finish(choice.get("finish_reason"), message.get("refusal"))
    text = text_of(message.get("content"))
    if not text.strip():
        raise ModelReplyError(EMPTY_REPLY, hint=TRY_ANOTHER)
    return text, choice["finish_reason"]


def first_choice(payload: Mapping[str, Any]) -> dict[str, Any]:
    choices = payload.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelReplyError("the reply holds no choices", hint="is this a chat model?")
    return choices[0]


def check_finish(finish: Any, refusal: Any) -> None:
    """Raise ``ModelReplyError`` for a refused, filtered, truncated or incomplete reply."""
    if refusal:
        raise ModelReplyError("the model refused to answer")
    if finish == "length":
        raise ModelReplyCut("the reply was cut at its length limit", hint="raise max_tokens in parameters")
    if finish == "content_filter":
        raise ModelReplyError("the reply was stopped by a content filter")
    if finish not in FINISHED:
        raise ModelReplyError("the reply ended before it was finished", hint="try again")


def text_of(content: Any) -> str:
    """Return a message's text, joined if it is a list of typed parts."""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


# --------------------------------------------------------------------------------------------------------- model's text


def parse(text: str, schema: type[M]) -> M:
    """Return the only object in ``text`` that fits ``schema``.

    Raise ``ModelReplyError``, whose ``detail`` describes the error for the model.
    """
    if len(text) > MAX_REPLY_CHARS:
        raise ModelReplyError(f"the reply is longer than {MAX_REPLY_CHARS} characters", detail="the reply is too long")
    objects = [value for value in _values(text) if isinstance(value, dict)]
    if not objects:
        raise _reply_error(schema, "there is no complete JSON object in the reply")
    outcomes = [_validate(value, schema) for value in objects]
    fitting = [value for value in outcomes if not isinstance(value, str)]
    if not fitting:
        raise _reply_error(schema, next(problem for problem in outcomes if isinstance(problem, str)))
    if any(value != fitting[0] for value in fitting[1:]):
        raise _reply_error(schema, "the reply holds several different objects")
    return fitting[0]


def _reply_error(schema: type[BaseModel], problem: str) -> ModelReplyError:
    return ModelReplyError(f"the reply is no {schema.__name__}", hint=TRY_ANOTHER, detail=problem)


def _validate(value: dict[str, Any], schema: type[M]) -> M | str:
    """Return the model instance, or a description of the error. A missing list is an error, not an empty list."""
    from pydantic import ValidationError

    try:
        reply = schema.model_validate(value)
        missing = [name for name in _list_fields(schema) if name not in reply.model_fields_set]
        return f"{missing[0]}: Field required" if missing else reply
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
    except RecursionError:
        return "the object is nested too deeply"
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems[:_MAX_PROBLEMS])


def _values(text: str) -> list[Json]:
    """Return all top-level JSON values in ``text``, ignoring prose; none if one of them is broken."""
    text = _NUL.sub("\\1\ufffd", text.strip().removeprefix("\ufeff"))  # stores cannot hold NUL
    whole = _decode_at(text, 0)
    if whole and not text[whole[1] :].strip():
        return [whole[0]]
    if not _JSON_START.match(text):
        text = _without_thoughts(text)
    return _scan(text) or _scan(_without_commas(text))


def _scan(text: str) -> list[Json]:
    values: list[Json] = []
    start = _JSON_START.search(text)
    while start:
        value = _decode_at(text, start.start())
        if not value or len(values) == _MAX_TOP_VALUES:
            return []  # do not search inside a broken value, which may be truncated
        values.append(value[0])
        start = _JSON_START.search(text, value[1])
    return values


def _decode_at(text: str, start: int) -> tuple[Json, int] | None:
    """Return the value at ``start`` and its end; None if it is incomplete or invalid."""
    with suppress(ValueError, RecursionError):
        return _DECODER.raw_decode(text, start)
    return None


def _without_commas(text: str) -> str:
    """Remove commas before a closing bracket, but not inside strings."""
    start = _JSON_START.search(text)
    return _COMMA.sub(r"\1", text[start.start() :]) if start else text


def _without_thoughts(text: str) -> str:
    """Return the text after a reasoning block, "" if the block is not closed."""
    if end := _THOUGHT_END.search(text):
        return text[end.end() :]
    return "" if _THOUGHT.match(text) else text


def _reject_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name is given twice")
    return value


def _reject_constant(constant: str) -> Json:
    raise ValueError("not a JSON number")


# Allows raw newlines in strings; refuses NaN and duplicate names, which are ambiguous.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant)


# ----------------------------------------------------------------------------------------------------- request's schema


@lru_cache(128)
def json_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return a schema for strict endpoints: all fields required, no others allowed, limits left to ``parse``."""
    strict: dict[str, Any] = _to_strict(schema.model_json_schema())
    return strict


@lru_cache(128)
def schema_text(schema: type[BaseModel]) -> str:
    return json.dumps(json_schema(schema), ensure_ascii=False, separators=(",", ":"))


def _to_strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_to_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}  # strict endpoints allow no siblings
    copied = {
        name: {member: _to_strict(one) for member, one in value.items()}  # a member may be called "title" or "format"
        if name in ("properties", "$defs")
        else _to_strict(value)
        for name, value in node.items()
        if name not in _UNSUPPORTED_KEYWORDS
    }
    if "properties" in copied:
        copied |= {"required": list(copied["properties"]), "additionalProperties": False}
    return copied


@lru_cache(128)
def _list_fields(schema: type[BaseModel]) -> tuple[str, ...]:
    properties = schema.model_json_schema().get("properties", {})
    return tuple(name for name, property_ in properties.items() if property_.get("type") == "array")


def with_instruction(messages: Sequence[Message], instruction: str) -> list[Message]:
    """Append ``instruction`` to the system message, since some models refuse a second one."""
    if messages and messages[0]["role"] == "system":
        first = Message(role="system", content=f"{messages[0]['content']}\n\n{instruction}")
        return [first, *messages[1:]]
    return [Message(role="system", content=instruction), *messages]


def in_words(schema: type[BaseModel]) -> str:
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{schema_text(schema)}"


async def ask(model: ChatModel, messages: Sequence[Message], schema: type[M], *, deadline_s: float | None = None) -> M:
    """Ask ``model`` for a ``schema``. If the reply is unusable, ask once more with a description of the error.

    Raise ``ModelReplyError`` if the second reply is unusable too. Other errors are raised at once, including
    ``ModelReplyCut``, since the next reply would be truncated again. ``deadline_s`` covers both calls; without it the
    model's own deadline applies to each.
    """
    began = time.monotonic()
    try:
        return await _ask_once(model, messages, schema, deadline_s)
    except ModelReplyCut:
        raise
    except ModelReplyError as error:
        left = None if deadline_s is None else began + deadline_s - time.monotonic()
        if left is not None and left <= 0:
            raise
        problem = error.detail or str(error).partition(";")[0]
    again = f"Your last answer could not be used: {problem}. {in_words(schema)}"
    return await _ask_once(model, with_instruction(messages, again), schema, left)


async def _ask_once(model: ChatModel, messages: Sequence[Message], schema: type[M], deadline_s: float | None) -> M:
    reply = await model.chat(messages, schema=schema, deadline_s=deadline_s)
    return reply.parsed if isinstance(reply.parsed, schema) else parse(reply.text, schema)
