"""A question that describes somebody or something is answered by lines that name it."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Retrieval

SMALL_TALK = (
    "It rained all day.",
    "The kettle is broken again.",
    "What a long queue at the till.",
    "Nice weather now.",
)


async def _asked(said: list[str], question: str, agents: tuple[str, ...] = (), **scope: str) -> Retrieval:
    """``agents``: those of the first turns; the others are "mine"."""
    async with AsyncMemoryScope(":memory:") as memory:
        for n, text in enumerate([*said, *(f"{text} ({n})" for n, text in enumerate(SMALL_TALK * 5))]):
            agent = agents[n] if n < len(agents) else "mine"
            await memory.add_turns([{"role": "user", "content": text}], user="alice", agent=agent, session=str(n))
        return await memory.retrieve(question, user="alice", k=5, explain=True, **scope)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        (
            ["My friend Liam started at Globex in spring.", "Got a postcard from Liam, he has settled down in Oslo."],
            "Which city does my friend at Globex live in?",
        ),
        (
            ["我那个教书的哥们叫陶然", "陶然搬到东莞去了"],
            "我那个教书的哥们在哪座城市？",
        ),
        (
            ["I work as a structural engineer at Arup.", "I left Arup last week and started at Foster."],
            "Where do I work now?",
        ),
        (
            ["Kim adopted a parrot named Rumpel.", "Kim has settled down in Oslo."],
            "Where does Rumpel live?",
        ),
        (
            ["陶然养了只猫叫团团。", "陶然搬到东莞去了"],
            "团团住在哪座城市？",
        ),
        (
            ["我在华为做结构工程师。", "我上周离开华为，去了小米。"],
            "我现在在哪里上班？",
        ),
    ],
)
async def test_lines_about_whom_the_best_hit_names_are_found(said: list[str], question: str) -> None:
    found = await _asked(said, question)
    assert {said[0], said[1]} <= {hit.text for hit in found}


async def test_a_question_by_name_is_not_widened() -> None:
    said = ["Liam works with Olga.", "Olga plays chess."]
    found = await _asked(said, "Where does Liam work?")
    assert found[0].text == said[0] and found.explanation.startswith("2 terms")


async def test_a_name_in_another_agents_turn_does_not_exist() -> None:
    said = ["My friend Liam started at Globex.", "Liam has settled down in Oslo."]
    question = "Which city does my friend at Globex live in?"
    mine = await _asked(said, question, ("mine", "other"), agent="mine")
    both = await _asked(said, question, ("mine", "other"))
    assert [said[1] in [hit.text for hit in found] for found in (mine, both)] == [False, True]


@pytest.mark.parametrize(
    "said",
    [
        ["Mark adopted a parrot named Rumpel.", "Please mark the exams by Friday."],
        ["Will Smith adopted a parrot named Rumpel.", "The smith will shoe the horse."],
    ],
)
async def test_a_line_with_the_name_as_a_common_word_is_not_brought(said: list[str]) -> None:
    assert [hit.text for hit in await _asked(said, "Where does Rumpel live?")] == said[:1]
