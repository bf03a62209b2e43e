"""Call every route with foreign tokens and hostile values; ``benchmarks/serve.py`` does so at length, with attacks."""

from __future__ import annotations

import pytest
from benchmarks.serving.requests import ask, ask_by_schema

from memscope.errors import InputError
from memscope_server.access import Caller
from memscope_server.problems import HTTP_STATUS

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(fault_server):
    return {"chat": {"base_url": fault_server.base_url, "model": "scripted"}, "timezone": "Asia/Tokyo"}


async def test_no_route_leaks_fails_or_forgets_the_code_of_an_error(tmp_path, settings):
    assert await ask(tmp_path, settings, 800) == {"leaked": 0, "changed": 0, "failed": 0, "untyped": 0}


async def test_a_leak_and_a_failure_are_noticed(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(Caller, "scope", lambda self, user, agent=None: {"user": user, "agent": agent})
    monkeypatch.setitem(HTTP_STATUS, InputError, 501)
    found = await ask(tmp_path, settings, 120)
    assert found["leaked"] and found["changed"] and found["failed"]


def test_no_operation_fails_on_input_that_openapi_allows(served):
    pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    assert ask_by_schema(served.root, served.operator, 10) == 0
