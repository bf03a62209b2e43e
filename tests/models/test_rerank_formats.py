"""Both shapes of rerank, and the replies that are about other documents."""

from __future__ import annotations

from typing import Any

import pytest

from memscope.errors import ModelReplyError
from memscope.models.clients import read_scores, rerank_body

RESULTS = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0}]


def test_what_is_sent() -> None:
    assert rerank_body("flat", "q", ("a", "b"), {"x": 1}) == {"query": "q", "documents": ["a", "b"], "x": 1}
    assert rerank_body("dashscope", "q", ("a", "b"), {"instruct": "y"}) == {
        "input": {"query": "q", "documents": ["a", "b"]},
        "parameters": {"return_documents": False, "top_n": 2, "instruct": "y"},
    }


@pytest.mark.parametrize("payload", [{"results": RESULTS}, {"output": {"results": RESULTS}}])
def test_scores_come_in_the_order_of_the_documents(payload: dict[str, Any]) -> None:
    assert read_scores(payload, 2) == [0.0, 0.9]


@pytest.mark.parametrize(
    "results",
    [
        None,
        [],
        RESULTS[:1],
        [*RESULTS, RESULTS[0]],
        [RESULTS[0], RESULTS[0]],
        [RESULTS[0], {"index": 2, "relevance_score": 1}],
        [RESULTS[0], {"index": -1, "relevance_score": 1}],
        [RESULTS[0], {"index": "0", "relevance_score": 1}],
        [RESULTS[0], {"index": False, "relevance_score": 1}],
        [RESULTS[0], {"index": 0, "relevance_score": float("nan")}],
        [RESULTS[0], {"index": 0, "relevance_score": "high"}],
        [RESULTS[0], {"index": 0}],
        ["a", "b"],
    ],
)
def test_refuses_results_that_are_not_about_each_document(results: Any) -> None:
    with pytest.raises(ModelReplyError):
        read_scores({"results": results}, 2)
