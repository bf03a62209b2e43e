"""Messages to models, kept as files: a change of a prompt, a schema or the data beside it is seen in a review.

python tests/prompts/test_golden.py        writes them again
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from memscope.blocks.maintenance import BlockLines, BlockState, block_data
from memscope.config.settings import Settings
from memscope.consolidation import FactBatch
from memscope.consolidation.audit_pairs import judgement, pairs_data
from memscope.consolidation.known_facts import known_data
from memscope.consolidation.reply import schema as extraction
from memscope.consolidation.transcript import lines_data, lines_per_call
from memscope.models import Usage
from memscope.models.structured_output import schema_text
from memscope.prompts.loader import Prompts
from memscope.reconciliation.near_pairs import NearPair
from memscope.records import Block, Insight, Interval, Observation, Scope, Turn
from memscope.reflection.batch import TopicBatch
from memscope.reflection.known_insights import shown as shown_facts
from memscope.reflection.summary import Summary, summary_data
from memscope.reflection.update import Updates
from memscope.services import Services
from memscope.stores.memory import InMemoryStore

WORKERS = ("extract", "update", "audit", "block", "summary")
SUBJECT = {"en": "living situation", "zh": "居住情况"}
GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)
MAY = Interval(datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC))
SAID = {
    "en": ["Do you still live in Graz?", "No, I moved to Linz in May."],
    "zh": ["你还住在苏州吗？", "不，我五月搬到无锡了。"],
}
FACTS = {
    "en": ["The user lives in Graz.", "Ivo moved to Linz in May."],
    "zh": ["用户住在苏州。", "周宁五月搬到无锡了。"],
}


def sent(worker: str, language: str) -> str:
    """Return the system message, the data and the schema of one call."""
    new, old = facts(FACTS[language])
    home = insight(old, SUBJECT[language])
    shown: object
    schema: type[BaseModel]
    if worker == "extract":
        turns = lines_data(*lines_per_call(batch(SAID[language])))
        shown, schema = {"known": known_data([old, new]), "turns": turns}, extraction((2,))
    elif worker == "update":
        reflected = TopicBatch("b", Scope("alice"), (new,), (home,), {old.id: old})
        shown, schema = shown_facts(reflected, NOW).data, Updates
    elif worker == "audit":
        shown, schema = {"pairs": pairs_data([NearPair(old, new, 1.0)])}, judgement(1)
    elif worker == "block":
        kept = Block(scope=Scope("alice"), label="human", recorded=NOW, value=f"{old.text}\n...", limit=500)
        shown, schema = block_data(BlockState(kept, (old.text,), (new.text,)), [home]), BlockLines
    else:
        shown, schema = summary_data(context(), old.text, batch(SAID[language]).turns), Summary
    system = Prompts().text(worker, language, boundary="<boundary>")
    return "\n\n".join((system, json.dumps(shown, ensure_ascii=False, indent=1), schema_text(schema))) + "\n"


def context() -> Services:
    settings = Settings(context={"budget": 1000})
    return Services(InMemoryStore(), settings, lambda: NOW, Usage(), zone=UTC)


def batch(texts: list[str]) -> FactBatch:
    turns = tuple(
        Turn(f"t{n}", Scope("alice", session=f"s{n}"), role, "Ivo" if role == "user" else role, text, NOW, NOW)
        for n, (role, text) in enumerate(zip(("assistant", "user"), texts, strict=True))
    )
    return FactBatch("b", turns, excluded=frozenset({"t0"}))


def facts(texts: list[str]) -> list[Observation]:
    """Return the new fact and the old one."""
    same = {"scope": Scope("alice"), "said": NOW, "recorded": NOW, "keywords": ("home",)}
    old, new = texts
    return [
        Observation(id="new", text=new, sources=("t1",), about="Ivo", happened=MAY, **same),
        Observation(id="old", text=old, sources=("t0",), closed=NOW, valid_to=MAY.start, superseded_by="new", **same),
    ]


def insight(fact: Observation, subject: str) -> Insight:
    """Return what was known before; a new fact has ended it."""
    where = {"scope": Scope("alice"), "said": NOW, "recorded": NOW}
    return Insight(id="home", text=f"{subject}: {fact.text}", sources=(fact.id,), subject=subject, **where)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("worker", WORKERS)
def test_what_a_model_is_sent_is_what_was_reviewed(worker, language):
    golden = (GOLDEN / f"{worker}.{language}.txt").read_text("utf-8")
    assert sent(worker, language) == golden, "meant? then run this file and look at the difference"


if __name__ == "__main__":
    for name in WORKERS:
        for code in ("en", "zh"):
            (GOLDEN / f"{name}.{code}.txt").write_text(sent(name, code), "utf-8")
