"""Queries as people type them into a chat: without capitals, apostrophes and vowels, with frequent mistakes."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages import main
from memscope.languages.durable_facts import MIN_STATEMENT_SCORE, statement_score
from memscope.languages.names import names
from memscope.languages.requests import need
from memscope.text.tokens import usual_spelling
from recorded import remarks

FACTS = ["Sorin, my lodger, is out on the night bus until six", "My birthday falls on the 9th of July",
         "I do the accounts for a cinema in Turku", "家里的网络账号是小刺猬"]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "usual"),
    [
        ("Wats my bday gift", "What's my birthday gift"),
        ("wheres the car n r u sure", "where's the car n are you sure"),
        ("im off tmrw w/ my gf, dont forget", "I'm off tomorrow with my girlfriend, don't forget"),
        ("which resturant did u reccomend 4 me?", "which restaurant did you recommend for me?"),
        ("俺滴帐号是神马", "我的账号是什么"),
        ("你晓得俺住那儿不", "你知道我住哪里不"),
    ],
)
def test_a_query_is_read_in_the_usual_spelling(typed, usual):
    assert usual_spelling(typed) == usual
    assert usual_spelling(usual) == usual


@pytest.mark.parametrize(
    "kept",
    ["r = 5, what is r squared?", "IM me", "mail u@x.com", "see www.u.com/4", "Qu'est-ce que tu manges ?", "阿拉伯"],
)
def test_what_only_looks_like_a_chat_spelling_stays(kept):
    assert usual_spelling(kept) == kept


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("when does sorin finish", "night bus"),
        ("wen is my bday", "9th of July"),
        ("wat do u know abt me", "accounts for a cinema"),
        ("俺滴网络帐号是神马", "小刺猬"),
    ],
)
def test_a_query_typed_in_a_hurry_finds_what_the_usual_one_does(query, wanted):
    with MemoryScope(":memory:", settings={}) as memory:
        others = remarks(query)
        said = [*others[:40], *FACTS, *others[40:80]]
        memory.add_turns([{"role": "user", "content": text} for text in said], user="alice", session="s")
        assert wanted in memory.context(query, user="alice")
        assert wanted not in memory.context(query, user="bob")


@pytest.mark.parametrize(
    ("message", "needs"),
    [
        ("for the tax advisor: what rent do i pay now", "user"),
        ("while i'm away: who feeds the cat", "user"),
        ("for x in range(9): print(x) is slow, why", "task"),
        ("def f(x): return x+1, why is this slow", "task"),
    ],
)
def test_a_line_that_begins_like_code_is_code_only_if_it_goes_on_so(message, needs):
    assert need(message) == needs


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("my cousin farhan's opened a bike repair place", {"Farhan"}),
        ("had mrs halvorsen round, and olga", {"Mrs Halvorsen", "Olga"}),
        ("we flew from lisbon to toronto", {"Lisbon", "Toronto"}),
        ("my brother snores, max two nights more", set()),
        ("i'll bill you in may, mark my words", set()),
    ],
)
def test_names_are_recognised_in_a_line_without_capitals(line, named):
    assert {one.text for one in names(line) if one.weight} == named


def test_an_unknown_word_of_a_line_without_capitals_may_be_a_name():
    line = "bike's with anselm again, the telly is on and the kitchne is cold"
    assert main(line).names.unknown(line) == ["anselm"]


@pytest.mark.parametrize(
    ("said", "query", "wanted"),
    [
        (("my cousin farhan's opened a bike repair place", "farhan's settled in leicester near the station"),
         "What city is my relative with the bike business in?", "leicester"),
        (("left the sourdough with mrs okafor while we're away", "mrs okafor's is number 12 with the green door"),
         "Which house do I go to to get my sourdough back?", "number 12"),
    ],
)  # fmt: skip
def test_a_name_without_a_capital_is_followed(said, query, wanted):
    with MemoryScope(":memory:", settings={}) as memory:
        every = [said[0], *remarks("english"), said[1]]
        memory.add_turns([{"role": "user", "content": text} for text in every], user="alice", session="s")
        assert wanted in memory.context(query, user="alice")


def test_what_lasts_is_recognised_in_a_line_without_capitals():
    lasting, passing = "we got hitched on a beach near lisbon in 2011", "the hold music went on for ages"
    scores = statement_score(lasting), statement_score(passing)
    assert scores[0] is not None and scores[1] is not None and scores[0] > MIN_STATEMENT_SCORE > scores[1]
