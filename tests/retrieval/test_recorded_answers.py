"""Answers to the questions of many short histories, with the reasons, recorded."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Hit, Retrieval
from memscope_testing.models import IdealChat
from recorded import check, read

HERE = Path(__file__).parent / "recorded"
OTHERS = 25  # turns about something else in each history
SHOWN = 5  # hits of which the features are recorded
Said = tuple[datetime, Mapping[str, Any]]


def history(scenario: Mapping[str, Any], noise: Sequence[Mapping[str, Any]]) -> list[Said]:
    """Return the scenario's turns with others among them, in order of time."""
    zone, chance = ZoneInfo(scenario["zone"]), random.Random(scenario["id"])
    turns = [(datetime.fromisoformat(turn["time"]).replace(tzinfo=zone), turn) for turn in scenario["turns"]]
    first, last = turns[0][0], datetime.fromisoformat(scenario["question"]["time"]).replace(tzinfo=zone)
    span = max((last - first).total_seconds() - 120, 60)
    for turn in chance.sample(list(noise), OTHERS):
        time = first + timedelta(seconds=60 + int(chance.random() * span))
        turns.append((time, {**turn, "session": f"noise-{time:%F}"}))
    return sorted(turns, key=lambda pair: pair[0])


def model(scenario: Mapping[str, Any], turns: Sequence[Said]) -> IdealChat:
    """Return a model that notes the scenario's facts and relates them."""
    said = [turn for _, turn in turns]
    place = {id(turn): number for number, turn in enumerate(said)}
    own = [id(turn) for turn in scenario["turns"]]
    facts = [{**fact, "turns": [place[own[turn]] for turn in fact["turns"]]} for fact in scenario.get("facts", [])]
    return IdealChat(said, facts, scenario.get("relations", []))


def shown(hit: Hit) -> str:
    marks = [name for name in ("changed", "repeats", "superseded") if getattr(hit, name)]
    features = " ".join(f"{one.name}={one.contribution:.2f}" for one in hit.features if one.contribution)
    return f"    {hit.score:.2f} {'+'.join(hit.found_by)} {hit.text[:50]!r} {' '.join([*marks, features])}"


def found(retrieval: Retrieval) -> Iterator[str]:
    yield from map(shown, retrieval.hits[:SHOWN])
    yield from (f"    ... {hit.score:.2f} {hit.text[:50]!r}" for hit in retrieval.hits[SHOWN:])
    if retrieval.reason or retrieval.left_out:
        yield f"    {retrieval.reason} left out: {sorted(one.why for one in retrieval.left_out)}"


async def answered(scenario: Mapping[str, Any], noise: Sequence[Mapping[str, Any]], *, facts: bool) -> list[str]:
    turns, asked = history(scenario, noise), scenario["question"]["text"]
    now, settings = [turns[0][0]], {"timezone": scenario["zone"]}
    chat = model(scenario, turns) if facts else None
    clock = lambda: now[0].astimezone(UTC)  # noqa: E731
    async with AsyncMemoryScope(":memory:", settings=settings, chat=chat, clock=clock) as memory:
        for number, (time, turn) in enumerate(turns):
            now[0] = time
            said = {"role": turn["role"], "content": turn["text"], "speaker": turn.get("speaker"), "id": str(number)}
            await memory.add_turns([said], user="u", session=turn.get("session"))
        now[0] = datetime.fromisoformat(scenario["question"]["time"]).replace(tzinfo=ZoneInfo(scenario["zone"]))
        if facts:
            await memory.reflect(user="u")
        lines = [f"{scenario['id']}{' with facts' if facts else ''}: {asked}"]
        lines += found(await memory.retrieve(asked, user="u", explain=True, expand_lists=True, speak="when_needed"))
        text = [await memory.context(asked, user="u"), await memory.profile("u") if facts else ""]
        return [*lines, *(f"  > {one}" for part in text for one in part.splitlines())]


@pytest.mark.parametrize(
    ("name", "noise"), [("en", "noise2_en"), ("en_lists", "noise2_en"), ("zh", "noise2_zh"), ("zh_lists", "noise2_zh")]
)
async def test_questions_are_answered_as_recorded(name, noise):
    lines: list[str] = []
    for scenario in read(name)[::2]:
        for mode in scenario["mode"]:
            lines += await answered(scenario, read(noise), facts=mode == "facts")
    check(HERE / f"{name}.txt", lines)
