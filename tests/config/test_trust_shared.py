"""The list of trusted files, changed by several processes at once."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from memscope.config import trust

PROCESSES, EACH = 4, 10


def trust_and_revoke(config: str, process: int) -> None:
    """Trust files, every second one only for a moment."""
    os.environ["XDG_CONFIG_HOME"] = config
    for number in range(EACH):
        file = Path(config) / f"{process}-{number}.yaml"
        file.write_text("batch_turns: 3\n")
        trust.add(file)
        if number % 2:
            assert trust.remove(file)


@pytest.mark.slow
def test_processes_lose_no_trust_and_no_revocation(tmp_path, monkeypatch):
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(trust_and_revoke, [str(tmp_path)] * PROCESSES, range(PROCESSES)))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    wanted = {f"{process}-{number}.yaml" for process in range(PROCESSES) for number in range(0, EACH, 2)}
    assert {Path(path).name for path in trust.trusted()} == wanted
    assert sorted(os.listdir(tmp_path / "memscope")) == ["trusted.json", "trusted.json-lock"]
