"""Installations with less than everything: what they say and can do."""

from __future__ import annotations

import subprocess
import sys

import pytest

import memscope_langchain

FRAMEWORKS = ("langchain", "langchain_classic", "langgraph")


def without(missing: str, code: str) -> str:
    """Return the output of ``code`` where ``missing`` is not installed."""
    begin = f"import sys\nsys.modules.update(dict.fromkeys({missing.split()!r}))\n"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", begin + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("MemoryScopeMemory", "langchain_classic"),
        ("MemoryScopeMiddleware", "langchain"),
        ("MemoryScopeStore", "langgraph"),
    ],
)
def test_a_class_says_what_it_needs(name, missing):
    code = f"try:\n from memscope_langchain import {name}\nexcept ModuleNotFoundError as error:\n print(error)"
    said = without(missing, code)
    assert said.startswith(f"{name} needs {missing}")
    assert "./adapters/langchain[all]" in said


@pytest.mark.slow
def test_langchain_core_is_enough_for_the_others():
    code = (
        "from memscope_langchain import MemoryScopeRetriever, MemoryScopeChatMessageHistory, SearchMemoryTool\n"
        "memory = {'store': ':memory:'}\n"
        "print(MemoryScopeRetriever(user='alice', memory=memory).invoke('boat'))\n"
        "print(SearchMemoryTool(user='alice', memory=memory).invoke('boat'))\n"
        "print(MemoryScopeChatMessageHistory(user='alice', session='one', memory=memory).messages)\n"
    )
    assert without(" ".join(FRAMEWORKS), code).splitlines() == ["[]", "Nothing is remembered about this.", "[]"]


def test_every_name_is_there():
    assert [name for name in memscope_langchain.__all__ if not hasattr(memscope_langchain, name)] == []
    with pytest.raises(AttributeError):
        memscope_langchain.Nothing  # noqa: B018


def test_it_is_an_adapter_of_memscope():
    from memscope.adapters import langchain

    assert langchain is memscope_langchain
