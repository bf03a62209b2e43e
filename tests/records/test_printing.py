"""The look of a result to a person at a prompt or in a notebook."""

from __future__ import annotations

from memscope import MemoryScope
from memscope.records import WorkReport
from memscope_testing.models import IdealChat

HOSTILE = "<script>alert(1)</script> lives in Lisbon"


def test_a_retrieval_prints_as_dated_lines_with_why():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns(
            [{"role": "user", "content": "I live in Berlin.", "time": "2026-03-02T08:15+00:00"}], user="alice"
        )
        found = memory.retrieve("Where do I live? Berlin?", user="alice")
    assert str(found).startswith("1. [2026-03-02] I live in Berlin.  (") and "text" in str(found)
    assert repr(found) == f"Retrieval([{found[0]!r}], reason='')"
    assert repr(found[0]).startswith("Hit(") and "'I live in Berlin.'" in repr(found[0]) and len(repr(found[0])) < 150


def test_records_are_short_where_they_are_shown():
    with MemoryScope(":memory:", settings={}) as memory:
        said = {"role": "user", "content": "I live in\nBerlin. " * 50, "time": "2026-03-02T08:15+00:00"}
        memory.add_turns([said], user="alice")
        for text in ("Alice is vegan.", "Alice eats fish."):
            note = memory.add_memory(text, user="alice", name="diet", time="2026-03-02T08:15+00:00")
        (turn, *_) = memory.list(user="alice")
        versions = [repr(one).replace(note.id, "ID") for one in memory.history(note.id, user="alice")]
        assert repr(turn).startswith(f"Turn({turn.key!r}, 2026-03-02 08:15, 'user', 'I live in Berlin. I live in ")
        assert len(repr(turn)) < 180 and repr(memory) == "MemoryScope(':memory:')"
    assert versions[-1] == "Observation('ID', 2026-03-02, 'Alice eats fish.')"
    assert "'Alice is vegan.', no longer current)" in versions[0]


def test_a_year_has_four_digits():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "I was born.", "time": "0987-05-03T10:00Z"}], user="alice")
        found, (turn,) = memory.retrieve("born", user="alice"), memory.list(user="alice")
        assert "[0987-05-03]" in str(found) and "0987-05-03 10:00" in found._repr_html_()
        assert ", 0987-05-03 10:00, " in repr(turn)


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
        assert memory.admin.users() == []
        for user in ("bob", "爱丽丝", "alice"):
            memory.add_turns([{"role": "user", "content": "x"}], user=user)
        assert memory.admin.users() == ["alice", "bob", "爱丽丝"]


def test_a_report_without_a_chat_model_prints_that_nothing_is_lost():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "I live in Berlin."}], user="alice")
        assert str(memory.consolidate(user="alice")) == "no chat model: 1 turn kept, searchable"
        memory.add_memory("Alice is vegan.", user="alice")
        assert str(memory.reflect(user="alice")) == "no chat model: 2 records kept, searchable"


def test_a_report_prints_what_was_made_and_what_failed():
    said = "I live in Berlin."
    fact = {"turns": [0], "text": "The user lives in Berlin.", "quote": said, "about": "user", "when": "",
            "keywords": ["home"], "level": 3}  # fmt: skip
    with MemoryScope(":memory:", settings={}, chat=IdealChat([{"text": said}], [fact])) as memory:
        memory.add_turns([{"role": "user", "content": said}], user="alice")
        assert str(memory.consolidate(user="alice")) == "consolidate: 1 new; 1 done"
        assert str(memory.consolidate(user="alice")) == "consolidate: nothing new; 0 done"
    failed = WorkReport("consolidate", "a-model", pending=2, errors={"model_auth": 1})
    assert str(failed) == "consolidate: nothing new; 0 done, 2 pending; failed: 1 × model_auth"
