"""Measure the cost of ``import memscope``, and count the distributions that it depends on.

    python benchmarks/imports.py

``ratio``: CPU time to import asyncio, sqlite3, pluggy and memscope, divided by that of the first three; without
interpreter start, with cached bytecode, median of fifteen processes. ``distributions``: dependencies besides numpy.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution

RUNS = 15
IMPORTS = """
import time
begin = time.process_time()
import asyncio, sqlite3, pluggy
three = time.process_time()
import memscope
print((time.process_time() - begin) / (three - begin))
"""
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?[^;]*(?:;(.*))?")
BESIDES = {"numpy", "memscope"}


def import_ratio(bytecode: str) -> float:
    """Measure once. ``bytecode``: folder of the bytecode cache, used even if the environment turns caching off."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def applies(marker: str | None) -> bool:
    """Evaluate the PEP 508 marker of a requirement; requirements of extras never apply."""
    if not marker:
        return True
    from packaging.markers import Marker

    return "extra" not in marker and Marker(marker).evaluate()


def closure(name: str) -> set[str]:
    """Return the names of all distributions that ``name`` needs, including itself."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # only needed on another platform
        found.add(name)
        parsed = [REQUIREMENT.match(need) for need in needs]
        waiting += [match[1] for match in parsed if match and applies(match[2])]
    return found


def megabytes(names: set[str]) -> float:
    files = [file for name in names for file in distribution(name).files or []]
    sizes = [os.path.getsize(path) for file in files if os.path.isfile(path := file.locate())]
    return round(sum(sizes) / 1e6, 1)


def main() -> None:
    needed = closure("memscope") - BESIDES
    print(f"{', '.join(sorted(needed))}: {megabytes(needed)} MB", file=sys.stderr)
    with tempfile.TemporaryDirectory() as bytecode:
        import_ratio(bytecode)  # fills the cache
        ratio = statistics.median(import_ratio(bytecode) for _ in range(RUNS))
    print(json.dumps({"ratio": round(ratio, 2), "distributions": len(needed), "megabytes": megabytes(needed)}))


if __name__ == "__main__":
    main()
