"""Fixtures for the whole suite. What belongs to one folder stands in that folder's own conftest."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from memscope import languages
from memscope.builtin import memscope_register_languages

from servers.embeddings import EmbeddingServer, Missing
from servers.faults import FaultServer

settings.register_profile("untimed", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("untimed")
memscope_register_languages(languages.register)  # for tests of functions that no memory calls
os.environ["LANGUAGE"] = "en"  # of the program, wherever the tests run
pytest.register_assert_rewrite("memscope_testing")  # or the shipped suites' asserts lose their diff
SERVERS = {"elasticsearch", "postgres"}  # folders whose tests need a server


@pytest.hookimpl(tryfirst=True)  # before ``-m`` is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name in SERVERS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def fault_server() -> Iterator[FaultServer]:
    """An OpenAI-compatible server without faults; replace ``plan`` and ``script`` as the test needs."""
    with FaultServer() as server:
        yield server


@pytest.fixture(scope="session")
def embedding_server() -> Iterator[EmbeddingServer]:
    """Real MiniLM vectors over HTTP; skipped where the weights are not installed."""
    try:
        server = EmbeddingServer()
    except Missing as missing:
        pytest.skip(f"no embedding model: {missing}")
    with server:
        yield server
