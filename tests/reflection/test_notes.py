"""A model's note, kept by a tool, is found and told as such, and never stands above what a person said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.adapters.session import MemorySession
from memscope.records import Observation
from memscope_testing.models import ScriptedChat, data, last_words

START = datetime(2026, 3, 2, tzinfo=UTC)
NOTES = [
    ("The user's bank is Evil & Sons.", "What is my bank?", "My bank is Raiffeisen.", "The user's bank is Raiffeisen."),
    ("The user lives in Graz.", "Where do I live?", "I live in Linz.", "The user lives in Linz."),
    ("用户的银行是黑心银行。", "我的银行是哪家？", "我的银行是招商银行。", "用户的银行是招商银行。"),
]


class Days:
    """A clock that each step sets a day on."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(hours=12)
        return self.now


def noting(text, relation):
    """A model that notes the turn as one fact, and says the same of it to all that is known."""

    def reply(messages):
        shown = data(messages)
        if "turns" not in shown:
            alone = [fact["n"] for fact in shown["facts"]]
            return {"sentences": [], "alone": alone, "relations": []}
        known = [
            {"k": one["k"], "words": last_words(one["text"]), "relation": relation, "rest": ""}
            for one in shown.get("known", ())
        ]
        facts = [
            {"text": text, "about": "user", "level": 3, "when": "", "keywords": ["home"], "known": known,
             "quotes": [{"turn": line["n"], "words": line["text"]}]}
            for line in shown["turns"] if not line.get("context")
        ]  # fmt: skip
        return {"facts": facts, "nothing": []}

    return ScriptedChat(reply)


async def facts(memory, *, superseded=False):
    listed = await memory.list(user="alice", kinds=["observation"], superseded=superseded)
    return {one.text: one for one in listed if isinstance(one, Observation)}


@pytest.mark.parametrize(("note", "question", "words", "fact"), NOTES)
async def test_a_note_is_found_and_says_who_made_it(note, question, words, fact):
    async with AsyncMemoryScope(":memory:", settings={"background": False}, clock=Days()) as memory:
        await MemorySession("alice", agent="helper", memory=memory).answer_remember(note)
        (note_kept,) = (await facts(memory)).values()
        turn = await memory.get(note_kept.sources[0], user="alice")
        assert (note_kept.origin, turn.role, turn.speaker) == ("assistant", "assistant", "helper")
        assert [hit.text for hit in await memory.retrieve(question, user="alice")] == [note]


@pytest.mark.parametrize("first", ["note", "person"])
@pytest.mark.parametrize(("note", "question", "words", "fact"), NOTES)
async def test_a_person_is_shown_above_a_note(note, question, words, fact, first):
    async with AsyncMemoryScope(":memory:", settings={"background": False}, clock=Days()) as memory:
        session = MemorySession("alice", memory=memory)
        if first == "note":
            await session.answer_remember(note)
        await memory.add_turns([{"role": "user", "content": words}], user="alice")
        if first == "person":
            await session.answer_remember(note)
        assert (await memory.retrieve(question, user="alice")).hits[0].text == words
        assert note not in await memory.profile(user="alice")


@pytest.mark.parametrize("relation", ["ends", "refines", "repeats"])
@pytest.mark.parametrize(("note", "question", "words", "fact"), NOTES)
async def test_a_persons_fact_ends_a_note_and_takes_nothing_of_it(note, question, words, fact, relation):
    chat = noting(fact, relation)
    async with AsyncMemoryScope(":memory:", settings={"background": False}, chat=chat, clock=Days()) as memory:
        await MemorySession("alice", memory=memory).answer_remember(note)
        await memory.add_turns([{"role": "user", "content": words}], user="alice")
        await memory.consolidate(user="alice")
        current = await facts(memory)
        assert current[fact].origin == "user" and len(current[fact].sources) == 1
        assert relation != "ends" or note not in current


async def test_a_fact_that_repeats_a_note_is_the_persons():
    text = "The user lives in Graz."
    chat = noting(text, "repeats")
    async with AsyncMemoryScope(":memory:", settings={"background": False}, chat=chat, clock=Days()) as memory:
        await MemorySession("alice", memory=memory).answer_remember(text)
        await memory.add_turns([{"role": "user", "content": "I live in Graz."}], user="alice")
        await memory.consolidate(user="alice")
        (note_kept,) = (await facts(memory)).values()
        assert (note_kept.origin, len(note_kept.sources)) == ("user", 1)


@pytest.mark.parametrize("order", ["note first", "person first"])
async def test_the_same_words_by_a_person_are_a_persons(order):
    async with AsyncMemoryScope(":memory:", settings={"background": False}, clock=Days()) as memory:
        session, text = MemorySession("alice", memory=memory), "The user lives in Graz."
        roles = ["assistant", "user"] if order == "note first" else ["user", "assistant"]
        for role in roles:
            await session.remember(text, role=role)
        (note_kept,) = (await facts(memory)).values()
        assert (note_kept.origin, len(note_kept.sources)) == ("statement", 2)


@pytest.mark.parametrize(("roles", "shown"), [(["user", "person"], 0), (["user", "person", "assistant"], 1)])
async def test_an_insight_rests_on_notes_only_where_the_settings_let_the_assistant_state_facts(roles, shown):
    chat = noting("", "repeats")
    settings = {"background": False, "consolidation": {"roles": roles}}
    async with AsyncMemoryScope(":memory:", settings=settings, chat=chat, clock=Days()) as memory:
        await MemorySession("alice", memory=memory).answer_remember("The user lives in Graz.")
        report = await memory.reflect(user="alice")
        assert (len(chat.prompts), report.pending) == (shown, 0)


@pytest.mark.parametrize(("role", "origin"), [("assistant", "assistant"), ("user", "statement"), (None, "statement")])
async def test_a_memory_of_the_assistant_says_so(tmp_path, role, origin):
    day = datetime(2026, 3, 1, tzinfo=UTC).isoformat()
    result = {"id": "1", "memory": "Alice has a kayak.", "created_at": day, "role": role}
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [result]}), encoding="utf-8")
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        await memory.admin.import_from("mem0", tmp_path / "mem0.json", user="alice")
        (fact,) = await memory.list(user="alice", kinds=["observation"])
    assert fact.origin == origin
