"""Evaluate retrieval with the facts of a strong model: replay its recorded facts and relations through all stages.

    python benchmarks/notes.py DATA NOTES [--embedder URL]

NOTES: one conversation per line (JSON): ``id``, ``levels`` by turn, ``facts`` with quotes, ``relations`` of facts.
Conversations of DATA without notes are skipped.

Prints one JSON object: ``recall_at_10`` and ``tokens_at_10`` with facts; ``recall_at_10_sources``, where a line with
facts or an insight also counts for the turns they rest on (a fact from a question and its answer replaces two turns);
``answer_words``, the share of the gold answers' words in ``context()``, and its ``tokens``. The suffix ``_turns`` marks
the same figures without facts. ``current`` and ``superseded`` count facts; ``wrongly_closed`` counts superseded facts
that no recorded relation ends, repeats or refines. ``relations_shown``: of the recorded relations to a fact of an
earlier call, the percentage whose old fact was shown to the model. ``calls_per_turn`` and ``characters_per_turn``
(prompts including schemas) are for both stages.
"""

from __future__ import annotations

import asyncio
import json
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from measuring.datasets import ADVERSARIAL, Conversation, conversations, recall
from measuring.recall import NOW, AskedQuestion, ask, figures, ingest, lines_shown, place, settings

from memscope import AsyncMemoryScope
from memscope.consolidation.known_facts import MAX_KNOWN_FACT_CHARS
from memscope.languages.similarity import closeness
from memscope.records import Observation, Select
from memscope_testing.models import IdealChat, data

MAX_QUOTED = 3  # turns attributed to an insight


@dataclass(frozen=True)
class Replay:
    """Recall before and after consolidation, the records it created, and its calls."""

    before: list[AskedQuestion]
    after: list[AskedQuestion]
    facts: Mapping[str, Observation]
    wrongly_closed: int
    calls: int
    characters: int
    turns: int
    shown: Sequence[bool]  # for each recorded relation to a fact of an earlier call: whether that fact was shown


def recorded(conversation: Conversation, notes: Mapping[str, Any]) -> IdealChat:
    """Replay the strong model. A fact gets the highest level of its turns; relations refer to texts, quotes to ids."""
    turns = [{"text": turn["content"]} for turn in conversation.turns]
    place_of = {turn["id"]: place for place, turn in enumerate(conversation.turns)}
    facts = [
        {
            **fact,
            "level": max(notes["levels"].get(quote["turn"], 0) for quote in fact["quotes"]),
            "quotes": [(place_of[quote["turn"]], quote["words"]) for quote in fact["quotes"]],
        }
        for fact in notes["facts"]
    ]
    number = {fact["text"]: n for n, fact in enumerate(facts)}
    relations = [(number[one["old"]], number[one["new"]], one["relation"]) for one in notes["relations"]]
    return IdealChat(turns, facts, relations)


async def replayed(conversation: Conversation, notes: Mapping[str, Any], configured: Mapping[str, Any]) -> Replay:
    chat = recorded(conversation, notes)
    with place(None) as location:
        async with AsyncMemoryScope(location, settings=configured, chat=chat, clock=lambda: NOW) as memory:
            await ingest(memory, conversation)
            before = await ask(memory, conversation, contexts=True)
            report = await memory.reflect(user=conversation.id)
            assert not report.pending, report.errors
            while not await memory.flush():
                pass
            after = await ask(memory, conversation, contexts=True)
            facts = await every_fact(memory, conversation.id)
            wrong = wrongly_closed(facts.values(), notes["relations"])
            done = Counter(new=report.new, merged=report.merged, superseded=report.superseded, calls=report.calls)
            print(conversation.id, dict(done), "rejected", dict(report.rejected))
            turns = len(conversation.turns)
            shown = relations_shown(chat, conversation, notes, {one.text for one in facts.values()})
            return Replay(before, after, facts, wrong, report.calls, report.prompt_characters, turns, shown)


def relations_shown(
    chat: IdealChat, conversation: Conversation, notes: Mapping[str, Any], stored: Collection[str]
) -> list[bool]:
    """Return whether the prompt showed the old fact, for each relation to an unmerged fact of an earlier call."""
    texts = {turn["id"]: turn["content"].strip() for turn in conversation.turns}
    said = {fact["text"]: {texts[quote["turn"]] for quote in fact["quotes"]} for fact in notes["facts"]}
    calls = [told for prompt in chat.prompts if "turns" in (told := data(prompt))]
    read = [{line["text"] for line in call["turns"] if not line.get("context")} for call in calls]
    called = {
        fact: max((n for n, lines in enumerate(read) if lines & turns), default=-1) for fact, turns in said.items()
    }
    pairs = [(called[one["old"]], called[one["new"]], one["old"]) for one in notes["relations"]]
    known = [{one["text"] for one in call.get("known", ())} for call in calls]
    return [
        old[:MAX_KNOWN_FACT_CHARS] in known[later]
        for earlier, later, old in pairs
        if 0 <= earlier < later and old in stored
    ]


async def every_fact(memory: AsyncMemoryScope, user: str) -> dict[str, Observation]:
    """Return all observations by id, including superseded ones."""
    pages = memory.admin.runtime.services.store.scan(Select(user, kinds=frozenset({"observation"})))
    return {one.id: one async for page in pages for one in page if isinstance(one, Observation)}


def wrongly_closed(facts: Iterable[Observation], relations: Sequence[Mapping[str, str]]) -> int:
    """Count superseded facts that no recorded relation closes. Only "repeats" may close either fact."""
    over = {one["old"] for one in relations} | {one["new"] for one in relations if one["relation"] == "repeats"}
    return sum(1 for one in facts if one.closed and one.text not in over)


def with_named_turns(asked: AskedQuestion, facts: Mapping[str, Observation]) -> AskedQuestion:
    """Attribute to each insight the turns of its facts that are closest to the question."""
    named = {}
    for insight in (hit.insight for hit in asked.hits if hit.insight):
        held = [facts[id] for id in insight.sources if id in facts]
        held.sort(key=lambda fact: -closeness(asked.question.text, fact.text))
        named[insight.id] = {quote.turn for quote in [quote for fact in held for quote in fact.quotes][:MAX_QUOTED]}
    return replace(asked, named=named)


def recall_of_sources(asked: Sequence[AskedQuestion], k: int = 10) -> float:
    """Return recall if a hit covers its turn and up to ``MAX_QUOTED`` turns of each fact that it prints."""
    shares = []
    for one in asked:
        sources = [{key for fact in hit.matched for key in fact.sources[:MAX_QUOTED]} for hit in one.hits]
        own = [{hit.turn.key} if hit.turn else one.named.get(hit.id, set()) for hit in one.hits]
        items = [turn | more for turn, more in zip(own, sources, strict=True)]
        if one.question.category != ADVERSARIAL:
            shares.append(recall(items, one.question.evidence, k))
    return round(100 * statistics.mean(shares), 1)


def summary(runs: Sequence[Replay]) -> Mapping[str, Any]:
    facts = [fact for run in runs for fact in run.facts.values()]
    before = figures([one for run in runs for one in run.before])
    asked = [with_named_turns(one, run.facts) for run in runs for one in run.after]
    after = figures(asked)
    current = sum(1 for fact in facts if fact.current)
    before_lines = lines_shown([one for run in runs for one in run.before])
    turns = sum(run.turns for run in runs)
    return {
        **lines_shown(asked),
        **{f"{name}_turns": value for name, value in before_lines.items()},
        "recall_at_10": after["recall_at_10"],
        "recall_at_10_turns": before["recall_at_10"],
        "recall_at_10_sources": recall_of_sources(asked),
        "tokens_at_10": after["tokens_at_10"],
        "tokens_at_10_turns": before["tokens_at_10"],
        "current": current,
        "superseded": len(facts) - current,
        "wrongly_closed": sum(run.wrongly_closed for run in runs),
        "relations_shown": round(100 * statistics.mean([one for run in runs for one in run.shown] or [1]), 1),
        "calls_per_turn": round(sum(run.calls for run in runs) / turns, 3),
        "characters_per_turn": round(sum(run.characters for run in runs) / turns),
    }


async def measure(data: str, notes: str, configured: Mapping[str, Any]) -> list[Replay]:
    told = {one["id"]: one for line in Path(notes).read_text("utf-8").splitlines() if (one := json.loads(line))}
    chosen = [one for one in conversations(data) if one.id in told]
    return [await replayed(one, told[one.id], configured) for one in chosen]


@click.command()
@click.argument("data", metavar="DATA")
@click.argument("notes", metavar="NOTES")
@click.option("--embedder", help="URL of an OpenAI-compatible endpoint (…/v1)")
@click.option("--languages", default="en", show_default=True, help="what the embedder understands")
def main(data: str, notes: str, embedder: str | None, languages: str) -> None:
    print(json.dumps(summary(asyncio.run(measure(data, notes, settings(embedder, languages))))))


if __name__ == "__main__":
    main()
