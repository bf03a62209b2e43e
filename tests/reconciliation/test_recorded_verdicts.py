"""Comparisons of facts, and the effects of every verdict on them, recorded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from memscope.dates import resolve
from memscope.languages.similarity import closeness, same, translated
from memscope.reconciliation.audit import audit
from memscope.reconciliation.settlement import Settlement, relation_of
from memscope.reconciliation.subjects import covers, may_meet, meet, role_names, share_thing, user_names
from memscope.records import Observation, Supersession
from memscope_testing.records import observation
from recorded import check, line, read

HERE = Path(__file__).parent
EARLIER, LATER = datetime(2026, 3, 10, 9, tzinfo=UTC), datetime(2026, 4, 12, 9, tzinfo=UTC)
VERDICTS = ("ends", "was", "repeats", "refines")
ABOUT = (
    "Jon", "John", "Melanie", "Mel", "Kim", "Kim Lee", "Anna & Ben", "Ben", "the boss", "user's boss", "Catherine",
    "Katherine", "Mia", "Max", "王小明", "小明", "王小敏", "李小明和小红", "小红", "我妈", "Jo",
)  # fmt: skip


def pairs(language: str) -> Iterator[tuple[Observation, Observation, str]]:
    """Yield the pairs of ``pairs/``, and what of the old fact the model says is left."""
    for row in (HERE / "pairs" / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            _, old, old_words, old_when, new, new_words, new_when, told, _ = [cell.strip() for cell in row.split(" | ")]
            yield made("old", old, old_words, old_when), made("new", new, new_words, new_when), told.partition(";")[2]


def made(id: str, text: str, words: str, when: str) -> Observation:
    said = EARLIER if id == "old" else LATER
    about = words.partition("@")[2].strip() or "user"
    return observation(id, f"turn of {id}", text=text, about=about, said=said, happened=resolve(when, said))


def comparison(new: Observation, old: Observation) -> dict[str, object]:
    return {
        "same": same(new.text, old.text),
        "close": round(closeness(new.text, old.text), 2),
        "translated": translated(new.text, [old.text]),
        "meet": meet(new, old),
        "may_meet": may_meet(new, old),
        "covers": (covers(new, old), covers(old, new)),
        "share": share_thing(new, old),
        "audit": [finding.kind for finding in audit([old, new]) if finding.kind != "unsourced"],
    }


def settled(new: Observation, old: Observation, verdict: str, rest: str, *, fresh: str, recap: bool = False) -> str:
    settlement = Settlement(
        {one.id: one for one in (new, old) if one.id == fresh}, LATER, frozenset({new.id} if recap else ())
    )
    told = relation_of(new, old, verdict)
    settlement.settle([told if not rest else type(told)(told.new, told.old, told.verdict, rest)])
    fresh = [fact(one) for one in settlement.fresh.values()]
    revised = [fact(one.memory) for one in settlement.revised.values()]
    return f"{fresh} {revised} {[*map(closing, settlement.closed.values())]}"


def fact(one: Observation) -> str:
    to = f" to {one.valid_to:%Y-%m-%d}" if one.valid_to else ""
    return f"{one.id if len(one.id) == 3 else 'rest'} {one.text!r} {len(one.sources)}{to}"


def closing(one: Supersession) -> str:
    return f"{one.id} by {one.by} {one.valid_to:%Y-%m-%d}" if one.valid_to else f"{one.id} by {one.by}"


def verdicts(language: str) -> Iterator[str]:
    for old, new, rest in pairs(language):
        yield line(f"{old.text} | {new.text}", comparison(new, old))
        for verdict in VERDICTS:
            yield f"    {verdict}: {settled(new, old, verdict, rest.strip(), fresh='new')}"
            if verdict in ("ends", "was"):
                yield f"    {verdict}, a recap: {settled(new, old, verdict, rest.strip(), fresh='new', recap=True)}"
        yield f"    stored: {settled(new, old, 'ends', rest.strip(), fresh='')}"
        for verdict in VERDICTS:
            yield f"    {verdict}, the old one learned later: {settled(new, old, verdict, '', fresh='old')}"


def comparisons(language: str) -> Iterator[str]:
    for scenario in read(f"{language}2"):
        facts = [observation(f"f{number}", "t", text=one["text"], about=one["about"])
                 for number, one in enumerate(scenario["facts"])]  # fmt: skip
        for old, new in pairwise(facts):
            yield line(f"{old.text} | {new.text}", comparison(new, old))


def names() -> Iterator[str]:
    facts = [observation(f"f{number}", "t", text="It rained.", about=about) for number, about in enumerate(ABOUT)]
    for one, other in combinations(facts, 2):
        values = {"meet": meet(one, other), "may_meet": may_meet(one, other), "covers": covers(one, other)}
        if any(values.values()):
            yield line(f"{one.about} | {other.about}", values)
    for role in ("my sister", "my boss", "我姐姐", "我老板", "Tess"):
        yield line(role, {"names": role_names(role)})
    for text in ("The user's name is Ivo.", "The user is called Ann Lee.", "用户叫周宁。", "The user lives in Graz."):
        yield line(text, {"user": sorted(user_names([observation("n", "t", text=text)]))})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_verdicts_do_as_recorded(language):
    check(HERE / "recorded" / f"verdicts_{language}.txt", verdicts(language))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_facts_are_compared_as_recorded(language):
    check(HERE / "recorded" / f"facts_{language}.txt", comparisons(language))


def test_names_are_compared_as_recorded():
    check(HERE / "recorded" / "names.txt", names())
