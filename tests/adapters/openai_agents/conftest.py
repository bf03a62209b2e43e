"""The adapter for the OpenAI Agents SDK is tested where that is installed: `.ci/adapters.sh openai_agents`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("agents", "memscope_openai_agents")

collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]
if not collect_ignore_glob:  # before any loop runs, as importing reads files
    from memscope_openai_agents import MemoryScopeSession  # noqa: F401


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory
