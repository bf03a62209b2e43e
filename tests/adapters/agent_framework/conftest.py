"""The adapter for Agent Framework is tested where that is installed: `.ci/adapters.sh agent_framework`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("agent_framework", "agent_framework_openai", "memscope_agent_framework")

collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]
if not collect_ignore_glob:  # before any loop runs, as importing reads files
    from memscope_agent_framework import MemoryScopeContextProvider  # noqa: F401


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory
