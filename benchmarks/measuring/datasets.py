"""The benchmarks' common format of conversations with questions and evidence: one JSON conversation per line.

id, lang?, speakers[], sessions[] {id, date_time, turns[] {id, speaker, text, image_caption?}, observations[]},
questions[] {id, question, category_name, evidence[] turn ids}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ADVERSARIAL = "adversarial"  # questions with swapped speakers: reported, but not part of averages


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    category: str
    evidence: frozenset[str]
    answer: str = ""


@dataclass(frozen=True)
class Conversation:
    """A conversation: ``turns`` in the format of ``add_turns``, with ids; ``observations`` as in the data."""

    id: str
    turns: tuple[Mapping[str, Any], ...]
    questions: tuple[Query, ...]
    observations: tuple[Mapping[str, Any], ...]


def conversations(path: str | Path) -> Iterator[Conversation]:
    with open(path, encoding="utf-8") as lines:
        yield from (_conversation(json.loads(line)) for line in lines if line.strip())


def read(path: str | Path) -> list[dict[str, Any]]:
    """Read the objects in a file of JSON lines; those of ``.tsv`` are messages, "Y<TAB>message" if they need memory."""
    lines = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    if Path(path).suffix != ".tsv":
        return [json.loads(line) for line in lines]
    return [{"needs": label == "Y", "text": text} for label, _, text in (line.partition("\t") for line in lines)]


def _conversation(data: Mapping[str, Any]) -> Conversation:
    return Conversation(
        id=data["id"],
        turns=tuple(_turn(turn, session) for session in data["sessions"] for turn in session["turns"]),
        questions=tuple(
            Query(q["id"], q["question"], str(q["category_name"]), frozenset(q["evidence"]), str(q.get("answer", "")))
            for q in data["questions"]
            if q["evidence"]
        ),
        observations=tuple(o for session in data["sessions"] for o in session.get("observations", ())),
    )


def _turn(turn: Mapping[str, Any], session: Mapping[str, Any]) -> Mapping[str, Any]:
    caption = turn.get("image_caption")
    return {
        "id": turn["id"],
        "role": turn["speaker"] if turn["speaker"] in ("user", "assistant") else "person",
        "speaker": turn["speaker"],
        "content": f"{turn['text']} [shared image: {caption}]".strip() if caption else turn["text"],
        "time": datetime.fromisoformat(session["date_time"]).replace(tzinfo=UTC),
        "session": str(session["id"]),
    }


def recall(found: Sequence[Iterable[str]], evidence: frozenset[str], k: int) -> float:
    """Return the share of the evidence in the first ``k`` items, each of which is a set of turn ids."""
    covered = {turn for item in found[:k] for turn in item}
    return len(covered & evidence) / len(evidence)
