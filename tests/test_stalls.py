"""Stalls of the event loop that the benchmarks count, and the places that they report."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from benchmarks.measuring.stalls import counted, stall_s


async def working(seconds: float) -> dict[str, Any]:
    await asyncio.sleep(0.02)
    compute(seconds)
    await asyncio.sleep(0.02)
    return {"done": True}


def compute(seconds: float) -> None:
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(1000))


def test_a_long_step_is_a_stall_and_its_place_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(counted(working(3 * stall_s()))) == {"done": True, "stalls": 1}
    said = capsys.readouterr().err
    assert "test_stalls.py:15 test_stalls.py:2" in said, said  # the call in `working`, and a line of `compute`


def test_a_short_step_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(counted(working(stall_s() / 5))) == {"done": True, "stalls": 0}
    assert capsys.readouterr().err == ""
