"""Several processes add and revoke tokens concurrently, and no acknowledged change is lost."""

from __future__ import annotations

import json
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import pytest

from memscope.errors import ConfigError, NotFound
from memscope_server.tokens import TokenFile

PROCESSES, EACH = 8, 20


def add_and_revoke(path: Path, process: int) -> tuple[list[str], list[str]]:
    """Add tokens and revoke every second one; return the secrets of valid and of revoked ones."""
    valid, revoked = [], []
    for number in range(EACH):
        token, secret = TokenFile(path).add("user", f"user-{process}-{number}")
        if number % 2:
            TokenFile(path).revoke(token.id)
        (revoked if number % 2 else valid).append(secret)
    return valid, revoked


@pytest.mark.slow
def test_eight_processes_lose_no_token_and_no_revocation(tmp_path):
    path = tmp_path / "tokens.json"
    server = TokenFile(path)  # stays open, as a running server's does
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        done = list(pool.map(add_and_revoke, [path] * PROCESSES, range(PROCESSES)))
    valid, revoked = (list(chain.from_iterable(one[side] for one in done)) for side in (0, 1))
    assert len(valid) == len(revoked) == PROCESSES * EACH // 2
    assert [secret for secret in valid if server.find(secret) is None] == []
    assert [secret for secret in revoked if server.find(secret)] == []
    assert sorted(os.listdir(tmp_path)) == ["tokens.json", "tokens.json-lock"]
    assert all(name.stat().st_mode & 0o777 == 0o600 for name in tmp_path.iterdir())


def test_a_change_within_a_tick_of_the_file_systems_clock_is_seen(tmp_path, monkeypatch):
    """Notice a file that was replaced twice within a clock tick and so has the old time and inode."""
    path = tmp_path / "tokens.json"
    server = TokenFile(path)
    token, secret = server.add("user", "alice")
    assert server.find(secret)
    before = path.stat()
    text = path.read_text()
    os.utime(path)
    revoked = json.loads(text)
    revoked[0]["revoked"] = revoked[0]["created"]
    path.write_text(json.dumps(revoked, indent=1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_ino == before.st_ino and server.find(secret) is None and token.id


def test_a_file_that_does_not_change_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "tokens.json"
    server = TokenFile(path)
    secret = server.add("user", "alice")[1]
    os.utime(path, (1_700_000_000, 1_700_000_000))
    reads = []
    monkeypatch.setattr(Path, "read_bytes", lambda self, read=Path.read_bytes: reads.append(self) or read(self))
    assert all(server.find(secret) for _ in range(5)) and len(reads) == 1


def test_a_failed_write_leaves_the_tokens_unchanged(tmp_path, monkeypatch):
    path = tmp_path / "tokens.json"
    secret = TokenFile(path).add("user", "alice")[1]
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ConfigError, match="No space left"):
        TokenFile(path).add("user", "bob")
    monkeypatch.undo()
    assert path.read_bytes() == before and TokenFile(path).find(secret)
    assert TokenFile(path).add("user", "bob")


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '[{"id": 1}]', '[{"id": "a", "digest": 5, "role": "user"}]', "[["]
)
def test_a_damaged_token_file_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "tokens.json"
    path.write_text(content)
    for use in (TokenFile(path).tokens, lambda: TokenFile(path).add("user", "bob")):
        with pytest.raises(ConfigError, match="tokens"):
            use()
    assert path.read_text() == content


def test_only_a_token_of_the_file_can_be_revoked(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    secret = tokens.add_temporary()
    token = tokens.find(secret)
    with pytest.raises(NotFound):
        tokens.revoke(token.id)
    assert tokens.find(secret) == token
