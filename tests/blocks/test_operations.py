"""Blocks as people and models use them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memscope import AsyncMemoryScope, MemoryScope
from memscope.errors import Conflict, InputError, LimitError, NotFound, PluginError, ScopeError
from memscope.records import Turn
from memscope.stores.memory import InMemoryStore

RULES = {"rules": "Be brief."}


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with AsyncMemoryScope(InMemoryStore(), settings={}) as opened:
        yield opened


def with_texts(texts: dict[str, str], tokens: int = 4000) -> AsyncMemoryScope:
    return AsyncMemoryScope(InMemoryStore(), settings={"blocks": {"shared": texts, "tokens": tokens}})


async def values(memory: AsyncMemoryScope, user: str = "alice", **view: Any) -> dict[str, str]:
    return {block.label: block.value for block in await memory.blocks(user, **view).list() if block.value}


# ---- the defects of others


async def test_T5_a_rejected_edit_leaves_the_value_unchanged(memory: AsyncMemoryScope) -> None:
    blocks = memory.blocks("alice")
    await blocks.create("notes", "12345", limit=10)
    for edit in (
        blocks.append("notes", "123456"),
        blocks.replace("notes", "3", "x" * 9),
        blocks.insert("notes", "123456", 1),
        blocks.rethink("notes", "x" * 11),
    ):
        with pytest.raises(LimitError, match=r"shorten it by [123]") as caught:
            await edit
        assert caught.value.limit == 10 < caught.value.got < 14
    assert [one.value for one in await blocks.history("notes")] == ["12345"]
    with pytest.raises(LimitError):
        await blocks.configure("notes", limit=4)
    await blocks.configure("notes", read_only=True)
    for edit in (
        blocks.append("notes", "6"),
        blocks.remove("notes", "1"),
        blocks.rethink("notes", ""),
        blocks.revert("notes", 1),
    ):
        with pytest.raises(InputError, match="read-only"):
            await edit
    assert (await blocks.get("notes")).value == "12345"


@pytest.mark.parametrize(("old", "said"), [("missing", "0 matches"), ("", "empty"), ("tea", "2 times; on lines 1, 2")])
async def test_T6_a_replace_of_a_missing_empty_or_ambiguous_text_raises(
    memory: AsyncMemoryScope, old: str, said: str
) -> None:
    blocks = memory.blocks("alice")
    await blocks.append("human", "Likes tea.\nHates iced tea.")
    for edit in (blocks.replace("human", old, "x"), blocks.remove("human", old)):
        with pytest.raises(InputError, match=said):
            await edit
    assert (await blocks.get("human")).version == 1


async def test_T7_tabs_and_trailing_blanks_survive_edits(memory: AsyncMemoryScope) -> None:
    blocks = memory.blocks("alice")
    await blocks.append("human", "a\tb  \n\n\t住在柏林 ")
    await blocks.replace("human", "b", "c")
    await blocks.insert("human", "first\t", 1)
    await blocks.append("human", "last ")
    assert (await blocks.get("human")).value == "first\t\na\tc  \n\n\t住在柏林 \nlast "


async def test_T8_two_agents_editing_the_same_or_other_blocks_lose_nothing(memory: AsyncMemoryScope) -> None:
    await memory.blocks("alice").create("project")
    writers = [memory.blocks("alice", agent=agent) for agent in ("planner", "coder")]

    async def write(label: str, writer: int) -> None:
        for n in range(10):
            await writers[writer].append(label, f"{writer}-{n}", author="model")

    await asyncio.gather(*(write(label, writer) for label in ("project", "human") for writer in (0, 1)))
    for label in ("project", "human"):
        lines = (await memory.blocks("alice").get(label)).value.split("\n")
        assert sorted(lines) == sorted(f"{writer}-{n}" for writer in (0, 1) for n in range(10))


# ---- views


async def test_persona_and_human_are_there_and_reading_writes_nothing(memory: AsyncMemoryScope) -> None:
    assert [(one.label, one.version) for one in await memory.blocks("alice").list()] == [("persona", 0), ("human", 0)]
    assert await memory.blocks("alice").history("human") == []
    assert await memory.context("What do you know?", user="alice") == ""
    assert (await memory.admin.status())["users"] == 0
    await memory.blocks("alice").append("human", "Alice")
    assert [(one.label, one.version) for one in await memory.blocks("alice").list()] == [("persona", 0), ("human", 1)]


async def test_agents_share_the_human_and_have_a_persona_of_their_own(memory: AsyncMemoryScope) -> None:
    poet, coder = (memory.blocks("alice", agent=agent) for agent in ("poet", "coder"))
    await poet.append("human", "Alice")
    await poet.append("persona", "Rhymes.")
    await coder.append("human", "Writes Python.")
    assert await values(memory, agent="coder") == {"human": "Alice\nWrites Python."}
    assert await values(memory, agent="poet") == {"human": "Alice\nWrites Python.", "persona": "Rhymes."}
    assert await values(memory) == {"human": "Alice\nWrites Python."}
    assert await values(memory, "bob", agent="poet") == {}


async def test_an_agents_own_block_hides_the_shared_one(memory: AsyncMemoryScope) -> None:
    await memory.blocks("alice").create("notes", "all")
    await memory.blocks("alice", agent="x").create("notes", "mine")
    await memory.blocks("alice", agent="x").append("notes", "more")
    assert await values(memory) == await values(memory, agent="y") == {"notes": "all"}
    assert await values(memory, agent="x") == {"notes": "mine\nmore"}
    with pytest.raises(Conflict):
        await memory.blocks("alice").create("notes")


async def test_texts_of_the_settings_are_for_all_and_for_nobody_to_change() -> None:
    async with with_texts(RULES) as memory:
        for user in ("alice", "bob"):
            blocks = memory.blocks(user)
            assert await values(memory, user) == {"rules": "Be brief."}
            for edit in (blocks.append("rules", "x"), blocks.configure("rules", read_only=False)):
                with pytest.raises(InputError, match="settings"):
                    await edit
            with pytest.raises(Conflict):
                await blocks.create("rules", "mine")
        assert "Be brief." in await memory.context("hello", user="carol")


# ---- erasing


async def test_a_block_is_erased_with_its_history_the_agents_own_before_the_shared_one(
    memory: AsyncMemoryScope,
) -> None:
    shared, own = memory.blocks("alice"), memory.blocks("alice", agent="x")
    await shared.append("human", "Alice lives in Berlin.")
    await own.create("human", "Mine.")
    assert (await own.erase("human", dry_run=True)).dry_run
    assert (await own.erase("human")).blocks == 1
    assert (await own.get("human")).value == "Alice lives in Berlin."
    await own.erase("human")
    assert await shared.history("human") == [] and (await shared.get("human")).version == 0
    for label in ("human", "notes"):
        with pytest.raises(NotFound):
            await shared.erase(label)
    await shared.create("notes", "kept", read_only=True)
    with pytest.raises(InputError, match="read-only"):
        await shared.erase("notes")
    assert [one.value for one in await memory.blocks("alice").history("notes")] == ["kept"]


# ---- history


async def test_history_says_who_why_and_when_and_revert_is_one_more_version(memory: AsyncMemoryScope) -> None:
    blocks = memory.blocks("alice")
    await blocks.append("human", "Lives in Berlin.", author="model", reason="she said so", sources=["t1"])
    first = await blocks.get("human")
    await blocks.configure("human", limit=50, description="who")
    await blocks.rethink("human", "Lives in Lisbon.")
    await blocks.revert("human", 1)
    history = await blocks.history("human")
    assert [(one.version, one.author, one.reason, one.value[-7:]) for one in history] == [
        (1, "model", "she said so", "Berlin."),
        (2, "person", "", "Berlin."),
        (3, "person", "", "Lisbon."),
        (4, "person", "back to version 1", "Berlin."),
    ]
    assert (history[3].limit, history[0].sources) == (2000, ("t1",))
    assert (await blocks.get("human", as_of=first.recorded)).value == "Lives in Berlin."
    with pytest.raises(NotFound):
        await blocks.revert("human", 9)
    with pytest.raises(InputError, match="nothing would change"):
        await blocks.revert("human", 4)


async def test_as_of_shows_the_blocks_of_that_time(memory: AsyncMemoryScope) -> None:
    blocks = memory.blocks("alice")
    then = (await blocks.append("human", "Lives in Berlin.")).recorded
    await blocks.replace("human", "Berlin", "Lisbon")
    assert "Berlin" in await memory.context("home", user="alice", as_of=then)
    assert "Lisbon" in await memory.context("home", user="alice")
    assert await memory.context("home", user="alice", as_of="2001-01-01T00:00:00+00:00") == ""


async def test_an_edit_for_an_outdated_version_is_refused(memory: AsyncMemoryScope) -> None:
    blocks = memory.blocks("alice")
    await blocks.append("human", "one", version=0)
    await blocks.append("human", "two", version=1)
    for edit in (blocks.append("human", "x", version=1), blocks.rethink("human", "x", version=1)):
        with pytest.raises(Conflict, match="version 2"):
            await edit
    assert await values(memory) == {"human": "one\ntwo"}


# ---- bad input


BAD: dict[str, Callable[[Any], Coroutine[Any, Any, Any]]] = {
    "label": lambda blocks: blocks.create("a b"),
    "label of none": lambda blocks: blocks.create(None),
    "markup": lambda blocks: blocks.create('x"><'),
    "limit": lambda blocks: blocks.create("a", limit=0),
    "order": lambda blocks: blocks.create("a", order=10_000),
    "read_only": lambda blocks: blocks.configure("human", read_only="yes"),
    "text": lambda blocks: blocks.append("human", 5),
    "nothing": lambda blocks: blocks.append("human", ""),
    "author": lambda blocks: blocks.append("human", "x", author="operator"),
    "reason": lambda blocks: blocks.append("human", "x", reason="x" * 2000),
    "line": lambda blocks: blocks.insert("persona", "x", 7),
    "line as text": lambda blocks: blocks.insert("persona", "x", "1"),
    "half a line": lambda blocks: blocks.insert("persona", "x", 1.5),
    "version as text": lambda blocks: blocks.rethink("persona", "x", version="1"),
    "sources": lambda blocks: blocks.append("human", "x", sources="t1"),
    "no change": lambda blocks: blocks.rethink("human", ""),
}


@pytest.mark.parametrize("name", BAD)
async def test_bad_input_is_refused_and_writes_nothing(memory: AsyncMemoryScope, name: str) -> None:
    await memory.blocks("alice").append("persona", "kind")
    with pytest.raises(InputError):
        await BAD[name](memory.blocks("alice"))
    assert await values(memory) == {"persona": "kind"}


async def test_an_unknown_label_names_those_there_are_and_a_user_is_required(memory: AsyncMemoryScope) -> None:
    with pytest.raises(NotFound, match="persona, human"):
        await memory.blocks("alice").append("humans", "x")
    with pytest.raises(ScopeError):
        memory.blocks("")


async def test_all_limits_together_must_fit_the_budget() -> None:
    async with with_texts(RULES, tokens=1100) as memory:
        blocks = memory.blocks("alice")
        await blocks.create("a", limit=300)
        with pytest.raises(LimitError) as caught:
            await blocks.create("b", limit=101)
        assert (caught.value.limit, caught.value.got) == (4400, 4410)


async def test_a_redactor_sees_what_is_written() -> None:
    class Redactor:
        def memscope_before_add_turns(self, turns: tuple[Turn, ...], scope: Any) -> tuple[Turn, ...]:
            if any("refuse" in turn.text for turn in turns):
                raise ValueError("no")
            return tuple(replace(turn, text=turn.text.replace("555-1234", "[phone]")) for turn in turns)

    async with AsyncMemoryScope(InMemoryStore(), settings={}, plugins=[Redactor()]) as memory:
        blocks = memory.blocks("alice")
        await blocks.append("human", "Phone 555-1234", reason="called from 555-1234")
        (version,) = await blocks.history("human")
        assert (version.value, version.reason) == ("Phone [phone]", "called from [phone]")
        with pytest.raises(PluginError):
            await blocks.rethink("human", "refuse")
        assert await values(memory) == {"human": "Phone [phone]"}


# ---- forgetting, and without await


async def test_forget_takes_lines_from_their_sources_and_names_what_may_hold_more(memory: AsyncMemoryScope) -> None:
    report = await memory.add_turns([{"role": "user", "content": "I live in Berlin."}], user="alice")
    blocks = memory.blocks("alice")
    await blocks.append("human", "Lives in Berlin.", author="backend", sources=report.keys)
    await blocks.append("human", "Likes tea.")
    gone = await memory.forget(user="alice", ids=report.keys)
    assert (gone.blocks, gone.may_hold) == (1, ("human",))
    assert await values(memory) == {"human": "Likes tea."}
    assert "Berlin" not in "".join(one.value for one in await blocks.history("human"))
    assert (await memory.forget(user="alice", everything=True)).blocks == 1
    assert await values(memory) == {}


def test_the_same_without_await(tmp_path: Path) -> None:
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        blocks = memory.blocks("alice")
        blocks.append("human", "Alice")
        blocks.rethink("human", "Alice, from Berlin", reason="more")
        assert [one.value for one in blocks.history("human")] == ["Alice", "Alice, from Berlin"]
        assert "Alice, from Berlin" in blocks.text()
        assert "Alice, from Berlin" in memory.context("hello", user="alice")
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        assert memory.blocks("alice").get("human").version == 2
