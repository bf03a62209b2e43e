"""Sentences that the rules were not written from: both halves keep what they have reached."""

from __future__ import annotations

import pytest

from dates.unseen import generated, labelled, measure


@pytest.mark.parametrize(("cases", "wrong"), [(labelled, 0.06), (generated, 0.01)])
def test_dates_of_unseen_sentences(cases, wrong):
    for half, found in measure(cases()).items():
        assert found["en"] >= 0.95 and found["zh"] >= 0.95, half
        assert found["wrong"] <= wrong, half
