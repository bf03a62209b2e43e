"""Whom facts are about, under several names; and what is left of a fact that another replaces."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope.reconciliation.settlement import remainder, with_details
from memscope.reconciliation.subjects import People, covers, may_meet, meet, user_names
from memscope.records import Interval, Observation, Scope

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)


def about(name, text="x"):
    return Observation(id=text, scope=Scope("a"), text=text, sources=("t",), said=NOW, recorded=NOW, about=name)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Anna", "anna"),
        ("Anna", "Anna Schmidt"),
        ("Mel and Bo", "Bo"),
        ("张曼婷", "曼婷"),
        ("小美和阿波", "阿波"),
        ("Anna, Ben & Cy", "Cy"),
    ],
)
def test_these_may_be_one(one, other):
    assert meet(about(one), about(other))


@pytest.mark.parametrize(
    "one, other",
    [
        ("Anna", "Ann"),
        ("user", "Craig"),
        ("张曼婷", "张曼玉"),
        ("user", "the user's cat"),
        ("user", "power user"),
        ("婷", "张曼婷"),
    ],
)
def test_these_are_two(one, other):
    assert not meet(about(one), about(other))


def test_only_who_speaks_of_all_ends_what_is_known_of_all():
    assert covers(about("Mel and Bo"), about("Bo"))
    assert not covers(about("Bo"), about("Mel and Bo"))
    assert not covers(about(""), about("Bo"))


@pytest.mark.parametrize(
    "text, names",
    [
        ("The user's name is Craig.", {"craig"}),
        ("The user is called Anna Schmidt.", {"anna schmidt"}),
        ("用户叫张曼婷。", {"张曼婷"}),
        ("The user is tired.", set()),
        ("Anna's name is Annie.", set()),
    ],
)
def test_the_users_own_names(text, names):
    assert user_names([about("user", text)]) == names


def test_a_fact_about_the_user_by_name_is_about_the_user():
    assert may_meet(about("user"), about("Anna Schmidt"), People(frozenset({"anna schmidt"})))
    assert not may_meet(about("user"), about("Anna Schmidt"), People(frozenset({"bo"})))


def test_the_rest_of_a_list_is_a_fact_of_its_own_with_the_same_source():
    old = about("repo", "The repository has 80 commits and 5 branches.")
    rest = remainder(old, "The repository has 5 branches.", NOW)
    assert rest is not None
    assert (rest.text, rest.sources, rest.said, rest.id != old.id) == (
        "The repository has 5 branches.",
        ("t",),
        NOW,
        True,
    )
    assert remainder(old, "The repository has 5 branches.", NOW) == rest


@pytest.mark.parametrize(
    "text, rest, dated",
    [
        ("The rent is 1,150; it is to be 1,290 from January 2027.", "The rent is 1,150.", False),
        ("The rent is 1,150; it is to be 1,290 from January 2027.", "It is to be 1,290 from January 2027.", True),
        ("用户心悸，刘大夫说三个月内不能碰咖啡。", "用户心悸。", False),
        ("The user moved and has a garden.", "The user has a garden.", True),
    ],
)
def test_the_rest_of_a_fact_has_its_time_only_where_it_names_one(text, rest, dated):
    begin = datetime(2027, 1, 1, tzinfo=UTC)
    plan = replace(about("user", text), happened=Interval(begin, begin + timedelta(days=31)), valid_from=begin)
    kept = remainder(plan, rest, NOW)
    assert kept is not None
    assert (kept.happened is not None, kept.valid_from is not None) == (dated, dated)


@pytest.mark.parametrize("rest", ["", "The user lives in Rome.", "The repository has 80 commits and 5 branches."])
def test_a_rest_that_the_old_fact_does_not_say_is_none(rest):
    assert remainder(about("repo", "The repository has 80 commits and 5 branches."), rest, NOW) is None


@pytest.mark.parametrize(
    "text, part, rest, whole",
    [
        ("The user has a dog named Max.", "The user has a dog.", "", "The user has a dog named Max."),
        (
            "The user went hiking with Nora.",
            "The user went hiking in Wales.",
            "",
            "The user went hiking with Nora. The user went hiking in Wales.",
        ),
        (
            "The user has a dog named Max.",
            "The user has an old brown dog.",
            "The user has a brown dog.",
            "The user has a dog named Max. The user has a brown dog.",
        ),
        ("用户和小雨去爬山。", "用户花了3小时去爬山。", "", "用户和小雨去爬山。用户花了3小时去爬山。"),
    ],
)
def test_details_of_the_replaced_sentence_are_kept(text, part, rest, whole):
    assert with_details(text, part, rest) == whole


def test_two_sentences_that_would_be_too_long_stay_apart():
    assert with_details("a" * 500, f"The user saw {'Rome ' * 30}") is None
