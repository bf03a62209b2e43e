"""Verdicts of a model that the rules stop, and those that they must let pass."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope.reconciliation.supersession import ended
from memscope.reconciliation.vetoes import weighed
from memscope.records import Interval, Observation, Scope, Supersession

EARLIER, LATER = datetime(2026, 3, 10, 9, tzinfo=UTC), datetime(2026, 4, 12, 9, tzinfo=UTC)


def noted(text, *keywords, about="user", said=LATER, when=None):
    records = {"id": text, "scope": Scope("a"), "text": text, "sources": (text,), "said": said, "recorded": said}
    return Observation(**records, about=about, keywords=keywords, happened=when)


def closes(new, old):
    """Return whether a model that says "ends" closes the old fact."""
    return weighed("ends", new, old) == "ends" and isinstance(ended(new, old, LATER), Supersession)


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
    assert (weighed(verdict, new, old) != "unrelated") == merged


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
    old = noted(text, said=EARLIER)
    assert closes(noted(text), old) is not hearsay


@pytest.mark.parametrize(
    "old, old_about, new, new_about, one_matter",
    [
        ("Ann is allergic to eggs, Ben is not.", "Ann", "Ben cannot eat eggs, Ann can.", "Ben", True),
        ("大宝对鸡蛋过敏，二宝没事。", "大宝", "二宝碰不得鸡蛋，大宝能吃。", "二宝", True),
        ("Ann shares a studio with Ben.", "Ann", "Ben has moved out.", "Ben", False),
        ("The user is married to Ben.", "user", "Ben told the user a joke.", "Ben", False),
    ],
)
def test_two_people_who_were_taken_for_each_other(old, old_about, new, new_about, one_matter):
    assert closes(noted(new, about=new_about), noted(old, about=old_about, said=EARLIER)) is one_matter
