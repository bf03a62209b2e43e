"""A mistake in the settings of an adapter is told when it is made; other failures leave the agent without memory."""

from __future__ import annotations

import pytest

from memscope.adapters.exports import WrongFramework
from memscope.adapters.session import MemorySession, SessionPool
from memscope.errors import MemscopeError

MISTAKES = [
    {"stor": "memory.db"},
    {"store": "nowhere://host"},
    {"store": "no/such/folder/memory.db"},
    {"store": "/"},
    {"store": "memory.db", "lease_s": float("inf")},
    {"chat": {"model": "m", "provider": "nobody"}},
    {"chat": {"preset": "openai"}},
    {"pipelines": {"retrieve": ["nobody"]}},
    {"pipelines": {"consolidate": ["extract", "nobody"]}},
    {"plugins": {"require": ["nobody"]}},
    {"prompts": "no/such/folder"},
    {"timezone": "Mars/Base"},
    5,  # would open the usual store
]


ADAPTERS = {
    "memscope_google_adk": ("MemoryScopePlugin", {}),
    "memscope_llama_index": ("MemoryScopeBlock", {"user": "alice"}),
    "memscope_pydantic_ai": ("MemoryScopeCapability", {"user": "alice"}),
    "memscope_openai_agents": ("MemoryScopeSession", {"session_id": "one", "user": "alice"}),
    "memscope_agent_framework": ("MemoryScopeContextProvider", {"user": "alice"}),
    "memscope_autogen": ("MemoryScopeMemory", {"user": "alice"}),
    "memscope_langchain": ("MemoryScopeMiddleware", {}),
    "memscope_agentscope": ("MemoryScopeMiddleware", {"user": "alice"}),
}


@pytest.mark.parametrize("settings", MISTAKES, ids=str)
def test_it_is_an_error_where_the_session_is_made(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for make in (lambda: MemorySession("alice", memory=settings), lambda: SessionPool(settings)):
        with pytest.raises(MemscopeError) as caught:
            make()
        assert caught.value.code in ("config", "plugin") and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("settings", MISTAKES[:3], ids=str)
def test_and_where_an_adapter_is_made(name, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, given = ADAPTERS[name]
    try:
        adapter = getattr(pytest.importorskip(name), made)
    except WrongFramework as missing:
        pytest.skip(str(missing))
    with pytest.raises(MemscopeError) as caught:
        adapter(memory=settings, **given)
    assert caught.value.code == "config"


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("memscope_langchain", "MemoryScopeRetriever"),
        ("memscope_langchain", "MemoryScopeMemory"),
        ("memscope_langchain", "SearchMemoryTool"),
        ("memscope_llama_index", "MemoryScopeBlock"),
    ],
)
def test_a_misspelt_argument_is_refused(name, made):
    try:
        adapter = getattr(pytest.importorskip(name), made)
    except WrongFramework as missing:
        pytest.skip(str(missing))
    with pytest.raises(ValueError, match="sesion"):
        adapter(user="alice", sesion="monday")
