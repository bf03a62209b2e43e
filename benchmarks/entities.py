"""Names found without a model against labelled sentences: ``python benchmarks/entities.py [FOLDER] [--errors]``.

A line of ``labelled_en.txt`` and ``labelled_zh.txt`` is a sentence whose names are marked ``[Kim|p]``: p person, l
place, o organisation, t thing, c topic. The odd lines are the development half, the even ones are held out. A name is
found if it has the same words; ``kinds`` is the share of those that have the same kind as well.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memscope.text.names import name_form, names

FOLDER = Path(__file__).parents[1] / "tests" / "entities"
KINDS = {"p": "person", "l": "place", "o": "organisation", "t": "thing", "c": "topic"}
MARK = re.compile(r"\[([^|\]]+)\|([plotc])\]")
HALVES = ("development", "held_out")


class Scored(NamedTuple):
    sentence: str
    wanted: dict[str, str]
    found: dict[str, str]


def sentences(path: Path, half: str) -> Iterator[Scored]:
    for line in path.read_text(encoding="utf-8").splitlines()[HALVES.index(half) :: 2]:
        sentence = MARK.sub(r"\1", line)
        wanted = {name_form(name): KINDS[kind] for name, kind in MARK.findall(line)}
        yield Scored(sentence, wanted, {name_form(one.text): one.kind for one in names(sentence) if one.weight})


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--errors", action="store_true", help="show the mistakes of the development half")
    asked = parser.parse_args()
    paths = {path.stem.removeprefix("labelled_"): path for path in sorted(asked.folder.glob("labelled_*.txt"))}
    for path in paths.values() if asked.errors else ():
        for one in sentences(path, "development"):
            if one.wanted != one.found:
                print(one.sentence, "\n   ", one.wanted, "\n   ", one.found)
    print(json.dumps({name: {half: score(path, half) for half in HALVES} for name, path in paths.items()}))


if __name__ == "__main__":
    main()
