"""Clients that send too much, too slowly or incomplete requests get a typed error and do not block others."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from memscope_server.connections import Connection
from memscope_server.limits import HttpLimits
from memscope_server.tokens import TokenFile

from .conftest import Served, serving

FORM = "Content-Type: application/x-www-form-urlencoded"
CHUNKED = "Transfer-Encoding: chunked"
LOGIN, TURNS = "POST /login", "POST /api/v1/users/alice/turns"
QUICK = HttpLimits(head_s=1.0, body_s=3.0, sign_in_s=2.0, write_s=1.0, linger_s=0.1, waiting_connections=8)


@contextmanager
def served_with(tmp_path, limits: HttpLimits) -> Iterator[Served]:
    tokens = TokenFile(tmp_path / "limited.json")
    operator, alice = tokens.add("operator", None)[1], tokens.add("user", "alice")[1]
    with serving(tmp_path / "limited.db", tokens, limits=limits) as root:
        yield Served(root, operator, alice, "", "", "", tokens)


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Iterator[Served]:
    with served_with(tmp_path_factory.mktemp("quick"), QUICK) as served:
        yield served


@pytest.fixture
def alice(quick):
    with quick.client(quick.alice) as client:
        yield client


def opened(served: Served, head: str = "", *headers: str, secret: str = "") -> socket.socket:
    """Connect and, with ``head``, send a request line and headers."""
    place = urlsplit(served.root)
    connection = socket.create_connection((place.hostname, place.port), timeout=60)
    if head:
        known = [f"Authorization: Bearer {secret}"] if secret else []
        lines = [f"{head} HTTP/1.1", f"Host: {place.netloc}", *known, *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode())
    return connection


def reply(connection: socket.socket) -> tuple[int, dict]:
    """Read until the connection is closed; return status and problem, or (0, {}) without a response."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionError:
        pass
    head, _, body = received.partition(b"\r\n\r\n")
    return (int(head.split()[1]), json.loads(body)) if head else (0, {})


def answers(served: Served) -> bool:
    with served.client(served.alice) as client:
        return client.get("/api/v1/me").status_code == 200


# ------------------------------------------------------------------------------------------------ who sent the request


@pytest.mark.parametrize("secret", ["", "memscope_wrong"])
@pytest.mark.parametrize("head", [TURNS, "POST /u/alice/forget", "GET /api/v1/me", "DELETE /nothing"])
@pytest.mark.parametrize("body", ["Content-Length: 8000000", CHUNKED])
def test_without_a_token_the_answer_comes_before_the_body(quick, head, body, secret):
    with opened(quick, head, body, FORM, secret=secret) as connection:  # without the body
        status, problem = reply(connection)
        assert status in (401, 404, 405) and problem["code"]


def test_a_refused_client_that_sends_on_reads_the_answer(served):
    with served.client(None) as nobody:
        answered = nobody.post("/api/v1/users/alice/turns", content=b"x" * 6_000_000)
        assert (answered.status_code, answered.json()["code"]) == (401, "unauthorized")


def test_a_truncated_body_is_refused(quick, alice):
    """Refuse a form that was cut off: with fewer conditions, it would forget more records."""
    whole = f"csrf=&text=tea&since=2026-01-01{'&x=' * 20}".encode()
    with opened(quick, "POST /u/alice/forget", FORM, f"Content-Length: {len(whole)}", secret=quick.alice) as connection:
        alice.post("/api/v1/users/alice/turns", json={"turns": [{"role": "user", "content": "I like tea."}]})
        connection.sendall(whole[:14])
        connection.shutdown(socket.SHUT_WR)
        assert reply(connection)[0] in (0, 400, 408)
        assert "tea" in alice.get("/api/v1/users/alice/records").text


# ---------------------------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("path", "content", "what"),
    [("/login", b"token=" + b"x" * 5000, "bytes"), ("/u/alice/forget", b"a&" * 100, "fields"),
     ("/u/alice/forget", b"text=" + b"x" * 3_000_000, "bytes"), ("/u/alice/" + "x" * 5000, b"", "path")],
)  # fmt: skip
def test_a_form_and_a_path_have_limits(alice, path, content, what):
    answered = alice.post(path, content=content, headers={"Content-Type": FORM.partition(": ")[2]})
    assert (answered.status_code, answered.json()["code"]) == (413, "limit") and what in answered.json()["detail"]


def test_request_headers_have_limits(quick):
    for headers in ([f"X-{number}: y" for number in range(200)], ["X: " + "y" * 60_000]):
        with opened(quick, "GET /health", *headers, "Connection: close") as connection:
            status, problem = reply(connection)
            assert status in (400, 413) and problem["code"] in ("http", "limit")


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nA b\r\n\r\n"])
def test_anything_but_http_is_a_typed_error(quick, sent):
    with opened(quick) as connection:
        connection.sendall(sent)
        assert reply(connection)[1]["code"] == "http"


def test_a_websocket_upgrade_is_ignored(quick):
    asked = ("Connection: Upgrade, close", "Upgrade: websocket", "Sec-WebSocket-Key: x")
    with opened(quick, "GET /api/v1/me", *asked, secret=quick.alice) as connection:
        assert reply(connection)[1]["user"] == "alice"


@pytest.mark.parametrize("secret", ["", "alice"])
def test_a_body_of_too_many_chunks_is_refused(quick, secret):
    with opened(quick, TURNS, CHUNKED, secret=secret and quick.alice) as connection:
        try:
            connection.sendall(b"1\r\nx\r\n" * 400_000 + b"0\r\n\r\n")
        except ConnectionError:
            pass
        assert reply(connection)[0] in (0, 401, 413)
    assert answers(quick)


def test_the_bodies_of_one_token_leave_memory_for_others(tmp_path):
    with served_with(tmp_path, HttpLimits(all_bodies_bytes=4_000_000)) as served, ExitStack() as stack:
        held = [
            stack.enter_context(opened(served, TURNS, "Content-Length: 900000", secret=served.alice)) for _ in range(3)
        ]
        for connection in held:
            connection.sendall(b" " * 800_000)
        answered = [reply(connection)[1]["code"] for connection in held[-1:]]
        assert answered == ["server_busy"]
        with served.client(served.operator) as operator:
            turns = {"turns": [{"role": "user", "content": "x" * 500_000}]}
            assert operator.post("/api/v1/users/bob/turns", json=turns).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        {"query": "x", "exclude": [1] * 100_000}, {"query": "x", "exclude": ["a"] * 100_000},
        {"query": "x", "filter": {"a": [{}] * 100_000}}, {"query": "x", "filter": {str(n): 1 for n in range(100_000)}},
        {str(number): 1 for number in range(100_000)}, {"query": "x", "kinds": ["turn"] * 100_000},
    ],
)  # fmt: skip
def test_a_list_of_too_many_values_is_one_error(alice, given):
    answered = alice.post("/api/v1/users/alice/retrieve", json=given)
    assert (answered.status_code, answered.json()["code"]) == (422, "input") and len(answered.json()["places"]) == 1


# ----------------------------------------------------------------------------------------------------------------- time


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: ", b"GET"])
def test_a_connection_without_request_headers_is_closed(quick, sent):
    with opened(quick) as connection:
        connection.sendall(sent)
        assert reply(connection) == (0, {})


def test_the_header_timeout_applies_again_after_a_response(quick):
    with opened(quick, "GET /health") as connection:
        received = b""
        while b"version" not in received:
            received += connection.recv(65536)
        connection.sendall(b"GET /hea")
        assert reply(connection) == (0, {})


@pytest.mark.parametrize("head", [LOGIN, TURNS])
def test_a_body_that_does_not_arrive_is_refused(quick, head):
    with opened(quick, head, FORM, "Content-Length: 100", secret=quick.alice) as connection:
        connection.sendall(b"token=")
        assert reply(connection)[1].get("code") == "timeout"


@pytest.mark.slow
def test_a_client_that_does_not_read_is_disconnected(quick, alice):
    turns = [{"role": "user", "content": "x" * 900_000} for _ in range(8)]
    alice.post("/api/v1/users/alice/turns", json={"turns": turns}).raise_for_status()
    with opened(quick) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /api/v1/users/alice/records HTTP/1.1\r\nHost: {urlsplit(quick.root).netloc}\r\n"
        connection.sendall(f"{head}Authorization: Bearer {quick.alice}\r\n\r\n".encode())
        with pytest.raises((ConnectionError, BrokenPipeError)):
            while True:  # until the server closes the connection
                connection.sendall(b"\r\n")


# -------------------------------------------------------------------------------------------------------------- numbers


def test_incomplete_requests_are_dropped_for_complete_ones(quick):
    with ExitStack() as stack:
        half = [stack.enter_context(opened(quick)) for _ in range(100)]
        for connection in half:
            try:
                connection.sendall(b"GET / HTTP/1.1\r\nX: ")
            except ConnectionError:
                pass
        assert answers(quick)
        assert reply(half[0]) == (0, {})


def test_bodies_without_a_token_are_dropped_for_newer_ones(tmp_path):
    slow = HttpLimits(anonymous_bodies=4, sign_in_s=60, linger_s=0.1)
    with served_with(tmp_path, slow) as served, ExitStack() as stack:
        half = [stack.enter_context(opened(served, LOGIN, FORM, "Content-Length: 90")) for _ in range(6)]
        assert reply(half[0])[1]["code"] == "timeout"
        with served.client(None) as browser:
            assert browser.post("/login", data={"token": served.alice}).status_code == 303


def test_a_server_may_open_more_files_than_some_systems_allow_at_first(tmp_path):
    resource = pytest.importorskip("resource", reason="this system has no such limit")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        with served_with(tmp_path, QUICK) as served:
            assert answers(served) and resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_body_of_a_response_does_not_wait_for_the_client_to_confirm_its_headers(quick, monkeypatch):
    accepted, made = [], Connection.connection_made
    monkeypatch.setattr(Connection, "connection_made", lambda self, to: (made(self, to), accepted.append(to))[0])
    with quick.client(quick.alice) as client:
        client.get("/api/v1/me").raise_for_status()
        assert accepted[0].get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
