"""Evaluate name recognition without a model on labelled data: ``python benchmarks/entities.py [FOLDER] [--errors]``.

Each line of ``labelled_en.txt`` and ``labelled_zh.txt`` is a sentence with names marked as ``[Kim|p]``: p person, l
place, o organisation, t thing, c topic. Odd lines are for development, even lines are held out. A name counts as found
if its text is equal; ``kinds`` is the share of found names with the right kind.

Also times ``--turns`` turns made of these sentences in a SQLite file: ``scan_ms`` to read them, ``first_ms`` for the
first ``entities(top=20)``, ``changed_ms`` after another turn, ``again_ms`` without a change.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from memscope import AsyncMemoryScope, languages
from memscope.builtin import memscope_register_languages
from memscope.languages.names import name_form, names
from memscope.records import Select

FOLDER = Path(__file__).parents[1] / "tests" / "entities"
KINDS = {"p": "person", "l": "place", "o": "organisation", "t": "thing", "c": "topic"}
MARK = re.compile(r"\[([^|\]]+)\|([plotc])\]")
HALVES = ("development", "held_out")

memscope_register_languages(languages.register)  # names are read before a memory is opened


class SentenceScore(NamedTuple):
    sentence: str
    wanted: dict[str, str]
    found: dict[str, str]


def sentences(path: Path, half: str) -> Iterator[SentenceScore]:
    for line in path.read_text(encoding="utf-8").splitlines()[HALVES.index(half) :: 2]:
        sentence = MARK.sub(r"\1", line)
        wanted = {name_form(name): KINDS[kind] for name, kind in MARK.findall(line)}
        yield SentenceScore(sentence, wanted, {name_form(one.text): one.kind for one in names(sentence) if one.weight})


def score(path: Path, half: str) -> dict[str, float]:
    scored = list(sentences(path, half))
    right = sum(len(one.wanted.keys() & one.found.keys()) for one in scored)
    kinds = sum(one.wanted[name] == one.found[name] for one in scored for name in one.wanted.keys() & one.found.keys())
    return {
        "names": sum(len(one.wanted) for one in scored),
        "precision": round(right / max(1, sum(len(one.found) for one in scored)), 3),
        "recall": round(right / max(1, sum(len(one.wanted) for one in scored)), 3),
        "kinds": round(kinds / max(1, right), 3),
    }


async def times(folder: Path, turns: int) -> dict[str, float]:
    texts = [one.sentence for path in sorted(folder.glob("labelled_*.txt")) for half in HALVES
             for one in sentences(path, half)]  # fmt: skip
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    said = [{"role": "user", "content": f"{texts[at % len(texts)]} ({at})", "time": begin + timedelta(minutes=at)}
            for at in range(turns)]  # fmt: skip
    found: dict[str, float] = {"turns": turns}
    with tempfile.TemporaryDirectory() as place:
        async with AsyncMemoryScope(f"{place}/m.db") as memory:
            for start in range(0, turns, 1000):
                await memory.add_turns(said[start : start + 1000], user="u")
            at = time.perf_counter()
            async for _ in memory.admin.runtime.services.store.scan(Select("u")):
                pass
            found["scan_ms"] = round(1000 * (time.perf_counter() - at), 2)
            for name in ("first_ms", "again_ms", "changed_ms"):
                if name == "changed_ms":
                    await memory.add_turns([{"role": "user", "content": "Kim called me in Lisbon."}], user="u")
                at = time.perf_counter()
                await memory.entities("u").list(top=20)
                found[name] = round(1000 * (time.perf_counter() - at), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--errors", action="store_true", help="show the mistakes of the development half")
    parser.add_argument("--turns", type=int, default=5000)
    asked = parser.parse_args()
    paths = {path.stem.removeprefix("labelled_"): path for path in sorted(asked.folder.glob("labelled_*.txt"))}
    for path in paths.values() if asked.errors else ():
        for one in sentences(path, "development"):
            if one.wanted != one.found:
                print(one.sentence, "\n   ", one.wanted, "\n   ", one.found)
    scores = {name: {half: score(path, half) for half in HALVES} for name, path in paths.items()}
    held_out = {f"{name}_{key}": value for name, one in scores.items() for key, value in one["held_out"].items()}
    print(json.dumps({**scores, **held_out, **asyncio.run(times(asked.folder, asked.turns))}))


if __name__ == "__main__":
    main()
