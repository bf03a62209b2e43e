"""Denial-of-service attacks on ``memscope serve`` in a separate process."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

FORM = "Content-Type: application/x-www-form-urlencoded"
TURNS = "POST /api/v1/users/alice/turns"


@dataclass
class Target:
    """A running server with its port, process and two tokens."""

    process: subprocess.Popen[str]
    port: int
    alice: str
    operator: str

    def opened(self, head: str, *headers: str, secret: str = "") -> socket.socket:
        """Connect and send a request's head."""
        known = [f"Authorization: Bearer {secret}"] if secret else []
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        lines = [f"{head} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *known, *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode())
        return connection

    def ask(self, head: str, body: bytes = b"", *headers: str, secret: str = "") -> int:
        """Send a request and return the status of the answer, 0 if there is none."""
        with self.opened(head, f"Content-Length: {len(body)}", *headers, secret=secret) as connection:
            with suppress(OSError):
                connection.sendall(body)
            with suppress(OSError, IndexError):
                return int(connection.recv(4096).split()[1])
        return 0

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@dataclass
class Watch:
    """Polls /health on new connections during an attack, and records the longest wait and peak memory."""

    server: Target
    longest_s: float = 0.0
    most_mb: float = 0.0
    unanswered: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.over.wait(0.02):
            began = time.monotonic()
            try:
                self.unanswered += self.server.ask("GET /health", b"", "Connection: close") != 200
            except OSError:
                self.unanswered += 1
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.most_mb = max(self.most_mb, self.server.megabytes())


@contextmanager
def attacked() -> Iterator[Target]:
    """Start a server with a new store."""
    with tempfile.TemporaryDirectory() as home:
        environ = os.environ | {"XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "MEMSCOPE_STORE": f"{home}/memory.db"}
        program = [sys.executable, "-m", "memscope"]

        def token(*words: str) -> str:
            done = subprocess.run(
                [*program, *words], env=environ, capture_output=True, text=True, check=True, timeout=60
            )
            return done.stdout.split()[0]

        alice, operator = token("--user", "alice", "token", "add"), token("token", "add", "--role", "operator")
        command = [*program, "serve", "--port", "0"]
        with subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                yield Target(process, port_of(process), alice, operator)
            finally:
                process.terminate()


def port_of(process: subprocess.Popen[str]) -> int:
    """Read the port from the server's startup messages."""
    port = 0
    for line in process.stdout or ():
        port = int((re.findall(r"127\.0\.0\.1:(\d+)/", line) or [port])[0])
        if "Ctrl-C" in line:
            break
    return port


@contextmanager
def watched(server: Target) -> Iterator[Watch]:
    watch = Watch(server)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield watch
    finally:
        watch.over.set()
        thread.join()


# ----------------------------------------------------------------------------------------------------- unknown clients


def fields(server: Target) -> None:
    """Send a form of four million fields."""
    for head in ("POST /login", "POST /u/alice/forget"):
        server.ask(head, b"a&" * (4 * 2**20 - 1), FORM)


def bodies(server: Target) -> None:
    """Send 60 incomplete bodies of 8 MB."""
    held = []
    for _ in range(60):
        connection = server.opened(TURNS, f"Content-Length: {8 * 2**20}")
        with suppress(OSError):
            connection.sendall(b"x" * (8 * 2**20 - 10))
        held.append(connection)
    close(held)


def chunks(server: Target) -> None:
    """Send a body of 400,000 chunks."""
    connection = server.opened("POST /login", "Transfer-Encoding: chunked")
    with suppress(OSError):
        connection.sendall(b"1\r\nx\r\n" * 400_000 + b"0\r\n\r\n")
        connection.recv(4096)
    close([connection])


def heads(server: Target) -> None:
    """Send 1,500 requests with incomplete headers, and keep them open beyond the server's timeout."""
    held = []
    for _ in range(1500):
        with suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            held[-1].sendall(b"GET / HTTP/1.1\r\nX: ")
    time.sleep(13)
    close(held)


def paths(server: Target) -> None:
    """Send paths of 60 kB that match a route in many ways, and 60,000 headers."""
    for path in ("/api/v1/users/" + "/memories/x" * 5000, "/u/" + "/review/a" * 6000 + "/"):
        for method in ("GET", "POST"):
            server.ask(f"{method} {path}")
    with suppress(OSError):
        close([server.opened("GET /health", *["a: b"] * 60_000)])


def close(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.close()


# ------------------------------------------------------------------------------------------------------- a known client


def numbers(server: Target) -> None:
    """Send 8 MB of JSON with a huge number of values."""
    for body in (
        b'{"query": "x", "exclude": [' + b"1," * 3_900_000 + b"1]}",
        b"{" + b",".join(b'"%d":1' % number for number in range(700_000)) + b"}",
        b'{"query": "x", "filter": {"a": [' + b"{}," * 2_700_000 + b"{}]}}",
        b"[" * 4_000_000,
    ):
        server.ask("POST /api/v1/users/alice/retrieve", body, "Content-Type: application/json", secret=server.alice)


def history(server: Target) -> None:
    """Request the page of a block with 7 versions of 11,500 characters."""
    rng, words = random.Random(1), [f"word{number}" for number in range(400)]
    blocks, kind = "POST /api/v1/users/alice/blocks", "Content-Type: application/json"
    server.ask(blocks, json.dumps({"label": "notes", "limit": 11_900}).encode(), kind, secret=server.alice)
    for _ in range(7):
        value = "\n".join(" ".join(rng.choices(words, k=8)) for _ in range(210))[:11_500]
        edit = json.dumps({"operation": "rethink", "text": value}).encode()
        server.ask(f"{blocks}/notes/edits", edit, kind, secret=server.alice)
    server.ask("GET /u/alice/blocks/notes", secret=server.alice)


UNKNOWN, KNOWN = (fields, bodies, chunks, heads, paths), (numbers, history)


def run() -> dict[str, float]:
    """Run all attacks. Return the longest waits of other clients, and the memory used."""
    with attacked() as server:
        server.ask("GET /health")
        first_mb, first_files, result = server.megabytes(), server.files(), dict[str, float]()
        for name, attacks in (("unknown", UNKNOWN), ("known", KNOWN)):
            with watched(server) as watch:
                for attack in attacks:
                    attack(server)
            result |= {
                f"wait_{name}_s": round(watch.longest_s, 2),
                f"memory_{name}_mb": round(watch.most_mb - first_mb),
            }
            result["unanswered"] = result.get("unanswered", 0) + watch.unanswered
        result["files_left"] = server.files() - first_files
    return result
