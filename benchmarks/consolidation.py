"""Count the back end's chat model calls at a scripted server: ``python benchmarks/consolidation.py``.

Prints one JSON object with calls and prompt characters (including schemas) for ten short messages, for a contradiction,
for a reflect with 50 insights and nothing new, and for one with 20 new observations. ``day_calls``,
``day_calls_per_turn`` and ``day_prompt_characters_per_turn`` are those of the background for a day of conversation,
3,000 times faster than with default settings: 60 turns in 12 sessions, a fact in each of the user's 36 turns, two
minutes between turns and 75 between sessions.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memscope import AsyncMemoryScope
from memscope.config.settings import Settings
from memscope.records import ChangeSet, Insight, Observation, Scope, Turn, TurnInsert
from memscope_testing.models import ScriptedChat, data

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from servers.faults import FaultServer

USER = "alice"
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
MESSAGES = [
    ("user", "Hi! I'm planning my move to Munich next month."),
    ("assistant", "That's exciting! What takes you there?"),
    ("user", "I got a job at Siemens as a test engineer."),
    ("assistant", "Congratulations! Do you have a flat yet?"),
    ("user", "Not yet, my sister Anna lets me stay with her in Schwabing."),
    ("assistant", "Good to have family around. Anything you need help with?"),
    ("user", "I need a vet there, my cat Émile has diabetes."),
    ("assistant", "I can look for vets with experience in diabetes."),
    ("user", "Thanks. I'm free on Tuesdays and Thursdays."),
    ("assistant", "Noted, Tuesdays and Thursdays."),
]
FACTS = [
    (1, "The user is planning to move to Munich next month.", "planning my move to Munich next month", "home"),
    (3, "The user got a job at Siemens as a test engineer.", "I got a job at Siemens as a test engineer", "job"),
    (5, "The user's sister Anna lives in Schwabing.", "my sister Anna lets me stay with her in Schwabing", "family"),
    (7, "The user's cat Émile has diabetes.", "my cat Émile has diabetes", "pet"),
    (9, "The user is free on Tuesdays and Thursdays.", "I'm free on Tuesdays and Thursdays", "time"),
]


def noted(
    facts: list[tuple[int, str, str, str]], turns: list[int], known: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Build a reply in which every fact has the relations ``known`` to known facts."""
    quoted = [(fact, [{"turn": fact[0], "words": fact[2]}]) for fact in facts]
    return {
        "facts": [
            {"text": text, "about": "user", "level": 3, "when": "", "keywords": [word], "quotes": quotes,
             "known": list(known)}
            for (_, text, _, word), quotes in quoted
        ],
        "nothing": [turn for turn in turns if turn not in {fact[0] for fact in facts}],
    }  # fmt: skip


NO_LONGER = (1, "The user got a job at Bosch as a test engineer.", "I got a job at Bosch as a test engineer", "job")
ENDS = {"k": 1, "words": "job at Siemens", "relation": "ends", "rest": ""}
TOLD = "The user sails and repairs boats."
UPDATES = {
    "sentences": [
        {"insight": 1, "subject": "", "text": TOLD, "facts": [*range(1, 8)], "replaces": []},
        {"insight": 2, "subject": "", "text": TOLD, "facts": [*range(8, 14)], "replaces": []},
        {"insight": 0, "subject": "boats", "text": TOLD, "facts": [*range(14, 19)], "replaces": []},
    ],
    "alone": [19, 20],
    "relations": [],
}
SCRIPT = [
    {"in": "user", "match": '"text":"I got a job at Bosch', "reply": noted([NO_LONGER], [1], [ENDS])},
    {"in": "user", "match": '"earlier":', "reply": UPDATES},
    {"in": "user", "match": "planning my move", "reply": noted(FACTS, [1, 3, 5, 7, 9])},
]  # fmt: skip


@asynccontextmanager
async def memory(server: FaultServer):
    with tempfile.TemporaryDirectory() as folder:
        chat = {"model": "test-chat", "base_url": server.base_url, "key": "none"}
        async with AsyncMemoryScope(Path(folder) / "memory.db", settings={"chat": chat}) as opened:
            yield opened


async def ten_messages(server: FaultServer) -> dict[str, Any]:
    async with memory(server) as opened:
        turns = [{"role": role, "content": text} for role, text in MESSAGES]
        await opened.add_turns(turns, user=USER, session="s")
        first = await opened.consolidate(user=USER)
        assert (first.new, first.pending, first.rejected) == (len(FACTS), 0, {}), first
        await opened.add_turns([{"role": "user", "content": NO_LONGER[2] + "."}], user=USER, session="t")
        second = await opened.consolidate(user=USER)
        assert (second.new, second.superseded) == (1, 1), second
        return {
            "calls": first.calls,
            "calls_with_conflict": second.calls,
            "prompt_characters": first.prompt_characters,
        }


def seeded(insights: int, observations: int) -> tuple[list[TurnInsert], ChangeSet, ChangeSet]:
    """Build turns, observations with an insight each, and observations that wait for a reflect."""
    scope, count = Scope(USER), insights + observations
    turns = [
        Turn(f"t{n}", scope, "user", "user", f"Fact number {n}.", START + timedelta(hours=n), START)
        for n in range(count)
    ]
    told = [f"The user told about boat number {n} that it needs a new sail before the season." for n in range(count)]
    facts = [
        Observation(id=f"o{n}", scope=scope, text=text, sources=(f"t{n}",), said=turns[n].time, recorded=START)
        for n, text in enumerate(told)
    ]
    known = [
        Insight(id=f"i{n}", scope=scope, text=f"boat {n}: {facts[n].text}", sources=(f"o{n}",), said=facts[n].said,
                recorded=START, subject=f"boat {n} and its sails")
        for n in range(insights)
    ]  # fmt: skip
    seen = ChangeSet(new=(*facts[:insights], *known), done=tuple(turn.key for turn in turns))
    return [TurnInsert(turn) for turn in turns], seen, ChangeSet(new=tuple(facts[insights:]))


async def reflecting(server: FaultServer) -> dict[str, Any]:
    async with memory(server) as opened:
        inserts, seen, new = seeded(50, 20)
        store = opened.admin.runtime.services.store
        await store.append(USER, inserts, seen)
        await store.apply(USER, ChangeSet(done=tuple(f"o{n}" for n in range(50))))
        idle = [await timed(opened) for _ in range(20)]
        await store.apply(USER, new)
        report = await opened.reflect(user=USER)
        assert report.pending == 0 and report.new == 3, report
        return {
            "idle_calls": sum(calls for calls, _ in idle),
            "idle_ms": round(statistics.median(milliseconds for _, milliseconds in idle), 2),
            "reflect_calls": report.calls,
            "reflect_prompt_characters": report.prompt_characters,
        }


async def timed(opened: AsyncMemoryScope) -> tuple[int, float]:
    began = time.perf_counter()
    report = await opened.reflect(user=USER)
    return report.calls, 1000 * (time.perf_counter() - began)


# ------------------------------------------------------------------------------------------------- a day's conversation

SPEED = 3_000
SITTINGS, TURNS = 12, 5
PAUSE_S, BETWEEN_S = 120, 75 * 60
THINGS = (
    "piano chess tea garden boat camera bicycle violin tent kayak oven lamp desk kettle guitar clock mirror ladder rug"
    " vase drum globe anvil quilt spade kite basket candle hammer scarf stamp fossil orchid cactus radio puzzle"
).split()


def taking_notes(messages: Any) -> dict[str, Any]:
    """Extract one fact from each of the user's turns, and leave every fact without an insight."""
    shown = data(messages)
    if "facts" in shown:
        return {"sentences": [], "alone": [one["n"] for one in shown["facts"]], "relations": []}
    heard = [line for line in shown["turns"] if not line.get("context")]
    own = [line for line in heard if line["by"] == "user"]
    facts = [(line["n"], line["text"].replace("I own", "The user owns"), line["text"], "things") for line in own]
    return noted(facts, [line["n"] for line in heard])


async def day_of_talk() -> dict[str, Any]:
    defaults, chat, things = Settings(), ScriptedChat(taking_notes), iter(THINGS)
    paced: dict[str, Any] = {name: getattr(defaults, name) / SPEED for name in ("idle_s", "poll_s")}
    paced["reflection"] = {"wait_s": defaults.reflection.wait_s / SPEED}
    async with AsyncMemoryScope(":memory:", settings=paced, chat=chat) as memory:
        memory.admin.runtime.work.work_for(USER)
        for sitting in range(SITTINGS):
            for number in range(TURNS):
                role = "assistant" if number % 2 else "user"
                text = "Nice!" if number % 2 else f"I own a {next(things)}."
                await memory.add_turns([{"role": role, "content": text}], user=USER, session=f"s{sitting}")
                await asyncio.sleep(PAUSE_S / SPEED)
            await asyncio.sleep(BETWEEN_S / SPEED)
        stats = await memory.admin.runtime.services.store.stats(USER)
        assert not stats.pending["consolidate"], stats
    turns = SITTINGS * TURNS
    characters = sum(len(message["content"]) for prompt in chat.prompts for message in prompt)
    return {
        "day_calls": len(chat.prompts),
        "day_calls_per_turn": round(len(chat.prompts) / turns, 3),
        "day_prompt_characters_per_turn": round(characters / turns),
    }


async def main() -> None:
    with FaultServer(script=SCRIPT) as server:
        print(json.dumps({**await ten_messages(server), **await reflecting(server), **await day_of_talk()}))


if __name__ == "__main__":
    asyncio.run(main())
