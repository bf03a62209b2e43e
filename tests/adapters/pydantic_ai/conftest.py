"""The adapter for Pydantic AI is tested where that is installed: `.ci/adapters.sh pydantic_ai`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("pydantic_ai", "openai", "memscope_pydantic_ai")

collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]
if not collect_ignore_glob:  # before any loop runs, as importing reads files
    from memscope_pydantic_ai import MemoryScopeCapability  # noqa: F401


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory
