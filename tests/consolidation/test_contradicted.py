"""Facts that drop a "not", make a relative's matter the user's, or name a person whom nobody named."""

from __future__ import annotations

import pytest

from memscope_testing.models import ScriptedChat

from workbench import fact, noted

WRONG = [
    ("I don't smoke anymore.", "The user smokes."),
    ("I dont have a car", "The user has a car."),
    ("I’m not allergic to peanuts.", "The user is allergic to peanuts."),
    ("I no longer work at Siemens, thank god.", "The user works at Siemens."),
    ("My brother has a dog called Rex.", "The user has a dog called Rex."),
    ("My wife is allergic to peanuts.", "The user is allergic to peanuts."),
    ("我不吃花生。", "用户吃花生。"),
    ("我从来不喝酒。", "用户喝酒。"),
    ("我沒有車。", "用户有车。"),
    ("我哥哥养了一只狗。", "用户养了一只狗。"),
    ("我老婆对花生过敏。", "用户对花生过敏。"),
]
INVENTED = [
    ("I live in Bern.", "The user lives in Bern with Anna Schmidt."),
    ("我住在北京。", "用户和王芳住在北京。"),
]
RIGHT = [
    ("I couldn't love Rome more.", "The user loves Rome."),
    ("Don't forget I'm allergic to nuts!", "The user is allergic to nuts."),
    ("No, I live in Bern.", "The user lives in Bern."),
    ("No I live in Bern.", "The user lives in Bern."),
    ("I'm not only a nurse but also a painter.", "The user is a nurse and a painter."),
    ("I don't like my job at Siemens.", "The user has a job at Siemens."),
    ("I don't drink coffee after 3.", "The user drinks coffee before 3."),
    ("I didn't learn to swim until I was 30.", "The user learned to swim at 30."),
    ("I didn't move to Rome for the food.", "The user moved to Rome."),
    ("I don't smoke. Well, I do smoke at parties.", "The user smokes."),
    ("I used to smoke, not anymore.", "The user used to smoke."),
    ("My brother gave me a dog called Rex.", "The user has a dog called Rex."),
    ("My brother Tom lives in Rome.", "The user's brother Tom lives in Rome."),
    ("My mother tongue is French.", "The user's mother tongue is French."),
    ("My sister Liz is a nurse.", "The user's sister Elizabeth is a nurse."),
    ("我不得不搬到上海。", "用户搬到了上海。"),
    ("别忘了我对花生过敏。", "用户对花生过敏。"),
    ("我不是不爱吃辣。", "用户爱吃辣。"),
    ("我不只会英语，还会法语。", "用户会英语和法语。"),
    ("我妈妈给我买了一只狗。", "用户有一只狗。"),
    ("我家养了一只狗。", "用户养了一只狗。"),
    ("張偉是我的老闆。", "张伟是用户的老板。"),
]


@pytest.mark.parametrize(
    ("said", "noted_text", "why"),
    [*((*pair, "contradicted") for pair in WRONG), *((*pair, "unknown_name") for pair in INVENTED)],
)
async def test_a_fact_that_its_turn_contradicts_is_no_fact(world, said, noted_text, why):
    await world.say(said)
    await world.say("I keep bees.")
    bees = fact("The user keeps bees.", (2, "I keep bees"))
    report = await world.consolidate(noted(fact(noted_text, (1, said)), bees, levels=(3, 3)))
    assert (await world.texts(), dict(report.rejected)) == (["The user keeps bees."], {why: 1})


@pytest.mark.parametrize(("said", "noted_text"), RIGHT)
async def test_a_fact_in_other_words_than_its_turn_is_one(world, said, noted_text):
    await world.say(said)
    await world.consolidate(noted(fact(noted_text, (1, said))))
    assert await world.texts() == [noted_text]


async def test_the_words_around_a_quote_count(world):
    await world.say("I am not allergic to peanuts.")
    wrong = noted(fact("The user is allergic to peanuts.", (1, "allergic to peanuts")))
    right = noted(fact("The user is not allergic to peanuts.", (1, "not allergic to peanuts")))
    report = await world.consolidate(chat=ScriptedChat([wrong, right]))
    assert (await world.texts(), report.calls) == (["The user is not allergic to peanuts."], 2)


async def test_a_user_who_is_named_in_traditional_characters_is_the_user(world):
    await world.say("我住在臺北。")
    await world.consolidate(noted(fact("用戶住在臺北。", (1, "我住在臺北"), about="用戶")))
    (memory,) = await world.memories()
    assert memory.about == "user"
