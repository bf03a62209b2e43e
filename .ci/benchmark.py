"""Run one line of `.ci/benchmarks`: "name arguments | condition, condition"; fails when a condition does not hold.

Given a file of such lines that name no data or server, run all of them.
"""

from __future__ import annotations

import json
import math
import operator
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

COMPARE = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt, ">": operator.gt}
TIMEOUT_S = 1200
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def holds(condition: str, result: dict[str, Any]) -> bool:
    """ "key <= 2", "key <= 2 * other" or "outer.key <= 2"."""
    for name, inner in list(result.items()):
        result |= {f"{name}.{key}": value for key, value in inner.items()} if isinstance(inner, dict) else {}
    key, compare, *limit = condition.replace("*", " ").split()
    return COMPARE[compare](result[key], math.prod(result[part] if part in result else float(part) for part in limit))


def main(given: str) -> int:
    if "|" in given:
        return measure(given)
    lines = [line.partition("#")[0].strip() for line in Path(given).read_text().splitlines()]
    return max([measure(line) for line in lines if line], default=0)


def measure(line: str) -> int:
    command, _, wanted = line.partition("|")
    name, *arguments = command.split()
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, BENCHMARKS / f"{name}.py", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        print(f"{name} {' '.join(arguments)}: does not hold, it did not end in {TIMEOUT_S} s")
        return 1
    seconds = time.monotonic() - begin
    if done.returncode:
        print(f"{name}: ended with {done.returncode}")
        return 1
    result = json.loads(done.stdout.splitlines()[-1])
    missed = [condition for condition in map(str.strip, wanted.split(",")) if not holds(condition, result)]
    print(f"{name} {' '.join(Path(argument).name for argument in arguments)} ({seconds:.0f} s): {json.dumps(result)}")
    if missed:
        print(f"    does not hold: {', '.join(missed)}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
