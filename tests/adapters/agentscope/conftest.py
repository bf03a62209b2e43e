"""The adapter for AgentScope is tested where AgentScope is installed: `.ci/adapters.sh agentscope`.

Files that begin with test_v1 are for 1.x, those with test_v2 for 2.x, the others for both.
"""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec

import pytest

if not all(map(find_spec, ("agentscope", "memscope_agentscope"))):
    collect_ignore_glob = ["test_*.py"]
elif version("agentscope").startswith("1."):
    collect_ignore_glob = ["test_v2_*.py"]
else:
    collect_ignore_glob = ["test_v1_*.py"]


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory
