"""Limits on requests, so that no client holds the memory or the event loop of the server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bytes, counts and seconds of requests. Of a caller without a token no body is read but the form that signs in."""

    path: int = 4 * 2**10  # longer ones make routing slow, and no user, id or name needs them
    headers: int = 100
    head: int = 32 * 2**10  # bytes of a request without its body
    body: int = 8 * 2**20
    form: int = 2 * 2**20
    sign_in: int = 4 * 2**10
    fields: int = 64  # of a form
    chunks: int = 8192  # of a body sent in chunks
    bodies: int = 64 * 2**20  # of all bodies at a time; one token may take a quarter
    waiting: int = 256  # connections without a whole request; further ones end the oldest
    signing_in: int = 64  # bodies of callers without a token at a time; further ones end the oldest
    head_s: float = 10.0
    body_s: float = 30.0
    sign_in_s: float = 10.0
    write_s: float = 30.0  # a client that does not read its answer
    linger_s: float = 2.0  # after a refusal, for a client that still sends
