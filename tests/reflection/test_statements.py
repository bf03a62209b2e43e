"""Insights that a person states, and memories found by whom they are about and by keyword."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import InputError
from memscope.records import ChangeSet, Observation, Scope, Turn, TurnInsert
from memscope.records.filters import check, record_matches
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)


@pytest.fixture(params=["memory", "sqlite"])
async def memory(request, tmp_path):
    store = InMemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "memory.db")
    async with AsyncMemoryScope(store) as opened:
        yield opened


async def test_a_stated_insight_rests_on_its_statement_and_supersedes_the_one_there_is(memory):
    first = await memory.add_memory("She eats no fish.", user="alice", kind="insight", subject="diet")
    assert (first.text, first.subject, first.origin) == ("diet: She eats no fish.", "diet", "statement")
    (fact,) = await memory.list(user="alice", kinds=["observation"])
    assert first.sources == (fact.id,)
    assert (await memory.get(fact.sources[0], user="alice")).text == "She eats no fish."
    second = await memory.add_memory("She eats fish again.", user="alice", kind="insight", subject="Diet")
    assert [one.id for one in await memory.list(user="alice", kinds=["insight"])] == [second.id]
    assert [one.id for one in await memory.history(first.id, user="alice")] == [first.id, second.id]
    assert (await memory.admin.status(user="alice"))["pending"]["reflect"] == 2, "reflect says what the facts change"
    assert "eats fish again" in await memory.context("What does she eat?", user="alice")


async def test_an_insight_stated_late_does_not_stand_beside_the_one_said_after_it(memory):
    given = {"user": "alice", "kind": "insight", "subject": "diet"}
    june = await memory.add_memory("Eats fish again.", time="2026-06-01T12:00Z", **given)
    march = await memory.add_memory("Eats no fish.", time="2026-03-01T12:00Z", **given)
    assert march.superseded_by == june.id
    assert await memory.list(user="alice", kinds=["insight"]) == [june]
    (hit,) = await memory.retrieve("What about fish?", user="alice", kinds=["insight"], as_of="2026-04-01T00:00Z")
    assert hit.insight.id == march.id


@pytest.mark.parametrize("given", [{}, {"name": "gate"}], ids=["id", "name"])
async def test_a_stated_insight_that_is_forgotten_leaves_no_statement(memory, given):
    before = await memory.add_memory("The gate is green.", user="alice", kind="insight", subject="gate", **given)
    code = await memory.add_memory("The gate code is 4711.", user="alice", kind="insight", subject="gate", **given)
    receipt = await memory.forget(user="alice", **(given or {"ids": [code.id]}))
    assert (receipt.turns, receipt.observations, receipt.insights) == ((2, 2, 2) if given else (1, 1, 1))
    assert not any("4711" in one.text for one in await memory.list(user="alice", superseded=True))
    assert [one.id for one in await memory.list(user="alice", kinds=["insight"])] == ([] if given else [before.id])


async def test_a_corrected_insight_corrects_the_fact_it_states(memory):
    job = await memory.add_memory("Works at Acme.", user="alice", kind="insight", subject="job")
    await memory.update(job.id, user="alice", text="Works at Beta.")
    shown = await memory.context("Where does she work?", user="alice")
    assert "Beta" in shown and not [line for line in shown.splitlines() if "Acme" in line and "changed" not in line]
    (insight,) = await memory.list(user="alice", kinds=["insight"])
    (fact,) = await memory.list(user="alice", kinds=["observation"])
    assert (insight.id, insight.text, fact.text, fact.version) == (job.id, "Works at Beta.", "Works at Beta.", 2)
    assert [one.text for one in await memory.history(fact.id, user="alice")] == ["Works at Acme.", "Works at Beta."]


async def test_a_stated_insight_that_expires_hides_its_statement(memory):
    code = await memory.add_memory("The gate code is 4711.", user="alice", kind="insight", subject="gate")
    await memory.update(code.id, user="alice", expires="2026-01-01T00:00Z")
    assert await memory.list(user="alice", superseded=True) == []
    assert list(await memory.retrieve("gate code", user="alice")) == []
    await memory.admin.sweep(user="alice")
    assert (await memory.admin.status(user="alice"))["turns"] == 0


async def test_another_agents_or_users_insight_stays(memory):
    for scope in ({"user": "alice", "agent": "a"}, {"user": "alice", "agent": "b"}, {"user": "bob"}):
        await memory.add_memory("Eats no fish.", kind="insight", subject="diet", **scope)
    assert len(await memory.list(user="alice", kinds=["insight"])) == 2


async def test_the_same_statement_of_one_time_is_one_insight(memory):
    given = {"user": "alice", "kind": "insight", "subject": "diet", "time": NOW}
    first, again = [await memory.add_memory("Eats no fish.", **given) for _ in range(2)]
    assert (again, len(await memory.list(user="alice"))) == (first, 3)
    await memory.forget(user="alice", ids=[first.sources[0]])
    assert await memory.list(user="alice", kinds=["insight"]) == []


@pytest.mark.parametrize("wrong", [{"kind": "insight"}, {"subject": "diet"}, {"kind": "turn"}])
async def test_a_subject_belongs_to_an_insight(memory, wrong):
    with pytest.raises(InputError):
        await memory.add_memory("Eats no fish.", user="alice", **wrong)
    assert await memory.list(user="alice") == []


# ------------------------------------------------------------------------------------------------- about and keyword


async def know(memory, text, about="user", keywords=(), said=NOW):
    key = f"t-{text}"
    turn = Turn(key, Scope("alice"), "user", "user", text, said, said)
    fact = Observation(
        id=f"o-{text}", scope=Scope("alice"), text=text, sources=(key,), said=said, recorded=said, about=about,
        keywords=tuple(keywords),
    )  # fmt: skip
    await memory.admin.runtime.services.store.append("alice", [TurnInsert(turn)], ChangeSet(new=(fact,)))


@pytest.fixture
async def known(memory):
    await know(memory, "The user lives in Graz.", keywords=["home"])
    await know(memory, "Anna Schmidt lives in Linz.", about="Anna Schmidt", keywords=["home", "Linz"])
    await know(memory, "Annabel lives in Wels.", about="Annabel", keywords=["Home"])
    await know(memory, "张小明住在苏州。", about="张小明")
    await memory.add_memory("Anna has a son.", user="alice", kind="insight", subject="Anna's family")
    return memory


@pytest.mark.parametrize(
    ("filter", "wanted"),
    [
        ({"$about": "anna"}, {"Anna Schmidt lives in Linz.", "Anna's family: Anna has a son."}),
        ({"$about": "小明"}, {"张小明住在苏州。"}),
        ({"$keyword": "home"}, {"The user lives in Graz.", "Anna Schmidt lives in Linz.", "Annabel lives in Wels."}),
        ({"$about": "Anna Schmidt", "$keyword": "linz"}, {"Anna Schmidt lives in Linz."}),
        ({"$about": "user", "$keyword": "home", "x": {"$ne": 1}}, {"The user lives in Graz."}),
        ({"$about": "Anna", "x": 1}, set()),
    ],
)
async def test_list_by_whom_it_is_about_and_by_keyword(known, filter, wanted):
    assert {one.text for one in await known.list(user="alice", filter=filter)} == wanted


async def test_retrieve_shows_the_turns_of_the_facts_that_fit(known):
    found = await known.retrieve("Who lives where?", user="alice", filter={"$about": "Anna"})
    assert {hit.text for hit in found} >= {"Anna Schmidt lives in Linz."}
    assert not any("Graz" in hit.text or "Wels" in hit.text for hit in found)


async def test_forget_takes_the_facts_and_leaves_the_others(known):
    receipt = await known.forget(user="alice", filter={"$about": "Anna Schmidt"})
    assert (receipt.turns, receipt.observations) == (0, 1)
    left = {one.text for one in await known.list(user="alice", kinds=["observation"])}
    assert left == {"The user lives in Graz.", "Annabel lives in Wels.", "张小明住在苏州。", "Anna has a son."}


@pytest.mark.parametrize(
    "wrong", [{"$about": 3}, {"$keyword": {"$ne": "x"}}, {"$about": " "}, {"$subject": "x", "$eq": 1}]
)
def test_a_filter_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        check(wrong)


def test_a_turn_is_about_nobody():
    turn = Turn("t", Scope("alice"), "user", "user", "Anna", NOW, NOW, metadata={"a": 1})
    assert not record_matches({"$about": "Anna"}, turn)
    assert record_matches({"a": 1}, turn)
