"""Tests of ``AdapterSuite`` for prompt caches: each call starts with the messages of the previous one."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.prompts.memory_block import CLOSE_MARK, OPEN_MARK
from memscope_testing.scripted import ScriptedModel, Shown

PREFIX_USER = "alice"
PREFIX_FACTS = {
    "en": ("My boat is called Aurora.", "My sister Kim lives in Lisbon.", "I am allergic to walnuts."),
    "zh": ("我的小船叫晨曦号。", "我妹妹小敏住在里斯本。", "我对核桃过敏。"),
}
PREFIX_QUESTIONS = {
    "en": ("What is my boat called?", "Where does my sister Kim live?", "What am I allergic to?"),
    "zh": ("我的小船叫什么？", "我妹妹小敏住在哪里？", "我对什么过敏？"),
}
CORE_MEMORY = {"en": "Alice sails.", "zh": "小艾喜欢航海。"}
MAX_SEPARATOR_BYTES = 20  # bytes of roles and separators between memory and the user's text
MEMORY_BLOCK = re.compile(rf"\s*{re.escape(OPEN_MARK)}.*?{re.escape(CLOSE_MARK)}\s*", re.DOTALL)


class PromptPrefix:
    """The part of ``AdapterSuite`` on prompt caches."""

    converse: Any

    @pytest.mark.parametrize("lang", ["en", "zh"])
    async def test_a_call_begins_with_what_the_last_one_sent(
        self, fickle: AsyncMemoryScope, script: ScriptedModel, lang: str
    ) -> None:
        await self._ask(fickle, script, lang)
        for question, before, after in zip(PREFIX_QUESTIONS[lang], script.shown, script.shown[1:], strict=False):
            assert _bytes(after).startswith(_head(before, question)), "something before the newest message has changed"
            assert _words(after).startswith(_words(before, question)), "the conversation itself has changed"

    async def test_the_system_message_is_the_same_in_every_call(
        self, fickle: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        await self._ask(fickle, script, "en")
        for before, after in pairwise(script.shown):
            assert _system(before) == _system(after)
        assert OPEN_MARK not in "".join(_system(script.shown[0]))

    async def test_memory_stands_beside_the_users_newest_message(
        self, fickle: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        await self._ask(fickle, script, "en")
        for question, shown in zip(PREFIX_QUESTIONS["en"], script.shown, strict=True):
            places = [place for place, message in enumerate(shown) if OPEN_MARK in message.text]
            newest = [place for place, message in enumerate(shown) if question in message.text]
            assert abs(places[-1] - newest[-1]) <= 1

    async def _ask(self, memory: AsyncMemoryScope, script: ScriptedModel, lang: str) -> None:
        """Ask in a new session. Each question recalls another memory, and core memory changes between them."""
        for fact in PREFIX_FACTS[lang]:
            await memory.add_turns([{"role": "user", "content": fact}], user=PREFIX_USER, agent="helper", session="one")
        talk = await self.converse(memory, script, user=PREFIX_USER, agent="helper", session="two")
        for fact, question in zip(PREFIX_FACTS[lang], PREFIX_QUESTIONS[lang], strict=True):
            await talk.say(question)
            assert fact in script.latest
            await memory.blocks(PREFIX_USER).append("human", CORE_MEMORY[lang])
        assert CORE_MEMORY[lang] in script.latest


def _bytes(shown: list[Shown]) -> bytes:
    return "".join(f"{role}\x1f{text}\x1e" for role, text in shown).encode()


def _head(shown: list[Shown], question: str) -> bytes:
    """Return the bytes before the user's newest message, or before memory that directly precedes it."""
    head = _bytes(shown).rpartition(question.encode())[0]
    earlier, _, memory = head.rpartition(OPEN_MARK.encode())
    between = memory.rpartition(CLOSE_MARK.encode())[2]
    return earlier if between and between.count(b"\x1e") <= 1 and len(between) < MAX_SEPARATOR_BYTES else head


def _words(shown: list[Shown], question: str = "") -> str:
    """Return the conversation without memory, up to and including the question."""
    worded = ((role, MEMORY_BLOCK.sub("\n", text).strip()) for role, text in shown)
    sent = "\n".join(f"{role}: {text}" for role, text in worded if text)
    return sent[: sent.rindex(question) + len(question)] if question else sent


def _system(shown: list[Shown]) -> list[str]:
    return [message.text for message in shown if message.role == "system"]
