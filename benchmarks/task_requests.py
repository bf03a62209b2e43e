"""Measure retrieval for requests within tasks against keyword search, without a chat model, in one configuration.

    python benchmarks/task_requests.py DATA

DATA: conversations in the format of ``measuring.datasets``. A question with ``before`` is asked before that session is
added, others are asked at the end. Keyword search is SQLite's FTS5 (Porter stemmer; Chinese by single characters), with
the neighbouring turns as a second column.

Prints one JSON object: ``recall_at_10`` and ``hit_at_10`` in percent, in total (``all``), by category and by person;
the same for keyword search under ``words``; and ``below_words``, the largest deficit of memory's recall against keyword
search in any category or person with at least 10 questions, 0 if there is none.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from memscope import AsyncMemoryScope

K = 10
MIN_QUESTIONS = 10  # smallest group that is compared
WORDS_OF_A_REQUEST = 60
SAID_FROM = timedelta(hours=9)  # start of sessions, which have at most a date
BETWEEN_TURNS = timedelta(seconds=20)
HAN = re.compile(r"([\u4e00-\u9fff])")

Shares = dict[str, list[float]]


class Words:
    """Keyword search, the baseline."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.table = sqlite3.connect(":memory:")
        self.table.execute("create virtual table turns using fts5(body, beside, tokenize='porter unicode61')")

    def add(self, turns: Sequence[Mapping[str, Any]]) -> None:
        texts = [_spaced(turn["text"]) for turn in turns]
        for at, (turn, text) in enumerate(zip(turns, texts, strict=True)):
            beside = " ".join(texts[max(0, at - 1) : at] + texts[at + 1 : at + 2])
            row = (len(self.ids), text, beside)
            self.table.execute("insert into turns(rowid, body, beside) values (?, ?, ?)", row)
            self.ids.append(turn["id"])

    def ask(self, text: str) -> set[str]:
        words = dict.fromkeys(re.findall(r"[^\W_]+", _spaced(text).casefold()))
        asked = " OR ".join(f'"{word}"' for word in [*words][:WORDS_OF_A_REQUEST])
        select = "select rowid from turns where turns match ? order by bm25(turns, 1.0, 0.3) limit ?"
        return {self.ids[row] for (row,) in self.table.execute(select, (asked, K))} if asked else set()


def _spaced(text: str) -> str:
    return HAN.sub(r" \1 ", text)


class Memory:
    """Search with memscope. Turns are added with the current time of the clock, in their session."""

    def __init__(self, zone: str) -> None:
        self.now = datetime(2000, 1, 1, tzinfo=UTC)
        self.ids: dict[str, str] = {}
        self.memory = AsyncMemoryScope(":memory:", settings={"timezone": zone}, clock=lambda: self.now)

    async def add(self, session: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> None:
        day = datetime.fromisoformat(session["date_time"]).replace(tzinfo=UTC)
        self.now = max(self.now, day + SAID_FROM)
        said = [self._said(turn) for turn in turns]
        added = await self.memory.add_turns(said, user="u", session=str(session["id"]))
        self.ids.update(zip(added.keys, (turn["id"] for turn in turns), strict=True))

    def _said(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        self.now += BETWEEN_TURNS
        role = "assistant" if turn["speaker"].casefold() == "assistant" else "user"
        return {"role": role, "content": turn["text"], "time": self.now}

    async def ask(self, text: str) -> set[str]:
        hits = (await self.memory.retrieve(text, user="u", k=K)).hits
        return {self.ids[hit.turn.key] for hit in hits if hit.turn is not None}


async def measure(path: str) -> dict[str, Any]:
    recall: dict[str, Shares] = {"ours": defaultdict(list), "words": defaultdict(list)}
    for person in read(path):
        memory, words = Memory("Asia/Shanghai" if person.get("lang") == "zh" else "UTC"), Words()
        async with memory.memory:
            for session, questions in person["course"]:
                for question, evidence in questions:
                    found = {"ours": await memory.ask(question["question"]), "words": words.ask(question["question"])}
                    for who, ids in found.items():
                        share = len(ids & evidence) / len(evidence)
                        for group in ("all", question["category_name"], person["id"]):
                            recall[who][group].append(share)
                if session:
                    turns = [turn for turn in session["turns"] if turn["text"].strip()]
                    await memory.add(session, turns)
                    words.add(turns)
    return figures(recall)


def read(path: str) -> Iterator[dict[str, Any]]:
    """Yield each conversation with its ``course``: pairs of a session and the questions asked before it."""
    for line in Path(path).read_text(encoding="utf-8").split("\n"):  # texts may contain other line separators
        if line.strip():
            person = json.loads(line)
            asked = [(question, _evidence(question)) for question in person["questions"]]
            course = [
                (session, [one for one in asked if one[1] and one[0].get("before") == (session and session["id"])])
                for session in (*person["sessions"], None)
            ]
            yield {**person, "course": course}


def _evidence(question: Mapping[str, Any]) -> set[str]:
    """Return the evidence turns that precede a question. Turn ids begin with "D" and the session's number."""
    before = question.get("before")
    return {one for one in question["evidence"] if before is None or int(re.findall(r"\d+", one)[0]) < int(before)}


def figures(recall: Mapping[str, Shares]) -> dict[str, Any]:
    ours, words = recall["ours"], recall["words"]
    compared = [group for group, shares in ours.items() if len(shares) >= MIN_QUESTIONS]
    below = [100 * (statistics.mean(words[group]) - statistics.mean(ours[group])) for group in compared]
    of_words = {"recall_at_10": _percent(words), "hit_at_10": _percent(_hits(words))}
    return {
        "recall_at_10": _percent(ours),
        "hit_at_10": _percent(_hits(ours)),
        "words": of_words,
        "below_words": round(max(0.0, *below), 1),
    }


def _hits(shares: Shares) -> Shares:
    return {group: [float(one > 0) for one in values] for group, values in shares.items()}


def _percent(shares: Shares) -> dict[str, float]:
    return {group: round(100 * statistics.mean(values), 1) for group, values in shares.items()}


@click.command()
@click.argument("data")
def main(data: str) -> None:
    print(json.dumps(asyncio.run(measure(data)), ensure_ascii=False))


if __name__ == "__main__":
    main()
