"""One reading of a text gives the same as each of its parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memscope.text.analysis import analyse, packed
from memscope.text.terms import packed_terms, terms
from memscope.text.topics import topics
from memscope.text.vectors import sentence_vector

WORDS = st.sampled_from(
    "I'm vegetarian since June 2019; my dog's café 我对花生过敏 and the of cook l'école 12 _x_ ไทย𠀀你".split(" ")
)
TEXTS = st.lists(WORDS).map(" ".join) | st.text(max_size=40)


@given(TEXTS)
def test_terms_topics_and_vector_are_those_of_the_text(text: str) -> None:
    read, vector = analyse(text), sentence_vector(text)
    assert read.terms == packed_terms(terms(text))
    assert read.topics == sum(1 << topic for topic in topics(text))
    assert bool(read.meaning) == (vector is not None)
    if vector is not None:
        scaled = (vector * (127 / abs(vector).max())).round().astype("int8")
        assert abs(scaled.astype(int) - memoryview(read.meaning).cast("b").tolist()).max() <= 1  # type: ignore[operator]


def test_no_token_has_no_vector() -> None:
    assert packed([]) == b""
