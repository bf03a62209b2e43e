"""MemoryScopeMemory as an object: a list of itself, written down, copied, asked directly."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle

import pytest
from autogen_core import Image
from autogen_core.memory import ListMemory, Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, UserMessage
from PIL import Image as Picture

from memscope import AsyncMemoryScope, MemoryScope
from memscope.config.settings import load
from memscope.errors import ConfigError, InputError, LimitError, ScopeError, StoreCorrupt
from memscope_autogen import MemoryScopeMemory
from memscope_testing.injections import CLAIMS
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking import agent_with


@pytest.fixture
def memory(core):
    return MemoryScopeMemory(user="alice", memory=core)


# ---- a list of itself


def test_it_is_the_list_of_itself(memory):
    assert isinstance(memory, list)
    assert isinstance(memory, Memory)
    assert [*memory] == [memory]
    assert memory[0] is memory
    assert len(memory) == 1
    assert memory in memory
    assert bool(memory)


def test_it_composes_with_other_memories(memory):
    other = ListMemory()
    assert memory + [other] == [memory, other]  # noqa: RUF005  # this is what is tested
    assert [other] + memory == [other, memory]  # noqa: RUF005
    assert [other, *memory] == [other, memory]


def test_it_is_equal_to_itself_only_and_can_be_a_key(memory, core):
    twin = MemoryScopeMemory(user="alice", memory=core)
    assert memory != twin
    assert memory == memory[0]
    assert len({memory, twin}) == 2
    assert repr(memory) == "MemoryScopeMemory(user='alice', agent=None, session=None)"


@pytest.mark.parametrize("name", ["append", "extend", "remove", "pop", "sort", "reverse", "insert"])
def test_it_cannot_be_changed_as_a_list(memory, name):
    with pytest.raises(TypeError, match="memory="):
        getattr(memory, name)()
    with pytest.raises(TypeError):
        memory[0] = None
    with pytest.raises(TypeError):
        del memory[0]
    assert len(memory) == 1


# ---- what it takes


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"user": ""}, ScopeError),
        ({"user": "alice", "k": 0}, InputError),
        ({"user": "alice", "tokens": -1}, InputError),
        ({"user": "alice", "recall": "all"}, ConfigError),
        ({"user": "alice", "record": "some"}, ConfigError),
        ({"user": "alice", "recall": "session"}, InputError),
    ],
)
def test_what_cannot_be_taken_is_refused_at_once(options, error):
    with pytest.raises(error):
        MemoryScopeMemory(**options)


def test_a_user_is_required():
    with pytest.raises(TypeError, match="user"):
        MemoryScopeMemory()


async def test_recall_of_the_session_only(core):
    await MemoryScopeMemory(user="alice", session="one", memory=core).add(text("Alice has a red car"))
    for session, found in (("one", 1), ("two", 0)):
        memory = MemoryScopeMemory(user="alice", session=session, memory=core, recall="session")
        assert len((await memory.query("What car?")).results) == found


@pytest.mark.parametrize(("record", "kept"), [("both", [0, 1]), ("user", [0]), ("assistant", [1]), ("none", [])])
async def test_who_is_recorded(core, record, kept):
    memory = MemoryScopeMemory(user="alice", memory=core, record=record)
    await agent_with(memory, ScriptedModel()).run(task="Hello there")
    said = ["Hello there", "Understood by model, number 1."]
    assert [turn.text for turn in await core.list(user="alice")] == [said[index] for index in kept]


# ---- written down and copied


def test_no_secret_is_written_down():
    settings = {
        "store": ":memory:",
        "embedding": {
            "model": "m",
            "base_url": "https://models.example/v1",
            "key": "sk-hush",
            "headers": {"X": "hush"},
        },
    }
    for given in (settings, load(settings)):
        dumped = MemoryScopeMemory(user="alice", memory=given).dump_component().model_dump_json()
        assert "hush" not in dumped
        assert "models.example" in dumped


def test_a_memory_given_as_an_object_is_not_written_down(memory):
    for write in (memory.dump_component, lambda: pickle.dumps(memory)):
        with pytest.raises(ConfigError, match="give settings or a path"):
            write()


async def test_pickled_and_copied_it_is_the_same_memory(tmp_path):
    memory = MemoryScopeMemory(user="alice", agent="helper", memory=tmp_path / "memory.db", k=4)
    await memory.add(text("Alice has a red car"))
    for other in (pickle.loads(pickle.dumps(memory)), copy.copy(memory), copy.deepcopy(memory)):
        assert other.dump_component() == memory.dump_component()
        assert [result.content for result in (await other.query("car")).results] == ["Alice has a red car"]
        await other.close()
    await memory.close()


async def test_a_copy_shares_a_memory_given_as_an_object(memory):
    await memory.add(text("Alice has a red car"))
    assert len((await copy.deepcopy(memory).query("car")).results) == 1


async def test_a_tapped_context_can_be_copied_and_pickled(tmp_path):
    memory = MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db")
    context = UnboundedChatCompletionContext()
    await context.add_message(UserMessage(content="My boat is Aurora", source="user"))
    await memory.update_context(context)
    for other in (copy.deepcopy(context), pickle.loads(pickle.dumps(context))):
        await other.add_message(AssistantMessage(content=f"Noted by {id(other)}", source="helper"))
        assert len(await other.get_messages()) == 2
        assert len(await context.get_messages()) == 1
        turns = await memory.memory_session.do(lambda core: core.list(user="alice"))
        assert turns[-1].text == f"Noted by {id(other)}"
    json.dumps(await context.save_state())
    assert context.dump_component().provider == "autogen_core.model_context.UnboundedChatCompletionContext"


# ---- asked directly


def text(words: str) -> MemoryContent:
    return MemoryContent(content=words, mime_type=MemoryMimeType.TEXT)


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        ("a plain note", MemoryMimeType.TEXT),
        ("# a note in markdown", MemoryMimeType.MARKDOWN),
        ("a,note,in,csv", "text/csv"),
        ({"note": [1, {"deep": None}]}, MemoryMimeType.JSON),
        (b"\x00\xff", MemoryMimeType.BINARY),
        (b"PNG", MemoryMimeType.IMAGE),
    ],
)
async def test_every_kind_of_content_comes_back_as_it_was(memory, content, mime_type):
    given = MemoryContent(content=content, mime_type=mime_type, metadata={"title": "note", "page": 3})
    await memory.add(given)
    (found,) = (await memory.query("note")).results
    assert (found.content, found.mime_type) == (content, mime_type)
    assert found.metadata["page"] == 3
    assert given.metadata == {"title": "note", "page": 3}


async def test_an_image_comes_back_as_an_image(memory):
    image = Image.from_pil(Picture.new("RGB", (2, 3), "red"))
    await memory.add(MemoryContent(content=image, mime_type=MemoryMimeType.IMAGE, metadata={"caption": "a red flag"}))
    (found,) = (await memory.query("flag")).results
    assert found.content.image.size == (2, 3)
    (shown,) = (await updated(memory, "Which flag?")).memories.results
    assert shown.content == "a red flag"
    shown.model_dump_json()


async def updated(memory, question):
    context = UnboundedChatCompletionContext()
    await context.add_message(UserMessage(content=question, source="user"))
    return await memory.update_context(context)


async def test_what_is_too_large_is_refused(memory):
    with pytest.raises(LimitError):
        await memory.add(text("x" * 300_000))
    with pytest.raises(LimitError):
        await memory.add(MemoryContent(content=b"x" * 300_000, mime_type=MemoryMimeType.BINARY))


async def test_metadata_that_was_added_comes_back_as_it_was(memory):
    given = {"id": "doc-7", "time": "noon", "score": "A+", "speaker": "Ada"}
    await memory.add(MemoryContent(content="My boat is red.", mime_type=MemoryMimeType.TEXT, metadata=given))
    (found,) = (await memory.query("What colour is my boat?")).results
    assert found.metadata == given


async def test_metadata_says_what_was_found(memory):
    await memory.add(text("Alice has a red car"))
    (found,) = (await memory.query("car", k=1)).results
    assert set(found.metadata) == {"id", "time", "score", "speaker"}
    json.dumps(found.metadata)


async def test_asking_directly_raises_what_went_wrong():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        memory = MemoryScopeMemory(user="alice", memory=core)
        store.broken = True
        for call in (memory.query("car"), memory.add(text("car"))):
            with pytest.raises(Exception, match="out of order"):
                await call


async def test_a_call_under_way_is_cancelled(core):
    from autogen_core import CancellationToken

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as held:
        memory, token = MemoryScopeMemory(user="alice", memory=held), CancellationToken()
        gate = store.hold()
        asking = asyncio.create_task(memory.query("car", token))
        assert await asyncio.to_thread(store.reached.wait, 20)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        gate.set()


async def test_clear_forgets_what_this_scope_holds_only(core):
    scopes = [("alice", "a", "one"), ("alice", "a", "two"), ("alice", "b", "one"), ("bob", "a", "one")]
    memories = [MemoryScopeMemory(user=u, agent=a, session=s, memory=core) for u, a, s in scopes]
    for memory in memories:
        await memory.add(text("A red car"))
    assert (await memories[0].clear()).turns == 1
    left = [len(await core.list(user=u, agent=a, session=s, kinds=["turn"])) for u, a, s in scopes]
    assert left == [0, 1, 1, 1]
    assert (await MemoryScopeMemory(user="alice", memory=core).clear()).turns == 2
    assert len(await core.list(user="bob", kinds=["turn"])) == 1


# ---- the memory behind it


@pytest.mark.parametrize("session", [None, "s"])
async def test_a_memory_that_cannot_be_opened_leaves_the_agent_answering(session, caplog, tmp_path):
    foreign = tmp_path / "memory.db"
    foreign.write_text("of another program", "utf-8")
    memory = MemoryScopeMemory(user="alice", session=session, memory=foreign)
    agent = agent_with(memory, ScriptedModel())
    for number in (1, 2):
        result = await agent.run(task="Hello")
        assert result.messages[-1].content == f"Understood by model, number {number}."
    (warning,) = [record.getMessage() for record in caplog.records if record.name == "memscope"]
    assert warning.startswith("add_turns failed, and the agent goes on without memory (store_corrupt:")
    strict = MemoryScopeMemory(user="alice", session=session, memory=foreign, strict=True)
    with pytest.raises(StoreCorrupt):
        await agent_with(strict, ScriptedModel()).run(task="Hello")


async def test_a_synchronous_memory_is_taken_too(tmp_path):
    with MemoryScope(tmp_path / "memory.db", settings={}) as core:
        memory = MemoryScopeMemory(user="alice", memory=core)
        await agent_with(memory, ScriptedModel()).run(task="Alice has a red car")
        await memory.close()
        assert core.list(user="alice")[0].text == "Alice has a red car"


def test_one_object_lives_through_several_event_loops(tmp_path):
    memory = MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db")
    script = ScriptedModel()
    agent = agent_with(memory, script)
    for task in ("My boat is called Aurora", "Well then", "What is my boat called?"):
        asyncio.run(agent.run(task=task))
    other = agent_with(MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db"), script)
    asyncio.run(other.run(task="What is my boat called?"))
    assert "Aurora" in script.latest
    asyncio.run(memory.close())


async def test_after_close_it_opens_again(tmp_path):
    memory = MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db")
    await memory.add(text("Alice has a red car"))
    await memory.close()
    await memory.close()
    assert len((await memory.query("car")).results) == 1
    await memory.close()


def test_the_alias_is_the_same_object():
    from memscope.adapters.autogen import MemoryScopeMemory as aliased

    assert aliased is MemoryScopeMemory


# ---- whose statement it is


@pytest.mark.parametrize("claim", CLAIMS)
async def test_what_a_document_says_is_no_statement_of_the_user(core, claim):
    memory = MemoryScopeMemory(user="alice", memory=core, people=["Bob"])
    for source in ("https://example.com/page", "Bob", "user"):
        added = MemoryContent(content=f"{claim} ({source})", mime_type="text/plain", metadata={"source": source})
        await memory.add(added)
    origins = {one.origin: one.text for one in await core.list(user="alice", kinds=["observation"])}
    assert origins.keys() == {"tool", "statement"} and "https" in origins["tool"]
    assert "https" not in await core.profile(user="alice")
    assert any("https" in found.content for found in (await memory.query(claim)).results)


async def test_content_that_is_no_json_is_refused_with_its_type(core):
    memory = MemoryScopeMemory(user="alice", memory=core)
    with pytest.raises(InputError, match=r"not JSON: .*complex"):
        await memory.add(MemoryContent(content={"when": 2j}, mime_type=MemoryMimeType.JSON))
