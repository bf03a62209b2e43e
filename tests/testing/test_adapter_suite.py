"""AdapterSuite passes an adapter that keeps the contract, and fails one that breaks any sentence of it."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from memscope import AsyncMemoryScope
from memscope.adapters.instances import wait_for
from memscope.adapters.session import MemorySession, to_turn
from memscope.errors import StoreUnavailable
from memscope.prompts.memory_block import choose_query
from memscope_testing import AdapterSuite, adapters
from memscope_testing.injections import CLAIMS
from memscope_testing.scripted import FickleStore, ScriptedModel

from .toy import Message, ToyAgent, ToyMemory, ToyTalk


class TestToy(AdapterSuite):
    plugin = "memscope.builtin"
    framework = ("autogen_core", "agentscope", "langchain_core")
    made = ToyMemory

    def foreign(self, words):
        return {"assistant": [Message("m-1", "assistant", words)]}

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        made = self.made(memory=memory, user=user, agent=agent, session=session, strict=strict, **more)
        return ToyTalk(ToyAgent(script, made, state or ()))


# ---------------------------------------------------------------------------------- adapters that break a sentence each


class RecordsAtTheEnd(ToyMemory):
    async def before(self, messages):
        return messages


class RecordsOneSide(ToyMemory):
    def __init__(self, **options):
        super().__init__(**options, record_who="user")


class RecallsNothing(ToyMemory):
    async def before(self, messages):
        await super().before(messages)
        return messages


class RecallsWhatIsSeen(ToyMemory):
    async def before(self, messages):
        await self.after(messages)
        recalled = await self.session.recall(choose_query([to_turn("user", messages[-1].text)]))
        return [Message("", "user", recalled.text), *messages]


class ForgetsIds(ToyMemory):
    """Every history is new to it."""

    async def after(self, messages):
        await self.session.record([to_turn(message.role, message.text) for message in messages[-1:]])

    async def before(self, messages):
        await self.session.record([to_turn(message.role, message.text) for message in messages])
        return messages


class TellsTurnsByTheirWords(ToyMemory):
    async def after(self, messages):
        await super().after([message._replace(id=f"said {message.text}") for message in messages])

    async def before(self, messages):
        return await super().before([message._replace(id=f"said {message.text}") for message in messages])


class InjectsForGood(ToyMemory):
    async def before(self, messages):
        messages[:] = await super().before(messages)
        return messages


class RecordsInjected(InjectsForGood):
    async def after(self, messages):
        turns = [{"role": message.role, "content": message.text.strip("<>")} for message in messages if not message.id]
        await self.session.record(turns)
        await super().after([message for message in messages if message.id])


class RecordsAllAsTheUsers(ToyMemory):
    async def before(self, messages):
        return await super().before([message._replace(role="user") for message in messages])

    async def after(self, messages):
        await super().after([message._replace(role="user") for message in messages])


class InjectsASystemMessage(ToyMemory):
    async def before(self, messages):
        return [
            message if message.id else message._replace(role="system") for message in await super().before(messages)
        ]


class InjectsAtTheHead(ToyMemory):
    async def before(self, messages):
        return sorted(await super().before(messages), key=lambda message: bool(message.id))


class ShowsEarlierMessagesInOtherWords(ToyMemory):
    async def before(self, messages):
        *earlier, newest = await super().before(messages)
        return [*(message._replace(text=f"{len(earlier)} {message.text}") for message in earlier), newest]


class HasADefaultUser(ToyMemory):
    def __init__(self, *, user, **options):
        super().__init__(user=user.strip() if user and user.strip() else "default", **options)


class KeepsTheUserForAll(ToyMemory):
    session: MemorySession | None = None
    latest: MemorySession | None = None

    def __init__(self, **options):
        super().__init__(**options)
        KeepsTheUserForAll.latest = self.session

    async def before(self, messages):
        self.session = KeepsTheUserForAll.latest
        return await super().before(messages)


class WritesNoSession(ToyMemory):
    def __init__(self, *, session, **options):
        super().__init__(**options)


class IgnoresOptions(ToyMemory):
    def __init__(self, *, kinds=None, zone=None, **options):
        super().__init__(**options)


class Raises(ToyMemory):
    def __init__(self, *, strict, **options):
        super().__init__(strict=True, **options)


class NeverRaises(ToyMemory):
    def __init__(self, *, strict, **options):
        super().__init__(strict=False, **options)


class WarnsEachTime(ToyMemory):
    async def before(self, messages):
        self.session.handle.failing.clear()
        return await super().before(messages)


class Blocks(ToyMemory):
    async def before(self, messages):
        return wait_for(super().before(messages))


class LeavesATask(ToyMemory):
    async def after(self, messages):
        self.task = asyncio.create_task(asyncio.sleep(30))
        await super().after(messages)


BROKEN = [
    (RecordsAtTheEnd, "test_the_users_turn_is_kept_before_the_model_answers"),
    (RecordsAtTheEnd, "test_an_interrupted_stream_keeps_the_users_turn"),
    (RecordsAtTheEnd, "test_a_model_that_fails_keeps_the_users_turn"),
    (RecordsOneSide, "test_both_sides_are_recorded"),
    (RecallsNothing, "test_a_new_session_recalls_the_old_ones"),
    (RecallsNothing, "test_core_memory_is_shown_in_every_turn_and_never_recorded"),
    (RecallsNothing, "test_injection_does_not_grow_the_context"),
    (RecallsNothing, "test_one_budget_holds_core_memory_entities_summary_and_hits"),
    (RecallsWhatIsSeen, "test_a_turn_just_said_is_not_among_its_own_memories"),
    (RecallsWhatIsSeen, "test_nothing_that_the_model_sees_is_recalled"),
    (RecallsWhatIsSeen, "test_nothing_of_a_reloaded_history_is_recalled"),
    (ForgetsIds, "test_history_shown_again_adds_nothing"),
    (ForgetsIds, "test_history_shown_again_does_not_undo_a_forget"),
    (TellsTurnsByTheirWords, "test_the_same_words_said_again_are_a_new_turn"),
    (InjectsForGood, "test_injection_does_not_grow_the_context"),
    (RecordsInjected, "test_what_was_injected_is_never_recorded"),
    (RecordsInjected, "test_what_was_injected_is_never_recorded_from_a_reloaded_history"),
    (RecordsInjected, "test_what_was_injected_is_never_extracted"),
    (RecordsAllAsTheUsers, "test_what_the_assistant_said_is_no_fact_of_the_user"),
    (RecordsAllAsTheUsers, "test_words_of_no_person_are_no_facts_of_the_user"),
    (InjectsASystemMessage, "test_there_is_no_second_system_message"),
    (InjectsASystemMessage, "test_the_system_message_is_the_same_in_every_call"),
    (InjectsAtTheHead, "test_memory_stands_beside_the_users_newest_message"),
    (InjectsAtTheHead, "test_a_call_begins_with_what_the_last_one_sent"),
    (ShowsEarlierMessagesInOtherWords, "test_a_call_begins_with_what_the_last_one_sent"),
    (HasADefaultUser, "test_a_user_is_required"),
    (KeepsTheUserForAll, "test_at_once_never_mixes"),
    (KeepsTheUserForAll, "test_sessions_at_once_are_told_apart"),
    (WritesNoSession, "test_sessions_at_once_are_told_apart"),
    (Raises, "test_a_memory_that_fails_leaves_the_agent_answering"),
    (WarnsEachTime, "test_a_memory_that_fails_leaves_the_agent_answering"),
    (NeverRaises, "test_strict_raises"),
    (Blocks, "test_nothing_blocks_the_event_loop"),
    (IgnoresOptions, "test_kinds_narrow_what_is_recalled"),
    (IgnoresOptions, "test_turns_are_stamped_in_the_zone"),
    (LeavesATask, "test_closing_leaves_no_task_behind"),
]


async def run(made, name, caplog):
    suite, store = TestToy(), FickleStore()
    suite.made = made
    async with AsyncMemoryScope(":memory:", settings={}) as memory, AsyncMemoryScope(store, settings={}) as fickle:
        known = {"memory": memory, "fickle": fickle, "store": store, "script": ScriptedModel(), "caplog": caplog,
                 "differ": "user", "lang": "en", "sentence": "Thanks!", "claim": CLAIMS[0]}  # fmt: skip
        test = getattr(suite, name)
        await test(**{wanted: known[wanted] for wanted in inspect.signature(test).parameters})


@pytest.mark.parametrize(("made", "name"), BROKEN, ids=[f"{made.__name__}-{name}" for made, name in BROKEN])
async def test_each_sentence_has_a_test_that_fails_when_it_is_broken(made, name, caplog, monkeypatch):
    monkeypatch.setattr(adapters, "RESCUE_S", 0.3)
    await run(ToyMemory, name, caplog)
    caplog.clear()
    with pytest.raises((AssertionError, pytest.fail.Exception, StoreUnavailable)):
        await run(made, name, caplog)


def test_every_standard_test_is_among_them_but_those_without_an_agent():
    standard = {name for name in dir(AdapterSuite) if name.startswith("test_")}
    assert standard - {name for _, name in BROKEN} == {
        "test_the_framework_is_not_imported",
        "test_the_model_edits_core_memory_with_tools",
        "test_what_a_model_keeps_by_a_tool_is_told_as_its_own",
    }


async def test_a_plugin_that_imports_its_framework_is_noticed():
    suite = TestToy()
    suite.plugin, suite.framework = "memscope.config.settings", ("pydantic",)
    with pytest.raises(AssertionError):
        await suite.test_the_framework_is_not_imported()


# ----------------------------------------------------------------------------------------------------- the suite itself


def test_a_standard_test_cannot_be_overridden():
    with pytest.raises(TypeError, match="'test_strict_raises'"):
        type("Sly", (AdapterSuite,), {"test_strict_raises": lambda self: None})


@pytest.mark.parametrize("given", [{"test_nothing": "no such test"}, {"test_strict_raises": " "}])
def test_what_does_not_apply_needs_a_name_and_a_reason(given):
    with pytest.raises(TypeError, match="not_applicable"):
        type("Sly", (AdapterSuite,), {"not_applicable": given})


class Declared(TestToy):
    __test__ = False
    not_applicable = {"test_strict_raises": "the toy has no such mode"}  # noqa: RUF012


def test_what_does_not_apply_is_skipped_with_the_reason():
    with pytest.raises(pytest.skip.Exception, match=r"Declared.*the toy has no such mode"):
        Declared().check_applies("test_strict_raises")
    Declared().check_applies("test_both_sides_are_recorded")
