"""Teams: each message is kept once, whoever heard it first, with its speaker's name."""

from __future__ import annotations

import asyncio
import json

import pytest
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import MaxMessageTermination, SourceMatchTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken, FunctionCall

from memscope_autogen import MemoryScopeMemory
from memscope_testing.scripted import ScriptedModel

from .talking import ScriptedClient, agent_with, calls, texts

FACT = "My boat is called Aurora."


def team(core, kind=RoundRobinGroupChat, turns=5, shared=True, **options):
    memory = MemoryScopeMemory(user="alice", session="team", memory=core)
    names = ("writer", "critic")
    memories = [memory, memory] if shared else [
        MemoryScopeMemory(user="alice", session="team", memory=core) for _ in names
    ]  # fmt: skip
    agents = [agent_with(m, ScriptedModel(name=n), name=n) for m, n in zip(memories, names, strict=True)]
    return kind(agents, termination_condition=MaxMessageTermination(turns), **options)


@pytest.mark.parametrize("shared", [True, False], ids=["one object", "an object each"])
@pytest.mark.parametrize("kind", [RoundRobinGroupChat, SelectorGroupChat])
async def test_a_team_records_each_message_once(core, kind, shared):
    options = {}
    if kind is SelectorGroupChat:
        options["model_client"] = ScriptedClient(calls("writer", "critic", "writer", "critic"))
    group = team(core, kind, turns=5, shared=shared, **options)
    result = await group.run(task=FACT)
    said = [message.content for message in result.messages if isinstance(message, TextMessage)]
    assert await texts(core) == said
    turns = await core.list(user="alice")
    assert [turn.role for turn in turns] == ["user"] + ["assistant"] * 4
    assert [turn.speaker for turn in turns][:3] == ["user", "writer", "critic"]


async def test_a_team_that_goes_on_is_reset_and_asked_the_same_again(core):
    group = team(core, turns=3)
    await group.run(task="ok")
    await group.run(task="ok")
    await group.reset()
    await group.run(task="ok")
    assert (await texts(core)).count("ok") == 3


async def test_a_team_restored_from_its_state_adds_only_what_is_new(core):
    first = team(core, turns=3)
    await first.run(task=FACT)
    before = await texts(core)
    second = team(core, turns=3, shared=False)
    await second.load_state(json.loads(json.dumps(await first.save_state())))
    result = await second.run(task="Go on.")
    new = [message.content for message in result.messages if isinstance(message, TextMessage)]
    assert await texts(core) == before + new


async def test_agents_of_a_team_with_their_own_memories(core):
    writer, critic = (
        agent_with(MemoryScopeMemory(user="alice", agent=name, memory=core), ScriptedModel(name=name), name=name)
        for name in ("writer", "critic")
    )
    await RoundRobinGroupChat([writer, critic], termination_condition=MaxMessageTermination(3)).run(task=FACT)
    for name, count in (("writer", 2), ("critic", 3)):
        assert len(await texts(core, agent=name)) == count


async def test_the_same_task_on_another_day_is_a_new_turn_for_every_agent(core):
    for day in ("monday", "tuesday"):
        agents = [
            agent_with(MemoryScopeMemory(user="alice", agent=name, memory=core), ScriptedModel(name=day), name=name)
            for name in ("writer", "critic")
        ]
        await RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(3)).run(task="ok")
    for name in ("writer", "critic"):
        assert (await texts(core, agent=name)).count("ok") == 2


async def test_what_an_agent_did_not_say_in_its_own_context_is_still_its_own(core):
    """The summary of tool results is heard by the others only."""

    async def weather(city: str) -> str:
        """The weather."""
        return "Rain."

    memory = MemoryScopeMemory(user="alice", session="s", memory=core)
    script = calls([FunctionCall(id="1", name="weather", arguments='{"city": "Berlin"}')])
    writer = agent_with(memory, script, name="writer", tools=[weather])
    critic = agent_with(memory, ScriptedModel(), name="critic")
    condition = SourceMatchTermination(["critic"])
    await RoundRobinGroupChat([writer, critic], termination_condition=condition).run(task=FACT)
    assert [(turn.role, turn.speaker) for turn in await core.list(user="alice")] == [
        ("user", "user"), ("assistant", "writer"), ("assistant", "critic"),
    ]  # fmt: skip


async def test_hand_offs_of_a_swarm(core):
    memory = MemoryScopeMemory(user="alice", session="s", memory=core)
    go = [FunctionCall(id="1", name="transfer_to_critic", arguments="{}")]
    writer = agent_with(memory, calls(go), name="writer", handoffs=[Handoff(target="critic")])
    critic = agent_with(memory, ScriptedModel(name="critic"), name="critic")
    await Swarm([writer, critic], termination_condition=MaxMessageTermination(3)).run(task=FACT)
    said = await texts(core)
    assert said.count(FACT) == 1
    assert said[-1] == "Understood by critic, number 1."


@pytest.mark.parametrize("kind", [AgentTool, TeamTool])
async def test_the_task_of_an_agent_that_is_a_tool_is_the_callers_words(core, kind):
    memory = MemoryScopeMemory(user="alice", session="one", memory=core)
    rhymer = agent_with(memory, ScriptedModel(name="rhymer"), name="rhymer")
    group = RoundRobinGroupChat([rhymer], termination_condition=MaxMessageTermination(2))
    tool = AgentTool(rhymer) if kind is AgentTool else TeamTool(group, "rhymer", "Rhymes.")
    task = "Rhyme on the user's boat."
    script = calls([FunctionCall(id="1", name="rhymer", arguments=json.dumps({"task": task}))])
    boss = agent_with(memory, script, name="boss", tools=[tool], max_tool_iterations=2)
    await boss.run(task=FACT)
    turns = [(turn.role, turn.speaker) for turn in await core.list(user="alice")]
    assert turns == [("user", "user"), ("assistant", "boss"), ("assistant", "rhymer"), ("assistant", "boss")]


async def test_the_user_of_a_team_is_told_from_its_agents(core):
    memory = MemoryScopeMemory(user="alice", people=["bob"], memory=core)
    agent = agent_with(memory, ScriptedModel(), name="helper")
    said = [("user", "One."), ("alice", "Two."), ("user_proxy", "Three."), ("bob", "Four."), ("web_surfer", "Five.")]
    await agent.on_messages([TextMessage(content=text, source=source) for source, text in said], CancellationToken())
    turns = await core.list(user="alice")
    assert [turn.role for turn in turns] == ["user", "user", "user", "person", "assistant", "assistant"]
    assert [turn.speaker for turn in turns[3:]] == ["bob", "web_surfer", "helper"]
    assert MemoryScopeMemory(user="alice", people="bob", memory=core).people == ("bob",)


async def test_forty_conversations_of_four_users_at_once(core):
    async def converse(user, number):
        memory = MemoryScopeMemory(user=user, session=f"s{number}", memory=core)
        agent = agent_with(memory, script := ScriptedModel(name=f"{user}{number}"))
        await agent.run(task=f"The code of {user} is {user}-{number}.")
        await agent.run(task="What is my code?")
        return user, [shown.text for call in script.shown for shown in call]

    users = ["anna", "bert", "carl", "dora"]
    for user, shown in await asyncio.gather(*(converse(user, n) for n in range(10) for user in users)):
        assert not [text for text in shown for other in users if other != user and f"{other}-" in text]
    for user in users:
        assert len(await core.list(user=user)) == 40
