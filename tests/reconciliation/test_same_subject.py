"""Facts of one person or thing whose ``about`` is written otherwise: a letter, an alias, "user" against the thing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope import AsyncMemoryScope
from memscope.languages.similarity import same
from memscope.reconciliation.subjects import covers, may_meet, meet
from memscope.records import Observation, Scope
from memscope.stores.memory import InMemoryStore
from memscope_testing.models import data

from workbench import Clock, World, answering, consolidate, fact, noted

EARLIER, LATER = datetime(2026, 3, 10, 9, tzinfo=UTC), datetime(2026, 4, 12, 9, tzinfo=UTC)


def about(name, text="x"):
    return Observation(id=text, scope=Scope("a"), text=text, sources=("t",), said=EARLIER, recorded=EARLIER, about=name)


@pytest.fixture
def world():
    clock = Clock()
    return World(InMemoryStore(clock=clock), clock)


async def learn(world, said, text, name, keywords, at, verdict="unrelated"):
    """Say something, note one fact of it; return the known facts that the model was shown."""
    await world.say(said, at=at)
    chat = answering(noted(fact(text, said, about=name, keywords=keywords)), relations={text: verdict})
    await consolidate(world.ctx(chat=chat), "alice")
    return [one["text"] for prompt in chat.prompts for one in data(prompt).get("known", ())]


ONE_SUBJECT = [
    # old fact, about, new fact, about
    ("Katherine works at Bosch.", "Katherine", "Catherine works at Siemens.", "Catherine"),
    ("John lives in Rome.", "John", "Jon moved to Oslo.", "Jon"),
    ("Melanie works at Bosch.", "Melanie", "Mel works at Siemens.", "Mel"),
    ("The login page is blue.", "login page", "The login pages are green now.", "login pages"),
    ("欧阳曼婷住在北京。", "欧阳曼婷", "欧阳曼亭住在上海。", "欧阳曼亭"),
    ("The user's boss is Bob.", "user", "Carla is the user's boss now.", "Carla"),
    ("The user's boss is Bob.", "Bob", "Carla is the user's new boss.", "Carla"),
    ("The user's boss is Bob.", "user", "The boss is Carla now.", "boss"),
    ("The user's boss is Bob.", "the user's boss", "The user got Carla as a boss.", "user"),
    ("Ann's dentist is Dr. Gray.", "Dr. Gray", "Dr. Bell is Ann's dentist now.", "Dr. Bell"),
    ("用户的老板是王伟。", "user", "李娜现在是用户的老板。", "李娜"),
    ("用户的老板是王伟。", "王伟", "用户的新老板是李娜。", "李娜"),
    ("用户的老板是王伟。", "user", "老板换成了李娜。", "老板"),
]


@pytest.mark.parametrize(("old", "old_about", "new", "new_about"), ONE_SUBJECT)
async def test_the_known_fact_is_shown_and_the_verdict_counts(world, old, old_about, new, new_about):
    topic = ["工作" if "用户" in old else "work"]
    await learn(world, old, old, old_about, topic, EARLIER)
    shown = await learn(world, new, new, new_about, topic, LATER, verdict="ends")
    assert shown == [old]
    assert await world.texts() == [new]


OTHERS = [
    ("Tim likes tea.", "Tim", "Tom likes coffee.", "Tom"),
    ("Server 1 runs in Rome.", "server 1", "Server 2 runs in Rome.", "server 2"),
    ("Dana works at Bosch.", "Dana", "Ivo works at Siemens.", "Ivo"),
    ("王芳在北京工作。", "王芳", "王强在上海工作。", "王强"),
    ("The user works at Bosch.", "user", "The user's cat Max is ill.", "Max"),
    ("The user's boss is Bob.", "Bob", "The user's sister is Carla.", "Carla"),
    ("用户的老板是王伟。", "王伟", "用户的姐姐是李娜。", "李娜"),
]


@pytest.mark.parametrize(("old", "old_about", "new", "new_about"), OTHERS)
async def test_two_subjects_do_not_meet(world, old, old_about, new, new_about):
    topic = ["工作" if "用户" in old else "work"]
    await learn(world, old, old, old_about, topic, EARLIER)
    assert await learn(world, new, new, new_about, topic, LATER, verdict="ends") == [old]
    assert await world.texts() == [old, new]


@pytest.mark.parametrize(
    ("told", "old", "new", "aliased"),
    [
        ("My sister Anna called.", "Anna lives in Rome.", "The user's sister moved to Oslo.", "user's sister"),
        ("我姐姐李娜来了。", "李娜住在北京。", "用户的姐姐搬到了上海。", "用户的姐姐"),
    ],
)
async def test_a_known_alias_is_its_name(world, told, old, new, aliased):
    name, topic = (old[:2], ["住处"]) if "姐" in told else ("Anna", ["home"])
    await learn(world, told, told, name, topic, EARLIER)
    await learn(world, old, old, name, topic, EARLIER)
    shown = await learn(world, new, new, aliased, topic, LATER, verdict="ends")
    assert old in shown
    assert old not in await world.texts()


async def test_what_a_person_merged_is_one(world):
    memory = AsyncMemoryScope(world.store, settings={}, clock=world.clock)  # the same records, for a person
    await learn(world, "I met Robert Gray.", "The user met Robert Gray.", "Robert Gray", ["friends"], EARLIER)
    await learn(world, "Bobby lives in Rome.", "Bobby lives in Rome.", "Bobby", ["home"], EARLIER)
    await memory.entities("alice").merge("Robert Gray", "Bobby")
    new = "Robert Gray moved to Oslo."
    await learn(world, new, new, "Robert Gray", ["home"], LATER, "ends")
    assert "Bobby lives in Rome." not in await world.texts()


def test_two_people_are_not_ended_by_one_whatever_the_name():
    both, one = about("John and Bo", "John and Bo live in Rome."), about("Jon", "Jon moved.")
    assert may_meet(one, both) and not covers(one, both)
    assert not meet(about("Anna"), about("Ann"))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("用户的住在柏林。", "用户住在柏林。", True),  # a particle says nothing
        ("用户住在柏林。", "用户住在波恩。", False),
        ("The user has a dog.", "The user has the dog.", True),  # an article neither
        ("The user has a dog.", "The user has two dogs.", False),
    ],
)
def test_words_that_say_nothing_do_not_make_two_facts(one, other, alike):
    assert same(one, other) is alike


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("The user lives in a small flat in Berlin now.", "The user now lives in a small flat in Berlin.", True),
        ("Anna called Ben.", "Ben called Anna.", False),
        ("Anna sold her old car to Ben in May.", "Ben sold her old car to Anna in May.", False),
    ],
)
def test_the_same_words_in_about_the_same_order_say_the_same(one: str, other: str, agree: bool) -> None:
    assert same(one, other) is agree
