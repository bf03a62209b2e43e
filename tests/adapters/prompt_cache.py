"""The requests to a provider, byte for byte: the tests of every adapter's ``test_prompt_cache.py``.

The framework's own client asks a scripted model behind HTTP, which calls a tool before each answer.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.prompts.memory_block import OPEN_MARK
from memscope_testing.prompt_prefix import CORE_MEMORY, MEMORY_BLOCK, PREFIX_FACTS, PREFIX_QUESTIONS

from servers.faults import FaultServer, Script
from servers.faults.replies import Reply, text_of

PROMPT = "You are a helpful assistant."
TOOL = "clock"
Message = dict[str, Any]


class ToolScript(Script):
    """Calls the tool, then answers. ``bodies`` has the requests."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> Reply | None:
        self.bodies.append(body)
        if body["messages"][-1]["role"] == "tool":
            return Reply("It is noon.")
        return Reply(None, [{"name": TOOL, "arguments": {"zone": "UTC"}}], "tool_calls")


class PromptCacheSuite:
    """``open`` is a conversation with a real agent that has ``PROMPT``, memory and a tool ``clock(zone)``."""

    keeps_memory = False  # whether the framework keeps what it was shown for good
    added_later = ""  # a field that the framework adds to a message only when it shows it again

    async def open(self, memory: AsyncMemoryScope, url: str) -> Any:
        raise NotImplementedError

    @pytest.fixture(params=["en", "zh"])
    def lang(self, request: pytest.FixtureRequest) -> str:
        return request.param

    @pytest.fixture
    async def bodies(self, fault_server: FaultServer, lang: str) -> list[dict[str, Any]]:
        """The requests of a talk about each of the facts, two for each question."""
        fault_server.script = script = ToolScript()
        async with AsyncMemoryScope(":memory:", settings={}) as memory:
            for fact in PREFIX_FACTS[lang]:
                await memory.add_turns([{"role": "user", "content": fact}], user="alice")
            talk = await self.open(memory, fault_server.base_url)
            for question in PREFIX_QUESTIONS[lang]:
                await talk.say(question)
                await memory.blocks("alice").append("human", CORE_MEMORY[lang])
            await talk.close()
            turns = [turn.text for turn in await memory.list(user="alice", kinds=["turn"])]
            assert [text for text in turns if OPEN_MARK in text] == []
            assert [text for text in turns if text in PREFIX_QUESTIONS[lang]] == [*PREFIX_QUESTIONS[lang]]
        assert len(script.bodies) == 2 * len(PREFIX_QUESTIONS[lang])
        return script.bodies

    async def test_all_but_the_messages_is_the_same_in_every_call(self, bodies: list[dict[str, Any]]) -> None:
        others = {dump({**body, "messages": [one for one in body["messages"] if is_system(one)]}) for body in bodies}
        assert len(others) == 1
        assert OPEN_MARK not in others.pop()

    async def test_a_call_after_a_tool_begins_with_the_call_before_it(self, bodies: list[dict[str, Any]]) -> None:
        for before, after in zip(bodies[::2], bodies[1::2], strict=True):
            assert opens(before["messages"], after["messages"])

    async def test_memory_is_beside_the_newest_question_and_earlier_messages_are_as_they_were(
        self, bodies: list[dict[str, Any]], lang: str
    ) -> None:
        for number, (question, fact) in enumerate(zip(PREFIX_QUESTIONS[lang], PREFIX_FACTS[lang], strict=True)):
            messages = bodies[2 * number]["messages"]
            newest = [at for at, one in enumerate(messages) if question in text_of(one.get("content"))][-1]
            memory = [at for at, one in enumerate(messages) if OPEN_MARK in text_of(one.get("content"))]
            assert fact in dump(messages)
            assert abs(memory[-1] - newest) <= 1
            assert self.keeps_memory or len(memory) == 1
        for before, after in pairwise(body["messages"] for body in bodies):
            assert opens(self._plain(before), self._plain(after))
            if self.keeps_memory:
                assert opens(before, after)

    def _plain(self, messages: list[Message]) -> list[Message]:
        left = [{name: value for name, value in one.items() if name != self.added_later} for one in messages]
        return without_memory(left)


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def opens(before: list[Message], after: list[Message]) -> bool:
    return dump(after[: len(before)]) == dump(before)


def is_system(message: Message) -> bool:
    return message["role"] in ("system", "developer")


def without_memory(messages: list[Message]) -> list[Message]:
    plain = [{**one, "content": _content(one["content"])} if OPEN_MARK in text_of(one.get("content")) else one
             for one in messages]  # fmt: skip
    return [one for one in plain if one.get("content") or one["role"] != "user"]


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return MEMORY_BLOCK.sub("", content)
    parts = [{**part, "text": MEMORY_BLOCK.sub("", part["text"])} if "text" in part else part for part in content]
    return [part for part in parts if part.get("text") != ""]
