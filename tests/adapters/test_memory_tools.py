"""Tools of a model: core memory, archival memory, the conversation."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memscope import AsyncMemoryScope
from memscope.adapters.memory_tools import (
    DEFAULT_TOOLS,
    bound,
    days,
    described,
    schema,
    tool_answer,
    tool_named,
    tool_set,
)
from memscope.adapters.session import MemorySession
from memscope.errors import ConfigError, Conflict, InputError, LimitError, NotFound
from memscope.prompts.memory_block import strip_memory
from memscope.stores.memory import InMemoryStore

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with AsyncMemoryScope(InMemoryStore(), settings={"timezone": "Europe/Berlin"}) as opened:
        yield opened


@pytest.fixture
def session(memory: AsyncMemoryScope) -> MemorySession:
    return MemorySession(user="alice", agent="helper", memory=memory)


async def use(session: MemorySession, name: str, **given: Any) -> str:
    return await bound(tool_set("all")[name], session)(**given)


async def human(memory: AsyncMemoryScope, user: str = "alice") -> str:
    return (await memory.blocks(user).get("human")).value


def test_schemas_are_small() -> None:
    """Characters that a model reads with every request: name, description and arguments of each tool."""
    sizes = {
        which: sum(
            len(json.dumps({"name": name, "description": described(tool), "parameters": schema(tool)}))
            for name, tool in tool_set(which).items()
        )
        for which in ("core", "archival", "all")
    }
    assert sizes["core"] <= 1400
    assert sizes["archival"] <= 1000
    assert sizes["all"] == sizes["core"] + sizes["archival"]


def test_no_argument_says_whose_memory_it_is() -> None:
    for tool in tool_set("all").values():
        assert not {"user", "agent", "session"} & schema(tool)["properties"].keys()
        shown = bound(tool, MemorySession(user="alice"))
        assert list(inspect.signature(shown).parameters) == list(schema(tool)["properties"])
    with pytest.raises(ConfigError, match="core, archival, all"):
        tool_set("everything")
    with pytest.raises(ConfigError, match=r"no tool 'memory_apend'.*memory_append"):
        tool_named("memory_apend")


async def test_core_memory_is_edited_with_a_reason(memory: AsyncMemoryScope, session: MemorySession) -> None:
    told = await use(session, "memory_append", label="human", text="Alice lives in Berlin.", reason="she said so")
    assert told == "Block 'human' is at version 1, 22 of 2000 characters."
    await use(session, "memory_replace", label="human", old="Berlin", new="Lisbon", reason="moved")
    await use(session, "memory_insert", label="human", text="Speaks German.", line=1, reason="said")
    assert await human(memory) == "Speaks German.\nAlice lives in Lisbon."
    await use(session, "memory_replace", label="human", old="Speaks German.", new="", reason="wrong")
    await use(session, "memory_rethink", label="human", value="Alice, Lisbon.", version=4, reason="shorter")
    history = await memory.blocks("alice").history("human")
    assert [(one.author, one.reason) for one in history] == [
        ("model", reason) for reason in ("she said so", "moved", "said", "wrong", "shorter")
    ]
    assert await human(memory) == "Alice, Lisbon."
    assert await human(memory, "bob") == ""


async def test_an_edit_that_cannot_be_made_says_what_to_do(memory: AsyncMemoryScope, session: MemorySession) -> None:
    await use(session, "memory_append", label="human", text="Alice", reason="r")
    with pytest.raises(Conflict, match="version 1"):
        await use(session, "memory_rethink", label="human", value="x", version=0, reason="r")
    with pytest.raises(LimitError, match="shorten it by 6"):
        await use(session, "memory_append", label="human", text="x" * 2000, reason="r")
    with pytest.raises(NotFound, match="persona, human"):
        await use(session, "memory_append", label="user", text="x", reason="r")
    with pytest.raises(InputError, match="reason"):
        await use(session, "memory_append", label="human", text="x", reason=" ")
    assert await human(memory) == "Alice"


async def test_what_was_shown_is_not_written_back(memory: AsyncMemoryScope, session: MemorySession) -> None:
    await use(session, "memory_append", label="human", text="Alice", reason="r")
    shown = (await session.recall("hello")).text
    await use(session, "memory_append", label="human", text=f"{shown}sails", reason="r")
    assert await human(memory) == "Alice\nsails"


async def test_archival_memory_is_kept_and_found_a_page_at_a_time(session: MemorySession) -> None:
    for n in range(7):
        await use(session, "archival_insert", text=f"The boat number {n} is blue.")
    pages = [await use(session, "archival_search", query="blue boat", page=page) for page in (0, 1)]
    assert "More on page 1." in pages[0]
    assert "More" not in pages[1]
    found = [n for n in range(7) for page in pages if f"number {n} " in page]
    assert sorted(found) == list(range(7))
    assert strip_memory(pages[0]).strip() == "More on page 1."
    for wrong in (-1, 20):
        with pytest.raises(InputError, match="page"):
            await use(session, "archival_search", query="boat", page=wrong)


# ---- the conversation


async def said(memory: AsyncMemoryScope, *times: str, role: str = "user", user: str = "alice") -> None:
    turns = [{"role": role, "content": f"tea at {time}", "time": datetime.fromisoformat(time)} for time in times]
    await memory.add_turns(turns, user=user, agent="helper")


async def test_T9_a_day_is_the_whole_day_in_the_users_zone(memory: AsyncMemoryScope, session: MemorySession) -> None:
    inside = ["2024-01-20T00:00:00+01:00", "2024-01-20T12:00:00+01:00", "2024-01-20T23:59:59.999999+01:00"]
    outside = ["2024-01-19T23:59:59.999999+01:00", "2024-01-21T00:00:00+01:00"]
    await said(memory, *inside, *outside)
    found = await use(session, "conversation_search", start="2024-01-20", end="2024-01-20")
    assert all(time in found for time in inside)
    assert not any(time in found for time in outside)
    assert "Shown: 1-3 of 3." in found
    later = await use(session, "conversation_search", start="2024-01-21")
    assert outside[1] in later
    assert "of 1." in later
    assert "of 4." in await use(session, "conversation_search", end="2024-01-20")


def test_a_day_of_23_hours_is_one_day() -> None:
    period = days("2024-03-31", "2024-03-31", BERLIN)
    assert period is not None
    assert period.end.timestamp() - period.start.timestamp() == timedelta(hours=23).total_seconds()


async def test_the_conversation_is_searched_by_words_and_roles_newest_first(
    memory: AsyncMemoryScope, session: MemorySession
) -> None:
    await said(memory, "2024-01-01T10:00:00+01:00", "2024-01-02T10:00:00+01:00")
    await said(memory, "2024-01-03T10:00:00+01:00", role="assistant")
    await said(memory, "2024-01-04T10:00:00+01:00", user="bob")
    await memory.add_memory("tea is a drink", user="alice", agent="helper")
    found = await use(session, "conversation_search", text="TEA")
    lines = [line for line in found.splitlines() if line.startswith("[id ")]
    assert [line.rpartition("tea at ")[2][:10] for line in lines] == ["2024-01-03", "2024-01-02", "2024-01-01"]
    assert "of 1." in await use(session, "conversation_search", text="tea", roles=["assistant"])
    assert await use(session, "conversation_search", text="coffee") == "Nothing was said that fits."
    await said(memory, *(f"2024-02-0{n}T10:00:00+01:00" for n in range(1, 6)))
    assert "Shown: 1-5 of 8. More on page 1." in await use(session, "conversation_search")
    assert "Shown: 6-8 of 8." in await use(session, "conversation_search", page=1)


async def test_the_last_page_names_no_page_that_is_refused(memory: AsyncMemoryScope, session: MemorySession) -> None:
    turns = [{"role": "user", "content": f"tea {n}"} for n in range(120)]
    await memory.add_turns(turns, user="alice", agent="helper")
    assert "More on page 19." in await use(session, "conversation_search", text="tea", page=18)
    last = await use(session, "conversation_search", text="tea", page=19)
    assert last.endswith("Shown: 96-100 of 120. Search with more words, or between two days, for the others.")


BAD: list[dict[str, Any]] = [
    {"start": "yesterday"},
    {"end": "2024-02-30"},
    {"roles": ["robot"]},
    {"start": "2024-02-02", "end": "2024-02-01"},
]


@pytest.mark.parametrize("given", BAD)
async def test_a_search_that_cannot_be_made_is_refused(session: MemorySession, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        await use(session, "conversation_search", **given)


def test_a_tool_with_an_argument_that_models_are_not_given_is_named():
    async def weigh(session, grams: float) -> str:
        """Weigh."""
        return ""

    with pytest.raises(ConfigError, match="'grams' of the tool 'weigh'"):
        schema(weigh)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("remember", {"statement": None}, "remember needs statement"),
    ("remember", {"statement": 5}, "statement: "),
    ("forget", {"ids": 5}, "ids: "),
    ("search_memory", {"query": "tea", "kinds": ["fact"]}, "kinds: "),
    ("memory_append", {"label": "human", "text": "Tea.", "reason": ["because"]}, "reason: "),
    ("memory_insert", {"label": "human", "text": "Tea.", "line": "first", "reason": "asked"}, "line: "),
    ("memory_replace", {"label": "human", "old": 1, "new": "x", "reason": "asked"}, "old: "),
    ("conversation_search", {"text": "tea", "page": "last"}, "page: "),
]


@pytest.mark.parametrize(("name", "values", "answer"), WRONG)
async def test_an_argument_of_a_wrong_type_is_an_answer(
    session: MemorySession, name: str, values: dict[str, Any], answer: str
) -> None:
    """Frameworks that pass on what the model wrote would end the agent's run with a TypeError."""
    tool = {tool.__name__: tool for tool in (*DEFAULT_TOOLS, *tool_set("all").values())}[name]
    assert (await tool_answer(tool, session, values)).startswith(f"Error: {answer}")
    assert (await tool_answer(tool, session, ["no object"])).startswith("Error: the arguments of")  # type: ignore[arg-type]


async def test_null_and_what_can_be_converted_is_taken(session: MemorySession) -> None:
    tools = tool_set("all")
    values = {"text": "tea", "roles": None, "start": None, "end": None, "page": "0"}
    assert await tool_answer(tools["conversation_search"], session, values) == "Nothing was said that fits."
    for roles in ("user", '["user"]', ' ["user", "assistant"]'):  # some models write a list as a text
        values = {"text": "tea", "roles": roles}
        assert await tool_answer(tools["conversation_search"], session, values) == "Nothing was said that fits."
    values = {"text": "tea", "roles": "user"}
    assert await tool_answer(tools["conversation_search"], session, values) == "Nothing was said that fits."
