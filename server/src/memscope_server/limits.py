"""Limits on requests, so that no client exhausts the server's memory or blocks its event loop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Maximum sizes in bytes, counts, and timeouts in seconds. Without a token only the sign-in form's body is read."""

    path_chars: int = 4 * 2**10  # longer paths slow routing down, and no user, id or name needs them
    header_count: int = 100  # per request
    head_bytes: int = 32 * 2**10  # of the request line and headers
    body_bytes: int = 8 * 2**20
    form_bytes: int = 2 * 2**20
    sign_in_bytes: int = 4 * 2**10
    form_fields: int = 64  # per form
    body_chunks: int = 8192  # per chunked body
    all_bodies_bytes: int = 64 * 2**20  # in memory at once; one token may use a quarter
    waiting_connections: int = 256  # connections without a complete request; beyond it the oldest is closed
    anonymous_bodies: int = 64  # concurrent bodies of callers without a token; beyond it the oldest is aborted
    head_s: float = 10.0
    body_s: float = 30.0
    sign_in_s: float = 10.0
    write_s: float = 30.0  # until a client that reads nothing of its response is disconnected
    linger_s: float = 2.0  # after a refusal, spent reading what the client still sends
