"""The plugin beside the suite: tools in a run, several agents, apps, what cannot be known before a run."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner, Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from pydantic import BaseModel, PrivateAttr

from memscope.errors import ConfigError, MemscopeError, ScopeError
from memscope_google_adk import MemoryScopePlugin
from memscope_testing.scripted import FickleStore

from .talking import Talk, content

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")  # ADK's of its own
FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


class Model(BaseLlm):
    """A model of ADK: gives ``replies`` in turn, and keeps the requests it was sent."""

    model: str = "scripted"
    _left: list = PrivateAttr()
    _requests: list = PrivateAttr()

    def __init__(self, *replies, **more):
        super().__init__(**more)
        self._left, self._requests = list(replies), []

    async def generate_content_async(self, llm_request, stream=False):
        self._requests.append(llm_request)
        reply = self._left.pop(0) if self._left else f"Understood, number {len(self._requests)}."
        parts = [one if isinstance(one, types.Part) else types.Part(text=one) for one in
                 (reply if isinstance(reply, tuple) else (reply,))]  # fmt: skip
        yield LlmResponse(content=types.Content(role="model", parts=parts))

    def shown(self, number=-1):
        return "\n".join(one.model_dump_json() for one in self._requests[number].contents)


def call(name, **arguments):
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def talk_over(core, model, session="one", agent_options=None, **options):
    return Talk(MemoryScopePlugin(memory=core, **{"agent": None, **options}), model, session=session,
                **(agent_options or {}))  # fmt: skip


async def texts(core, **scope):
    return [turn.text for turn in await core.list(user="alice", kinds=["turn"], **scope)]


@pytest.mark.parametrize("wrong", [{"recall": "all"}, {"tools": "every"}, {"record": "some"}, {"user": " "},
                                   {"agent": " "}])  # fmt: skip
def test_a_wrong_setting_is_told_at_once(wrong):
    with pytest.raises((ConfigError, ScopeError)):
        MemoryScopePlugin(**wrong)


async def test_a_blank_user_of_a_run_stops_it_with_the_reason(core):
    talk = Talk(MemoryScopePlugin(memory=core), Model(), user=" ")
    with pytest.raises(RuntimeError, match="memscope") as caught:
        await talk.say(FACT)
    assert isinstance(caught.value.__cause__, ScopeError)


async def test_the_model_remembers_and_searches_with_tools(core):
    model = Model(call("remember", statement="Alice's boat is called Aurora."), "Done.",
                  call("search_memory", query="boat"))  # fmt: skip
    talk = talk_over(core, model)
    await talk.say("Remember my boat.")
    (memory,) = await core.list(user="alice", kinds=["observation"])
    await talk.say("Look it up.")
    assert memory.text == "Alice's boat is called Aurora." and memory.id in model.shown()


async def test_a_search_leaves_out_the_conversation(core):
    model = Model("Noted.", call("search_memory", query=FACT, kinds=["turn"]))
    talk = talk_over(core, model)
    await talk.say(FACT)
    await talk.say("Look it up.")
    assert "Aurora" not in model._requests[-1].contents[-1].model_dump_json()


async def test_a_tool_that_fails_tells_the_model():
    from memscope import AsyncMemoryScope

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        model = Model(call("search_memory", query="boat"))
        store.broken = True
        assert await talk_over(core, model).say("Look it up.")
        assert "out of order" in model.shown()


async def test_no_tools_beside_a_schema_of_the_answer(core):
    class Boat(BaseModel):
        name: str

    model = Model('{"name": "Aurora"}')
    await talk_over(core, model, agent_options={"output_schema": Boat}).say(QUESTION)
    assert not model._requests[0].config.tools
    assert await texts(core) == [QUESTION, '{"name": "Aurora"}']


async def test_what_the_model_says_before_it_calls_a_tool_is_recorded_too(core):
    model = Model(("Let me look.", call("search_memory", query="boat")))
    await talk_over(core, model).say(QUESTION)
    assert await texts(core) == [QUESTION, "Let me look.", "Understood, number 2."]


async def test_a_message_of_several_parts_keeps_them(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    model = Model()
    talk = talk_over(core, model, session="two")
    await talk.open()
    boat = types.Part(file_data=types.FileData(file_uri="http://127.0.0.1/boat.png", mime_type="image/png"))
    message = types.Content(role="user", parts=[types.Part(text=QUESTION), boat])
    async for _ in talk.runner.run_async(user_id="alice", session_id="two", new_message=message):
        pass
    memory, *said = model._requests[0].contents[-1].parts
    assert "Aurora" in memory.text and said == [types.Part(text=QUESTION), boat]


async def test_the_session_holds_no_memory(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    model = Model()
    talk = talk_over(core, model, session="two")
    await talk.say(QUESTION)
    assert "Aurora" in model.shown()
    assert not any("Aurora" in event.model_dump_json() for event in await talk.state())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ADK's of its own classes
async def test_agents_one_after_the_other_are_shown_the_same_and_both_recorded(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    first, second = Model("I found a boat."), Model("I wrote it down.")
    root = SequentialAgent(name="crew", sub_agents=[LlmAgent(name="finder", model=first),
                                                    LlmAgent(name="writer", model=second)])  # fmt: skip
    app = App(name="suite", root_agent=root, plugins=[MemoryScopePlugin(memory=core, agent=None, session="two")])
    runner = InMemoryRunner(app=app)
    await runner.session_service.create_session(app_name="suite", user_id="alice", session_id="two")
    async for _ in runner.run_async(user_id="alice", session_id="two", new_message=content(QUESTION)):
        pass
    assert "Aurora" in first.shown() and "Aurora" in second.shown()
    turns = await core.list(user="alice", session="two", kinds=["turn"])
    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("user", QUESTION), ("finder", "I found a boat."), ("writer", "I wrote it down."),
    ]  # fmt: skip


async def test_what_an_agent_does_not_see_of_its_session_is_recalled(core):
    model = Model(FACT, "Noted.", call("search_memory", query="boat"))
    talk = talk_over(core, model, agent_options={"include_contents": "none"})
    await talk.say("Name my boat.")
    await talk.say(QUESTION)
    assert "Aurora" in model.shown() and model.shown().count(QUESTION) == 1
    await talk.say("Look it up.")
    assert "Aurora" in model._requests[-1].contents[-1].model_dump_json()


async def test_what_a_compaction_took_out_is_recalled_and_what_was_rewound_is_not(core):
    model = Model()
    talk = talk_over(core, model)
    await talk.say(FACT)
    session = await talk.stored()
    start, end = (session.events[place].timestamp for place in (0, -1))
    summary = types.Content(role="model", parts=[types.Part(text="They talked.")])
    compaction = EventCompaction(start_timestamp=start, end_timestamp=end, compacted_content=summary)
    compacted = Event(author="user", invocation_id="later", actions=EventActions(compaction=compaction))
    await talk.service.append_event(session, compacted)
    await talk.say(QUESTION)
    assert "They talked." in model.shown() and model.shown().count("Aurora") == 1
    first = session.events[0].invocation_id
    await talk.runner.rewind_async(user_id="alice", session_id="one", rewind_before_invocation_id=first)
    await talk.say(QUESTION)
    assert "Aurora" not in model.shown()


async def test_a_handoff_keeps_one_conversation(core):
    inner = Model("Aye.")
    boatswain = LlmAgent(name="boatswain", model=inner, description="Knows boats.")
    outer = Model(call("transfer_to_agent", agent_name="boatswain"))
    await talk_over(core, outer, agent_options={"sub_agents": [boatswain]}).say("Count the boats.")
    assert await texts(core) == ["Count the boats.", "Aye."]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ADK's of its own classes
@pytest.mark.parametrize(("include", "inner"), [(True, ["Count the boats.", "Three."]), (False, [])])
async def test_an_agent_that_is_a_tool_talks_in_a_session_of_its_own_or_unrecorded(core, include, inner):
    boatswain = LlmAgent(name="boatswain", model=Model("Three."), description="Counts boats.")
    outer = Model(call("boatswain", request="Count the boats."))
    tools = [AgentTool(boatswain, include_plugins=include)]
    await talk_over(core, outer, agent_options={"tools": tools}).say(FACT)
    assert await texts(core, session="one") == [FACT, "Understood, number 2."]
    assert [text for text in await texts(core) if text not in (FACT, "Understood, number 2.")] == inner
    users = [turn.text for turn in await core.list(user="alice", kinds=["turn"]) if turn.role == "user"]
    assert users == [FACT]  # the task of the inner agent is the outer one's words


@pytest.mark.parametrize(("agent", "known"), [("{app_name}", False), ("fleet", True), (None, True)])
async def test_apps_are_told_apart_unless_they_share(core, agent, known):
    for app, said in (("one_app", FACT), ("other_app", QUESTION)):
        model = Model()
        made = App(name=app, root_agent=LlmAgent(name="helper", model=model),
                   plugins=[MemoryScopePlugin(memory=core, agent=agent)])  # fmt: skip
        runner = Runner(app=made, session_service=InMemorySessionService())
        await runner.session_service.create_session(app_name=app, user_id="alice", session_id=app)
        async for _ in runner.run_async(user_id="alice", session_id=app, new_message=content(said)):
            pass
    assert ("Aurora" in model.shown()) is known


async def test_one_plugin_serves_two_users_at_once(core):
    plugin, model = MemoryScopePlugin(memory=core), Model()
    await asyncio.gather(*(Talk(plugin, model, user=user).say(f"I am {user}.") for user in ("alice", "bert")))
    assert (await texts(core))[0] == "I am alice." and len(await texts(core)) == 2


@pytest.mark.parametrize(("record", "kept"), [("user", [FACT]), ("none", [])])
async def test_only_what_shall_be_recorded(core, record, kept):
    await talk_over(core, Model(), record=record).say(FACT)
    assert await texts(core) == kept


async def test_a_closed_memory_says_so(tmp_path):
    from memscope import AsyncMemoryScope

    memory = AsyncMemoryScope(tmp_path / "memory.db", settings={})
    await memory.close()
    with pytest.raises(RuntimeError, match="closed") as caught:
        await talk_over(memory, Model(), strict=True).say(FACT)
    assert isinstance(caught.value.__cause__, MemscopeError)


async def test_runs_that_have_ended_do_not_add_up(core, monkeypatch):
    monkeypatch.setattr("memscope_google_adk.memory_plugin.MAX_RUNS", 2)
    talk = talk_over(core, Model())
    for _ in range(4):
        await talk.say(FACT)
    assert len(talk.plugin._runs) <= 2
