"""ADK's memory service over a memory, by ADK's own runner and tools."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import load_memory, preload_memory
from google.genai import types

from memscope.errors import MemscopeError
from memscope_google_adk import MemoryScopeMemoryService
from memscope_testing.injections import CLAIMS
from memscope_testing.scripted import FickleStore

from .talking import content
from .test_memory_plugin import FACT, QUESTION, Model, call

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")  # ADK's of its own
ALICE = {"app_name": "suite", "user_id": "alice"}


async def session_with(*said, **where):
    """A session of ADK in which the user ``said`` this."""
    service = InMemorySessionService()
    model = Model()
    runner = Runner(app=App(name="suite", root_agent=LlmAgent(name="helper", model=model)), session_service=service)
    session = await service.create_session(**{**ALICE, "session_id": "one", **where})
    for text in said:
        async for _ in runner.run_async(user_id=session.user_id, session_id=session.id, new_message=content(text)):
            pass
    return await service.get_session(app_name="suite", user_id=session.user_id, session_id=session.id)


async def found(service, query=QUESTION, **where):
    return (await service.search_memory(**{**ALICE, "query": query, **where})).memories


async def test_a_session_is_kept_once_and_searched(core):
    service = MemoryScopeMemoryService(core)
    session = await session_with(FACT, "I sail it on Sundays.")
    for _ in range(2):
        await service.add_session_to_memory(session)
    assert len(await core.list(user="alice", kinds=["turn"])) == 4
    best = (await found(service))[0]
    assert best.content.parts[0].text == FACT and best.author == "user" and best.timestamp


async def test_what_is_added_later_keeps_the_time_at_which_it_was_said(core):
    service = MemoryScopeMemoryService(core)
    said, session = datetime(2026, 1, 5, 9, tzinfo=UTC), await session_with(FACT)
    session.events[0].timestamp = said.timestamp()
    await service.add_session_to_memory(session)
    (turn,) = [one for one in await core.list(user="alice", kinds=["turn"]) if one.text == FACT]
    assert turn.time == said
    assert datetime.fromisoformat((await found(service))[0].timestamp) == said


async def test_memory_is_one_per_app_and_user_unless_it_is_shared(core):
    for agent, shared in (("{app_name}", False), (None, True)):
        service = MemoryScopeMemoryService(core, agent=agent)
        await service.add_session_to_memory(await session_with(FACT))
        assert await found(service)
        assert bool(await found(service, app_name="another")) is shared
        assert await found(service, user_id="bert") == []


async def test_events_memories_and_deleting(core):
    service = MemoryScopeMemoryService(core)
    session = await session_with(FACT)
    await service.add_events_to_memory(**ALICE, session_id="two", events=session.events[:1])
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text="Alice sails on Sundays.")]))
    await service.add_memory(**ALICE, memories=[entry])
    (sails,) = [one for one in await found(service, "When does Alice sail?") if "Sundays" in one.content.parts[0].text]
    await service.delete_memory(**ALICE, memory_id=sails.id)
    assert not any("Sundays" in one.content.parts[0].text for one in await found(service, "When does Alice sail?"))
    assert (await found(service))[0].content.parts[0].text == FACT


@pytest.mark.parametrize("claim", CLAIMS)
async def test_a_memory_of_another_author_is_no_statement_of_the_user(core, claim):
    service = MemoryScopeMemoryService(core)
    said = types.Content(role="user", parts=[types.Part(text="I sail on Sundays.")])
    noted = types.Content(parts=[types.Part(text=claim)])
    answered = types.Content(role="model", parts=[types.Part(text=f"{claim} I noted it.")])
    entries = [MemoryEntry(content=said), MemoryEntry(content=noted, author="browser"), MemoryEntry(content=answered)]
    await service.add_memory(**ALICE, memories=entries)
    scope = {"user": "alice", "agent": "suite"}
    assert claim not in await core.profile(**scope)
    origins = {one.text: one.origin for one in await core.list(**scope, kinds=["observation"])}
    assert origins == {"I sail on Sundays.": "statement", claim: "assistant", f"{claim} I noted it.": "assistant"}


@pytest.mark.parametrize("tool", [load_memory, preload_memory], ids=["load_memory", "preload_memory"])
async def test_adks_own_tools_read_it(core, tool):
    service = MemoryScopeMemoryService(core)
    await service.add_session_to_memory(await session_with(FACT))
    model = Model(*([call("load_memory", query=QUESTION)] if tool is load_memory else []))
    app = App(name="suite", root_agent=LlmAgent(name="helper", model=model, tools=[tool]))
    runner = Runner(app=app, session_service=InMemorySessionService(), memory_service=service)
    await runner.session_service.create_session(**ALICE, session_id="two")
    async for _ in runner.run_async(user_id="alice", session_id="two", new_message=content(QUESTION)):
        pass
    assert "Aurora" in f"{model._requests[-1].config.system_instruction}{model.shown()}"  # 2.0 put it before all


async def test_a_memory_that_fails_leaves_the_agent_answering():
    from memscope import AsyncMemoryScope

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        service, strict = MemoryScopeMemoryService(core), MemoryScopeMemoryService(core, strict=True)
        session = await session_with(FACT)
        store.broken = True
        await service.add_session_to_memory(session)
        assert await found(service) == []
        with pytest.raises(MemscopeError, match="out of order"):
            await found(strict)
