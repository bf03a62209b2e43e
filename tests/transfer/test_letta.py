"""The importer of Letta's agent files."""

from __future__ import annotations

import json

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import InputError
from memscope.stores.memory import InMemoryStore

TIME = "2025-03-01T10:00:00+00:00"
SENT = {"function": {"name": "send_message", "arguments": json.dumps({"message": "Hello Alice!"})}}
SEARCH = {"function": {"name": "archival_memory_search", "arguments": "{}"}}
MESSAGES = [
    {"role": "system", "content": "You are ...", "created_at": TIME},
    {"role": "user", "content": json.dumps({"type": "login", "time": TIME}), "created_at": TIME},
    {"role": "user", "content": json.dumps({"type": "user_message", "message": "I sail.", "time": TIME}), "id": "m1"},
    {"role": "assistant", "content": [{"type": "text", "text": "She sails."}], "tool_calls": [SEARCH, SENT]},
    {"role": "tool", "content": "{}", "created_at": TIME},
    {"role": "user", "content": [{"type": "text", "text": "And I have a cat."}], "created_at": TIME},
    {"role": "assistant", "content": "Lovely.", "created_at": TIME},
]
BLOCKS = [
    {"id": "b1", "label": "human", "value": "Alice sails.\t", "limit": 5, "description": "the user"},
    {"id": "b2", "label": "persona", "value": "A sailor.", "limit": 9000, "read_only": True},
    {"id": "b3", "label": "a b", "value": "x"},
]
OLD = {"name": "crew", "core_memory": BLOCKS, "messages": MESSAGES, "tools": [{}, {}]}
NEW = {
    "agents": [{"name": "crew", "block_ids": ["b1", "b2", "b3"], "messages": MESSAGES,
                "passages": [{"id": "p1", "text": "The boat is called Aurora.", "created_at": TIME}, {"text": "x"}]}],
    "blocks": BLOCKS, "tools": [{}, {}],
}  # fmt: skip


@pytest.fixture
async def memory():
    async with AsyncMemoryScope(InMemoryStore(), settings={}) as opened:
        yield opened


@pytest.mark.parametrize("file", [OLD, NEW], ids=["version 1", "version 2"])
async def test_blocks_passages_and_messages_are_taken_and_the_rest_is_counted(memory, tmp_path, file):
    path = tmp_path / "agent.af"
    path.write_text(json.dumps(file))
    assert (await memory.admin.import_from("letta", str(path), user="alice", dry_run=True)).blocks == 2
    assert await memory.list(user="alice") == []
    report = await memory.admin.import_from("letta", str(path), user="alice")
    assert (report.blocks, report.turns, report.observations) == (2, 4, int(file is NEW))
    assert report.not_taken["tools of an agent file"] == 2
    assert report.not_taken["a message without words of the user or the assistant"] == 1
    assert report.not_taken["a message of role 'tool'"] == 1
    assert report.not_taken["a block with an invalid label"] == 1
    turns = await memory.list(user="alice", agent="crew", kinds=["turn"], text="")
    told = [turn.text for turn in turns if not turn.statement]
    assert told == ["I sail.", "Hello Alice!", "And I have a cat.", "Lovely."]
    human, persona = await memory.blocks("alice", agent="crew").list()
    assert {human.author, persona.author} == {"model"}
    assert (human.value, human.limit, human.scope.agent) == ("Alice sails.\t", 13, None)
    assert (persona.value, persona.limit, persona.read_only, persona.scope.agent) == ("A sailor.", 9000, True, "crew")
    again = await memory.admin.import_from("letta", str(path), user="alice")
    assert (again.blocks, again.turns, again.known) == (0, 0, report.blocks + report.turns + report.observations)


@pytest.mark.parametrize("whole", [True, False], ids=["everything", "one block"])
async def test_what_was_forgotten_here_stays_forgotten(memory, tmp_path, whole):
    path = tmp_path / "agent.af"
    path.write_text(json.dumps(NEW))
    first = await memory.admin.import_from("letta", str(path), user="alice")
    if whole:
        await memory.forget(user="alice", everything=True)
    else:
        await memory.blocks("alice").erase("human")
    again = await memory.admin.import_from("letta", str(path), user="alice")
    records = first.turns + first.observations if whole else 0
    assert (again.blocks, again.forgotten) == (0, 2 + records if whole else 1)
    assert "Alice sails." not in [block.value for block in await memory.blocks("alice").list()]


async def test_a_later_export_adds_its_messages_although_earlier_ones_left_the_window(memory, tmp_path):
    counts = []
    for number, messages in enumerate((MESSAGES[:4], MESSAGES[1:])):
        path = tmp_path / f"agent{number}.af"
        path.write_text(json.dumps(OLD | {"messages": messages}))
        report = await memory.admin.import_from("letta", str(path), user="alice")
        counts.append((report.turns, report.known))
    assert counts == [(2, 0), (2, 4)]  # known are the two blocks too
    turns = await memory.list(user="alice", agent="crew", kinds=["turn"])
    assert [turn.text for turn in turns] == ["I sail.", "Hello Alice!", "And I have a cat.", "Lovely."]


async def test_another_file_is_refused(memory, tmp_path):
    path = tmp_path / "agent.af"
    path.write_text('{"messages": []}')
    with pytest.raises(InputError, match="agent file"):
        await memory.admin.import_from("letta", str(path), user="alice")
