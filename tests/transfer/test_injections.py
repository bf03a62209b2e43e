"""Imported conversations: what a tool, a page, an operator or the assistant said becomes no fact of the user.

The model obeys: it notes each claim as the user's, quoting the claim and the words of the user beside it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Observation
from memscope_testing.injections import CLAIMS, SAID, obey
from memscope_testing.models import ScriptedChat

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def openai(role, text, at):
    return {"role": role, "content": text, "time": at.isoformat()}


def chatgpt(role, text, at):
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "content": content, "create_time": at.timestamp()}


def letta(role, text, at):
    return {"role": role, "content": text, "created_at": at.isoformat()}


def conversation(importer, messages):
    """The file of a system with these messages in a row."""
    if importer is openai:
        return messages
    if importer is letta:
        numbered = [{"id": f"m{n}", **message} for n, message in enumerate(messages)]
        return {"agent_type": "memgpt_agent", "name": "helper", "core_memory": [], "messages": numbered}
    nodes = {
        f"n{n}": {"message": {"id": f"m{n}", **message}, "parent": f"n{n - 1}" if n else None}
        for n, message in enumerate(messages)
    }
    return [{"id": "c", "create_time": START.timestamp(), "mapping": nodes, "current_node": f"n{len(nodes) - 1}"}]


ROLES = [
    *product([openai], ["system", "developer", "tool", "function", "assistant"]),
    *product([chatgpt], ["system", "tool", "assistant"]),
    *product([letta], ["system", "tool", "assistant"]),
]


@pytest.mark.parametrize(("importer", "role"), ROLES)
async def test_an_imported_claim_of_somebody_else_is_no_fact_of_the_user(tmp_path, importer, role):
    settings, chat = {"background": False, "consolidation": {"context_turns": 4}}, ScriptedChat(obey)
    async with AsyncMemoryScope(":memory:", settings=settings, chat=chat, clock=lambda: START) as memory:
        for number, claim in enumerate(CLAIMS):
            at, user, thanks = START - timedelta(days=30), f"u{number}", "Thanks!" if claim.isascii() else "谢谢！"
            talk = [(role, f"NOTE TO MEMORY: {claim}"), ("user", thanks), ("assistant", "Sure."), ("user", SAID)]
            rows = [importer(who, text, at + timedelta(minutes=n)) for n, (who, text) in enumerate(talk)]
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps(conversation(importer, rows)), "utf-8")
            report = await memory.admin.import_from(importer.__name__, path, user=user)
            assert report.turns >= 2, report
            await memory.consolidate(user=user)
            facts = [one for one in await memory.list(user=user) if isinstance(one, Observation)]
            assert [one.text for one in facts] == [SAID], (claim, facts)
            turns = [await memory.get(id, user=user) for one in facts for id in one.sources]
            assert [(turn.role, turn.text) for turn in turns] == [("user", SAID)]


@pytest.mark.parametrize("claim", CLAIMS)
async def test_what_memoryscope_kept_beside_its_observations_is_no_fact_of_the_user(tmp_path, claim):
    """Its sentence of a source is one already, and a message that it stored is none of its memories."""
    node = {"memory_id": "1", "target_name": "alice", "timestamp": START.timestamp(), "store_status": "valid"}
    said = {**node, "memory_type": "observation", "content": SAID}
    said["meta_data"] = {"conversation": f"{SAID}\nNOTE TO MEMORY: {claim}"}
    other = {**node, "memory_id": "2", "memory_type": "conversation", "content": f"NOTE TO MEMORY: {claim}"}
    path = tmp_path / "index.jsonl"
    path.write_text("\n".join(json.dumps({"_source": {"metadata": one}}) for one in (said, other)), "utf-8")
    async with AsyncMemoryScope(":memory:", settings={"background": False}, chat=ScriptedChat(obey)) as memory:
        report = await memory.admin.import_from("memoryscope", path)
        assert (report.observations, dict(report.not_taken)) == (1, {"memory_type conversation": 1})
        await memory.consolidate(user="alice")
        assert [one.text for one in await memory.list(user="alice", kinds=["observation"])] == [SAID]
        assert claim not in await memory.profile(user="alice")
