"""Facts that may have changed since they were said are marked as old; lasting ones never are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Insight, Interval, Observation, Scope, Sentence
from memscope.retrieval.ages import age_mark

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=426)

CHANGES = [
    "The user lives in Graz.", "The user's flat is in Linz.", "Anna lives with her parents in Rome.",
    "The user works at Siemens as an engineer.", "Tom is a nurse at the city hospital.",
    "The user is looking for a job.",
    "The user has diabetes.", "The user is on medication against migraine.", "The user's rent is 900 euros.",
    "The user plans to learn Spanish.", "The user wants to sell the car.", "The user has been working from home.",
    "用户住在苏州。", "小安住在上海。", "用户在西门子工作。", "用户是医生。", "用户打算学西班牙语。", "用户有糖尿病。",
    "用户的房租是3000元。", "用户正在找工作。",
]  # fmt: skip
LASTS = [
    "The user was born on 3 May 1990.", "The user's birthday is on 3 May.", "The user comes from Peru.",
    "The user likes pizza.", "The user is allergic to nuts.", "The user is called Maya.",
    "The user used to live in Rome.", "The user lived in Paris in 2010.", "The user saw a film.",
    "The user is vegetarian.", "Anna gave the user a clock.",
    "The user has two sisters.", "The user worked at Bosch until 2019.",
    "用户的生日是5月3日。", "用户喜欢比萨。", "用户对花生过敏。", "用户名叫陈美。", "用户以前住在罗马。",
    "用户曾在博世工作。", "用户看了一部电影。", "用户出生于1990年。", "用户有两个妹妹。",
]  # fmt: skip

MORE_CHANGES = [
    "Clara rents a studio above the library.", "The user makes 52,000 dollars a year.",
    "The user pays 30 pounds a week for parking.", "Ivo resides near the harbour.",
    "The user takes two blood pressure tablets a day.", "Clara studies law in Graz.",
    "The user's piano lessons are 35 euros each.", "The user runs a small guest house.",
    "The user will move to Oslo next year.", "Ivo is expecting a child.",
    "A seat at the co-working space costs 180 euros.", "The user likes the sea and lives in Split.",
    "克拉拉租了一间小工作室。", "伊沃每年赚20万元。", "停车费每周30元。", "用户每天吃降压药。",
    "克拉拉在格拉茨念法律。", "用户下个月就要搬去奥斯陆。", "用户的手腕扭伤了，还没好。", "用户经营一家小旅馆。",
    "Petra lodges with an aunt in Leeds.", "The user's mortgage is 1,100 euros a month.",
    "The user gets 700 euros of child benefit.", "Petra is on crutches.", "The user injects insulin twice a day.",
    "The user's gym membership costs 25 pounds.", "The user teaches chemistry at a grammar school.",
    "Marek is between jobs.", "The user is going to sell the boat.", "Petra is seven months pregnant.",
    "The user owes Marek 2,000 euros.", "The user drives a taxi at night.", "佩特拉和姑姑一起住在利兹。",
    "用户的房贷每月8000元。", "佩特拉拄着拐杖。", "用户每天注射两次胰岛素。", "健身卡一年1500元。",
    "用户在中学教化学。", "马雷克失业了。", "用户欠马雷克两万元。", "佩特拉怀孕七个月。", "用户快要卖掉那条船了。",
    "Nadia has moved in with her boyfriend.", "The user house-sits for a colleague.",
    "The user's landlord is Mr Weiss.", "Oskar is a self-employed plumber.",
    "The user's health insurance is 210 euros.", "Oskar does night shifts at the bakery.",
    "The user wears a knee brace.", "Nadia has a slipped disc.", "The user can't afford a car.",
    "Oskar is due to retire in spring.", "The user's visa fee is 80 dollars.", "娜迪亚搬去和男友同居了。",
    "用户的房东是魏先生。", "奥斯卡是个体户。", "用户的医保每月600元。", "奥斯卡上夜班。", "用户戴着护膝。",
    "用户买不起车。", "奥斯卡明年春天会退休。",
]  # fmt: skip
MORE_LASTS = [
    "Clara has green eyes.", "The user's favourite room is the kitchen.", "The user's blood type is O.",
    "The user is right-handed.", "The user paid 40 euros for the lamp.", "Ivo rented a car in Rome.",
    "Clara hates doctors.", "克拉拉的眼睛是绿色的。", "用户最喜欢的房间是厨房。", "用户花了40元买灯。",
    "用户的血型是O型。", "克拉拉讨厌医生。", "Petra has curly red hair.",
    "The user's favourite doctor on television is House.", "Marek is colour-blind.",
    "The user owed nobody anything in 2010.", "The user dislikes moving house.", "Petra once worked on a ship.",
    "The user spent 300 euros on shoes.", "The user's father came from Leeds.", "The user is 1.82 metres tall.",
    "佩特拉有一头红色卷发。", "用户最爱的电影是《医生》。", "马雷克是色盲。", "用户不喜欢搬家。",
    "佩特拉以前在船上工作过。", "用户买鞋花了300元。", "用户的父亲来自利兹。", "Nadia has dimples.",
    "The user adores old houses.", "The user's late grandmother was a doctor.", "Oskar bought a house in 2015.",
    "The user is afraid of spiders.", "Nadia moved to Rome in 2012.", "The user finds hospitals scary.",
    "娜迪亚有酒窝。", "用户很爱老房子。", "奥斯卡2015年买了房子。", "用户怕蜘蛛。", "用户觉得医院可怕。",
]  # fmt: skip


def fact(text, **more):
    shared = {"scope": Scope("alice"), "sources": ("t",), "said": LONG_AGO, "recorded": LONG_AGO}
    return Observation(id="o", text=text, **shared, **more)


def mark(memory, now=NOW):
    return age_mark(memory, memory.said, now)


@pytest.mark.parametrize("text", [*CHANGES, *MORE_CHANGES])
def test_what_may_have_changed_is_marked(text):
    assert mark(fact(text)) == (" (said 14 months ago)" if text.isascii() else "（14个月前说的）")
    assert mark(replace(fact(text), said=NOW - timedelta(days=90))) == ""


@pytest.mark.parametrize("text", [*LASTS, *MORE_LASTS])
def test_what_does_not_change_is_never_marked(text):
    assert mark(fact(text)) == ""


def test_a_dated_event_and_what_has_ended_are_not_marked():
    day = Interval(LONG_AGO, LONG_AGO + timedelta(days=1))
    assert mark(fact("The user is at the clinic in Graz.", happened=day)) == ""
    assert mark(fact("The user lives in Graz.", valid_to=NOW - timedelta(days=300))) == ""
    assert mark(fact("The user has lived in Graz since May.", happened=day)) != ""


def test_a_plan_for_a_day_that_is_not_past_may_have_changed():
    day = Interval(NOW + timedelta(days=9), NOW + timedelta(days=10))
    assert mark(fact("The user has a house viewing in Graz.", happened=day)) != ""
    assert mark(fact("The user plans to sail to Malta.", happened=day)) != ""


def test_an_insight_is_as_old_as_its_latest_fact():
    insight = Insight(
        id="i", scope=Scope("alice"), text="living situation: The user lives in Graz.", sources=("o",), said=LONG_AGO,
        recorded=NOW, subject="living situation",
    )  # fmt: skip
    assert mark(insight) == " (said 14 months ago)"
    assert mark(replace(insight, said=NOW)) == ""


def test_a_sentence_of_an_insight_that_says_it_is_past_does_not_change():
    plan, home = (
        Sentence("The user plans to sail to Malta. (now past)", ("o",)),
        Sentence("The user lives in Graz.", ("o",)),
    )
    cello = Sentence("The user likes the cello.", ("o",))
    insight = Insight(
        id="i", scope=Scope("alice"), text="life: x", sources=("o",), said=LONG_AGO, recorded=NOW, subject="life",
    )  # fmt: skip
    told = {some: mark(replace(insight, sentences=some)) != "" for some in ((plan, cello), (plan, home), (cello,))}
    assert [*told.values()] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        ("I live in Graz.", "Where does the user live?", "(said 14 months ago)"),
        ("我住在苏州。", "用户住在哪里？", "（14个月前说的）"),
    ],
)
async def test_a_line_says_how_old_it_is_until_it_is_confirmed(text, question, shown):
    async with AsyncMemoryScope(":memory:", settings={}, clock=lambda: NOW) as memory:
        await memory.add_memory(text, user="alice", time=LONG_AGO)
        assert shown in await memory.context(question, user="alice")
        assert shown not in await memory.context(question, user="alice", as_of=LONG_AGO + timedelta(days=2))
        await memory.add_memory(text, user="alice", session="later")
        assert shown not in await memory.context(question, user="alice")
