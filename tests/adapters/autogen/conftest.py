"""The adapter for AutoGen is tested where AutoGen is installed: `.ci/adapters.sh autogen`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("autogen_agentchat", "autogen_ext", "memscope_autogen")

collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory
