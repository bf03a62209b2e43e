"""audit with ask: pairs of facts that consolidate missed are put to the model, under its rules and its budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError, InputError, ModelTimeout
from memscope.records import Observation, Select
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.models import IdealChat, data

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SETTINGS = {"background": False}


def noted(text, *, about="user", keywords=("home",), when=""):
    return {"text": text, "about": about, "when": when, "keywords": list(keywords), "level": 3, "quote": text}


LIVES, MOVED = noted("The user lives in Berlin."), noted("The user lives in Lisbon.")
TEA, MORE_TEA = (
    noted("The user likes green tea.", keywords=["food"]),
    noted("The user likes green tea with honey from Anna.", keywords=["food"]),
)
WORKS = noted("The user works at Siemens.", keywords=["work"])
CLUB = noted("The user plays tennis at the Siemens club.", keywords=["hobby"])
FACTS = [LIVES, TEA, WORKS, MOVED, MORE_TEA, CLUB]
ENDS, REFINES = (0, 3, "ends"), (1, 4, "refines")


class Judge(IdealChat):
    """A model that misses every relation when it reads, and tells ``relations`` when it is asked about pairs."""

    def __init__(self, relations, facts=FACTS):
        super().__init__(
            [{"text": fact["quote"]} for fact in facts], [{**f, "turns": [n]} for n, f in enumerate(facts)]
        )
        self.told = {(facts[old]["text"], facts[new]["text"]): relation for old, new, relation in relations}

    def _relation(self, old, new):
        return self.told.get((old, new), "unrelated") if self.judging else "unrelated"

    def _answer(self, messages):
        self.judging = "pairs" in data(messages)
        return super()._answer(messages)

    @property
    def asked(self):
        return [data(one)["pairs"] for one in self.prompts if "pairs" in data(one)]


async def learned(model, store=None, facts=FACTS, **settings):
    """A memory that has noted the facts, each said a day after the one before."""
    memory = AsyncMemoryScope(
        store or InMemoryStore(), settings={**SETTINGS, **settings}, chat=model, clock=lambda: NOW
    )
    for day, fact in enumerate(facts):
        said = NOW - timedelta(days=100 - day)
        await memory.add_turns([{"role": "user", "content": fact["quote"], "time": said}], user="alice")
    await memory.consolidate(user="alice")
    return memory


async def facts_of(memory):
    pages = memory.admin.runtime.services.store.scan(Select("alice"))
    return [one async for page in pages for one in page if isinstance(one, Observation)]


async def current(memory):
    return sorted(one.text for one in await facts_of(memory) if one.current)


async def test_what_was_missed_is_found_and_applied_once_it_is_said_twice():
    chat = Judge([ENDS, REFINES])
    memory = await learned(chat)
    assert len(await current(memory)) == 6
    report = await memory.admin.audit(user="alice", ask=3)
    assert [(one["action"], one["text"]) for one in report.work.actions] == [
        ("superseded", TEA["text"]), ("superseded", LIVES["text"])
    ]  # fmt: skip
    assert (report.work.operation, report.work.model, report.work.superseded) == ("audit", chat.name, 2)
    assert report.work.done >= 2 and report.work.pending == 0 and not report.work.errors
    assert [len(pairs) for pairs in chat.asked] == [report.work.done, 2] and report.findings == ()
    assert await current(memory) == sorted(one["text"] for one in (MOVED, MORE_TEA, WORKS, CLUB))
    (old,) = [one for one in await facts_of(memory) if one.text == LIVES["text"]]
    assert old.valid_to is not None and old.superseded_by


async def test_a_second_run_asks_nothing_again_and_changes_nothing(tmp_path):
    chat = Judge([ENDS])
    memory = await learned(chat, SQLiteStore(tmp_path / "m.db"))
    first = await memory.admin.audit(user="alice", ask=5)
    before, asked = await facts_of(memory), len(chat.asked)
    again = await memory.admin.audit(user="alice", ask=5)
    assert (again.work.done, again.work.actions, again.work.calls) == (0, (), 0) and first.work.done
    assert await facts_of(memory) == before and len(chat.asked) == asked
    await memory.close()
    async with AsyncMemoryScope(
        SQLiteStore(tmp_path / "m.db"), settings=SETTINGS, chat=chat, clock=lambda: NOW
    ) as later:
        await later.admin.audit(user="alice", ask=5)
        assert len(chat.asked) == asked, "another process neither"
        await later.add_turns([{"role": "user", "content": "I live in Porto"}], user="alice")
        chat._facts.append((noted("The user lives in Porto."), [("I live in Porto", "live in Porto")]))
        await later.consolidate(user="alice")
        await later.admin.audit(user="alice", ask=5)
    (new,) = chat.asked[asked:]
    assert all("Porto" in pair["later"]["text"] for pair in new)


RENT = noted("The rent is 1,150 euros, and 1,290 euros from October on.", about="rent", keywords=["money"])
NEW_RENT = noted("The rent is 1,350 euros from October on.", about="rent", keywords=["money"])
SAME_HOME = noted("The user lives in Berlin now.")
FORGOTTEN_MEANWHILE = [
    ([TEA, MORE_TEA], "refines", 0, "", "green tea."),
    ([MORE_TEA, noted("The user likes green tea with lemon.", keywords=["food"])], "refines", 0, "", "Anna"),
    ([RENT, NEW_RENT], "ends", 0, "The rent is 1,150 euros.", "1,150"),
    ([RENT, NEW_RENT], "ends", 1, "The rent is 1,150 euros.", "1,350"),
    ([LIVES, SAME_HOME], "repeats", 1, "", "now"),
]


@pytest.mark.parametrize(("facts", "verdict", "gone", "rest", "words"), FORGOTTEN_MEANWHILE)
async def test_a_fact_that_is_forgotten_while_the_model_judges_leaves_nothing(facts, verdict, gone, rest, words):
    class Forgetting(Judge):
        def _judgement(self, pairs):
            reply = super()._judgement(pairs)
            return {**reply, "relations": [{**one, "rest": rest} for one in reply["relations"]]}

    chat = Forgetting([(0, 1, verdict)], facts)
    memory = await learned(chat, facts=facts)
    (old,) = [one for one in await facts_of(memory) if one.text == facts[gone]["text"]]
    (left,) = [one for one in await facts_of(memory) if one.id != old.id]
    answer = chat._all

    async def slowly(messages):
        if len(chat.asked) == 2:
            await memory.forget(user="alice", ids=[old.id])
        return answer(messages)

    chat._all = slowly
    report = await memory.admin.audit(user="alice", ask=1)
    assert len(chat.asked) == 2 and await facts_of(memory) == [left] and words not in f"{left.text} {left.quotes}"
    assert report.work.errors == {"conflict": 1} and "changed meanwhile" in report.work.reason


async def test_a_fact_that_a_person_corrects_while_the_model_judges_stays_as_corrected():
    chat = Judge([(0, 1, "ends")], [LIVES, MOVED])
    memory = await learned(chat, facts=[LIVES, MOVED])
    (old,) = [one for one in await facts_of(memory) if one.text == LIVES["text"]]
    answer = chat._all

    async def slowly(messages):
        if len(chat.asked) == 2:
            await memory.update(old.id, text="The user likes Berlin.", user="alice")
        return answer(messages)

    chat._all = slowly
    report = await memory.admin.audit(user="alice", ask=1)
    assert report.work.errors == {"conflict": 1} and await current(memory) == ["The user likes Berlin.", MOVED["text"]]


async def test_a_preview_asks_and_changes_nothing():
    chat = Judge([ENDS, REFINES])
    memory = await learned(chat)
    before = await facts_of(memory)
    report = await memory.admin.audit(user="alice", ask=3, preview=True)
    assert report.work.preview and report.work.superseded == 2 and await facts_of(memory) == before
    assert (await memory.admin.audit(user="alice", ask=3)).work.superseded == 2, "nothing was noted as answered"


async def test_with_approve_nothing_ends_without_a_person():
    chat = Judge([ENDS])
    memory = await learned(chat, approve=True)
    waiting = await memory.admin.proposals(user="alice")
    await memory.admin.accept([one.id for one in waiting], user="alice")
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.preview and report.work.superseded == 1 and "approve" in report.work.reason
    assert len(await current(memory)) == 6


async def test_a_wrong_verdict_ends_nothing_that_the_rules_protect():
    plan = noted("The user plans to move to Rome.")
    hearsay = noted("Bo says the user lives in Paris.")
    facts = [LIVES, TEA, plan, hearsay, noted("The user's sister lives in Berlin.", about="Ida")]
    wrong = [(0, 2, "ends"), (0, 3, "ends"), (0, 4, "ends"), (1, 2, "ends")]
    chat = Judge(wrong, facts)
    memory = await learned(chat, facts=facts)
    report = await memory.admin.audit(user="alice", ask=3)
    assert len(await current(memory)) == 5 and report.work.superseded == 0
    assert report.work.rejected["wrong_verdict"] == len(report.work.actions) >= 1
    line = report.work.actions[0]
    assert (line["action"], line["why"], line["quotes"]) == ("rejected", "wrong_verdict (ends)", [LIVES["text"]])
    assert (await memory.admin.status())["facts"]["wrong_verdict"] >= 1


async def test_a_budget_that_is_used_up_ends_it():
    chat = Judge([ENDS])
    memory = await learned(
        chat, chat={"base_url": "http://127.0.0.1:9/v1", "model": "m", "budget": {"calls_per_day": 1}}
    )
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.errors == {"budget_spent": 1} and report.work.pending >= 2 and not report.work.done
    assert "calls_per_day" in report.work.reason and len(await current(memory)) == 6
    assert "audit" not in (await memory.admin.status())["costs"], "no call was made"


async def test_calls_and_tokens_are_counted():
    memory = await learned(Judge([ENDS]))
    report = await memory.admin.audit(user="alice", ask=3)
    costs = (await memory.admin.status(user="alice"))["costs"]["audit"]
    assert costs["calls"] == report.work.calls == 2 and costs["tokens"] > 0
    assert report.work.prompt_characters and (await memory.admin.status())["usage_by_operation"]["audit"]["calls"] == 2


async def test_a_reply_that_forgets_a_pair_or_names_another_is_of_no_use():
    class Forgetful(Judge):
        def _judgement(self, pairs):
            return {"relations": [], "none": [1]}

    memory = await learned(Forgetful([]))
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.errors == {"model_reply": 1} and report.work.done == 0


async def test_words_that_are_not_of_the_earlier_fact_prove_nothing():
    class Misled(Judge):
        def _judgement(self, pairs):
            told = [{"k": one["k"], "words": "no such words", "relation": "ends", "rest": ""} for one in pairs]
            return {"relations": [*told, {"k": 99, "words": "x y", "relation": "ends", "rest": ""}], "none": []}

    memory = await learned(Misled([]))
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.rejected == {"wrong_known": report.work.done + 1} and len(await current(memory)) == 6


async def test_what_is_said_once_is_a_guess():
    class Guessing(Judge):
        def _relation(self, old, new):
            return ("ends", "refines")[len(self.asked) % 2] if self.judging else "unrelated"

    memory = await learned(Guessing([]))
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.rejected == {"not_said_twice": report.work.done} and len(await current(memory)) == 6
    assert (await memory.admin.status())["facts"]["wrong_verdict"] == report.work.done


async def test_a_model_that_guesses_is_stopped():
    facts = [noted(f"The user lives in {city}.") for city in ("Bonn", "Graz", "Rome", "Oslo", "Bern", "Linz", "Cork")]

    class Guessing(Judge):
        def _relation(self, old, new):
            return ("was", "refines")[len(self.asked) % 2] if self.judging else "unrelated"

    memory = await learned(Guessing([], facts), facts=facts * 2)
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.errors == {"weak_model": 1}
    assert "wrong_verdict" in report.work.reason and "chat.model" in report.work.reason


async def test_one_answer_ends_three_facts_at_most_and_the_next_the_others():
    homes = [noted(f"The user lives in {city}.") for city in ("Bonn", "Graz", "Rome", "Oslo", "Bern", "Linz")]
    chat = Judge([(old, 5, "ends") for old in range(5)], homes)
    memory = await learned(chat, facts=homes)
    report = await memory.admin.audit(user="alice", ask=1)
    assert report.work.superseded == 3
    report = await memory.admin.audit(user="alice", ask=1)
    assert report.work.superseded == 2 and await current(memory) == ["The user lives in Linz."]


async def test_bad_input_and_no_model_say_what_to_do():
    memory = AsyncMemoryScope(":memory:", settings=SETTINGS)
    with pytest.raises(ConfigError, match="chat"):
        await memory.admin.audit(user="alice", ask=1)
    for wrong in (0, True, "all", 1_001):
        with pytest.raises(InputError, match="ask"):
            await memory.admin.audit(user="alice", ask=wrong)
    with pytest.raises(InputError, match="ask=1"):
        await memory.admin.audit(user="alice", preview=True)
    assert await memory.admin.audit(user="alice") == []
    await memory.close()


async def test_an_error_of_ones_own_model_is_told_by_its_type():
    memory = await learned(Judge([]))

    async def careless(*args, **kwargs):
        raise KeyError("I live in Berlin")

    memory.admin.runtime.services.chat.chat = careless
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.errors == {"model": 1} and report.work.pending
    assert "failed: KeyError" in report.work.reason and "Berlin" not in report.work.reason


async def test_an_outage_is_told_by_its_code():
    memory = await learned(Judge([]))

    async def slow(*args, **kwargs):
        raise ModelTimeout("slow")

    memory.admin.runtime.services.chat.chat = slow
    report = await memory.admin.audit(user="alice", ask=3)
    assert report.work.errors == {"model_timeout": 1} and report.work.pending
