"""Fixtures for the whole suite. What belongs to one folder stands in that folder's own conftest."""

from __future__ import annotations

import ast
import functools
import gc
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from importlib.metadata import Distribution, EntryPoints, entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from memscope import languages
from memscope.builtin import memscope_register_languages
from memscope.config import sections
from memscope.plugins import loader

from servers.embeddings import EmbeddingServer, Missing
from servers.faults import FaultServer

settings.register_profile("untimed", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("untimed")
memscope_register_languages(languages.register)  # for tests of functions that no memory calls
os.environ["LANGUAGE"] = "en"  # of the program, wherever the tests run
pytest.register_assert_rewrite("memscope_testing", "adapters")  # or the asserts of suites lose their diff
SERVERS = {"elasticsearch", "postgres"}  # folders whose tests need a server
NODE = "MEMSCOPE_TEST_ES_URL"  # what a test is skipped without, elsewhere

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # every process that a test starts would compile all that it imports
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
MEMORY_DISK, NEEDED_BYTES = Path("/dev/shm"), 2 * 2**30
if MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > NEEDED_BYTES:  # a SQLite test waits for a disk mostly
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))


@functools.cache
def _installed(path: tuple[str, ...], **wanted: str) -> EntryPoints:
    return entry_points(**wanted)


def _entry_points(**wanted: str) -> EntryPoints:
    """Read what is installed once for each ``sys.path``: with 200 distributions that is most of opening a memory."""
    return _installed(tuple(sys.path), **wanted)


loader.entry_points = sections.entry_points = _entry_points


def _parse(*source: Any, parse: Callable[..., Any] = ast.parse, **options: Any) -> Any:
    """Parse while no garbage is collected, which takes half of the time.

    Python 3.11 raises SystemError if a finalizer parses meanwhile, as one does whose warning is shown with its line.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return parse(*source, **options)
    finally:
        if collects:
            gc.enable()


ast.parse = _parse
Distribution.metadata = property(functools.cache(Distribution.metadata.fget))  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Start one worker more than there are cores, as tests of deadlines, locks and processes mostly wait."""
    return (yield) + 1


@pytest.hookimpl(tryfirst=True)  # before ``-m`` is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reasons = " ".join(mark.kwargs.get("reason", "") for mark in item.iter_markers("skipif"))
        if item.path.parent.name in SERVERS or NODE in reasons:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep thousands of tests, and the modules they import, from being looked at by each collection of garbage."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # or libraries complain at the end of what is never freed


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
