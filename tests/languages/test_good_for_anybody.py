"""Words, moves, measures and ways are good for anybody; a film or a place is good for one user."""

from __future__ import annotations

import pytest

from memscope.languages.requests import NEEDS_USER, need


@pytest.mark.parametrize(
    ("others", "own"),
    [
        ("what's a good opening in draughts", "what's a good film for tonight"),
        ("What are some good riddles?", "any good books left on the pile"),
        ("how much does a decent tent cost", "a decent tent for the two of us?"),
        ("what's a nice way to end a letter", "is there a nice pub near the new office"),
        ("what's the best time of year to plant garlic", "when's the best time to visit the in-laws"),
        ("what happens if someone loses a ticket", "what happens if the boiler man doesn't turn up"),
        ("what time is it in Nairobi", "what time is it on Thursday for the dentist tomorrow"),
        ("what's the date today", "what's the date of my exam"),
    ],
)
def test_what_is_good_for_anybody_needs_little(others, own):
    assert need(others) in {"world", "kind", "task"}
    assert need(own) in NEEDS_USER


@pytest.mark.parametrize(
    "message", ["whose turn was it to cook", "What was the highlight of that trip?", "which format did she want it in"]
)
def test_nouns_that_look_like_verbs_of_editing_are_no_task(message):
    assert need(message) != "task"


@pytest.mark.parametrize("message", ["turn this into a list", "Can you format it as a table?", "and fix the grammar"])
def test_verbs_of_editing_are(message):
    assert need(message) == "task"
