"""Standing wishes about programs are shown for a task about some, and for nothing else."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages.flags import wishes
from memscope.languages.requests import need, wishes_heeded
from memscope.text.tokens import pieces
from memscope.text.topics import topic_bits

WISHES = [
    "use pnpm, not npm, in anything you suggest",
    "Always add type hints to Python code.",
    "以后写代码都用制表符缩进",
]
TASKS = [
    "write a Dockerfile for a node app", "Fix this: def add(a, b): return a - b", "how do I undo the last git commit",
    "写个脚本批量改文件名",
]  # fmt: skip
OTHERS = ["write a poem about the sea", "what is the capital of Peru", "翻译成英文：你好", "thanks!"]


@pytest.mark.parametrize("wish", WISHES)
def test_a_wish_about_programs_is_known(wish):
    assert "code" in wishes(wish, pieces(wish), topic_bits([wish])[0])
    assert "code" not in wishes("Don't recommend seafood.", pieces("Don't recommend seafood."), 0)


@pytest.mark.parametrize("task", TASKS)
def test_it_is_heeded_by_a_task_about_programs(task):
    assert "code" in wishes_heeded(task, need(task))


@pytest.mark.parametrize("other", OTHERS)
def test_it_is_not_heeded_by_others(other):
    assert "code" not in wishes_heeded(other, need(other))


@pytest.mark.parametrize("wish", WISHES)
def test_it_is_shown_for_such_a_task_alone(wish):
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": wish}], user="alice")
        for task in TASKS:
            assert wish.rstrip(".") in memory.context(task, user="alice")
        for other in OTHERS:
            assert memory.context(other, user="alice") == ""
