"""The adapter for Google ADK is tested where that is installed: `.ci/adapters.sh google_adk`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("google.adk", "openai", "memscope_google_adk")


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of the parent
        return False


collect_ignore_glob = [] if all(map(_installed, NEEDED)) else ["test_*.py"]
if not collect_ignore_glob:  # before any loop runs, as importing reads files
    from memscope_google_adk import MemoryScopePlugin  # noqa: F401


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory
