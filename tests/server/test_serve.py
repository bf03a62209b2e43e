"""``memscope serve`` and ``memscope token`` in separate processes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("uvicorn", reason="memscope[server] is not installed")


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    return tmp_path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "memscope", *words], capture_output=True, text=True, timeout=60)


@contextmanager
def running(*words: str) -> Iterator[str]:
    """Start ``memscope serve`` and yield the lines that it prints before it serves requests."""
    with serving(*words) as (_, lines):
        yield lines


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start ``memscope serve`` and yield the process with these lines."""
    command = [sys.executable, "-m", "memscope", "serve", "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            lines = []
            while process.stdout and (line := process.stdout.readline()):
                lines.append(line)
                if "Ctrl-C" in line:
                    break
            yield process, "".join(lines)
        finally:
            process.terminate()


def test_the_printed_link_signs_in_as_operator(home):
    with running() as said:
        link = re.search(r"(http://127\.0\.0\.1:\d+/)login\?token=\S+", said)
        assert link, said
        with httpx2.Client(base_url=link[1], timeout=60, follow_redirects=True) as browser:
            assert "token" not in str(browser.get(link[0]).url)
            assert browser.get("/jobs").status_code == 200


def test_a_token_that_is_added_works_and_one_revoked_does_not(home):
    secret, said = run("--user", "alice", "token", "add", "--name", "phone").stdout.splitlines()
    assert "alice" in said and secret not in run("token", "list").stdout
    id = said.split()[1].rstrip(",")
    with running() as printed, httpx2.Client(base_url=re.findall(r"http://\S+/", printed)[0], timeout=60) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        assert client.get("/api/v1/me").json()["user"] == "alice"
        assert "revoked" in run("token", "revoke", id).stdout
        assert client.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_stopped_closes_the_memory(home, how):
    token = run("token", "add", "--role", "operator").stdout.split()[0]
    said = {"turns": [{"role": "user", "content": "I moved to Berlin."}]}
    with serving("--work") as (process, printed):
        address = re.findall(r"http://\S+/", printed)[0]
        headers = {"Authorization": f"Bearer {token}"}
        reply = httpx2.post(f"{address}api/v1/users/alice/turns", json=said, headers=headers, timeout=60)
        assert reply.status_code == 200
        process.send_signal(how)
        assert process.communicate(timeout=60)[0] == "" and process.returncode == 0
    assert not (home / "memory.db-wal").exists()  # SQLite's log is gone once the store is closed


SIGNAL_BEFORE_UVICORN = """
import signal, sys
how = signal.Signals[sys.argv.pop()]
from memscope_cli.app import main
from memscope_server.connections import Server

serve = Server.serve

async def interrupted(self, *args, **options):
    signal.raise_signal(how)
    await serve(self, *args, **options)

Server.serve = interrupted
main()
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_right_after_the_start_stops_the_server(home, how):
    """Such a signal was lost, and the server went on for ever."""
    words = ["serve", "--port", "0", signal.Signals(how).name]
    command = [sys.executable, "-c", SIGNAL_BEFORE_UVICORN, *words]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    assert not (home / "memory.db-wal").exists()


def test_serve_prints_in_the_language_of_the_program(home):
    with running("--lang", "zh") as said:
        assert "以运维者身份登录：http" in said and "Ctrl-C 结束" in said and "sign in" not in said
    assert "不会再次显示" in run("--lang", "zh", "--user", "小明", "token", "add").stdout
    assert "有效" in run("--lang", "zh", "token", "list").stdout


def test_another_address_requires_tls_or_insecure(home):
    refused = run("serve", "--address", "0.0.0.0", "--port", "0")
    assert refused.returncode != 0 and "--insecure" in refused.stderr and "--cert" in refused.stderr
    with running("--address", "0.0.0.0", "--insecure") as said:
        assert "login?token=" not in said  # other machines' users may read this line
        port = re.findall(r":(\d+)/", said)[0]
        assert httpx2.get(f"http://127.0.0.1:{port}/health", timeout=60).status_code == 200


def test_an_address_that_is_not_free_says_so(home):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run("serve", "--port", str(taken.getsockname()[1]))
    assert refused.returncode == 3 and "Address already in use; choose another --address or --port" in refused.stderr
    refused = run("serve", "--address", "nowhere.invalid", "--insecure")
    assert refused.returncode == 3 and "cannot listen on nowhere.invalid:8710" in refused.stderr


def test_a_certificate_that_is_none_is_refused_before_it_says_that_it_serves(home):
    (home / "cert.pem").write_text("no certificate")
    refused = run("serve", "--port", "0", "--cert", str(home / "cert.pem"), "--key", str(home / "cert.pem"))
    assert refused.returncode == 3 and refused.stdout == ""
    assert "--cert and --key cannot be used" in refused.stderr and "in PEM" in refused.stderr


def test_a_name_of_a_token_turns_no_line(home):
    run("--user", "alice", "token", "add", "--name", "phone \u202e\n2nd")
    assert run("token", "list").stdout.rstrip().endswith("phone \\u202e 2nd")


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate")
def test_tls(home):
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]  # fmt: skip
    subprocess.run(made, cwd=home, check=True, capture_output=True, timeout=60)
    cert, key = str(home / "cert.pem"), str(home / "key.pem")
    assert run("serve", "--cert", cert).returncode == 2
    trusted = ssl.create_default_context(cafile=cert)
    with running("--cert", cert, "--key", key) as said:
        link = re.findall(r"https://\S+login\?token=\S+", said)[0]
        reply = httpx2.get(link, verify=trusted, timeout=60)
        assert reply.status_code == 303 and "secure" in reply.headers["set-cookie"].lower()


def test_the_token_file_is_readable_by_its_owner_alone(home):
    run("--user", "alice", "token", "add")
    (path,) = home.rglob("tokens.json")
    assert os.stat(path).st_mode & 0o077 == 0
