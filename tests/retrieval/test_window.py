"""The turns of a conversation that stand in a prompt."""

from __future__ import annotations

import pytest

from memscope.retrieval.window import first_shown


@pytest.mark.parametrize(
    ("costs", "tokens", "first"),
    [
        ([10, 10, 10], 30, 0),
        ([10] * 5, 40, 2),  # half of the window at a time, so that the next turns change nothing at its beginning
        ([10] * 6, 40, 2),
        ([10] * 7, 40, 4),
        ([10, 35, 10], 40, 2),
        ([10, 50], 40, 2),
    ],
)
def test_the_window_moves_by_half_its_size(costs, tokens, first):
    assert first_shown(costs, tokens) == first
