"""Compare shown with relevant beliefs on PrecisionMemBench, without a chat model.

    python benchmarks/precision.py FOLDER [--speak always] [--show]

FOLDER: the ``fixtures`` of github.com/tenurehq/precisionMemBench. Each belief is added with ``add_memory`` in the form
that the benchmark's other systems get (name, aliases, content and reason in one text), with its scope as ``data``. A
superseded belief becomes an earlier version of the document that supersedes it. Each case's query, and each message of
a session, is sent to ``retrieve`` as by ``context``, limited to its scopes. Pinned beliefs are skipped, as in the
benchmark's harness. Beliefs created within a session are added too.

Prints one JSON object: ``precision`` (1 if nothing is relevant and nothing is shown; "harness" skips these cases) and
``recall`` over single cases, and under ``session`` over the turns of sessions. ``empty_kept``: of the messages for
which nothing is relevant, the percentage for which nothing is shown. ``lines``: the mean number of lines shown.
"""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from memscope import AsyncMemoryScope

Beliefs = dict[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Shown:
    due: frozenset[str]
    lines: frozenset[str]

    @property
    def precision(self) -> float | None:
        if not self.lines:
            return None if not self.due else 0.0
        return len(self.due & self.lines) / len(self.lines)

    @property
    def recall(self) -> float | None:
        return len(self.due & self.lines) / len(self.due) if self.due else None


async def tell(memory: AsyncMemoryScope, belief: Mapping[str, Any], beliefs: Beliefs) -> None:
    parts = [belief["canonical_name"], *(belief.get("aliases") or ()), belief["content"], belief["why_it_matters"]]
    latest: Mapping[str, Any] = belief
    while latest.get("superseded_by") in beliefs:
        latest = beliefs[latest["superseded_by"]]
    await memory.add_memory(
        " ".join(filter(None, parts)),
        user=belief["user_id"],
        time=belief["created_at"],
        name=latest["_id"],
        data={"belief": belief["_id"], "scope": belief["scope"][0]},
    )


async def shown(memory: AsyncMemoryScope, case: Mapping[str, Any], beliefs: Beliefs, speak: Any) -> frozenset[str]:
    text, scope, user = case.get("query", case.get("userMessage")), case["scope"], case.get("userId", "test-user")
    most = case.get("budget", {}).get("maxBeliefs", 10)
    if not text.strip() or not most:
        return frozenset()
    found: set[str] = set()
    for one in scope:
        asked = await memory.retrieve(text, user=user, k=most, filter={"scope": one}, speak=speak)
        memories = [memory for hit in asked.hits for memory in (hit.insight, *hit.observations) if memory is not None]
        found |= {str(memory.data["belief"]) for memory in memories if memory.data}
    return frozenset(one for one in found if not beliefs[one].get("pinned"))


def due(expect: Mapping[str, Any], beliefs: Beliefs) -> frozenset[str] | None:
    """Return the beliefs that the case declares relevant, None if it declares none."""
    relevant = expect.get("relevantBeliefs", {})
    if "shouldOnlyInclude" in relevant:
        return frozenset(relevant["shouldOnlyInclude"])
    if "mustInclude" in relevant:
        return frozenset(one for one in relevant["mustInclude"] if not beliefs[one].get("pinned"))
    return None


async def measure(folder: Path, speak: str, show: bool) -> dict[str, Any]:
    beliefs: Beliefs = {one["_id"]: one for one in _read(folder, "beliefs.seed")}
    order = sorted(beliefs.values(), key=lambda one: (not one.get("superseded_by"), one["created_at"]))
    single, session = [], []
    async with AsyncMemoryScope(":memory:") as memory:
        for belief in order:
            await tell(memory, belief, beliefs)
        for case in _read(folder, "retrieval.cases"):
            single += await _asked(memory, case, beliefs, speak, show)
        for case in _read(folder, "session-retrieval.cases"):
            for turn in case["turns"]:
                session += await _asked(memory, turn, beliefs, speak, show)
                if made := turn.get("createBeliefAtTurn"):
                    beliefs[made["_id"]] = made
                    await tell(memory, made, beliefs)
    return {**figures(single), "session": figures(session)}


async def _asked(
    memory: AsyncMemoryScope, case: Mapping[str, Any], beliefs: Beliefs, speak: str, show: bool
) -> list[Shown]:
    wanted = due(case["expect"], beliefs)
    if wanted is None:
        return []
    one = Shown(wanted, await shown(memory, case, beliefs, speak))
    if show:
        print(
            case.get("query", case.get("userMessage"))[:90], sorted(one.due), sorted(one.lines - one.due), sep="\n    "
        )
    return [one]


def figures(cases: Sequence[Shown]) -> dict[str, Any]:
    precisions = [one.precision for one in cases]
    return {
        "precision": _mean([1.0 if one is None else one for one in precisions]),
        "harness": _mean([one for one in precisions if one is not None]),
        "recall": _mean([one.recall for one in cases if one.recall is not None]),
        "empty_kept": _mean([100.0 * (not one.lines) for one in cases if not one.due]),
        "lines": _mean([len(one.lines) for one in cases]),
        "cases": len(cases),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.mean(values), 2) if values else None


def _read(folder: Path, name: str) -> list[Any]:
    read: list[Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return read


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--speak", default="when_needed", show_default=True)
@click.option("--show", is_flag=True)
def main(folder: Path, speak: str, show: bool) -> None:
    print(json.dumps(asyncio.run(measure(folder, speak, show))))


if __name__ == "__main__":
    main()
