"""AdapterSuite: the contract of an adapter as tests, which run the framework's own agent with a memory.

    class TestMyAdapter(AdapterSuite):
        plugin = "memscope_mine.plugin"
        framework = ("mine",)

        async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
            return MyConversation(...)       # the framework's agent with this memory; its model calls ``script``

Set ``asyncio_mode = "auto"``. Standard tests cannot be overridden; ``not_applicable`` skips some: docs/adapters.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest

from memscope import AsyncMemoryScope, MemscopeError, Turn
from memscope_testing.context import ShownContext
from memscope_testing.injections import Injections
from memscope_testing.prompt_prefix import PromptPrefix
from memscope_testing.scripted import FickleStore, ScriptedModel, unclosed

FACT = "My boat is called Aurora."
QUESTION = "What is my boat called?"
SUITE_USER = "alice"
RESCUE_S = 20.0


class Conversation(Protocol):
    """A conversation of a user with an agent that has a memory."""

    async def say(self, text: str) -> str:
        """Send a user message and wait for the complete reply."""

    async def interrupt(self, text: str) -> None:
        """Send a user message, stream the reply and stop reading before it is complete."""

    async def state(self) -> Any:
        """Return the history in the framework's format, for ``converse(state=...)`` to continue."""

    async def close(self) -> None:
        """Close the adapter and all other resources of the conversation."""


class AdapterSuite(ShownContext, PromptPrefix, Injections):
    """See the module's docstring. ``framework``: packages that core and the plugin module must not import."""

    plugin: ClassVar[str]
    framework: ClassVar[tuple[str, ...]]
    not_applicable: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        standard = {name for name in dir(AdapterSuite) if name.startswith("test_")}
        for name in standard:
            if getattr(cls, name) is not getattr(AdapterSuite, name):
                raise TypeError(f"{cls.__name__} overrides the standard test {name!r}; add tests, do not replace them")
        for name, reason in cls.not_applicable.items():
            if name not in standard or not reason.strip():
                raise TypeError(f"{cls.__name__}.not_applicable: {name!r} is no standard test or has no reason")

    async def converse(
        self,
        memory: AsyncMemoryScope,
        script: ScriptedModel,
        *,
        user: Any,
        agent: str | None = None,
        session: str | None = None,
        strict: bool = False,
        state: Any = None,
        **options: Any,
    ) -> Conversation:
        """Start a conversation with a new agent that uses ``memory``; with ``state``, continue that history.

        ``options``: the adapter's options ``kinds`` and ``zone``.
        """
        raise NotImplementedError

    # ---- fixtures

    @pytest.fixture(autouse=True)
    def _applies(self, request: pytest.FixtureRequest) -> None:
        self.check_applies(getattr(request.node, "originalname", ""))

    def check_applies(self, name: str) -> None:
        """Skip a test that ``not_applicable`` lists, with the reason given there."""
        if name in self.not_applicable:
            pytest.skip(f"does not apply to {type(self).__name__}: {self.not_applicable[name]}")

    @pytest.fixture(params=["in memory", "sqlite"])
    async def memory(self, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncMemoryScope]:
        place = ":memory:" if request.param == "in memory" else tmp_path / "memory.db"
        async with AsyncMemoryScope(place, settings={}) as opened:
            yield opened

    @pytest.fixture
    def store(self) -> FickleStore:
        return FickleStore()

    @pytest.fixture
    async def fickle(self, store: FickleStore) -> AsyncIterator[AsyncMemoryScope]:
        """A memory over ``store``, which the test can make fail."""
        async with AsyncMemoryScope(store, settings={}) as opened:
            yield opened

    @pytest.fixture
    def script(self) -> ScriptedModel:
        return ScriptedModel()

    # ---- ownership

    async def test_a_user_is_required(
        self, fickle: AsyncMemoryScope, store: FickleStore, script: ScriptedModel
    ) -> None:
        for missing in (None, "", " "):
            with pytest.raises((MemscopeError, TypeError, ValueError)):
                await (await self.converse(fickle, script, user=missing)).say(FACT)
        assert (await store.stats()).turns == 0

    async def test_a_new_session_recalls_the_old_ones(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        await self._state_fact(memory)
        new = await self.converse(memory, script, user=SUITE_USER, agent="helper", session="two")
        await new.say(QUESTION)
        assert "Aurora" in script.latest

    @pytest.mark.parametrize("differ", ["user", "agent"])
    async def test_at_once_never_mixes(self, memory: AsyncMemoryScope, differ: str) -> None:
        names = ["anna", "bert", "carl", "dora"]
        scopes: list[dict[str, Any]] = [
            {"user": SUITE_USER, "agent": "helper", "session": "one", differ: name} for name in names
        ]
        scripts = [ScriptedModel(name=name) for name in names]
        talks = [await self.converse(memory, script, **scope) for script, scope in zip(scripts, scopes, strict=True)]
        for line in ("My secret word is {}secret.", "What is my secret word?", "Say my secret word again."):
            await asyncio.gather(*(talk.say(line.format(name)) for talk, name in zip(talks, names, strict=True)))
        for name, scope, script in zip(names, scopes, scripts, strict=True):
            texts = await _texts(memory, **scope)
            assert len(texts) == 6
            everything = " ".join([*texts, *(shown.text for call in script.shown for shown in call)])
            assert [other for other in names if f"{other}secret" in everything] == [name]

    async def test_sessions_at_once_are_told_apart(self, memory: AsyncMemoryScope) -> None:
        names = ["one", "two", "three"]
        talks = [await self._talk(memory, ScriptedModel(name=name), session=name) for name in names]
        for line in ("This is {}.", "Still {}."):
            await asyncio.gather(*(talk.say(line.format(name)) for talk, name in zip(talks, names, strict=True)))
        for name in names:
            texts = await _texts(memory, user=SUITE_USER, session=name)
            assert texts[::2] == [f"This is {name}.", f"Still {name}."]
            assert len(texts) == 4

    # ---- recording

    async def test_both_sides_are_recorded(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        talk = await self._talk(memory, script)
        first, second = await talk.say(FACT), await talk.say("I sail it on Sundays.")
        turns = await _turns(memory, user=SUITE_USER, agent="helper", session="one")
        assert [turn.text for turn in turns] == [FACT, first, "I sail it on Sundays.", second]
        assert [turn.role for turn in turns] == ["user", "assistant"] * 2

    async def test_the_users_turn_is_kept_before_the_model_answers(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        seen: list[list[str]] = []

        async def look() -> None:
            seen.append(await _texts(memory, user=SUITE_USER))

        script.during = look
        talk = await self._talk(memory, script)
        replies = [await talk.say(FACT), await talk.say(QUESTION)]
        assert seen == [[FACT], [FACT, replies[0], QUESTION]]
        assert await _texts(memory, user=SUITE_USER) == [FACT, replies[0], QUESTION, replies[1]]

    async def test_the_same_words_said_again_are_a_new_turn(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        talk = await self._talk(memory, script)
        for _ in range(3):
            await talk.say("ok")
        later = await self._talk(memory, script)
        await later.say("ok")
        assert (await _texts(memory, user=SUITE_USER)).count("ok") == 4

    async def test_an_interrupted_stream_keeps_the_users_turn(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        talk = await self._talk(memory, script)
        await talk.interrupt(FACT)
        assert FACT in await _texts(memory, user=SUITE_USER)
        await talk.say(QUESTION)
        assert (await _texts(memory, user=SUITE_USER)).count(FACT) == 1

    async def test_a_model_that_fails_keeps_the_users_turn(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        script.error = RuntimeError("the model is out of order, as the test wants it")
        talk = await self._talk(memory, script)
        with contextlib.suppress(Exception):
            await talk.say(FACT)
        assert await _texts(memory, user=SUITE_USER) == [FACT]

    # ---- replayed history

    async def test_history_shown_again_adds_nothing(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        talk = await self._talk(memory, script)
        for text in (FACT, "ok", "ok"):
            await talk.say(text)
        before = await _texts(memory, user=SUITE_USER)
        again = await self._talk(memory, script, state=await talk.state())
        reply = await again.say("Let us go on.")
        assert await _texts(memory, user=SUITE_USER) == [*before, "Let us go on.", reply]

    async def test_history_shown_again_does_not_undo_a_forget(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        talk = await self._talk(memory, script)
        await talk.say(FACT)
        state = await talk.state()
        await memory.forget(user=SUITE_USER, everything=True)
        again = await self._talk(memory, script, state=state)
        reply = await again.say("Let us go on.")
        assert await _texts(memory, user=SUITE_USER) == ["Let us go on.", reply]

    # ---- recall

    async def test_a_turn_just_said_is_not_among_its_own_memories(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        await self._state_fact(memory)
        talk = await self._talk(memory, script, session="two")
        await talk.say("My boat might be called Borealis soon.")  # not a question, which would not be recalled anyway
        assert "Aurora" in script.latest
        assert script.latest.count("Borealis") == 1

    async def test_nothing_that_the_model_sees_is_recalled(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        talk = await self._talk(memory, script)
        await talk.say(FACT)
        await talk.say(QUESTION)
        assert script.latest.count("Aurora") == 1

    async def test_nothing_of_a_reloaded_history_is_recalled(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        talk = await self._talk(memory, script)
        await talk.say(FACT)
        again = await self._talk(memory, script, state=await talk.state())
        await again.say(QUESTION)
        assert script.latest.count("Aurora") == 1

    # ---- injection

    async def test_what_was_injected_is_never_recorded(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        await self._state_fact(memory)
        before = await _texts(memory, user=SUITE_USER)
        talk = await self._talk(memory, script, session="two")
        conversation = []
        for text in (QUESTION, "And what was its name again, the boat?", QUESTION):
            conversation += [text, await talk.say(text)]
            assert "Aurora" in script.latest
        assert await _texts(memory, user=SUITE_USER) == [*before, *conversation]

    async def test_what_was_injected_is_never_recorded_from_a_reloaded_history(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        await self._state_fact(memory)
        talk = await self._talk(memory, script, session="two")
        await talk.say(QUESTION)
        before = await _texts(memory, user=SUITE_USER)
        again = await self._talk(memory, script, session="two", state=await talk.state())
        reply = await again.say(QUESTION)
        assert await _texts(memory, user=SUITE_USER) == [*before, QUESTION, reply]

    async def test_what_was_injected_is_never_extracted(
        self, fickle: AsyncMemoryScope, store: FickleStore, script: ScriptedModel
    ) -> None:
        await self._state_fact(fickle)
        await (await self._talk(fickle, script, session="two")).say(QUESTION)
        (work,) = await store.claim("consolidate", 100, 60.0)
        turns = [await fickle.get(key, user=SUITE_USER) for key in work.items]
        assert ["Aurora" in turn.text for turn in turns] == [True, False, False, False]

    async def test_injection_does_not_grow_the_context(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        await self._state_fact(memory)
        talk = await self._talk(memory, script, session="two")
        for number in range(5):
            await talk.say(f"{QUESTION} Question {number}.")
            assert script.latest.count("Aurora") == 1
        assert len(script.shown[-1]) <= len(script.shown[0]) + 2 * 4

    async def test_there_is_no_second_system_message(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        await self._state_fact(memory)
        talk = await self._talk(memory, script, session="two")
        for _ in range(2):
            await talk.say(QUESTION)
            roles = [shown.role for shown in script.shown[-1]]
            assert "Aurora" in script.latest
            assert "system" not in roles[1:]

    # ---- failures

    async def test_a_memory_that_fails_leaves_the_agent_answering(
        self, fickle: AsyncMemoryScope, store: FickleStore, script: ScriptedModel, caplog: pytest.LogCaptureFixture
    ) -> None:
        talk = await self._talk(fickle, script)
        store.broken = True
        with caplog.at_level(logging.WARNING):
            for text in (FACT, QUESTION, "ok"):
                assert await talk.say(text)
        assert len([record for record in caplog.records if record.name.startswith("memscope")]) == 1
        store.broken = False
        await talk.say("I sail it on Sundays.")
        assert "I sail it on Sundays." in await _texts(fickle, user=SUITE_USER)

    async def test_strict_raises(self, fickle: AsyncMemoryScope, store: FickleStore, script: ScriptedModel) -> None:
        talk = await self._talk(fickle, script, strict=True)
        store.broken = True
        with pytest.raises(Exception, match="out of order") as caught:
            await talk.say(FACT)
        assert any(isinstance(error, MemscopeError) for error in _chain(caught.value))

    async def test_nothing_blocks_the_event_loop(
        self, fickle: AsyncMemoryScope, store: FickleStore, script: ScriptedModel
    ) -> None:
        """Make the store wait for this event loop. If the loop is blocked, only the rescuer thread can end the wait."""
        talk = await self._talk(fickle, script)
        gate = store.hold()
        rescuer = threading.Timer(RESCUE_S, gate.set)
        rescuer.start()
        saying = asyncio.create_task(talk.say(FACT))
        rescued = not await asyncio.to_thread(store.reached.wait, RESCUE_S) or gate.is_set()
        gate.set()
        await saying
        rescuer.cancel()
        assert not rescued

    async def test_closing_leaves_no_task_behind(self, fickle: AsyncMemoryScope, script: ScriptedModel) -> None:
        before = asyncio.all_tasks()
        talk = await self._talk(fickle, script)
        await talk.say(FACT)
        await talk.interrupt(QUESTION)
        await talk.close()
        await fickle.close()
        await asyncio.sleep(0)
        assert unclosed(before) == []

    async def test_the_framework_is_not_imported(self) -> None:
        """Neither the core nor the plugin module, which is loaded with every memory, may import it."""
        loaded = f"set({self.framework!r}) & set(sys.modules)"
        code = f"import sys, memscope, memscope.adapters.session, {self.plugin}\nprint(*{loaded})"
        done = await asyncio.to_thread(_run, code)
        assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr

    # ---- test helpers

    async def _talk(self, memory: AsyncMemoryScope, script: ScriptedModel, **more: Any) -> Conversation:
        return await self.converse(memory, script, **{"user": SUITE_USER, "agent": "helper", "session": "one", **more})

    async def _state_fact(self, memory: AsyncMemoryScope) -> None:
        """Have the fact stated in another session."""
        await (await self._talk(memory, ScriptedModel(name="earlier"))).say(FACT)


@cache
def _run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program, only once for suites with the same program."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


async def _turns(memory: AsyncMemoryScope, **scope: Any) -> list[Turn]:
    return [turn for turn in await memory.list(kinds=["turn"], **scope) if isinstance(turn, Turn)]


async def _texts(memory: AsyncMemoryScope, **scope: Any) -> list[str]:
    return [turn.text for turn in await _turns(memory, **scope)]


def _chain(error: BaseException | None) -> list[BaseException]:
    errors = []
    while error is not None:
        errors.append(error)
        error = error.__cause__ or error.__context__
    return errors


__all__ = ["AdapterSuite", "Conversation", "ScriptedModel"]
