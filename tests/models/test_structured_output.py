"""A bad reply is an error, and what is read from a good one is what it says."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from growth import growth
from memscope.errors import ModelError, ModelReplyError
from memscope.models import Message, Reply
from memscope.models.structured_output import (
    MAX_REPLY_CHARS,
    ask,
    in_words,
    json_schema,
    parse,
    read_choice,
    with_instruction,
)

from servers.faults import MALFORMED


class Fact(BaseModel):
    text: str = Field(min_length=1, max_length=200)
    sources: list[int] = Field(min_length=1)
    level: Literal[0, 1, 2, 3] = 3


class Facts(BaseModel):
    facts: list[Fact]
    note: str = ""


GOOD = {"facts": [{"text": "does not smoke", "sources": [1]}, {"text": "likes tea", "sources": [1, 2]}]}
TEXT = json.dumps(GOOD)
EXPECTED = Facts.model_validate(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "\ufeff \n" + TEXT,
        json.dumps(GOOD, indent=2, ensure_ascii=False),
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\nI hope this helps.",
        f"Here is {{as asked}} the JSON [see below]: {TEXT} Anything else?",
        f'<think>Is it {{"facts": []}}? No.</think>\n{TEXT}',
        f'reasoning without an opening tag {{"facts": []}}</think>{TEXT}',
        f"<thinking>hm</thinking>```json\n{TEXT}```",
        TEXT[:-1] + ",}",
        TEXT.replace("]}", "],}"),
        f"Sure:\n```json\n{TEXT[:-1]},\n}}\n```",
        f"{TEXT}\n{TEXT}",
        f'The schema was {{"type": "object"}}, so: {TEXT}',
    ],
)
def test_reads_one_object_whatever_stands_around_it(text: str) -> None:
    assert parse(text, Facts) == EXPECTED


def test_keeps_raw_newlines_and_odd_characters_of_strings() -> None:
    said = 'line one\nline two, ] } ``` </think> "quoted"'
    text = json.dumps({"facts": [{"text": said, "sources": [1]}]}).replace("\\n", "\n")
    assert parse(text, Facts).facts[0].text == said
    assert parse(text[:-1] + ",}", Facts).facts[0].text == said


def test_nul_which_no_store_can_hold_is_replaced() -> None:
    said = "one\0two \\u0000 \\\0"
    text = json.dumps({"facts": [{"text": said, "sources": [1]}]})
    assert parse(text, Facts).facts[0].text == said.replace("\0", "\ufffd")
    assert parse(text.replace("one\\u0000", "one\0"), Facts) == parse(text, Facts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I am sorry, I cannot.", "no complete JSON object"),
        (TEXT[:-1], "no complete JSON object"),
        (TEXT.replace('"', "'"), "no complete JSON object"),
        ("<think>still thinking " + TEXT, "no complete JSON object"),
        (TEXT.replace("{", "{ // facts\n", 1), "no complete JSON object"),
        ('["unexpected", 42, null]', "no complete JSON object"),
        (json.dumps(GOOD["facts"]), "no complete JSON object"),
        ('"a string"', "no complete JSON object"),
        ("null", "no complete JSON object"),
        ("17", "no complete JSON object"),
        ('{"result": {"ok": true}}', "facts: Field required"),
        ("{}", "facts: Field required"),
        ('{"facts": null}', "facts: "),
        ('{"facts": [{"text": "", "sources": [1]}]}', "facts.0.text"),
        ('{"facts": [{"text": "a", "sources": [NaN]}]}', "no complete JSON object"),
        ('{"facts": [{"text": "a", "sources": [1]}], "facts": []}', "no complete JSON object"),
        (TEXT + '{"facts": []}', "several different objects"),
        (TEXT + TEXT[:40], "no complete JSON object"),
        ('{"a":' * 100_000, "no complete JSON object"),
        ("[{" * 100_000, "no complete JSON object"),
        ('{"facts": [' + "1" * 5000 + "]}", "no complete JSON object"),
    ],
)
def test_refuses_what_would_have_to_be_guessed(text: str, problem: str) -> None:
    with pytest.raises(ModelReplyError) as caught:
        parse(text, Facts)
    assert problem in caught.value.detail
    assert "smoke" not in str(caught.value) + caught.value.detail


def test_a_list_that_is_missing_is_never_an_empty_one() -> None:
    class Lenient(BaseModel):
        facts: list[Fact] = []

    assert parse('{"facts": []}', Lenient).facts == []
    with pytest.raises(ModelReplyError):
        parse('{"ok": true}', Lenient)


def test_refuses_a_reply_beyond_the_limit() -> None:
    with pytest.raises(ModelReplyError):
        parse(TEXT + " " * MAX_REPLY_CHARS, Facts)


def test_the_servers_malformed_variants_are_read_or_refused_never_halved() -> None:
    outcomes = {}
    for name, spoil in MALFORMED.items():
        try:
            outcomes[name] = [fact.text.strip() for fact in parse(spoil(TEXT), Facts).facts]
        except ModelReplyError:
            outcomes[name] = None
    both = [fact.text for fact in EXPECTED.facts]
    read = {"trailing_comma": both, "raw_newline": both, "twice": both}
    assert outcomes == {"open": None, "single_quotes": None, "comment": None} | read


def test_no_prefix_of_a_good_reply_gives_less_than_all_of_it() -> None:
    """A usual repair tool makes "does" of "does not smoke", and a shorter list of sources."""
    for text in (TEXT, f"Here: {TEXT}", json.dumps(GOOD, indent=1)):
        for end in range(len(text)):
            try:
                read = parse(text[:end], Facts)
            except ModelReplyError:
                continue
            assert read == EXPECTED


@given(st.text(alphabet='{}[]",:\\ \n`<>/thinkfacs1', max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(parse(text, Facts), Facts)
    except ModelReplyError:
        pass


WORDS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(WORDS, max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(WORDS, max_size=8), inner, max_size=4),
    max_leaves=20,
)


class Anything(BaseModel):
    items: list[Any]


@given(st.lists(JSON, max_size=4), st.sampled_from(["{}", "Look: {} there", "```json\n{}\n```", "<think>x</think>{}"]))
def test_what_is_read_is_what_was_said(items: list[Any], frame: str) -> None:
    text = frame.replace("{}", json.dumps({"items": items}, ensure_ascii=False))
    assert parse(text, Anything).items == items


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"message": {"content": TEXT}, "finish_reason": "length"}, "cut"),
        ({"message": {"content": TEXT}, "finish_reason": "content_filter"}, "content filter"),
        ({"message": {"content": TEXT}, "finish_reason": None}, "before it was finished"),
        ({"message": {"content": TEXT}}, "before it was finished"),
        ({"message": {"content": None, "refusal": "secret words"}, "finish_reason": "stop"}, "refused"),
        ({"message": {"content": " \n"}, "finish_reason": "stop"}, "empty"),
        ({"message": {"content": None}, "finish_reason": "stop"}, "empty"),
        ({"message": "text", "finish_reason": "stop"}, "no message"),
        ({}, "no message"),
        (None, "no choices"),
    ],
)
def test_only_a_finished_reply_that_says_something_is_one(choice: Any, message: str) -> None:
    with pytest.raises(ModelReplyError, match=message) as caught:
        read_choice({"choices": [choice]})
    assert "secret" not in str(caught.value)


def test_text_may_come_in_parts() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert read_choice({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}) == ("ab", "stop")


# ----------------------------------------------------------------------------------------------- what the model is told


def test_the_schema_is_strict_and_keeps_fields_named_like_keywords() -> None:
    class Odd(BaseModel):
        title: str = Field(default="x", max_length=3)
        format: list[Fact] = []

    schema = json_schema(Odd)
    assert schema["required"] == ["title", "format"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["$defs"]["Fact"]["required"] == ["text", "sources", "level"]
    assert schema["$defs"]["Fact"]["properties"]["level"]["enum"] == [0, 1, 2, 3]


def test_the_instruction_joins_the_only_system_message() -> None:
    user = Message(role="user", content="hello")
    assert [m["role"] for m in with_instruction([user], "answer in JSON")] == ["system", "user"]
    joined = with_instruction([Message(role="system", content="be brief"), user], "answer in JSON")
    assert joined == [Message(role="system", content="be brief\n\nanswer in JSON"), user]


class Scripted:
    """A model of one's own that knows no schemas."""

    name = "scripted"

    def __init__(self, *replies: str | ModelError) -> None:
        self.replies, self.prompts = list(replies), []  # type: ignore[var-annotated]

    async def chat(self, messages: Any, *, schema: Any = None, deadline_s: float | None = None) -> Reply:
        self.prompts.append(messages)
        reply = self.replies.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        return Reply(reply)

    def stream(self, messages: Any, *, deadline_s: float | None = None) -> Any:
        raise NotImplementedError


QUESTION = [Message(role="user", content="what do you know?")]


async def test_ask_reads_what_a_model_without_schemas_says() -> None:
    model = Scripted(TEXT)
    assert await ask(model, QUESTION, Facts) == EXPECTED
    assert model.prompts == [QUESTION]


async def test_ask_asks_once_more_and_says_what_was_wrong() -> None:
    model = Scripted('{"facts": [{"text": "a", "sources": []}]}', TEXT)
    assert await ask(model, QUESTION, Facts) == EXPECTED
    again = model.prompts[1][0]["content"]
    assert model.prompts[1][1:] == QUESTION, "roles still alternate"
    assert "facts.0.sources" in again
    assert in_words(Facts) in again


async def test_ask_gives_up_after_the_second() -> None:
    model = Scripted("nothing to remember", "really nothing", TEXT)
    with pytest.raises(ModelReplyError):
        await ask(model, QUESTION, Facts)
    assert len(model.prompts) == 2


async def test_ask_does_not_repeat_other_errors() -> None:
    model = Scripted(ModelError("no"), TEXT)
    with pytest.raises(ModelError):
        await ask(model, QUESTION, Facts)
    assert len(model.prompts) == 1


@pytest.mark.parametrize(
    "piece", ['\\"', '"', ",", ", ", "{", "[", "{}", '{"a": 1}, ', '{"', "<think>", "\\", ",]", '"\\', "```"]
)
def test_reading_takes_as_long_as_the_reply_is(piece: str) -> None:
    def read(text: str) -> None:
        with pytest.raises(ModelReplyError):
            parse('{"' + text, Facts)
        with suppress(ModelReplyError):
            parse(text, Facts)

    assert growth(read, piece, 4_000) < 3


def test_a_reply_of_very_many_objects_is_none() -> None:
    assert parse(TEXT * 100, Facts) == EXPECTED
    with pytest.raises(ModelReplyError):
        parse(TEXT * 101, Facts)
