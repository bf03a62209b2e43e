"""How a result looks to a person at a prompt or in a notebook."""

from __future__ import annotations

from memscope import MemoryScope

HOSTILE = "<script>alert(1)</script> lives in Lisbon"


def test_a_retrieval_prints_as_dated_lines_with_why():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns(
            [{"role": "user", "content": "I live in Berlin.", "time": "2026-03-02T08:15+00:00"}], user="alice"
        )
        found = memory.retrieve("Where do I live? Berlin?", user="alice")
    assert str(found).startswith("1. [2026-03-02] I live in Berlin.  (") and "text" in str(found)
    assert repr(found) == f"Retrieval(1 hits of {found.considered}, reason='')"
    assert repr(found[0]).startswith("Hit(") and "'I live in Berlin.'" in repr(found[0]) and len(repr(found[0])) < 150


def test_nothing_found_says_why():
    with MemoryScope(":memory:", settings={}) as memory:
        found = memory.retrieve("Where do I live?", user="alice")
    assert str(found) == found.reason and found.reason in found._repr_html_()


def test_a_notebook_shows_a_table_in_which_nothing_runs():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": HOSTILE}], user="alice")
        shown = memory.retrieve("Who lives in Lisbon?", user="alice")._repr_html_()
    assert "<table>" in shown and "<script>" not in shown and "lives in Lisbon" in shown


def test_users_are_listed_by_name():
    with MemoryScope(":memory:", settings={}) as memory:
        assert memory.users() == []
        for user in ("bob", "爱丽丝", "alice"):
            memory.add_turns([{"role": "user", "content": "x"}], user=user)
        assert memory.users() == ["alice", "bob", "爱丽丝"]
