"""Verdicts of a model that the rules stop, and those that they must let pass."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memscope.reconciliation.settlement import with_details
from memscope.reconciliation.subjects import People
from memscope.reconciliation.supersession import apply_ends
from memscope.reconciliation.vetoes import RECURS, allowed_verdict
from memscope.records import Interval, Observation, Scope, Supersession

EARLIER, LATER = datetime(2026, 3, 10, 9, tzinfo=UTC), datetime(2026, 4, 12, 9, tzinfo=UTC)


def noted(text, *keywords, about="user", said=LATER, when=None, **more):
    records = {"id": text, "scope": Scope("a"), "text": text, "sources": (text,), "said": said, "recorded": said}
    return Observation(**records, about=about, keywords=keywords, happened=when, **more)


def closes(new, old):
    """Return whether a model that says "ends" closes the old fact."""
    return allowed_verdict("ends", new, old) == "ends" and isinstance(apply_ends(new, old, LATER), Supersession)


YEAR = Interval(datetime(2010, 1, 1, tzinfo=UTC), datetime(2011, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "new, old",
    [
        (noted("The user lived in Paris in 2010.", "home", when=YEAR), noted("The user lives in Berlin.", "home")),
        (
            noted("The user plays tennis at the Siemens club.", "sport", "tennis"),
            noted("The user works at Siemens.", "work"),
        ),
        (noted("用户2010年住在巴黎。", "住处", when=YEAR), noted("用户住在柏林。", "住处")),
        (noted("用户在西门子俱乐部打网球。", "运动", "网球"), noted("用户在西门子工作。", "工作")),
    ],
)
def test_a_wrong_end_closes_nothing(new, old):
    assert not closes(new, old)


MONDAY, FRIDAY = (
    Interval(datetime(2026, 4, day, tzinfo=UTC), datetime(2026, 4, day + 1, tzinfo=UTC)) for day in (6, 10)
)


@pytest.mark.parametrize("verdict", ["repeats", "refines"])
@pytest.mark.parametrize(
    ("text", "days", "more", "merged"),
    [
        ("The user swam two kilometres.", (MONDAY, FRIDAY), {}, False),
        ("The user swam two kilometres.", (MONDAY, MONDAY), {}, True),
        ("The user swam two kilometres.", (MONDAY, None), {}, True),
        ("The user swims with Ole.", (MONDAY, FRIDAY), {"data": {RECURS: "weekly"}}, True),
        ("用户游了两公里。", (MONDAY, FRIDAY), {}, False),
        ("用户游了两公里。", (FRIDAY, FRIDAY), {}, True),
    ],
)
def test_events_of_two_days_are_two_unless_they_recur(verdict, text, days, more, merged):
    old, new = (noted(text, "sport", "swimming", when=when, **more) for when in days)
    assert (allowed_verdict(verdict, new, old) != "unrelated") is merged


@pytest.mark.parametrize(
    "new, old, closed",
    [
        (noted("Zqx vrk.", "zqx"), noted("Plm bbt.", "plm"), False),  # of no topic at all
        (noted("The user swims.", "sport"), noted("The user runs marathons.", "training"), True),
        (noted("The dentist moved to Berlin.", "health"), noted("The user is a nurse.", "work"), False),
    ],
)
def test_facts_of_no_topic_in_common_end_nothing(new, old, closed):
    assert closes(new, old) == closed


@pytest.mark.parametrize("verdict", ["repeats", "refines"])
@pytest.mark.parametrize(
    "new, old, merged",
    [
        (noted("The user has been married to Delphine since 2011.", "family", "marriage"),
         noted("The user is expecting triplets.", "family", "triplets"), False),
        (noted("用户结婚十年了。", "家人", "婚姻"), noted("用户的弟弟会游泳。", "家人", "弟弟"), False),
        (noted("The wedding was in 2011.", "family", "marriage"),
         noted("The user married Delphine.", "family", "marriage"), True),
        (noted("The user has a wife, Delphine.", "family"), noted("The user has a wife.", "family"), True),
    ],
)  # fmt: skip
def test_a_field_in_common_merges_nothing(verdict, new, old, merged):
    assert (allowed_verdict(verdict, new, old) != "unrelated") == merged


@pytest.mark.parametrize(
    "text, hearsay",
    [
        ("Ned said the user lives in Bath.", True),
        ("Ned said yes and the user and Ned are partners.", False),
        ("Ned said goodbye to the shop and the user took it over.", False),
        ("内德说用户住在烟台。", True),
        ("医生说不能吃海鲜。", True),
        ("朋友说好吃。", True),
        ("用户把小说的主角改了名字。", False),
        ("他们说好婚礼只花八万。", False),
        ("大家说定周五出发。", False),
        ("店里的人说话很快。", False),
    ],
)
def test_what_is_hearsay_ends_nothing(text, hearsay):
    told = text.split("said ")[-1].split("说")[-1]
    assert closes(noted(text), noted(told, said=EARLIER)) is not hearsay


@pytest.mark.parametrize(
    "old, old_about, new, new_about, one_matter",
    [
        ("Ann is allergic to eggs, Ben is not.", "Ann", "Ben cannot eat eggs, Ann can.", "Ben", True),
        ("大宝对鸡蛋过敏，二宝没事。", "大宝", "二宝碰不得鸡蛋，大宝能吃。", "二宝", True),
        ("The user is married to Ben.", "user", "Ben told the user a joke.", "Ben", False),
    ],
)
def test_two_people_who_were_taken_for_each_other(old, old_about, new, new_about, one_matter):
    assert closes(noted(new, about=new_about), noted(old, about=old_about, said=EARLIER)) is one_matter


@pytest.mark.parametrize(
    "old, new, about, closed",
    [
        ("The user shares a flat with Kavi.", "Kavi moved out on Saturday.", "Kavi", True),
        ("The user takes piano lessons from Mia.", "Mia no longer teaches the piano.", "Mia", True),
        ("Ann shares a studio with Ben.", "Ben has moved out of the studio.", "Ben", True),
        ("用户和小李合租。", "小李搬走了，不再合租。", "小李", True),
        ("用户跟王老师学钢琴。", "王老师不教钢琴了。", "王老师", True),
        ("The user shares a flat with Kavi.", "Kavi cooks in the flat.", "Kavi", False),
        ("The user shares a flat with Kavi.", "Mia moved out of the flat.", "Mia", False),
        ("The user shares a flat with Kavi.", "Kavi gave up smoking.", "Kavi", False),
        ("用户和小李合租。", "小李会做饭。", "小李", False),
        ("用户和小李合租。", "小李戒了烟。", "小李", False),
    ],
)
def test_what_is_over_with_somebody_ends_what_the_user_did_with_them(old, new, about, closed):
    keyword = "health" if "smoking" in new or "烟" in new else "home"
    assert closes(noted(new, keyword, about=about), noted(old, "home", said=EARLIER)) is closed


@pytest.mark.parametrize(
    "old, new, closed",
    [
        ("The physio Ruth allows the user no hammering above 2 kg.", "Ruth says the user can hammer 3 kg.", True),
        ("张医生让用户忌口海鲜。", "张医生说用户可以吃海鲜了。", True),
        ("Dr. Lee allows no hammering above 2 kg.", "Ruth says the user can hammer 3 kg.", False),
        ("张医生让用户忌口海鲜。", "李医生说用户可以吃海鲜了。", False),
    ],
)
def test_hearsay_ends_what_the_same_person_said(old, new, closed):
    assert closes(noted(new, "health"), noted(old, "health", said=EARLIER)) is closed


@pytest.mark.parametrize("text", ["The user said their home is in Rome.", "用户说自己的家在罗马。"])
def test_what_the_user_says_is_no_hearsay_under_whatever_name_they_are_known(text):
    old = noted("Craig Lee's home is in Berlin.", "home", about="Craig Lee", said=EARLIER)
    new = noted(text, "home")
    assert allowed_verdict("ends", new, old, People(frozenset({"craig lee"}))) == "ends"


@pytest.mark.parametrize(
    ("verdict", "new", "old", "counts"),
    [
        ("ends", "tool", "user", False),
        ("refines", "tool", "user", False),
        ("repeats", "tool", "user", True),
        ("was", "tool", "user", True),
        ("ends", "user", "tool", True),
        ("refines", "user", "tool", True),
        ("ends", "tool", "assistant", True),
    ],
)
def test_what_a_machine_noted_neither_ends_nor_refines_what_a_person_said(verdict, new, old, counts):
    note, fact = (
        noted("The user lives in Rome.", origin=new),
        noted("The user lives in Berlin.", origin=old, said=EARLIER),
    )
    assert (
        allowed_verdict(verdict, replace(note, text=fact.text) if verdict == "repeats" else note, fact) == verdict
    ) is counts


@pytest.mark.parametrize(
    ("text", "part", "whole"),
    [
        ("The user's dog Rex is brown.", "The user keeps a pet at home.", "The user's dog Rex is brown."),
        ("The user's dog Rex is brown.", "The user keeps a pet from Leeds.",
         "The user's dog Rex is brown. The user keeps a pet from Leeds."),
        ("The user bakes rye bread every week.", "The user likes working with dough.",
         "The user bakes rye bread every week."),
        ("用户的狗雷克斯是棕色的。", "用户在家里养宠物。", "用户的狗雷克斯是棕色的。"),
        ("用户的狗雷克斯是棕色的。", "用户养了2只宠物。", "用户的狗雷克斯是棕色的。用户养了2只宠物。"),
    ],
)  # fmt: skip
def test_a_refined_fact_is_kept_beside_the_new_one_only_for_its_names_and_numbers(text, part, whole):
    assert with_details(text, part) == whole
