"""Words that are no fact about anybody: code, plots, pasted documents."""

from __future__ import annotations

import pytest

from workbench import fact, noted


@pytest.mark.parametrize(
    "said, words",
    [
        ("Why does this fail?\n```python\nowner = 'Anna lives in Rome'\n```\nThanks", "Anna lives in Rome"),
        ("这段为什么报错？\n```\nname = '小安住在罗马'\n```", "小安住在罗马"),
    ],
)
async def test_code_is_no_fact_about_anybody(world, said, words):
    await world.say(said)
    report = await world.consolidate(noted(fact(f"{words}.", words, about="Anna"), levels=[1]))
    assert (report.new, dict(report.rejected), report.pending) == (0, {"code": 1}, 0)


async def test_what_is_said_beside_code_is_a_fact(world):
    await world.say("I live in Rome.\n```\nI live in Rome\n```")
    report = await world.consolidate(noted(fact("The user lives in Rome.", "I live in Rome")))
    assert report.new == 1


@pytest.mark.parametrize(
    "said, noted_as",
    [
        ("In Titanic, Rose is engaged to Cal but loves Jack", "Rose is engaged to Cal."),
        ("From the contract: The tenant pays 900 euros a month", "The tenant pays 900 euros a month."),
        ("《泰坦尼克号》里露丝和卡尔订了婚", "露丝和卡尔订了婚。"),
    ],
)
async def test_a_films_plot_and_a_pasted_document_are_facts_about_nobody(world, said, noted_as):
    await world.say(said)
    report = await world.consolidate(noted(fact(noted_as, said, about="Rose", level=1), levels=[1]))
    assert (report.new, dict(report.rejected), report.pending) == (0, {"level": 1}, 0)
