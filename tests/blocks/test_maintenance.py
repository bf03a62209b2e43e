"""Blocks that the back end keeps up from insights: never over a person's edit, each line with its sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memscope import AsyncMemoryScope
from memscope.blocks.maintenance import BlockState, block_state
from memscope.config.settings import load
from memscope.errors import ConfigError, ModelUnavailable
from memscope.records import Block, ChangeSet, Scope, Supersession
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.models import ScriptedChat, data

from workbench import NOW

BERLIN, CAT = "I live in Berlin", "My cat is called Ada"
TEXTS = {BERLIN: ("home", "The user lives in Berlin."), CAT: ("cat", "The user has a cat named Ada.")}


class Model:
    """Notes each turn as a fact with a subject of its own, and writes one line per insight into a block."""

    def __init__(self):
        self.asked = []  # data of the calls about blocks
        self.lines = lambda shown: [
            {"text": one["text"].partition(": ")[2], "insights": [one["n"]]} for one in shown["insights"]
        ]

    def __call__(self, messages):
        shown = data(messages)
        if "block" in shown:
            self.asked.append(shown)
            said = self.lines(shown)
            return said if isinstance(said, Exception) else {"lines": said}
        if "turns" in shown:
            return self.facts(shown["turns"])
        sentences = [
            {
                "insight": 0,
                "subject": f"{self.subject(one)} basics",
                "text": one["text"],
                "facts": [one["n"]],
                "replaces": [],
            }
            for one in shown["facts"]
        ]
        return {"sentences": sentences, "alone": [], "relations": []}

    def subject(self, one):
        return next((subject for subject, text in TEXTS.values() if text == one["text"]), one["text"][:20])

    def facts(self, lines):
        own = [one for one in lines if not one.get("context")]
        facts = [
            {"text": TEXTS.get(one["text"], ("", one["text"]))[1], "about": "user", "level": 3, "when": "",
             "keywords": [], "quotes": [{"turn": one["n"], "words": one["text"]}]}
            for one in own
        ]  # fmt: skip
        return {"turns": [{"turn": one["n"], "level": 3} for one in own], "facts": facts}


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    return InMemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "memory.db")


@pytest.fixture
def model():
    return Model()


@pytest.fixture
async def memory(store, model):
    settings = {"blocks": {"maintain": ["human"]}}
    async with AsyncMemoryScope(store, settings=settings, chat=ScriptedChat(model)) as opened:
        yield opened


async def learn(memory, text, agent=None, user="alice"):
    (key,) = (await memory.add_turns([{"role": "user", "content": text}], user=user, agent=agent)).keys
    report = await memory.reflect(user=user)
    assert not report.errors
    return key


async def value(memory, user="alice", agent=None):
    return (await memory.blocks(user, agent=agent).get("human")).value


async def test_one_call_when_the_insights_changed_and_none_when_not(memory, model):
    await learn(memory, BERLIN)
    assert await value(memory) == TEXTS[BERLIN][1]
    report = await memory.reflect(user="alice")
    assert (report.calls, len(model.asked)) == (0, 1)
    await learn(memory, CAT)
    assert await value(memory) == f"{TEXTS[BERLIN][1]}\n{TEXTS[CAT][1]}"
    assert len(model.asked) == 2
    assert "lives in Berlin" in await memory.context("hello", user="alice")
    assert (await memory.admin.status(user="alice"))["costs"]["blocks"]["calls"] == 2


async def test_every_line_is_a_version_with_its_sources(memory):
    for text in (BERLIN, CAT):
        await learn(memory, text)
    history = await memory.blocks("alice").history("human")
    insights = {one.text.partition(": ")[2]: one.id for one in await memory.list(user="alice", kinds=["insight"])}
    assert [one.author for one in history] == ["backend", "backend"]
    assert [one.sources for one in history] == [(insights[TEXTS[BERLIN][1]],), (insights[TEXTS[CAT][1]],)]
    report = await memory.reflect(user="alice")
    assert report.actions == ()


async def test_what_a_person_wrote_stays_word_for_word(memory, model):
    await learn(memory, BERLIN)
    blocks = memory.blocks("alice")
    await blocks.rethink("human", "Name:  Alice\t(she)\n\nThe user lives in Berlin.\nlikes  lower case")
    model.lines = lambda shown: [{"text": "Berlin is home; a cat, Ada.", "insights": [1, 2]}]
    await learn(memory, CAT)
    assert await value(memory) == "Name:  Alice\t(she)\n\nBerlin is home; a cat, Ada.\nlikes  lower case"
    assert model.asked[-1]["others"] == ["Name:  Alice\t(she)", "likes  lower case"]


async def test_a_line_that_a_person_corrected_or_removed_does_not_come_back(memory, model):
    await learn(memory, BERLIN)
    await memory.blocks("alice").replace("human", "The user lives in Berlin.", "She lives in Berlin-Wedding.")
    await learn(memory, CAT)
    assert await value(memory) == f"She lives in Berlin-Wedding.\n{TEXTS[CAT][1]}"
    assert model.asked[-1]["removed"] == ["The user lives in Berlin."]
    await memory.blocks("alice").remove("human", TEXTS[CAT][1])
    await learn(memory, "I play chess on Sundays")
    assert await value(memory) == "She lives in Berlin-Wedding.\nI play chess on Sundays"


async def test_an_edit_by_the_agents_model_is_kept_as_well(memory):
    await memory.blocks("alice").append("human", "Wants short answers.", author="model")
    await learn(memory, BERLIN)
    assert await value(memory) == f"Wants short answers.\n{TEXTS[BERLIN][1]}"


async def test_the_limit_holds_by_whole_lines(memory, model):
    await memory.blocks("alice").append("human", "x" * 60)
    await memory.blocks("alice").configure("human", limit=90)
    await learn(memory, BERLIN)
    await learn(memory, CAT)
    assert await value(memory) == f"{'x' * 60}\n{TEXTS[BERLIN][1]}"
    assert model.asked[0]["room"] == 30


async def test_forgetting_a_turn_takes_its_line_and_the_history_of_it(memory, model):
    key = await learn(memory, BERLIN)
    await learn(memory, CAT)
    await memory.blocks("alice").append("human", "Name: Alice")
    receipt = await memory.forget(user="alice", ids=[key])
    assert receipt.blocks == 1
    assert await value(memory) == f"{TEXTS[CAT][1]}\nName: Alice"
    assert not any("Berlin" in one.value for one in await memory.blocks("alice").history("human"))
    await memory.reflect(user="alice")
    assert await value(memory) == f"{TEXTS[CAT][1]}\nName: Alice"


async def test_an_insight_that_is_forgotten_while_the_model_writes_is_in_no_line(memory, model):
    await learn(memory, BERLIN)
    chat = memory.admin.runtime.services.chat
    first = model.asked[0]["insights"][0]["text"]
    model.lines = lambda shown: [{"text": "Lives in Berlin with a cat.", "insights": [
        one["n"] for one in shown["insights"] if one["text"] == first
    ]}]  # fmt: skip

    async def slowly(messages):
        if "block" in data(messages) and len(model.asked) == 1:
            insights = await memory.list(user="alice", kinds=["insight"])
            await memory.forget(user="alice", ids=[one.id for one in insights if one.text != first])
        return model(messages)

    chat._all = slowly
    await learn(memory, CAT)
    assert len(model.asked) == 2 and "cat" not in str(await memory.blocks("alice").history("human"))
    model.lines = Model().lines
    await memory.reflect(user="alice")
    assert await value(memory) == TEXTS[BERLIN][1]


async def test_when_no_insight_is_left_the_lines_go_without_a_call(memory, model):
    await learn(memory, BERLIN)
    (insight,) = await memory.list(user="alice", kinds=["insight"])
    now = memory.admin.runtime.services.clock()
    await memory.admin.runtime.services.store.apply(
        "alice", ChangeSet(closed=(Supersession(insight.id, None, now, now),))
    )
    report = await memory.reflect(user="alice")
    assert (await value(memory), report.calls) == ("", 0)


async def test_a_shared_block_is_kept_up_for_the_agents_that_see_it(memory, model):
    await learn(memory, BERLIN, agent="one")
    await memory.blocks("alice", agent="two").create("human", "mine")
    await learn(memory, CAT, agent="two")
    assert await value(memory, agent="one") == TEXTS[BERLIN][1]
    assert await value(memory, agent="two") == f"mine\n{TEXTS[CAT][1]}"
    assert await value(memory, user="bob") == ""


async def test_nothing_is_written_where_it_may_not_be(store, model):
    for settings in ({}, {"blocks": {"maintain": ["human"], "shared": {"human": "of the operator"}}}):
        async with AsyncMemoryScope(InMemoryStore(), settings=settings, chat=ScriptedChat(model)) as memory:
            await learn(memory, BERLIN)
            assert await memory.blocks("alice").history("human") == []
    async with AsyncMemoryScope(store, settings={"blocks": {"maintain": "human"}}, chat=ScriptedChat(model)) as memory:
        await memory.blocks("alice").create("human", "fixed", read_only=True)
        await learn(memory, BERLIN)
        await memory.add_turns([{"role": "user", "content": CAT}], user="alice")
        await memory.reflect(user="alice", preview=True)
        assert await value(memory) == "fixed"
    assert model.asked == []


async def test_a_model_that_fails_is_asked_again_the_next_time(memory, model):
    lines, model.lines = model.lines, lambda shown: ModelUnavailable("down")
    await memory.add_turns([{"role": "user", "content": BERLIN}], user="alice")
    report = await memory.reflect(user="alice")
    assert (report.errors, await value(memory)) == ({"model_unavailable": 1}, "")
    model.lines = lines
    assert (await memory.reflect(user="alice")).calls == 1
    assert await value(memory) == TEXTS[BERLIN][1]


async def test_lines_without_an_insight_in_another_language_or_said_twice_are_left_out(memory, model):
    model.lines = lambda shown: [
        {"text": "The user is rich.", "insights": []},
        {"text": "The user is rich.", "insights": [9]},
        {"text": "用户住在柏林。", "insights": [1]},
        {"text": "The user lives\nin Berlin.", "insights": [1, 1]},
        {"text": "The user lives in Berlin", "insights": [1]},
    ]
    await learn(memory, BERLIN)
    assert await value(memory) == "The user lives in Berlin."


def test_labels_are_checked():
    with pytest.raises(ConfigError, match="maintain"):
        load({"blocks": {"maintain": ["no label"]}})


def block(text, author="backend", version=1):
    return Block(scope=Scope("alice"), label="human", recorded=NOW, value=text, author=author, version=version)


def test_a_line_belongs_to_who_wrote_it_last():
    history = [block("a\nb"), block("b", "person", 2), block("b\na", "person", 3), block("b\na\nc", "model", 4)]
    state = block_state(history[-1], history)
    assert (state.own, state.others) == (("b",), ["a", "c"])
    assert state.with_lines(["x", "y"]) == "x\ny\na\nc"
    assert BlockState(replace(history[0], value="")).with_lines(["x"]) == "x"
