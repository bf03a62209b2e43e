"""When the fault server strikes, and which plans it refuses."""

from __future__ import annotations

import pytest

from servers.faults import CHAT, EMBED, FAULTS, RERANK, FaultServer, Plan


def test_schedules():
    def hits(rule, n=12):
        plan = Plan([{"fault": "server_error", **rule}])
        return [i for i in range(1, n + 1) if plan.choose("chat", i, "some text", f"k{i}")]

    assert hits({"at": [2, 5]}) == [2, 5]
    assert hits({"every": 4}) == [4, 8, 12]
    assert hits({"after": 3, "until": 6}) == [4, 5, 6]
    assert hits({"times": 2}) == [1, 2]
    assert hits({"match": "other"}) == [] and hits({"endpoint": "embeddings"}) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"faults": [{"fault": "nonsense"}]},
        {"faults": [{"fault": "hang", "odd": 1}]},
        {"host": "0.0.0.0"},
        {"latency": {"dist": "zipf"}},
        {"latency": {"dist": "uniform"}},
        {"script": [{"in": "nowhere"}]},
        {"draw": "x"},
    ],
    ids=str,
)
def test_bad_plans_are_refused(bad):
    with pytest.raises(ValueError):
        FaultServer(**bad)


def test_every_fault_strikes_a_known_endpoint():
    assert all(ends <= CHAT | EMBED | RERANK for ends in FAULTS.values())
