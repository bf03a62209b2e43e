"""Pairs of facts written for this test: do they meet, and what is left of them after the model's verdict?

Every other line of ``en`` and ``zh`` is held out: rules are mended by what the first half shows. ``en2`` and ``zh2``
are by somebody who had not read the code; no rule or weight was made from them. Each is reported.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memscope.consolidation.known_facts import choose_known
from memscope.consolidation.transcript import TranscriptLine
from memscope.records import Observation, Scope, Turn
from memscope.stores.memory import InMemoryStore
from memscope_testing.models import ScriptedChat, data

from workbench import Clock, World, consolidate, fact, noted, told_of

EARLIER, LATER = datetime(2026, 3, 10, 9, tzinfo=UTC), datetime(2026, 4, 12, 9, tzinfo=UTC)
NAMES = {"en": "The user's name is Ivo.", "zh": "用户叫周宁。"}


@dataclass(frozen=True)
class Side:
    text: str
    keywords: list[str]
    about: str
    when: str

    @classmethod
    def read(cls, text: str, keywords: str, when: str) -> Side:
        words, _, about = keywords.partition("@")
        return cls(text, [word for one in words.split(",") if (word := one.strip())], about.strip() or "user", when)


@dataclass(frozen=True)
class Case:
    kind: str
    old: Side
    new: Side
    verdict: str
    rest: str
    left: str


@functools.cache
def cases(name: str) -> list[Case]:
    lines = (Path(__file__).parent / "pairs" / f"{name}.txt").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split(" | ")] for line in lines if not line.startswith("#")]
    made = []
    for kind, old, old_words, old_when, new, new_words, new_when, told, left in rows:
        verdict, _, rest = told.partition(";")
        sides = Side.read(old, old_words, old_when), Side.read(new, new_words, new_when)
        made.append(Case(kind, *sides, verdict, rest.strip(), left))
    return made


class Judge:
    """A model that notes each turn as given, and gives the verdict of the case if it is shown the pair."""

    def __init__(self, case: Case, name: str) -> None:
        self.case, self.met = case, False
        self.sides = {side.text: side for side in (case.old, case.new)} | {name: Side(name, ["identity"], "user", "")}

    def __call__(self, messages):
        shown = data(messages)
        facts = []
        for line in (line for line in shown["turns"] if not line.get("context")):
            side = self.sides[line["text"]]
            words = (line["n"], line["text"])
            known = self.told(side, shown.get("known", ()))
            facts.append(fact(side.text, words, about=side.about, when=side.when, keywords=side.keywords, known=known))
        return noted(*facts)

    def told(self, side, known):
        if side is not self.case.new:
            return []
        mine = [one["k"] for one in known if one["text"] == self.case.old.text]
        self.met |= bool(mine)
        return [told_of(number, self.case.old.text, self.case.verdict, self.case.rest) for number in mine]


async def settled(case: Case, language: str) -> tuple[bool, list[Observation], list[Observation]]:
    """Says both, the new a month later; returns whether they met, and the facts that are current, and all."""
    clock = Clock()
    world = World(InMemoryStore(clock=clock), clock)
    judge = Judge(case, NAMES[language])
    for text, at in ((NAMES[language], EARLIER), (case.old.text, EARLIER), (case.new.text, LATER)):
        await world.say(text, at=at, session=text)
        report = await consolidate(world.ctx(chat=ScriptedChat(judge)), "alice")
        assert not report.pending, report.errors
    found = [one for one in await world.memories(current=False) if one.text != NAMES[language]]
    return judge.met, [one for one in found if one.current], found


def as_wanted(case: Case, current: list[Observation]) -> bool:
    texts = [one.text for one in current]
    old, new = case.old.text, case.new.text
    if case.left == "joined":
        return len(texts) == 1 and texts[0].startswith(new) and len(current[0].sources) == 2
    wanted = {"both": {old, new}, "new": {new}, "old": {old}, "rest": {new, case.rest}}[case.left]
    wanted -= {NAMES["en"], NAMES["zh"]}
    return set(texts) == wanted


async def score(language: str, chosen: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Return the new facts that never met their old one, and those settled otherwise than wanted."""
    apart, wrong = [], []
    for case in chosen:
        met, current, _ = await settled(case, language)
        apart += [] if met else [case.new.text]
        wrong += [] if as_wanted(case, current) else [case.new.text]
    return apart, wrong


SETS = [("en", 0, 2), ("en", 1, 2), ("en2", 0, 1), ("zh", 0, 2), ("zh", 1, 2), ("zh2", 0, 1)]


@pytest.mark.parametrize(("name", "start", "step"), SETS, ids=lambda value: str(value))
async def test_pairs_meet_and_are_settled(name, start, step):
    chosen = cases(name)[start::step]
    apart, wrong = await score(name[:2], chosen)
    met, right = len(chosen) - len(apart), len(chosen) - len(wrong)
    print(f"{name}[{start}::{step}]: {met} of {len(chosen)} met, {right} as wanted", apart, wrong)
    assert len(wrong) <= 0.2 * len(chosen), wrong


# ----------------------------------------------------------------------------- is the old one shown, among many others?

OTHERS = 200  # known facts beside the one that is meant
OTHER_TURNS = 19  # of a batch of 20
UNSEEN = Path(__file__).parents[2] / "benchmarks" / "unseen"


def known(side: Side) -> Observation:
    told = {"about": side.about, "keywords": tuple(side.keywords)}
    ids = {"id": side.text, "scope": Scope("alice"), "sources": (side.text,)}
    return Observation(**ids, **told, text=side.text, said=EARLIER, recorded=EARLIER)


@functools.cache
def scenarios(language: str) -> list[dict[str, Any]]:
    files = sorted(UNSEEN.glob(f"{language}*.jsonl"))
    return [json.loads(row) for file in files for row in file.read_text("utf-8").splitlines()]


def other_facts(language: str, case: Case, draw: str = "") -> list[Observation]:
    """Return the facts of the other pairs, and of everyday scenarios, that are not those of the case."""
    pairs = [side for name in (language, f"{language}2") for one in cases(name) for side in (one.old, one.new)]
    everyday = [
        Side(fact["text"], fact["keywords"], fact["about"], "")
        for one in scenarios(language)
        for fact in one.get("facts", ())
    ]
    random.Random(case.old.text + draw).shuffle(everyday)
    sides = {side.text: side for side in (*pairs, *everyday) if side.text not in (case.old.text, case.new.text)}
    return [known(side) for side in list(sides.values())[:OTHERS]]


def is_shown(language: str, case: Case, others: Sequence[str], draw: str = "") -> bool:
    turns = [Turn(f"t{n}", Scope("alice"), "user", "user", text, LATER, LATER) for n, text in enumerate(others)]
    turns.append(Turn("t", Scope("alice"), "user", "user", case.new.text, LATER, LATER))
    facts = [*other_facts(language, case, draw), known(case.old)]
    lines = [TranscriptLine(turn, turn.text, False) for turn in turns]
    return case.old.text in [one.text for one in choose_known(facts, lines)]


def other_turns(language: str, case: Case, draw: str = "") -> list[str]:
    """Return what users say in everyday scenarios."""
    texts = [turn["text"] for one in scenarios(language) for turn in one.get("turns", ()) if turn.get("role") == "user"]
    random.Random(case.new.text + draw).shuffle(texts)
    return texts[:OTHER_TURNS]


@pytest.mark.parametrize(("beside", "least"), [(0, 0.88), (OTHER_TURNS, 0.85)])
@pytest.mark.parametrize("name", ["en", "en2", "zh", "zh2"])
def test_the_old_fact_is_among_those_shown(name, beside, least):
    related = [case for case in cases(name) if case.verdict != "unrelated"]
    hidden = [case.new.text for case in related
              if not is_shown(name[:2], case, other_turns(name[:2], case)[:beside])]  # fmt: skip
    share = 1 - len(hidden) / len(related)
    print(f"{name}: {share:.1%} of {len(related)} shown, {OTHERS} other facts, {beside} other turns;", hidden)
    assert share >= least, hidden


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("en", 0.86), ("en2", 0.9), ("zh", 0.88), ("zh2", 0.87)])
def test_the_old_fact_is_shown_among_whatever_else_is_said(name, least):
    """Three more draws of the other facts and turns: one draw of 35 pairs says little."""
    related = [case for case in cases(name) if case.verdict != "unrelated"]
    drawn = [(case, draw, other_turns(name[:2], case, draw)) for case in related for draw in "123"]
    shown = [is_shown(name[:2], case, others, draw) for case, draw, others in drawn]
    print(f"{name}: {sum(shown) / len(shown):.1%} of {len(shown)} shown")
    assert sum(shown) >= least * len(shown)
