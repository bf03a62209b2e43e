"""Logs of the server have no words of a conversation, whatever fails."""

from __future__ import annotations

import logging

import httpx2
import pytest

from memscope import AsyncMemoryScope
from server.conftest import serving

SAID = "the boat is green"


async def careless(*args, **kwargs):
    raise KeyError(SAID)


@pytest.fixture
def client(tmp_path, caplog):
    from memscope_server.tokens import TokenFile

    tokens = TokenFile(tmp_path / "tokens.json")
    caplog.set_level(logging.DEBUG)
    with serving(tmp_path / "memory.db", tokens) as root:
        headers = {"Authorization": f"Bearer {tokens.add('user', 'alice')[1]}"}
        with httpx2.Client(base_url=root, headers=headers, timeout=60) as opened:
            yield opened


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
@pytest.mark.parametrize("path", ["/api/v1/users/alice/profile", "/u/alice/"])
def test_an_unexpected_error_is_logged_by_its_type_and_place(client, caplog, monkeypatch, path, accept):
    monkeypatch.setattr(AsyncMemoryScope, "profile", careless)
    reply = client.get(path, headers={"Accept": accept})
    assert reply.status_code == 500 and "KeyError" in reply.text and SAID not in reply.text
    assert reply.headers["content-type"].startswith(("text/html", "application/problem+json"))
    assert SAID not in caplog.text and "KeyError in a request" in caplog.text and "test_logs.py" in caplog.text


def test_a_response_that_breaks_off_is_logged_by_its_type_and_place(client, caplog, monkeypatch):
    from memscope_server import api

    async def broken(*args, **more):
        yield b"event: piece\n"
        raise KeyError(SAID)

    monkeypatch.setattr(AsyncMemoryScope, "chat", lambda *args, **kwargs: None)
    monkeypatch.setattr(api, "stream_events", broken)
    with pytest.raises(httpx2.RemoteProtocolError):
        client.post("/api/v1/users/alice/chat", json={"text": "Hi"})
    assert SAID not in caplog.text and "KeyError in a request" in caplog.text
