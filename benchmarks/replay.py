"""Evaluate retrieval with observations, by replaying those in the data as model replies through consolidate.

    python benchmarks/replay.py DATA [--embedder URL]

Prints one JSON object with the keys of ``retrieval.py`` for observations, and ``tokens_at_10_turns`` without them.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import click
from measuring.datasets import Conversation, conversations
from measuring.recall import AskedQuestion, ask, figures, ingest, place, settings
from measuring.stalls import counted

from memscope import AsyncMemoryScope
from memscope.models import Message
from memscope.prompts import visible
from memscope_testing.models import ScriptedChat, data


class Recorded:
    """Replies with the data's observations on the turns in the prompt, without relations between them."""

    def __init__(self, conversation: Conversation) -> None:
        self._noted = defaultdict(list)
        for observation in conversation.observations:
            for turn in observation["evidence"]:
                self._noted[turn].append(observation)
        self._ids = {_shown(turn): turn["id"] for turn in conversation.turns}

    def __call__(self, messages: Sequence[Message]) -> Mapping[str, Any]:
        shown = data(messages)["turns"]
        known = [(self._ids.get((line["by"], line["at"], line["text"])), line) for line in shown]
        lines = {id: line for id, line in known if id is not None}  # None: a context line, which may be shortened
        heard = {id: line for id, line in lines.items() if not line.get("context")}
        noted = {o["id"]: o for id in heard for o in self._noted[id]}
        levels = [{"turn": line["n"], "level": 3 if self._noted[id] else 0} for id, line in heard.items()]
        return {"turns": levels, "facts": [_fact(observation, lines) for observation in noted.values()]}


def _shown(turn: Mapping[str, Any]) -> tuple[str, str, str]:
    return turn["speaker"], f"{turn['time']:%Y-%m-%d %a %H:%M}", visible(turn["content"]).strip()


def _fact(observation: Mapping[str, Any], lines: Mapping[str, Any]) -> Mapping[str, Any]:
    cited = [lines[id] for id in observation["evidence"] if id in lines]
    return {
        "text": observation["text"],
        "about": observation["speaker"],
        "when": "",
        "keywords": [],
        "quotes": [{"turn": line["n"], "words": line["text"]} for line in cited],
    }


async def measure(path: str, configured: Mapping[str, Any]) -> dict[str, list[AskedQuestion]]:
    """Measure recall without observations and with them."""
    before, after = [], []
    for conversation in conversations(path):
        chat = ScriptedChat(Recorded(conversation))
        with place(None) as location:
            async with AsyncMemoryScope(location, settings=configured, chat=chat) as memory:
                await ingest(memory, conversation)
                before += await ask(memory, conversation)
                report = await memory.consolidate(user=conversation.id)
                assert not report.pending, report.errors
                while not await memory.flush():
                    pass
                print(conversation.id, report.new, "new", report.merged, "merged", dict(report.rejected), "rejected")
                after += await ask(memory, conversation)
    return {"before": before, "after": after}


@click.command()
@click.argument("path", metavar="DATA")
@click.option("--embedder", help="URL of an OpenAI-compatible endpoint (…/v1)")
@click.option("--languages", default="en", show_default=True, help="what the embedder understands")
def main(path: str, embedder: str | None, languages: str) -> None:
    measured = asyncio.run(counted(measure(path, settings(embedder, languages))))
    turns = figures(measured["before"])
    beside = {"tokens_at_10_turns": turns["tokens_at_10"], "stalls": measured["stalls"]}
    print(json.dumps({**figures(measured["after"]), **beside}))


if __name__ == "__main__":
    main()
