"""Questions about the family of somebody who is not the user's."""

from __future__ import annotations

from memscope import MemoryScope


def test_the_family_of_somebody_that_no_line_names_is_not_the_users():
    with MemoryScope(":memory:", settings={}) as memory:
        for text in ("My wife is called Noor.", "My brother has six hens."):
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        assert memory.context("Which king of England had six wives?", user="alice") == ""
        assert "Noor" in memory.context("What is the wife called?", user="alice")
