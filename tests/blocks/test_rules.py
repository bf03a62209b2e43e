"""Rules of blocks over random histories."""

from __future__ import annotations

import difflib
import random
from dataclasses import replace
from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from memscope.records import Block, Select
from memscope.stores import block_rules
from memscope_testing.records import START, at, block

SOURCES = ("a", "b", "c")
lines = st.sampled_from(("Likes tea.", "Lives in Berlin.", "Lives in Berlin, Mitte.", "Has a cat.", "住在柏林", ""))


@st.composite
def histories(draw: st.DrawFn) -> list[Block]:
    made: list[Block] = []
    for version in range(1, draw(st.integers(1, 6)) + 1):
        value = "\n".join(draw(st.lists(lines, max_size=4)))
        sources = tuple(draw(st.sets(st.sampled_from(SOURCES), max_size=2)))
        author = draw(st.sampled_from(("person", "model", "backend")))
        made.append(block("human", value, version=version, author=author, sources=sources, reason=f"{version}"))
    return made


def brought_in(history: list[Block], gone: set[str]) -> set[str]:
    """Lines that no version had before an edit from a forgotten source."""
    seen: set[str] = set()
    found: set[str] = set()
    for one in history:
        now = set(one.value.split("\n"))
        if gone & set(one.sources):
            found |= now - seen - {""}
        seen |= now
    return found


@given(histories(), st.sets(st.sampled_from(SOURCES)))
def test_what_forgotten_sources_brought_in_is_in_no_version(history: list[Block], gone: set[str]) -> None:
    after = block_rules.without_sources(history, gone, START)
    bad = brought_in(history, gone)
    for one in after:
        assert bad.isdisjoint(one.value.split("\n"))
        assert gone.isdisjoint(one.sources)
    assert [one.version for one in after] == list(range(1, len(after) + 1))


@given(histories(), st.sets(st.sampled_from(SOURCES)))
def test_forgetting_twice_changes_nothing_more(history: list[Block], gone: set[str]) -> None:
    after = block_rules.without_sources(history, gone, START)
    assert block_rules.without_sources(after, gone, at(9)) == after


@given(histories(), st.sets(st.sampled_from(SOURCES)))
def test_a_value_that_loses_a_line_gets_a_version_of_its_own(history: list[Block], gone: set[str]) -> None:
    after = block_rules.without_sources(history, gone, START)
    changed = after[len(history) - 1].value != history[-1].value
    assert len(after) == len(history) + changed
    assert after[-1].value == after[len(history) - 1].value


@given(histories())
def test_other_sources_take_nothing(history: list[Block]) -> None:
    assert block_rules.without_sources(history, {"elsewhere"}, START) == history


def test_a_persons_line_stays_although_it_was_there_before() -> None:
    mine = block("human", "Likes tea.")
    theirs = block("human", "Likes tea.\nLives in Berlin.", version=2, author="backend", sources=("a",))
    new = block("human", "Works at a bakery on Mondays.\nLikes tea.", version=3)
    after = block_rules.without_sources([mine, theirs, new], {"a"}, START)
    assert [one.value for one in after] == ["Likes tea.", "Likes tea.", new.value]


def test_only_everything_of_a_user_or_agent_takes_blocks() -> None:
    history = [block("human", "x"), block("human", "y", agent="x")]
    assert block_rules.plan_removal(Select("alice"), {"a"}, history, START).dropped == tuple(history)
    assert block_rules.plan_removal(Select("alice", "x"), {"a"}, history, START).dropped == (history[1],)
    for narrowed in (replace(Select("alice"), session="s"), replace(Select("alice"), text="t")):
        assert block_rules.plan_removal(narrowed, {"a"}, history, START).count == 0


# ----------------------------------------------------------------------------------------------- long lines, many lines


class Compared:
    """``SequenceMatcher`` that counts the products of the lengths it compares: its time grows with them."""

    products = 0

    def __init__(self, isjunk, one, two, autojunk):
        Compared.products += len(one) * len(two)
        self.matcher = SequenceMatcher(isjunk, one, two, autojunk)

    def ratio(self):
        return self.matcher.ratio()


def text_of(rng, count, letters="abcdefghijklmnopqrstuvwxyz"):
    return " ".join("".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(count))


def test_alterations_of_long_lines_are_found_at_a_bounded_cost(monkeypatch):
    monkeypatch.setattr(difflib, "SequenceMatcher", Compared)
    monkeypatch.setattr(Compared, "products", 0)
    rng = random.Random(1)
    line = text_of(rng, 1600)
    history = [block("notes", line, sources=("a",))]
    for number in range(2, 8):
        kept = line.split(" ")
        for place in rng.sample(range(len(kept)), 100):
            kept[place] = text_of(rng, 1)
        line, own = " ".join(kept), [text_of(rng, 400) for _ in range(3)]
        history.append(block("notes", "\n".join((line, *own)), version=number))
    after = block_rules.without_sources(history, {"a"}, START)
    assert [one.value.count("\n") for one in after] == [0, 2, 2, 2, 2, 2, 2, 2] and after[0].value == ""
    assert Compared.products <= block_rules.MAX_PRODUCTS


def test_a_rewrite_of_countless_lines_takes_all_that_it_brought(monkeypatch):
    monkeypatch.setattr(difflib, "SequenceMatcher", Compared)
    monkeypatch.setattr(Compared, "products", 0)
    old, new = ("\n".join(f"{letter}{number}" * 9 for number in range(2000)) for letter in "xy")
    history = [block("notes", old, sources=("a",)), block("notes", new, version=2)]
    assert block_rules.without_sources(history, {"a"}, START)[1].value == ""
    assert Compared.products == 0
