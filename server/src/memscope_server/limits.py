"""Limits on requests, so that no client exhausts the server's memory or blocks its event loop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Maximum sizes in bytes, counts, and timeouts in seconds. Without a token only the sign-in form's body is read."""

    path: int = 4 * 2**10  # characters; longer paths slow routing down, and no user, id or name needs them
    headers: int = 100  # per request
    head: int = 32 * 2**10  # bytes of the request line and headers
    body: int = 8 * 2**20
    form: int = 2 * 2**20
    sign_in: int = 4 * 2**10
    fields: int = 64  # per form
    chunks: int = 8192  # per chunked body
    bodies: int = 64 * 2**20  # bytes of all bodies in memory; one token may use a quarter
    waiting: int = 256  # connections without a complete request; beyond it the oldest is closed
    signing_in: int = 64  # concurrent bodies of callers without a token; beyond it the oldest is aborted
    head_s: float = 10.0
    body_s: float = 30.0
    sign_in_s: float = 10.0
    write_s: float = 30.0  # until a client that reads nothing of its response is disconnected
    linger_s: float = 2.0  # after a refusal, spent reading what the client still sends
