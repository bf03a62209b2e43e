"""An agent's token learns nothing of the other agents of its user."""

from __future__ import annotations

import pytest

ALICE = "/api/v1/users/alice"


@pytest.fixture
def helper(served):
    with served.client(served.operator) as operator:
        for agent, label in ((None, "shared"), ("helper", "notes"), ("lawyer", "divorce")):
            block = {"label": label, "value": "Prefers short answers.", "agent": agent}
            assert operator.post(f"{ALICE}/blocks", json=block).status_code == 200
    with served.client(served.assistant) as client:
        yield client


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_receipt_names_no_block_of_another_agent(helper, operator, dry_run):
    asked = {"text": "short answers", "dry_run": dry_run}
    report = helper.post(f"{ALICE}/forget", json=asked).json()
    assert report["observations"] == 1 and report["may_hold"] == ["human", "notes", "shared"]


def test_a_page_names_no_block_of_another_agent(helper):
    shown = helper.get("/u/alice/forget", params={"text": "short answers"}).text
    assert "notes" in shown and "divorce" not in shown
