"""The adapter for AutoGen is tested where AutoGen is installed: `.ci/adapters.sh autogen`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("autogen_agentchat") else ["test_*.py"]


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory
